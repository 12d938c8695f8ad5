"""Bounds on the best value of an objective without searching for an allocation.

Two sources: what each job could reach with the whole stock for itself, and the prices of a
stock that is scarce in proportion to what the jobs would pay (a heuristic; any prices prove
a bound). The bound of an answer's own prices is in :mod:`allocsolve.models.fair.certificates`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.certificates import price_bound
from allocsolve.models.fair.objectives import counted, sense_of
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.models.result import Sense

__all__ = ["FairBound", "guessed_prices", "lower_bounds"]


@dataclass(frozen=True)
class FairBound:
    """A proven bound, with where it comes from.

    Attributes
    ----------
    value
        In units of the objective: not below the best value of an objective that is maximised,
        not above that of one that is minimised.
    source, detail
        Short name of the argument, and one sentence for a person.
    """

    value: float
    source: str
    detail: str = ""


def lower_bounds(
    problem: FairProblem, name: str, settings: Settings | None = None
) -> list[FairBound]:
    """Return finite bounds on an objective, the tightest first; none with pairs."""
    free = np.zeros(len(problem.types))
    found = [
        FairBound(
            price_bound(problem, name, prices, settings),
            source,
            detail,
        )
        for source, prices, detail in (
            ("ceilings", free, "every job alone with the whole stock"),
            ("guessed_prices", guessed_prices(problem), "prices in proportion to demand"),
        )
    ]
    sign = 1 if sense_of(problem, name) is Sense.MAX else -1
    return sorted((b for b in found if np.isfinite(b.value)), key=lambda b: sign * b.value)


def guessed_prices(problem: FairProblem) -> FloatArray:
    """Return prices at which jobs that spend their weight on their best type clear the stock."""
    arrays, rows = problem.arrays, counted(problem.arrays)
    stock = arrays.capacity > 0
    value = np.where(stock, arrays.throughput[rows], 0.0)
    best = value.max(axis=1, initial=0.0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(best > 0, (value / best) ** 2, 0.0)
        share = np.where(best > 0, share / share.sum(axis=1, keepdims=True), 0.0)
        if arrays.demand is not None:
            part = np.where(stock, arrays.demand[rows] / arrays.capacity, 0.0)
            total = part.sum(axis=1, keepdims=True)
            share = share + np.where(total > 0, part / total, 0.0)
        prices = arrays.weight[rows] @ share / arrays.capacity
    guessed: FloatArray = np.where(stock, prices, 0.0)
    return guessed
