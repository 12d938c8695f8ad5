"""The bound document ``allocsolve.bound/1``: lower bounds with their source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, cast

from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.exact import Number
from allocsolve.models.result import Bound, Reason
from allocsolve.report.codec import Record, builtins, decode, encode
from allocsolve.report.solution import AnyReason, InstanceEntry

__all__ = ["BoundEntry", "BoundReport", "bound_report", "decode_bounds", "encode_bounds"]


class BoundEntry(Record, frozen=True, kw_only=True):
    """A proven lower bound in units of the input, with the argument that gives it."""

    value: Number
    source: str
    detail: str = ""


class BoundReport(Record, frozen=True, kw_only=True):
    """Lower bounds on an objective, found without searching for answers.

    Attributes
    ----------
    bounds
        Every bound, the best one first.
    best
        The best bound, null if there is none or the instance is infeasible.
    reason
        Why the instance has no answer, null if no reason was found.
    """

    schema: Literal["allocsolve.bound/1"] = "allocsolve.bound/1"
    kind: Literal["dag"] = "dag"
    instance: InstanceEntry
    objective: str
    bounds: list[BoundEntry]
    best: Number | None
    reason: AnyReason | None = None
    explanation: str | None = None


def bound_report(
    problem: DagProblem, objective: str, bounds: Sequence[Bound], reason: Reason | None
) -> BoundReport:
    """Return the report of bounds in ticks."""
    ordered = sorted(bounds, key=lambda bound: (-bound.value, bound.source))
    entries = [
        BoundEntry(value=problem.units(b.value), source=b.source, detail=b.detail) for b in ordered
    ]
    origin = problem.origin
    return BoundReport(
        instance=InstanceEntry(name=origin.name, format=origin.format, sha256=origin.sha256),
        objective=objective,
        bounds=entries,
        best=entries[0].value if entries and reason is None else None,
        reason=cast("AnyReason | None", reason),
        explanation=None if reason is None else reason.sentence(),
    )


def encode_bounds(report: BoundReport) -> bytes:
    """Return a bound document as strict JSON."""
    return encode(builtins(report))


def decode_bounds(data: bytes) -> BoundReport:
    """Read a bound document.

    Raises
    ------
    InputError
        With the place in the text or the JSON path.
    """
    return decode(data, BoundReport)
