"""What a result claims about its answer, compared with what a checker found, for every kind."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from allocsolve.models.result import (
    CheckReport,
    Reason,
    Sense,
    Status,
    Violation,
    relative_gap,
)

__all__ = ["PROVED", "Claims", "Measures", "judge_claims"]

PROVED = 1e-8
"""Gap up to which a continuous objective counts as proved."""

_GAP_TOLERANCE = 1e-6
"""Absolute and relative error that rounding may leave in a gap."""


@dataclass(frozen=True)
class Claims:
    """What is said about an answer, in input units; None for a claim that is not made."""

    status: Status | None = None
    value: int | float | None = None
    bound: int | float | None = None
    reason: Reason | None = None
    sense: str | None = None
    gap: float | None = None


@dataclass(frozen=True)
class Measures:
    """How a problem kind compares its numbers.

    Attributes
    ----------
    sense
        Direction of the objective.
    same
        Whether a claimed value is the one that the checker found.
    meet
        Whether a value and a bound are so close that the value is proved.
    gap
        Distance of a value and a bound as documents report it.
    verified
        Whether a reason of infeasibility holds.
    """

    sense: Sense
    same: Callable[[float, float], bool]
    meet: Callable[[float, float], bool]
    verified: Callable[[Reason], bool]
    gap: Callable[[float, float], float] = relative_gap


def judge_claims(report: CheckReport | None, claims: Claims, measures: Measures) -> list[Violation]:
    """Judge the claims of a result or of a solution document.

    Parameters
    ----------
    report
        Outcome of the check of the answer; None if there is no answer.

    Returns
    -------
    list of Violation
        Rules ``status``, ``objective_value``, ``bound``, ``infeasible_claim``, ``reason``,
        ``sense``, ``gap``.
    """
    return [
        *_judge_status(report, claims),
        *_judge_value(report, claims, measures),
        *_judge_bound(report, claims, measures),
        *_judge_reason(claims, measures),
        *_judge_sense(claims, measures),
        *_judge_gap(report, claims, measures),
    ]


def _judge_status(report: CheckReport | None, claims: Claims) -> Iterator[Violation]:
    status, value = claims.status, claims.value
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


def _judge_value(
    report: CheckReport | None, claims: Claims, measures: Measures
) -> Iterator[Violation]:
    known, value = None if report is None else report.value, claims.value
    if known is not None and value is not None and not measures.same(value, known):
        yield Violation("objective_value", f"value {value} is claimed, the answer has {known}")


def _judge_bound(
    report: CheckReport | None, claims: Claims, measures: Measures
) -> Iterator[Violation]:
    bound = claims.bound
    if report is None or not report.valid or report.value is None or bound is None:
        return
    value = report.value
    if measures.meet(value, bound):
        return
    largest = measures.sense is Sense.MAX
    if bound < value if largest else bound > value:
        side = "below" if largest else "above"
        yield Violation("bound", f"bound {bound} is {side} the value {value} of a right answer")
    elif claims.status is Status.OPTIMAL:
        message = f"OPTIMAL is claimed with bound {bound}, but the value is {value}"
        yield Violation("bound", message)


def _judge_reason(claims: Claims, measures: Measures) -> Iterator[Violation]:
    status, reason = claims.status, claims.reason
    if reason is None:
        return
    if status is not None and status is not Status.INFEASIBLE:
        yield Violation("reason", f"a reason of infeasibility is given with status {status}")
    if not measures.verified(reason):
        yield Violation("reason", f"this does not hold: {reason.sentence()}")


def _judge_sense(claims: Claims, measures: Measures) -> Iterator[Violation]:
    right = measures.sense.value
    if claims.sense is not None and claims.sense != right:
        yield Violation("sense", f"sense '{claims.sense}' is claimed, the objective's is '{right}'")


def _judge_gap(
    report: CheckReport | None, claims: Claims, measures: Measures
) -> Iterator[Violation]:
    """Compare a gap with the claimed value, or else that of the answer, and the bound."""
    gap, bound = claims.gap, claims.bound
    if gap is None:
        return
    known = report.value if claims.value is None and report is not None else claims.value
    if known is None or bound is None:
        missing = "value" if known is None else "bound"
        yield Violation("gap", f"gap {gap} is claimed, but there is no {missing}")
        return
    right = abs(measures.gap(known, bound))
    if not math.isclose(gap, right, rel_tol=_GAP_TOLERANCE, abs_tol=_GAP_TOLERANCE):
        message = f"gap {gap} is claimed, but value {known} and bound {bound} are {right} apart"
        yield Violation("gap", message)
