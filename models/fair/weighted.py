"""Bounds from prices and time prices through one inequality, with pairs that share units too.

For prices p, time prices l and unit prices y with ``y_i u_ij <= gang_i p_j + l_i`` for every
job and type, and the same summed over the two jobs of a pair, every allocation satisfies
``sum_i y_i U_i <= p.c + sum_i l_i`` (linear programming duality). The best value of an
objective under that one inequality is a bound, in closed form. All but that of ``cost`` stay
the same when p, l and y are multiplied by a number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.objectives import (
    counted,
    has_deadlines,
    isolated,
    required,
    scale,
    spread,
)
from allocsolve.models.fair.pair_prices import pair_margin
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.responses import offers_of, unit_prices
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.split import equal_split

__all__ = ["weighted_bound"]

_STEPS = 200


@dataclass(frozen=True)
class _Case:
    """The counted jobs with their unit prices, and the budget of the one inequality."""

    problem: FairProblem
    settings: Settings
    rows: IntArray
    unit: FloatArray
    budget: float
    time_price: FloatArray

    @property
    def weight(self) -> FloatArray:
        return self.problem.arrays.weight[self.rows]


def weighted_bound(
    problem: FairProblem,
    name: str,
    prices: FloatArray,
    time_prices: FloatArray,
    *,
    job_prices: FloatArray | None = None,
    settings: Settings | None = None,
) -> float:
    """Return a bound on the best value of an objective.

    Parameters
    ----------
    prices, time_prices
        float64 (m,) and (n,), not negative.
    job_prices
        float64 (n,), unit prices y to use where they are allowed; None for the largest. Only
        pairs make a difference.

    Returns
    -------
    float
        As :func:`allocsolve.models.fair.certificates.price_bound`; infinite for objectives
        that the inequality does not bound.
    """
    arrays, chosen = problem.arrays, settings or problem.settings
    rows = counted(arrays, name)
    if name not in _BOUNDS or not len(rows):
        return np.inf if len(rows) else 0.0
    spent = arrays.cost if name == "cost" else None
    unit, capped = np.zeros(len(rows)), np.zeros(len(rows), dtype=np.bool_)
    for offers in offers_of(arrays, prices, rows, spent):
        unit[offers.part] = unit_prices(offers, time_prices[rows][offers.part])
        capped[offers.part] = offers.capped
    if job_prices is not None:
        unit = np.minimum(unit, job_prices[rows])
    time_price = np.where(capped, time_prices[rows], 0.0)
    paid = prices if spent is None else prices + spent
    unit = unit * _fitting(problem, paid, spread(rows, time_price, len(arrays.gang)), rows, unit)
    budget = float(prices @ arrays.capacity + time_price.sum())
    value = _BOUNDS[name](_Case(problem, chosen, rows, unit, budget, time_price))
    return np.inf if np.isnan(value) else value


def _fitting(
    problem: FairProblem,
    prices: FloatArray,
    time_prices: FloatArray,
    rows: IntArray,
    unit: FloatArray,
) -> float:
    """Return the factor up to 1 by which unit prices fit to the pairs."""
    arrays = problem.arrays
    if not len(arrays.pair_jobs):
        return 1.0
    every = spread(rows, unit, len(arrays.gang))
    return min(pair_margin(arrays, every, prices, time_prices), 1.0)


def _first_level(name: str) -> Callable[[_Case], float]:
    def bound(case: _Case) -> float:
        return _level(case, scale(case.problem, name, case.settings)[case.rows])

    return bound


def _level(case: _Case, unit: FloatArray) -> float:
    price = float(case.unit @ unit)
    return case.budget / price if price > 0 else np.inf


def _makespan(case: _Case) -> float:
    price = float(case.unit @ case.problem.arrays.jobs.remaining[case.rows])
    return price / case.budget if case.budget > 0 else 0.0


def _equal(case: _Case) -> float:
    return _level(case, case.weight) * float(case.weight.sum())


def _linear(case: _Case, weight: FloatArray) -> float:
    """Return the bound on ``sum weight U``: the budget as often as the dearest weight."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return case.budget * float((weight / case.unit).max(initial=0.0))


def _total(case: _Case) -> float:
    return _linear(case, case.weight)


def _sum(case: _Case) -> float:
    return _linear(case, np.ones(len(case.rows)))


def _nash(case: _Case) -> float:
    """Spend the budget in proportion to the weights, as demand of that utility does."""
    weight = case.weight
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(weight @ np.log(weight * case.budget / (weight.sum() * case.unit)))


def _nash_with_floors(case: _Case) -> float:
    """Spend at least what the floors cost, the rest in proportion to the weights."""
    floor = equal_split(case.problem.arrays, case.settings)[case.rows]
    weight, least = case.weight, case.unit * floor
    order = np.argsort(-(least / weight), kind="stable")
    fixed = np.concatenate([[0.0], np.cumsum(least[order])])
    free = weight.sum() - np.concatenate([[0.0], np.cumsum(weight[order])])
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (case.budget - fixed[:-1]) / free[:-1]
        fits = np.flatnonzero(share >= (least / weight)[order])
        if not len(fits):
            return -np.inf if fixed[-1] > case.budget else float(weight @ np.log(floor))
        spent = np.maximum(least, share[fits[0]] * weight)
        return float(weight @ np.log(spent / case.unit))


def _alpha_fair(case: _Case) -> float:
    alpha, weight = case.settings.alpha, case.weight
    if alpha == 1:
        return _nash(case)
    if alpha == 0:
        return _total(case)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        utility = (weight / case.unit) ** (1 / alpha)
        utility = utility * (case.budget / float(case.unit @ utility))
        return float(weight @ (utility ** (1 - alpha) / (1 - alpha)))


def _finish_time(case: _Case) -> float:
    """Solve ``sum y_i remaining_i / (ratio isolated_i - elapsed_i) = budget`` from below."""
    jobs, rows = case.problem.arrays.jobs, case.rows
    left, elapsed = jobs.remaining[rows], jobs.elapsed[rows]
    alone_time = isolated(case.problem.arrays, case.settings)[rows]
    price = case.unit * left
    if case.budget <= 0:  # then time that has passed is what is left to prove
        return np.inf if price.any() else float((elapsed / alone_time).max())
    ratio = float(((elapsed + price / case.budget) / alone_time).max())
    for _ in range(_STEPS):
        time = np.where(price > 0, ratio * alone_time - elapsed, 1.0)
        excess = float((price / time).sum()) - case.budget
        if not excess > 1e-15 * case.budget:
            break
        ratio += excess / float((price * alone_time / time**2).sum())
    return ratio


def _cost(case: _Case) -> float:
    if not has_deadlines(case.problem):
        return np.inf
    needed = required(case.problem)[case.rows]
    return max(float(case.unit @ needed) - case.budget, 0.0)


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
        "envy_free_efficiency": _sum,
        "equal_throughput": _equal,
        "dominant_resource": _first_level("dominant_resource"),
        "partial_allocation": _nash,
    }
)
