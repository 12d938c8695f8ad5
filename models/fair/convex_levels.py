"""Convex programs of the policies that raise the lowest level: max-min and what is like it."""

from __future__ import annotations

from dataclasses import replace

import cvxpy as cp
import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.convex_market import Built, Market, Solution
from allocsolve.models.fair.objectives import isolated, required, scale
from allocsolve.models.fair.problem import FairProblem

__all__ = [
    "equal_throughput",
    "finish_time_fairness",
    "least_relaxation",
    "level_above",
    "makespan",
    "max_min",
]


def max_min(problem: FairProblem) -> Built:
    """Return ``max t`` with ``U_i >= t f_i`` (Narayanan et al., OSDI 2020).

    It serves all objectives that :func:`allocsolve.models.fair.objectives.scale` knows.
    """
    market = Market(problem)
    part, worth = _parts(market, scale(problem, problem.goal.name, problem.settings))
    level = cp.Variable()
    return cp.Problem(
        cp.Maximize(level), [*market.constraints, market.utility >= level * part]
    ), market.decoder(worth)


def _parts(market: Market, unit: FloatArray) -> tuple[FloatArray, float]:
    """Return the part of its reach that each job has at level 1, and that level."""
    part = unit[market.rows] / market.unit
    largest = float(part.max(initial=0.0)) or 1.0
    return part / largest, 1 / largest


def level_above(problem: FairProblem, unit: FloatArray, floor: FloatArray) -> Built:
    """Return ``max t`` with ``U_i >= t unit_i + floor_i``: one level of a leximin answer.

    The job prices of the solution are those of these rows.
    """
    market = Market(problem)
    level = cp.Variable()
    rows = market.rows
    part = unit[rows] / market.unit
    above = market.utility >= level * part + floor[rows] / market.unit
    read = market.decoder()

    def decode() -> Solution:
        worth = np.abs(np.asarray(above.dual_value)) / market.unit / market.count
        return replace(read(), job_prices=market.spread(worth))

    return cp.Problem(cp.Maximize(level), [*market.constraints, above]), decode


def makespan(problem: FairProblem) -> Built:
    """Return the max-min program whose level is the inverse of ``max remaining / U``."""
    market = Market(problem)
    part, worth = _parts(market, problem.arrays.jobs.remaining)
    level = cp.Variable()
    program = cp.Problem(cp.Maximize(level), [*market.constraints, market.utility >= level * part])

    def slope() -> float:
        """Return -d(makespan)/d(level of the program)."""
        return 1 / (worth * float(level.value) ** 2) if level.value else 0.0

    return program, market.decoder(slope)


def finish_time_fairness(problem: FairProblem) -> Built:
    """Return ``min r`` with ``elapsed_i + remaining_i / U_i <= r isolated_i`` (Themis, NSDI 2020).

    The left side is convex in the utility, so that no bisection is needed.
    """
    market = Market(problem)
    jobs, rows = problem.arrays.jobs, market.rows
    alone_time = isolated(problem.arrays, problem.settings)[rows]
    left = jobs.remaining[rows] / market.unit / alone_time
    busy = np.flatnonzero(left > 0)
    worth = float(((jobs.elapsed[rows] / alone_time) + left).max(initial=0.0)) or 1.0
    ratio = cp.Variable()
    constraints = [*market.constraints, ratio >= jobs.elapsed[rows] / alone_time / worth]
    if len(busy):
        time = cp.multiply(left[busy] / worth, cp.inv_pos(market.utility[busy]))
        spent = (jobs.elapsed[rows] / alone_time)[busy] / worth
        constraints.append(spent + time <= ratio)
    return cp.Problem(cp.Minimize(ratio), constraints), market.decoder(worth)


def equal_throughput(problem: FairProblem) -> Built:
    """Return ``max sum U`` with ``U_i / w_i`` equal for all."""
    market = Market(problem)
    part, worth = _parts(market, problem.arrays.weight)
    level = cp.Variable()
    return cp.Problem(
        cp.Maximize(level), [*market.constraints, market.utility >= level * part]
    ), market.decoder(worth * float(market.weight.sum()))


def least_relaxation(problem: FairProblem) -> Built:
    """Return ``max t`` with ``U_i >= t required_i`` for the jobs with deadlines.

    If t is below 1, the deadlines contradict each other and can be met once all are 1/t times
    as far away; the prices prove it (Farkas).
    """
    return level_above(problem, required(problem), np.zeros(len(problem.arrays.gang)))
