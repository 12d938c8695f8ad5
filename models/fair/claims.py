"""What a result claims about its allocation, compared with what checker and prices say."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

from allocsolve.models.claims import PROVED, Claims, Measures, judge_claims
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.certificates import TIGHT, price_bound
from allocsolve.models.fair.objectives import gap as gap_of
from allocsolve.models.fair.objectives import sense_of
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.verify import verify_reason
from allocsolve.models.fair.weighted import weighted_bound
from allocsolve.models.result import CheckReport, Status, Violation

__all__ = ["PROVED", "check_claims", "price_gap"]

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
        gaps.append(gap_of(problem, name, value, bound))
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
            gaps.append(gap_of(problem, name, value, bound))
    found = max(gaps, key=abs, default=None)
    return math.inf if found is not None and math.isnan(found) else found


def check_claims(
    problem: FairProblem,
    answer: FairAnswer | None,
    report: CheckReport | None,
    claims: Claims,
    *,
    name: str,
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
    tolerance
        Gap up to which ``OPTIMAL`` may be claimed.

    Returns
    -------
    list of Violation
        As :func:`allocsolve.models.claims.judge_claims`, and ``certificate``.
    """
    distance = partial(gap_of, problem, name)
    measures = Measures(
        sense=sense_of(problem, name),
        same=partial(_equal, problem, name),
        meet=lambda value, bound: value == bound or abs(distance(value, bound)) <= tolerance,
        verified=partial(verify_reason, problem),
        gap=distance,
    )
    found = [*judge_claims(report, claims, measures), *_judge_worthless(report, claims)]
    if claims.status is not Status.OPTIMAL or name not in TIGHT:
        return found
    if answer is None or report is None or report.value is None or not report.valid:
        return found
    by, known = settings or problem.settings, float(report.value)
    return [*found, *_judge_certificate(problem, answer, name, known, by, tolerance)]


def _judge_worthless(report: CheckReport | None, claims: Claims) -> Iterator[Violation]:
    """Refuse the claims about an allocation whose value is infinite: it is worth nothing."""
    if report is None or not report.valid or report.value is not None:
        return
    if claims.value is not None:
        message = f"value {claims.value} is claimed, that of the allocation is infinite"
        yield Violation("objective_value", message)
    elif claims.status is Status.OPTIMAL:
        message = "OPTIMAL is claimed for an allocation whose value is infinite"
        yield Violation("objective_value", message)


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


def _equal(problem: FairProblem, name: str, a: float, b: float) -> bool:
    """Compare up to rounding; sums of logarithms that nearly cancel by their mean."""
    close = math.isclose(a, b, rel_tol=_ROUNDING, abs_tol=0.0)
    return close or abs(gap_of(problem, name, a, b)) <= _ROUNDING
