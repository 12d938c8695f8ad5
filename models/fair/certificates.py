"""Bounds on the best value of an objective from any prices, whoever found them.

Nothing is shared with a solver. Prices p >= 0 of the types are enough: dualising the
capacities leaves a problem for each job alone, solved in closed form (see
:mod:`allocsolve.models.fair.responses`). With time prices too, and for jobs that may share
units, the weighted sum ``sum y_i U_i <= p.c + sum time prices`` bounds every objective.
Any non-negative numbers give a valid bound; those of an optimal answer give its value.
Sources: Eisenberg, Gale, 1959; Boyd, Vandenberghe, "Convex Optimization", 2004, chapter 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.objectives import (
    alone,
    counted,
    has_deadlines,
    isolated,
    required,
    scale,
    sense_of,
)
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.responses import Power, best_gain, least_cost, offers_of
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.split import equal_split
from allocsolve.models.fair.weighted import weighted_bound
from allocsolve.models.result import Sense

__all__ = ["TIGHT", "ceilings", "certified_bound", "price_bound"]

_STEPS = 200
"""Most Newton steps; each iterate is a valid bound, so that fewer only loosen it."""
_CLOSE = 1e-15

TIGHT = frozenset(
    {
        "leximin",
        "max_min",
        "nash",
        "nash_sharing_incentive",
        "alpha_fair",
        "finish_time_fairness",
        "makespan",
        "total_throughput",
        "cost",
        "equal_throughput",
        "dominant_resource",
    }
)
"""Objectives whose bound from the right prices is the best value (strong duality)."""


@dataclass(frozen=True)
class _Case:
    """A problem with prices, its counted jobs and the value of its stock."""

    problem: FairProblem
    settings: Settings
    prices: FloatArray
    rows: IntArray

    @property
    def stock(self) -> float:
        """Price of everything that there is."""
        return float(self.prices @ self.problem.arrays.capacity)

    @property
    def weight(self) -> FloatArray:
        return self.problem.arrays.weight[self.rows]

    def gain(self, weight: FloatArray, alpha: float, floor: FloatArray | None = None) -> float:
        """Return the dual bound on the sum of gains: the price of the stock and each best."""
        total = self.stock
        for offers in offers_of(self.problem.arrays, self.prices, self.rows):
            part = offers.part
            least = None if floor is None else floor[part]
            total += float(best_gain(offers, Power(weight[part], alpha), least).sum())
        return total

    def cost(
        self, utility: FloatArray, spent: FloatArray | None = None
    ) -> tuple[float, FloatArray]:
        """Return the least cost of these utilities in all, and the slope for each job."""
        total, slopes = 0.0, np.zeros(len(self.rows))
        for offers in offers_of(self.problem.arrays, self.prices, self.rows, spent):
            cost, slopes[offers.part] = least_cost(offers, utility[offers.part])
            total += float(cost.sum())
        return total, slopes


def ceilings(problem: FairProblem) -> FloatArray:
    """Return the most that each job can reach with the whole stock for itself, float64 (n,)."""
    arrays = problem.arrays
    most = alone(arrays)
    if not arrays.time_cap:
        return most
    stock = arrays.capacity > 0
    best = arrays.throughput[:, stock].max(axis=1, initial=0.0)
    return np.where(arrays.exchanges, np.minimum(most, best), most)


def price_bound(
    problem: FairProblem, name: str, prices: FloatArray, settings: Settings | None = None
) -> float:
    """Return a bound on the best value of an objective, from prices alone.

    Parameters
    ----------
    prices
        float64 (m,), not negative.

    Returns
    -------
    float
        Not below the best value of an objective that is maximised, not above that of one
        that is minimised, up to rounding. With pairs that share units prices alone prove
        nothing: the bound is infinite, or 0 for an objective that is minimised.
    """
    rows = counted(problem.arrays, name)
    if len(problem.arrays.pair_jobs):
        return np.inf if sense_of(problem, name) is Sense.MAX else 0.0
    case = _Case(problem, settings or problem.settings, np.asarray(prices, dtype=float), rows)
    return _BOUNDS[name](case) if len(rows) else 0.0


def certified_bound(
    problem: FairProblem,
    name: str,
    prices: FloatArray,
    time_prices: FloatArray | None = None,
    *,
    job_prices: FloatArray | None = None,
    settings: Settings | None = None,
) -> float:
    """Return the better of the bounds that prices and, if given, time prices prove."""
    first = price_bound(problem, name, prices, settings)
    if time_prices is None:
        return first
    by = settings or problem.settings
    second = weighted_bound(problem, name, prices, time_prices, job_prices=job_prices, settings=by)
    if sense_of(problem, name) is Sense.MAX:
        return min(first, second)
    return max(first, second) if np.isfinite(second) else first


def _first_level(name: str) -> Callable[[_Case], float]:
    def bound(case: _Case) -> float:
        return _highest_level(case, scale(case.problem, name, case.settings)[case.rows])

    return bound


def _highest_level(case: _Case, unit: FloatArray) -> float:
    """Return the highest t for which utilities ``t unit`` cost no more than the stock.

    The least cost is convex in t, so Newton's method falls to the root and every iterate is a
    valid bound.
    """
    needed = unit > 0
    if not needed.any():
        return np.inf
    level = float((ceilings(case.problem)[case.rows][needed] / unit[needed]).min())
    for _ in range(_STEPS):
        cost, slopes = case.cost(_within(case, level * unit))
        excess = cost - case.stock
        if not excess > _CLOSE * abs(case.stock):
            break
        level = max(level - excess / float(slopes @ unit), 0.0)
    return level


def _within(case: _Case, utility: FloatArray) -> FloatArray:
    """Take rounding errors off utilities that are at the reach of a job."""
    return np.minimum(utility, ceilings(case.problem)[case.rows])


def _makespan(case: _Case) -> float:
    level = _highest_level(case, case.problem.arrays.jobs.remaining[case.rows])
    return 1 / level if level else np.inf


def _equal(case: _Case) -> float:
    return _highest_level(case, case.weight) * float(case.weight.sum())


def _nash(case: _Case) -> float:
    return case.gain(case.weight, 1.0)


def _nash_with_floors(case: _Case) -> float:
    floor = equal_split(case.problem.arrays, case.settings)[case.rows]
    return case.gain(case.weight, 1.0, floor)


def _alpha_fair(case: _Case) -> float:
    return case.gain(case.weight, case.settings.alpha)


def _total(case: _Case) -> float:
    return case.gain(case.weight, 0.0)


def _sum(case: _Case) -> float:
    return case.gain(np.ones(len(case.rows)), 0.0)


def _finish_time(case: _Case) -> float:
    """Return the least ratio at which the needed utilities cost no more than the stock.

    Their least cost is convex and falls in the ratio, so Newton's method rises to the root
    and every iterate is a valid bound.
    """
    jobs, rows = case.problem.arrays.jobs, case.rows
    left, elapsed = jobs.remaining[rows], jobs.elapsed[rows]
    alone_time = isolated(case.problem.arrays, case.settings)[rows]
    ratio = float(((elapsed + left / ceilings(case.problem)[rows]) / alone_time).max())
    for _ in range(_STEPS):
        time = np.where(left > 0, ratio * alone_time - elapsed, 1.0)
        utility = _within(case, left / time)
        cost, slopes = case.cost(utility)
        fall = float(slopes @ (utility * alone_time / time))
        if not cost - case.stock > _CLOSE * abs(case.stock) or not fall:
            break
        ratio += (cost - case.stock) / fall
    return ratio


def _cost(case: _Case) -> float:
    arrays = case.problem.arrays
    if not has_deadlines(case.problem):
        return _best_value(case)
    cost, _ = case.cost(required(case.problem)[case.rows], arrays.cost)
    return max(cost - case.stock, 0.0)


def _best_value(case: _Case) -> float:
    """Return the best weighted utility that money buys anywhere."""
    arrays = case.problem.arrays
    best = 0.0
    for offers in offers_of(arrays, np.zeros(len(arrays.cost)), case.rows, arrays.cost):
        with np.errstate(divide="ignore"):
            best = max(best, float((case.weight[offers.part] / offers.ratio).max(initial=0.0)))
    return best


def _mean_shortest(case: _Case) -> float:
    """Return the mean of the shortest runs: no job ends earlier."""
    arrays = case.problem.arrays
    fits = arrays.gang[case.rows, None] <= arrays.capacity
    fastest = np.where(fits, arrays.throughput[case.rows], 0.0).max(axis=1, initial=0.0)
    left = arrays.jobs.remaining[case.rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.where(left > 0, left / fastest, 0.0).mean())


_BOUNDS: Mapping[str, Callable[[_Case], float]] = MappingProxyType(
    {
        "leximin": _first_level("leximin"),
        "max_min": _first_level("max_min"),
        "nash": _nash,
        "nash_sharing_incentive": _nash_with_floors,
        "alpha_fair": _alpha_fair,
        "finish_time_fairness": _finish_time,
        "makespan": _makespan,
        "total_throughput": _total,
        "cost": _cost,
        "completion_time": _mean_shortest,
        "envy_free_efficiency": _sum,
        "equal_throughput": _equal,
        "dominant_resource": _first_level("dominant_resource"),
        "partial_allocation": _nash,
    }
)
