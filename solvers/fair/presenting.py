"""From what a solver found to a feasible allocation with a certified bound.

Solvers leave rounding errors in capacities and time caps. Here they are taken off by scaling
down, and the prices are turned into a bound by the closed forms of
:mod:`allocsolve.models.fair.certificates`, which know nothing of the solver.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.arrays import FairArrays
from allocsolve.models.fair.bounds import guessed_prices
from allocsolve.models.fair.certificates import TIGHT, price_bound
from allocsolve.models.fair.claims import PROVED, price_gap
from allocsolve.models.fair.demands import judge_objective
from allocsolve.models.fair.objectives import counted, evaluate, gap, sense_of
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.responses import Power, best_time_price, offers_of
from allocsolve.models.fair.split import equal_split
from allocsolve.models.fair.utility import loads, time_used
from allocsolve.models.fair.weighted import weighted_bound
from allocsolve.models.result import RealBound, Sense
from allocsolve.solvers.control import RealControl

__all__ = ["firm", "goal_name", "offer", "repair", "signed", "time_prices_of"]


_ROUNDING = 1e-12
_LACKS = {
    "nash_sharing_incentive": "each job its equal split",
    "equal_throughput": "all jobs the same weighted throughput",
}
"""What shares must give by objective, where methods may fall short of it."""
_GAINS = ("nash", "nash_sharing_incentive", "alpha_fair")


def goal_name(problem: FairProblem) -> str:
    """Return the name of the objective of a problem."""
    return problem.objective.name if problem.objective else "leximin"


def signed(problem: FairProblem, value: float) -> float:
    """Return the cost that a value of the objective stands for, and the other way round."""
    return -value if sense_of(problem, goal_name(problem)) is Sense.MAX else value


def repair(
    arrays: FairArrays, shares: FloatArray, pair_shares: FloatArray | None = None
) -> tuple[FloatArray, FloatArray | None]:
    """Return shares that keep every rule, as close to the given ones as scaling down allows."""
    fixed = np.maximum(shares, 0.0)
    pairs = None if pair_shares is None else np.maximum(pair_shares, 0.0)
    if arrays.time_cap:
        excess = np.maximum(time_used(arrays, fixed, pairs), 1.0)
        if pairs is not None and (excess > 1).any():
            first, second = arrays.pair_jobs.T
            pairs = pairs / np.maximum(excess[first], excess[second])[:, None]
        fixed /= excess[:, None]
    held = loads(arrays, fixed, pairs)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.where(held > arrays.capacity, arrays.capacity / held, 1.0)
    if (factor < 1).any():
        fixed *= factor
        pairs = None if pairs is None else pairs * factor
    return fixed, pairs


def time_prices_of(arrays: FairArrays, prices: FloatArray, job_prices: FloatArray) -> FloatArray:
    """Return the least price of time at which no job wants more, float64 (n,).

    ``max_j (y_i u_ij - gang_i p_j)^+`` for a price y_i of its utility; 0 without a time cap.
    A job with demands pays for them with every unit of utility.
    """
    best = np.zeros(len(arrays.gang))
    if not arrays.time_cap:
        return best
    worth = job_prices
    if arrays.demand is not None:
        worth = np.where(arrays.exchanges, job_prices - arrays.gang * (arrays.demand @ prices), 0.0)
    for j in np.flatnonzero(arrays.capacity > 0):  # by column: no copy of a large table
        np.maximum(best, worth * arrays.throughput[:, j] - arrays.gang * prices[j], out=best)
    return best


def firm(problem: FairProblem, prices: FloatArray) -> FloatArray:
    """Return prices that prove something even if rounding made them too low.

    Where gains are linear and time is not limited, a job would buy without end at a price that
    is below its worth: by a rounding error, or of a stock so small that a solver overlooks it.
    """
    arrays, name = problem.arrays, goal_name(problem)
    if name == "alpha_fair" and problem.settings.alpha == 0:
        name = "total_throughput"
    if name not in ("total_throughput", "envy_free_efficiency") or problem.time_cap:
        return prices
    if name == "total_throughput" and arrays.demand is None and not len(arrays.pair_jobs):
        worth = arrays.weight[:, None] * arrays.throughput / arrays.gang[:, None]
        prices = np.where(arrays.capacity > 0, worth.max(axis=0, initial=0.0), 0.0)
    return prices * (1 + _ROUNDING)


@dataclass(frozen=True)
class Offered:
    """What became of an answer: its value, its bound and the distance between them.

    ``kept`` says whether it keeps the floors of the objective; else nobody was told of it.
    ``lack`` is what those give.
    """

    value: float
    bound: float
    gap: float
    kept: bool = True
    lack: str = ""

    @property
    def proved(self) -> bool:
        """Whether the gap is small enough for a proof."""
        return self.kept and bool(abs(self.gap) <= PROVED)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a result says of an answer that is not proved."""
        if not self.kept:
            return (f"the method found no shares that give {self.lack}",)
        return () if self.proved else (f"the certified gap is {self.said}",)

    @property
    def said(self) -> str:
        """The gap as warnings name it: infinity where the prices bound nothing."""
        return f"{self.gap:.1e}" if math.isfinite(self.gap) else "infinity"


def _certified(answer: FairAnswer, value: float) -> tuple[FairAnswer, float]:
    """Return an answer all of whose prices prove its bound, as far as that can be, and the bound.

    The gain of a job with a small weight is so flat that its shares, and with them the time
    price of its utility, are known to few digits only: then those of the best responses count.
    """
    problem, name, prices = answer.problem, goal_name(answer.problem), answer.prices
    assert prices is not None
    first = price_bound(problem, name, prices)
    if answer.time_prices is None:
        return answer, first
    second = weighted_bound(problem, name, prices, answer.time_prices, job_prices=answer.job_prices)
    near = abs(gap(problem, name, value, first)) <= PROVED
    if near and not abs(gap(problem, name, value, second)) <= PROVED and math.isfinite(second):
        times = _best_time_prices(problem, prices) if name in _GAINS else None
        if times is not None:
            second = weighted_bound(problem, name, prices, times)
        if times is None or not abs(gap(problem, name, value, second)) <= PROVED:
            return replace(answer, time_prices=None), first  # none are better than wrong ones
        answer = replace(answer, time_prices=times)
    alone = not len(problem.arrays.pair_jobs)  # with pairs the first proves nothing
    if name in TIGHT and not near and alone and math.isfinite(first):
        return answer, first  # the checker asks both for a proof
    if sense_of(problem, name) is Sense.MAX:
        return answer, min(first, second)
    return answer, max(first, second) if np.isfinite(second) else first


def _best_time_prices(problem: FairProblem, prices: FloatArray) -> FloatArray:
    arrays, by, name = problem.arrays, problem.settings, goal_name(problem)
    rows, found = counted(arrays), np.zeros(len(arrays.gang))
    alpha = by.alpha if name == "alpha_fair" else 1.0
    floor = equal_split(arrays, by)[rows] if name == "nash_sharing_incentive" else None
    for offers in offers_of(arrays, prices, rows):
        part = rows[offers.part]
        least = None if floor is None else floor[offers.part]
        found[part] = best_time_price(offers, Power(arrays.weight[part], alpha), least)
    return found


def offer(
    answer: FairAnswer, control: RealControl[FairAnswer], source: str, *, bounds: bool = True
) -> Offered:
    """Hand an answer and the bound that its prices prove to the control.

    Parameters
    ----------
    bounds
        Whether the prices are those of the whole problem, so that a bound is worth computing.
    """
    problem, name = answer.problem, goal_name(answer.problem)
    value = evaluate(answer, name)
    bound = np.inf if sense_of(problem, name) is Sense.MAX else -np.inf
    if bounds and answer.prices is not None:
        answer, bound = _certified(answer, value)
    kept = _keeps_rules(answer, name)
    before = control.answer
    if np.isfinite(value) and kept:
        control.offer(answer, signed(problem, value), source)
    if np.isfinite(bound):
        detail = "what each job would do alone at the prices of the answer"
        control.raise_bound(RealBound(signed(problem, bound), "prices", detail))
    offered = Offered(value, bound, gap(problem, name, value, bound), kept, _LACKS.get(name, ""))
    if bounds and name in TIGHT and not (offered.proved and control.answer is answer):
        _join(control, [each for each in (answer, before) if each is not None])
    return offered


def _join(control: RealControl[FairAnswer], known: list[FairAnswer]) -> None:
    """Give the best shares the best prices: a document proves only what its own prices do."""
    best, value = control.answer, control.value
    if best is None or value is None:
        return
    problem, name = best.problem, goal_name(best.problem)
    reached = signed(problem, value)
    gaps: dict[float, FairAnswer] = {}
    for priced in (best, *known, *_guessed(best, control)):
        joined = best if priced is best else _with_prices(best, priced, reached)
        found = price_gap(problem, joined, name, reached, problem.settings)
        if found is None:
            continue
        if abs(found) <= PROVED:
            control.refine(joined)
            return
        gaps.setdefault(abs(found), joined)
    if gaps:
        control.refine(gaps[min(gaps)])


def _guessed(best: FairAnswer, control: RealControl[FairAnswer]) -> Iterator[FairAnswer]:
    """Yield the answer with the prices that prove the bound, if no answer brought it."""
    problem, bound = best.problem, control.bound
    if bound is not None and bound.source == "guessed_prices":
        yield replace(best, prices=guessed_prices(problem), time_prices=None, job_prices=None)
    elif bound is not None and bound.source == "ceilings":
        free = np.zeros(len(problem.types))
        yield replace(best, prices=free, time_prices=None, job_prices=None)


def _with_prices(best: FairAnswer, priced: FairAnswer, value: float) -> FairAnswer:
    if priced.prices is None:
        return best
    joined = replace(
        best,
        prices=priced.prices,
        time_prices=priced.time_prices,
        job_prices=priced.job_prices,
    )
    return _certified(joined, value)[0]


def _keeps_rules(answer: FairAnswer, name: str) -> bool:
    """Whether floors are kept, of which proportional ones may be too much, and levels equal."""
    if name not in _LACKS:
        return True
    return next(judge_objective(answer, name, answer.problem.settings), None) is None
