"""The solution document of a result, whatever its kind."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import cast

from allocsolve.models.result import Result
from allocsolve.report.solution import SolutionDocument, encode_solution

__all__ = ["result_bytes"]

_HOMES = {
    "dag": "allocsolve.report.results",
    "coded": "allocsolve.report.coded_results",
    "fair": "allocsolve.report.fair_results",
}
"""The module of each kind that turns results into documents."""


def result_bytes(result: Result[object]) -> bytes:
    """Return the solution document of a result as strict JSON."""
    module = importlib.import_module(_HOMES[result.kind])
    to_document = cast("Callable[[Result[object]], SolutionDocument]", module.result_to_document)
    return encode_solution(to_document(result))
