"""What a result claims about its allocation, compared with what checker and prices say."""

from __future__ import annotations

import math
from collections.abc import Iterator

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.certificates import TIGHT, price_bound
from allocsolve.models.fair.objectives import gap, sense_of
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.verify import verify_reason
from allocsolve.models.fair.weighted import weighted_bound
from allocsolve.models.result import CheckReport, Reason, Sense, Status, Violation

__all__ = ["PROVED", "check_claims", "price_gap"]

PROVED = 1e-8
"""Gap up to which a continuous objective counts as proved."""

_ROUNDING = 1e-9


def price_gap(
    problem: FairProblem, answer: FairAnswer, name: str, value: float, settings: Settings
) -> float | None:
    """Return the gap that the prices of an answer prove, None without prices.

    If time prices are claimed too, both certificates are asked and the larger gap counts:
    every number that is claimed has to be right. With pairs only the second one applies.
    """
    if answer.prices is None:
        return None
    gaps = []
    if not len(problem.arrays.pair_jobs):
        bound = price_bound(problem, name, answer.prices, settings)
        gaps.append(gap(problem, name, value, bound))
    if answer.time_prices is not None:
        bound = weighted_bound(
            problem,
            name,
            answer.prices,
            answer.time_prices,
            job_prices=answer.job_prices,
            settings=settings,
        )
        if math.isfinite(bound) or len(problem.arrays.pair_jobs):
            gaps.append(gap(problem, name, value, bound))
    found = max(gaps, key=abs, default=None)
    return math.inf if found is not None and math.isnan(found) else found


def check_claims(
    problem: FairProblem,
    answer: FairAnswer | None,
    report: CheckReport | None,
    *,
    name: str,
    status: Status | None,
    value: float | None,
    bound: float | None,
    reason: Reason | None = None,
    settings: Settings | None = None,
    tolerance: float = PROVED,
) -> list[Violation]:
    """Judge the claims of a result or of a solution document.

    Parameters
    ----------
    answer, report
        The allocation and the outcome of its check, None if there is none.
    name
        The objective that the claims are about.
    status, value, bound, reason
        The claims; None for a claim that is not made.
    tolerance
        Gap up to which ``OPTIMAL`` may be claimed.

    Returns
    -------
    list of Violation
        Rules ``status``, ``objective_value``, ``bound``, ``certificate``,
        ``infeasible_claim``, ``reason``.
    """
    by = settings or problem.settings
    found = [*_judge_status(report, status, value), *_judge_reason(problem, status, reason)]
    if report is None or report.value is None or answer is None:
        return found
    known = float(report.value)
    if value is not None and not _equal(problem, name, value, known):
        message = f"value {value} is claimed, the allocation has {known}"
        found.append(Violation("objective_value", message))
    if report.valid:
        found.extend(_judge_bound(problem, name, status, known, bound, tolerance))
        if status is Status.OPTIMAL and name in TIGHT:
            found.extend(_judge_certificate(problem, answer, name, known, by, tolerance))
    return found


def _judge_status(
    report: CheckReport | None, status: Status | None, value: float | None
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


def _judge_bound(
    problem: FairProblem,
    name: str,
    status: Status | None,
    value: float,
    bound: float | None,
    tolerance: float,
) -> Iterator[Violation]:
    if bound is None:
        return
    better = value - bound if sense_of(problem, name) is Sense.MAX else bound - value
    distance = abs(gap(problem, name, value, bound))
    if better > 0 and distance > tolerance:
        message = f"the value {value} of a right answer is better than the bound {bound}"
        yield Violation("bound", message)
    elif status is Status.OPTIMAL and distance > tolerance:
        message = f"OPTIMAL is claimed with value {value} and bound {bound}"
        yield Violation("bound", message)


def _judge_certificate(
    problem: FairProblem,
    answer: FairAnswer,
    name: str,
    value: float,
    settings: Settings,
    tolerance: float,
) -> Iterator[Violation]:
    proved = price_gap(problem, answer, name, value, settings)
    if proved is not None and not abs(proved) <= tolerance:
        message = f"OPTIMAL is claimed, but the prices leave a gap of {proved}"
        yield Violation("certificate", message)


def _judge_reason(
    problem: FairProblem, status: Status | None, reason: Reason | None
) -> Iterator[Violation]:
    if reason is None:
        return
    if status is not None and status is not Status.INFEASIBLE:
        yield Violation("reason", f"a reason of infeasibility is given with status {status}")
    if not verify_reason(problem, reason):
        yield Violation("reason", f"this does not hold: {reason.sentence()}")


def _equal(problem: FairProblem, name: str, a: float, b: float) -> bool:
    """Compare up to rounding; sums of logarithms that nearly cancel by their mean."""
    close = math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=0.0)
    return close or abs(gap(problem, name, a, b)) <= _ROUNDING
