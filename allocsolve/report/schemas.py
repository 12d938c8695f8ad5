"""JSON Schemas of every document, generated from the records that read and write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec

from allocsolve.models.dag.data import DagDocument
from allocsolve.models.errors import UsageError, suggest
from allocsolve.report.bounds import BoundReport
from allocsolve.report.checks import CheckDocument
from allocsolve.report.solution import DagSolution

__all__ = ["RECORDS", "schema_text"]

RECORDS: Mapping[str, type[msgspec.Struct]] = {
    "instance": DagDocument,
    "solution": DagSolution,
    "bound": BoundReport,
    "check": CheckDocument,
}
"""Name of each document and the record that stands for it."""


def schema_text(name: str) -> str:
    """Return the JSON Schema of a document as text.

    Raises
    ------
    UsageError
        If there is no document of that name.
    """
    if name not in RECORDS:
        known = list(RECORDS)
        raise UsageError(
            f"there is no document '{name}'{suggest(name, known)}\n  allowed: {', '.join(known)}"
        )
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"allocsolve.{name}/1",
        **msgspec.json.schema(RECORDS[name], schema_hook=_schema_of_number),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _schema_of_number(kind: type) -> dict[str, Any]:
    if kind is Fraction:
        return {"type": "number"}
    raise NotImplementedError(kind)
