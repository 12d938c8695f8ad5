"""The check document ``allocsolve.check/1``: broken rules and what became of each claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from msgspec import UNSET, UnsetType

from allocsolve.models.exact import Number, exact, plain
from allocsolve.models.result import CheckReport, Violation
from allocsolve.report.codec import Record, builtins, decode, encode
from allocsolve.report.solution import InstanceEntry

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = [
    "CheckDocument",
    "ClaimEntry",
    "ClaimReport",
    "ViolationEntry",
    "check_document",
    "check_report",
    "decode_check",
    "encode_check",
]


class ViolationEntry(Record, frozen=True, kw_only=True):
    """A broken rule, with ids and amounts."""

    rule: str
    message: str


class ClaimEntry(Record, frozen=True, kw_only=True):
    """Something a document says beside the answer; ``holds`` null: it cannot be verified."""

    name: str
    claimed: str | int | float | None
    holds: bool | None
    note: str = ""


class CheckDocument(Record, frozen=True, kw_only=True):
    """Outcome of an independent check.

    Attributes
    ----------
    value
        The objective value recomputed from the answer, null if there is none.
    infinite
        True beside a null value that is infinite, a mean of heavy tails; absent otherwise.
    """

    schema: Literal["allocsolve.check/1"] = "allocsolve.check/1"
    kind: Literal["dag", "coded", "fair"] = "dag"
    instance: InstanceEntry
    valid: bool
    violations: list[ViolationEntry]
    value: Number | None
    claims: list[ClaimEntry]
    warnings: list[str]
    infinite: bool | UnsetType = UNSET


@dataclass(frozen=True)
class ClaimReport(CheckReport):
    """A check of an answer together with what its document claims."""

    claims: Sequence[ClaimEntry] = ()
    warnings: Sequence[str] = ()


def check_document(problem: Problem, report: ClaimReport) -> CheckDocument:
    """Return the document of a check."""
    origin = problem.origin
    infinite = report.value is not None and math.isinf(report.value)
    return CheckDocument(
        kind=cast('Literal["dag", "coded", "fair"]', problem.kind),
        instance=InstanceEntry(name=origin.name, format=origin.format, sha256=origin.sha256),
        valid=report.valid,
        violations=[ViolationEntry(rule=v.rule, message=v.message) for v in report.violations],
        value=None if report.value is None or infinite else exact(report.value),
        claims=list(report.claims),
        warnings=list(report.warnings),
        infinite=True if infinite else UNSET,
    )


def check_report(document: CheckDocument) -> ClaimReport:
    """Return the check that a document describes."""
    return ClaimReport(
        violations=[Violation(entry.rule, entry.message) for entry in document.violations],
        value=_value(document),
        claims=tuple(document.claims),
        warnings=tuple(document.warnings),
    )


def _value(document: CheckDocument) -> int | float | None:
    if document.infinite is True:
        return math.inf
    return None if document.value is None else plain(exact(document.value))


def encode_check(document: CheckDocument) -> bytes:
    """Return a check document as strict JSON."""
    return encode(builtins(document))


def decode_check(data: bytes) -> CheckDocument:
    """Read a check document.

    Raises
    ------
    InputError
        With the place in the text or the JSON path.
    """
    return decode(data, CheckDocument)
