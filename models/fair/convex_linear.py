"""Linear programs of the policies that add up throughputs: total, cost, efficiency."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.convex_market import Built, Market
from allocsolve.models.fair.objectives import has_deadlines, required
from allocsolve.models.fair.problem import FairProblem

__all__ = ["cost", "envy_free_efficiency", "total_throughput"]


def total_throughput(problem: FairProblem) -> Built:
    """Return ``max sum w U``."""
    market = Market(problem)
    return _most_of(market, market.weight)


def _most_of(market: Market, weight: FloatArray, *more: cp.Constraint) -> Built:
    worth = weight * market.unit
    largest = float(worth.max(initial=0.0)) or 1.0
    gain = cp.Maximize((worth / largest) @ market.utility)
    return cp.Problem(gain, [*market.constraints, *more]), market.decoder(largest)


def cost(problem: FairProblem) -> Built:
    """Return ``min sum cost gang x`` with ``U_i >= remaining_i / deadline_i``.

    Without deadlines it is ``max sum w U`` over what is bought at the best utility for its
    cost anywhere: a ratio of linear functions is largest on an edge of the cone of shares.
    """
    market = Market(problem)
    return _cheapest(market) if has_deadlines(problem) else _best_value(market)


def _bill(market: Market) -> cp.Expression:
    """Return the cost as a part of that of the whole stock."""
    whole = market.problem.arrays.cost[market.types] * market.stock
    return (whole / _all(whole)) @ market.held


def _all(whole: FloatArray) -> float:
    return float(whole.sum()) or 1.0


def _cheapest(market: Market) -> Built:
    needed = required(market.problem)[market.rows] / market.unit
    whole = market.problem.arrays.cost[market.types] * market.stock
    program = cp.Problem(
        cp.Minimize(_bill(market)), [*market.constraints, market.utility >= needed]
    )
    return program, market.decoder(_all(whole))


def _best_value(market: Market) -> Built:
    """Forbid everything that is dearer for its utility than the best.

    More stock does not change the best ratio, so that nothing has a price.
    """
    arrays = market.problem.arrays
    spent = market.gang[:, None] * arrays.cost[market.types]
    pace = arrays.throughput[np.ix_(market.rows, market.types)] * arrays.weight[market.rows, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(pace > 0, pace / spent, 0.0)
    best = ratio >= ratio.max(initial=0.0) * (1 - 1e-12)
    forbidden = cp.multiply(np.where(best, 0.0, 1.0), market.amount) <= 0
    program, _ = _most_of(market, market.weight, forbidden)
    return program, market.decoder(0.0)


def envy_free_efficiency(problem: FairProblem) -> Built:
    """Return ``max sum U`` where no job gains more from the shares of another (OEF).

    The shares of the other count in proportion to weights and gangs. Where more than the
    whole time of the envious job would come together, the program asks for more than
    envy-freeness does: see :func:`allocsolve.models.fair.envy.envy_ratios`.
    """
    market = Market(problem)
    arrays, rows = problem.arrays, market.rows
    pace = arrays.throughput[np.ix_(rows, market.types)] / market.unit[:, None]
    factor = (market.weight / market.gang)[:, None] * (market.gang / market.weight)
    worth = cp.multiply(factor, pace @ cp.multiply(market.most, market.amount).T)
    own = cp.reshape(cp.diag(worth), (len(rows), 1), order="C")
    none = own @ np.ones((1, len(rows))) >= worth
    return _most_of(market, np.ones(len(rows)), none)
