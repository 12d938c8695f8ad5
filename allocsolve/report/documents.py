"""Solution documents whatever their kind, from results and as what they claim."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from allocsolve.models.errors import InputError
from allocsolve.models.result import Result
from allocsolve.report.claims import Claim
from allocsolve.report.solution import SolutionDocument, encode_solution

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = ["read_solution", "read_solution_file", "result_bytes"]

_HOMES = {
    "dag": "allocsolve.report.results",
    "coded": "allocsolve.report.coded_results",
    "fair": "allocsolve.report.fair_results",
}
"""The module of each kind that turns results into documents and reads them."""


class _Home(Protocol):
    """What such a module offers."""

    result_to_document: Callable[[Result[object]], SolutionDocument]
    read_solution: Callable[[bytes, Problem], Claim[object]]


def _home(kind: str) -> _Home:
    return cast("_Home", importlib.import_module(_HOMES[kind]))


def result_bytes(result: Result[object]) -> bytes:
    """Return the solution document of a result as strict JSON."""
    return encode_solution(_home(result.kind).result_to_document(result))


def read_solution(kind: str, data: bytes, problem: Problem) -> Claim[object]:
    """Read what a solution document of a kind claims about a problem of that kind.

    Raises
    ------
    InputError
        If the text is not a solution document or an entry cannot be understood.
    """
    return _home(kind).read_solution(data, problem)


def read_solution_file(kind: str, path: str | os.PathLike[str], problem: Problem) -> Claim[object]:
    """Read likewise from a file.

    Raises
    ------
    InputError
        If the file or its text cannot be read; the error names it.
    """
    try:
        return read_solution(kind, Path(path).read_bytes(), problem)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            allowed="a solution document",
            remedy="check the path",
            source=str(path),
        ) from None
    except InputError as error:
        raise error.located(str(path)) from None
