"""Convex programs of the policies that add up gains: Nash welfare and the alpha-fair family."""

from __future__ import annotations

import cvxpy as cp
import numpy as np

from allocsolve.models.fair.convex_market import Built, Market
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.split import equal_split

__all__ = ["alpha_fair", "nash", "nash_sharing_incentive"]


def nash(problem: FairProblem) -> Built:
    """Return ``max sum w log U`` (Eisenberg, Gale, 1959).

    The program maximises the weighted mean of the logarithms.
    """
    market = Market(problem)
    return cp.Problem(_mean_logarithm(market), market.constraints), market.decoder(
        float(market.weight.sum())
    )


def _mean_logarithm(market: Market) -> cp.Maximize:
    return cp.Maximize((market.weight / market.weight.sum()) @ cp.log(market.utility))


def nash_sharing_incentive(problem: FairProblem) -> Built:
    """Return ``max sum w log U`` with the equal split as the least utility of each job."""
    market = Market(problem)
    floor = equal_split(problem.arrays, problem.settings)[market.rows] / market.unit
    constraints = [*market.constraints, market.utility >= floor]
    return cp.Problem(_mean_logarithm(market), constraints), market.decoder(
        float(market.weight.sum())
    )


def alpha_fair(problem: FairProblem) -> Built:
    """Return ``max sum w U^(1 - alpha) / (1 - alpha)`` (Mo, Walrand, 2000).

    Each gain is divided by the largest coefficient, so that none is above 1.
    """
    alpha = problem.settings.alpha
    if alpha == 1:
        return nash(problem)
    market = Market(problem)
    factor = np.log(market.weight) + (1 - alpha) * np.log(market.unit)
    highest = float(factor.max(initial=0.0)) if len(factor) else 0.0
    worth = np.exp(factor - highest)
    if alpha == 0:
        gain = worth @ market.utility
    else:
        gain = worth @ (cp.power(market.utility, 1 - alpha, approx=False) / (1 - alpha))
    return cp.Problem(cp.Maximize(gain), market.constraints), market.decoder(float(np.exp(highest)))
