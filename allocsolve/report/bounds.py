"""The bound document ``allocsolve.bound/1``: bounds with their source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, cast

from allocsolve.models.exact import Number
from allocsolve.models.result import Reason, Sense
from allocsolve.report.codec import Record, builtins, decode, encode
from allocsolve.report.solution import AnyReason, InstanceEntry

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = ["BoundEntry", "BoundReport", "bound_report", "decode_bounds", "encode_bounds"]


class BoundEntry(Record, frozen=True, kw_only=True):
    """A proven bound in units of the input, with the argument that gives it."""

    value: Number
    source: str
    detail: str = ""


class BoundReport(Record, frozen=True, kw_only=True):
    """Bounds on an objective, found without searching for answers.

    Attributes
    ----------
    sense
        Direction of the objective; bounds are below the best value of ``min``, above ``max``.
    bounds
        Every bound, the best one first.
    best
        The best bound, null if there is none or the instance is infeasible.
    reason
        Why the instance has no answer, null if no reason was found.
    explanation
        The reason as a sentence, or why there is no bound.
    """

    schema: Literal["allocsolve.bound/1"] = "allocsolve.bound/1"
    kind: Literal["dag", "coded", "fair"] = "dag"
    instance: InstanceEntry
    objective: str
    sense: Literal["min", "max"] = "min"
    bounds: list[BoundEntry]
    best: Number | None
    reason: AnyReason | None = None
    explanation: str | None = None


def bound_report(
    problem: Problem,
    objective: str,
    sense: Sense,
    bounds: Sequence[BoundEntry],
    reason: Reason | None,
) -> BoundReport:
    """Return the report of bounds, the best of which comes first."""
    origin = problem.origin
    return BoundReport(
        kind=cast('Literal["dag", "coded", "fair"]', problem.kind),
        instance=InstanceEntry(name=origin.name, format=origin.format, sha256=origin.sha256),
        objective=objective,
        sense=sense.value,
        bounds=list(bounds),
        best=bounds[0].value if bounds and reason is None else None,
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
