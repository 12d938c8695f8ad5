"""What a result claims about its answer, compared with what the checker found."""

from __future__ import annotations

import math
from collections.abc import Iterator

from allocsolve.models.dag.data import DagData
from allocsolve.models.dag.verify import verify_reason
from allocsolve.models.result import (
    CheckReport,
    Reason,
    Sense,
    Status,
    Violation,
    relative_gap,
)

__all__ = ["check_claims"]

_ROUNDING = 1e-12
"""Relative error that writing an exact fraction as a decimal may leave."""

_GAP_TOLERANCE = 1e-6
"""Absolute and relative error that rounding may leave in a gap."""


def check_claims(
    problem: DagData,
    report: CheckReport | None,
    *,
    status: Status | None,
    value: int | float | None,
    bound: int | float | None,
    reason: Reason | None = None,
    sense: str | None = None,
    gap: float | None = None,
) -> list[Violation]:
    """Judge the claims of a result or of a solution document.

    Parameters
    ----------
    report
        Outcome of the check of the answer; None if there is no answer.
    status, value, bound, reason, sense, gap
        The claims, in input units; None for a claim that is not made.

    Returns
    -------
    list of Violation
        Rules ``status``, ``objective_value``, ``bound``, ``infeasible_claim``, ``reason``,
        ``sense``, ``gap``.
    """
    return [
        *_judge_status(report, status, value),
        *_judge_value(report, value),
        *_judge_bound(report, status, bound),
        *_judge_reason(problem, status, reason),
        *_judge_sense(sense),
        *_judge_gap(report, value, bound, gap),
    ]


def _judge_status(
    report: CheckReport | None, status: Status | None, value: int | float | None
) -> Iterator[Violation]:
    if report is None:
        if status in (Status.OPTIMAL, Status.FEASIBLE):
            yield Violation("status", f"status {status} is claimed, but there is no answer")
        if value is not None:
            yield Violation("objective_value", f"value {value} is claimed, but there is no answer")
    elif status is Status.UNKNOWN:
        yield Violation("status", "status UNKNOWN is claimed beside an answer")
    elif status is Status.INFEASIBLE:
        if report.valid:
            message = f"INFEASIBLE is claimed, but the answer of value {report.value} is right"
            yield Violation("infeasible_claim", message)
        else:
            yield Violation("status", "status INFEASIBLE is claimed beside an answer")


def _judge_value(report: CheckReport | None, value: int | float | None) -> Iterator[Violation]:
    known = None if report is None else report.value
    if known is not None and value is not None and not _equal(value, known):
        yield Violation("objective_value", f"value {value} is claimed, the schedule has {known}")


def _judge_bound(
    report: CheckReport | None, status: Status | None, bound: int | float | None
) -> Iterator[Violation]:
    if report is None or not report.valid or report.value is None or bound is None:
        return
    if _equal(bound, report.value):
        return
    if bound > report.value:
        message = f"bound {bound} is above the value {report.value} of a right answer"
        yield Violation("bound", message)
    elif status is Status.OPTIMAL:
        message = f"OPTIMAL is claimed with bound {bound} below the value {report.value}"
        yield Violation("bound", message)


def _judge_reason(
    problem: DagData, status: Status | None, reason: Reason | None
) -> Iterator[Violation]:
    if reason is None:
        return
    if status is not None and status is not Status.INFEASIBLE:
        yield Violation("reason", f"a reason of infeasibility is given with status {status}")
    if not verify_reason(problem, reason):
        yield Violation("reason", f"this does not hold: {reason.sentence()}")


def _judge_sense(sense: str | None) -> Iterator[Violation]:
    if sense is not None and sense != Sense.MIN.value:
        yield Violation("sense", f"sense '{sense}' is claimed, but the objective is minimised")


def _judge_gap(
    report: CheckReport | None,
    value: int | float | None,
    bound: int | float | None,
    gap: float | None,
) -> Iterator[Violation]:
    """Compare a gap with the claimed value, or else that of the schedule, and the bound."""
    if gap is None:
        return
    known = report.value if value is None and report is not None else value
    if known is None or bound is None:
        missing = "value" if known is None else "bound"
        yield Violation("gap", f"gap {gap} is claimed, but there is no {missing}")
        return
    right = relative_gap(known, bound)
    if not math.isclose(gap, right, rel_tol=_GAP_TOLERANCE, abs_tol=_GAP_TOLERANCE):
        message = f"gap {gap} is claimed, but value {known} and bound {bound} are {right} apart"
        yield Violation("gap", message)


def _equal(a: int | float, b: int | float) -> bool:
    """Compare integers exactly, fractions up to the rounding of a decimal."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return math.isclose(a, b, rel_tol=_ROUNDING)
