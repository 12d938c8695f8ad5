"""What a result claims about its answer, compared with what the checker found."""

from __future__ import annotations

import math
from collections.abc import Iterator

from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.verify import verify_reason
from allocsolve.models.result import CheckReport, Reason, Sense, Status, Violation

__all__ = ["check_claims"]

_TOLERANCE = 1e-8
"""Relative difference of values of continuous objectives that counts as none."""


def check_claims(
    problem: CodedProblem,
    report: CheckReport | None,
    *,
    status: Status | None,
    value: int | float | None,
    bound: int | float | None,
    reason: Reason | None = None,
) -> list[Violation]:
    """Judge the claims of a result or of a solution document.

    Parameters
    ----------
    report
        Outcome of the check of the answer; None if there is no answer.
    status, value, bound, reason
        The claims, in input units; None for a claim that is not made.

    Returns
    -------
    list of Violation
        Rules ``status``, ``objective_value``, ``bound``, ``infeasible_claim``, ``reason``.
    """
    return [
        *_judge_status(report, status, value),
        *_judge_value(report, value),
        *_judge_bound(problem, report, status, bound),
        *_judge_reason(problem, status, reason),
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
        yield Violation("objective_value", f"value {value} is claimed, the answer has {known}")


def _judge_bound(
    problem: CodedProblem,
    report: CheckReport | None,
    status: Status | None,
    bound: int | float | None,
) -> Iterator[Violation]:
    if report is None or not report.valid or report.value is None or bound is None:
        return
    if _equal(bound, report.value):
        return
    beyond = bound > report.value
    side = "above"
    if problem.sense is Sense.MAX:
        beyond, side = not beyond, "below"
    if beyond:
        message = f"bound {bound} is {side} the value {report.value} of a right answer"
        yield Violation("bound", message)
    elif status is Status.OPTIMAL:
        message = f"OPTIMAL is claimed with bound {bound}, but the value is {report.value}"
        yield Violation("bound", message)


def _judge_reason(
    problem: CodedProblem, status: Status | None, reason: Reason | None
) -> Iterator[Violation]:
    if reason is None:
        return
    if status is not None and status is not Status.INFEASIBLE:
        yield Violation("reason", f"a reason of infeasibility is given with status {status}")
    if not verify_reason(problem, reason):
        yield Violation("reason", f"this does not hold: {reason.sentence()}")


def _equal(a: int | float, b: int | float) -> bool:
    return math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=1e-12)
