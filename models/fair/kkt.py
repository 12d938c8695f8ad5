"""How far an answer with its prices is from the conditions of Karush, Kuhn and Tucker.

Every objective but those without prices is ``max sum gain_i(U_i) + level - money`` over shares
with ``U_i = u_i.x_i``, so an answer is optimal exactly if there are prices p of the types, time
prices l and unit prices y of utility, none negative, with

* stationarity: ``y_i u_ij <= gang_i (p_j + cost_j) + l_i`` for every job and type (the same
  summed over the two jobs of a pair), y_i the slope of the gain, and ``sum y_i f_i`` the worth
  of the level where one is raised;
* complementarity: what a job gets is worth what it pays, types with a price are full, time with
  a price is used, and utility above a floor, a level or a need has no price;
* feasibility: of shares and of prices.

Here each is measured as one number, relative to what it is about. Sources: Karush, 1939; Kuhn,
Tucker, 1951; Boyd, Vandenberghe, "Convex Optimization", 2004, section 5.5.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.objectives import (
    counted,
    evaluate,
    has_deadlines,
    isolated,
    required,
    scale,
)
from allocsolve.models.fair.pair_prices import pair_margin
from allocsolve.models.fair.responses import offers_of, unit_prices
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.split import equal_split
from allocsolve.models.fair.utility import loads, time_used

__all__ = ["Residuals", "kkt_residuals"]

_LEVEL = 1e-9
"""Relative difference of ratios that counts as none."""


@dataclass(frozen=True)
class Residuals:
    """Relative residuals of the three groups of conditions, each at least 0.

    Attributes
    ----------
    stationarity
        The largest part by which a job would gain more on a type than it costs there, relative
        to what its fastest type is worth to it, and the relative error of the worth of a level.
    complementarity
        The largest of the sums of products that must vanish, relative to the worth of the whole
        stock and all time at these prices.
    feasibility
        The largest relative violation of a stock, the time cap, a floor or a need.
    """

    stationarity: float
    complementarity: float
    feasibility: float

    @property
    def worst(self) -> float:
        """The largest of the three: what documents report as the residual."""
        return max(self.stationarity, self.complementarity, self.feasibility)


@dataclass(frozen=True)
class _Rule:
    """What an objective asks of the unit prices of the counted jobs.

    Attributes
    ----------
    slope
        float64 (k,), slope of the gain at the utility; None where only a level or a need counts.
    least
        float64 (k,), utility that the job must have; None for none.
    rises
        float64 (k,), how the least utility rises with the level.
    worth
        What a unit of the level is worth.
    """

    slope: FloatArray | None = None
    least: FloatArray | None = None
    rises: FloatArray | None = None
    worth: float = 1.0


@dataclass(frozen=True)
class _Case:
    """An answer with the counted jobs and the settings of its objective."""

    answer: FairAnswer
    name: str
    settings: Settings
    rows: IntArray

    @property
    def utility(self) -> FloatArray:
        return self.answer.utilities[self.rows]

    @property
    def weight(self) -> FloatArray:
        return self.answer.problem.arrays.weight[self.rows]


def kkt_residuals(
    answer: FairAnswer, name: str, settings: Settings | None = None
) -> Residuals | None:
    """Return the residuals of an answer for an objective.

    Unit prices are those of the answer where it has any (pairs that share units need them);
    otherwise the slopes of the gains, or the most that dual feasibility allows.

    Returns
    -------
    Residuals or None
        None for objectives without prices (``completion_time``, ``envy_free_efficiency``,
        ``partial_allocation``), for value per money, and for answers without prices.
    """
    arrays, by = answer.problem.arrays, settings or answer.problem.settings
    if name not in _RULES or answer.prices is None:
        return None
    if name == "cost" and not has_deadlines(answer.problem):
        return None
    case = _Case(answer, name, by, counted(arrays, name))
    if not len(case.rows):
        return Residuals(0.0, 0.0, _infeasibility(case, None))
    if len(arrays.pair_jobs) and (answer.job_prices is None or answer.time_prices is None):
        return None
    if arrays.time_cap and answer.time_prices is None:
        return None
    return _measure(case, answer.prices, _RULES[name](case))


def _measure(case: _Case, prices: FloatArray, rule: _Rule) -> Residuals:
    arrays, rows, answer = case.answer.problem.arrays, case.rows, case.answer
    times = answer.time_prices[rows] if answer.time_prices is not None else np.zeros(len(rows))
    paid = prices + arrays.cost if case.name == "cost" else prices
    unit, excess = _unit_prices(case, paid, times, rule)
    stationarity = max(excess, _pair_excess(case, paid, unit))
    if rule.rises is not None:
        raised = float(unit @ rule.rises)
        stationarity = max(stationarity, abs(raised / rule.worth - 1) if rule.worth else 0.0)
    return Residuals(
        stationarity,
        _incomplementarity(case, prices, times, unit, rule),
        _infeasibility(case, rule),
    )


def _unit_prices(
    case: _Case, paid: FloatArray, times: FloatArray, rule: _Rule
) -> tuple[FloatArray, float]:
    """Return the unit prices y, and the largest relative excess of y u over its price."""
    arrays, given = case.answer.problem.arrays, case.answer.job_prices
    unit, worst = np.zeros(len(case.rows)), 0.0
    for offers in offers_of(arrays, paid, case.rows):
        part, time = offers.part, np.where(offers.capped, times[offers.part], 0.0)
        allowed = unit_prices(offers, time)
        if given is not None:
            own = given[case.rows[part]]
        elif rule.slope is None:
            own = allowed
        elif rule.least is None:
            own = rule.slope[part]
        else:  # what is above the slope is the price of the floor
            own = np.maximum(rule.slope[part], allowed)
        unit[part] = own
        with np.errstate(divide="ignore", invalid="ignore"):
            over = 1 - allowed / own
        worst = max(worst, float(np.where(own > 0, over, 0.0).max(initial=0.0)))
    return unit, worst


def _pair_excess(case: _Case, paid: FloatArray, unit: FloatArray) -> float:
    """Return by how much the jobs of a pair would gain more together than they pay."""
    arrays, times = case.answer.problem.arrays, case.answer.time_prices
    if not len(arrays.pair_jobs) or times is None:
        return 0.0
    each = np.zeros(len(arrays.gang))
    each[case.rows] = unit
    return max(1 - pair_margin(arrays, each, paid, times), 0.0)


def _incomplementarity(
    case: _Case, prices: FloatArray, times: FloatArray, unit: FloatArray, rule: _Rule
) -> float:
    answer, rows = case.answer, case.rows
    arrays = answer.problem.arrays
    held = loads(arrays, answer.shares, answer.pair_shares)
    used = time_used(arrays, answer.shares, answer.pair_shares)[rows]
    times = np.where(arrays.exchanges[rows], times, 0.0) if arrays.time_cap else 0.0 * times
    money = arrays.cost if case.name == "cost" else np.zeros(len(prices))
    whole = float(prices @ arrays.capacity + times.sum() + money @ held)
    # What all jobs pay beyond what it is worth to them: no term is negative but by rounding.
    unpaid = float((prices + money) @ held + times @ used - unit @ case.utility)
    sums = [unpaid, float(prices @ (arrays.capacity - held)), float(times @ (1 - used))]
    if rule.least is not None:
        slope = rule.slope if rule.slope is not None else 0.0
        sums.append(float(np.maximum(unit - slope, 0.0) @ (case.utility - rule.least)))
    worst = max(abs(value) for value in sums)
    if not whole > 0:
        return 0.0 if worst == 0 else np.inf
    return worst / whole


def _infeasibility(case: _Case, rule: _Rule | None) -> float:
    answer = case.answer
    arrays = answer.problem.arrays
    held = loads(arrays, answer.shares, answer.pair_shares)
    with np.errstate(divide="ignore", invalid="ignore"):
        over = np.where(held > arrays.capacity, held / arrays.capacity - 1, 0.0)
    worst = max(float(over.max(initial=0.0)), float(-answer.shares.min(initial=0.0)))
    if arrays.time_cap:
        used = time_used(arrays, answer.shares, answer.pair_shares)
        worst = max(worst, float(used.max(initial=0.0)) - 1)
    if rule is not None and rule.least is not None:
        needed = rule.least > 0
        short = 1 - case.utility[needed] / rule.least[needed]
        worst = max(worst, float(short.max(initial=0.0)))
    return worst


def _gains(alpha: float) -> Callable[[_Case], _Rule]:
    def rule(case: _Case) -> _Rule:
        exponent = case.settings.alpha if case.name == "alpha_fair" else alpha
        with np.errstate(divide="ignore", over="ignore"):
            return _Rule(slope=case.weight * case.utility**-exponent)

    return rule


def _floors(case: _Case) -> _Rule:
    least = equal_split(case.answer.problem.arrays, case.settings)[case.rows]
    return _Rule(slope=_gains(1.0)(case).slope, least=least)


def _levels(case: _Case) -> _Rule:
    """Raise the level ``min U / f``; its worth in the objective is what the name says."""
    unit = scale(case.answer.problem, case.name, case.settings)[case.rows]
    needed = unit > 0
    level = float((case.utility[needed] / unit[needed]).min(initial=np.inf))
    level, worth = (level, 1.0) if np.isfinite(level) else (0.0, 0.0)
    if case.name == "makespan" and level > 0:
        worth = level**-2.0
    elif case.name == "equal_throughput":
        worth = float(case.weight.sum())
    return _Rule(least=level * unit, rises=unit, worth=worth)


def _finish_times(case: _Case) -> _Rule:
    """Ask for ``U_i >= remaining / (r isolated - elapsed)`` at a ratio r.

    The ratio of a job with nothing left is fixed; where it is the largest, no price is due.
    """
    problem = case.answer.problem
    jobs, rows = problem.arrays.jobs, case.rows
    left, alone_time = jobs.remaining[rows], isolated(problem.arrays, case.settings)[rows]
    ratio = evaluate(case.answer, case.name, case.settings)
    fixed = float((jobs.elapsed[rows] / alone_time)[left == 0].max(initial=-np.inf))
    time = ratio * alone_time - jobs.elapsed[rows]
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(left > 0, left / time, 0.0)
        rises = np.where(left > 0, least * alone_time / time, 0.0)
    return _Rule(least=least, rises=rises, worth=float(ratio > fixed * (1 + _LEVEL)))


def _needs(case: _Case) -> _Rule:
    return _Rule(least=required(case.answer.problem)[case.rows])


_RULES: Mapping[str, Callable[[_Case], _Rule]] = MappingProxyType(
    {
        "leximin": _levels,
        "max_min": _levels,
        "nash": _gains(1.0),
        "nash_sharing_incentive": _floors,
        "alpha_fair": _gains(2.0),
        "finish_time_fairness": _finish_times,
        "makespan": _levels,
        "total_throughput": _gains(0.0),
        "cost": _needs,
        "equal_throughput": _levels,
        "dominant_resource": _levels,
    }
)
