"""JSON Schemas of every document, generated from the records that read and write them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import msgspec

from allocsolve.models.coded.data import CodedDocument
from allocsolve.models.dag.data import DagDocument
from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.fair.data import FairDocument
from allocsolve.report.bounds import BoundReport
from allocsolve.report.checks import CheckDocument
from allocsolve.report.coded_results import CodedSolution
from allocsolve.report.fair_results import FairSolution
from allocsolve.report.fit import FitDocument
from allocsolve.report.simulation import SimulationDocument
from allocsolve.report.solution import DagSolution

__all__ = ["RECORDS", "schema_text"]

RECORDS: Mapping[str, tuple[type[msgspec.Struct], ...]] = {
    "instance": (DagDocument, CodedDocument, FairDocument),
    "solution": (DagSolution, CodedSolution, FairSolution),
    "bound": (BoundReport,),
    "check": (CheckDocument,),
    "simulation": (SimulationDocument,),
    "fit": (FitDocument,),
}
"""Name of each document and the records that stand for it, one for each kind or one for all."""


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
        **_schema_of(RECORDS[name]),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def _schema_of(records: tuple[type[msgspec.Struct], ...]) -> dict[str, Any]:
    """Return the schema of a document, which may be that of any of several records."""
    if len(records) == 1:
        return msgspec.json.schema(records[0], schema_hook=_schema_of_number)
    schemas, parts = msgspec.json.schema_components(
        records, schema_hook=_schema_of_number, ref_template="#/$defs/{name}"
    )
    return {"anyOf": list(schemas), "$defs": parts}


def _schema_of_number(kind: type) -> dict[str, Any]:
    if kind is Fraction:
        return {"type": "number"}
    raise NotImplementedError(kind)
