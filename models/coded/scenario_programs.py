"""What programs over listed draws decide, free of any engine.

Loads are whole. In each draw the time of a load on a node is known, so that for a draw and a time
the *most* that a node completes by then is a number. A *row* is such a vector of numbers, one for
each node: it is done if the loads that are no larger than it add up to the need. Every objective
is a statement on rows:

* deadline probability: one row for each draw, at the deadline; few are to be late,
* cost: the same rows, enough of which have to be done, at the least price,
* quantile: the same rows at a time that is tried; enough of them have to be done,
* mean: rows of each draw at rising times ``t_0 < t_1 < ..``; the completion time T, an order
  statistic of the arrivals, is at least ``t_0 + sum of (t_k - t_{k-1}) [T >= t_k]``, with equality
  if every time at which something can arrive is among them. No big M is needed.

Rows that no loads can do are left out, equal rows are merged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.problem import CodedProblem

__all__ = [
    "Goal",
    "ScenarioProgram",
    "Times",
    "at_time",
    "breakpoints",
    "over_times",
    "whole_terms",
]

Goal: TypeAlias = Literal["late", "price", "any"]
"""What is minimised: the weight of rows that are not done, the price of loads, or nothing."""

_TOUCHING = 1 + 4e-15
"""Rounding within which a job counts as complete by a deadline, as in the completion law."""

_LARGEST = 2**52
"""Largest sum of whole weights."""


@dataclass(frozen=True, eq=False)
class ScenarioProgram:
    """A choice of whole loads, judged by rows.

    Attributes
    ----------
    most
        int64 (rows, n), the largest load of each node that counts in a row.
    weight
        float64 (rows,), what a row adds to the value unless it is done.
    count
        int64 (rows,), the draws that a row stands for.
    base
        Value if every row is done.
    enough
        Draws that have to be done, None if that is free.
    """

    domain: Domain
    goal: Goal
    most: IntArray
    weight: FloatArray
    count: IntArray
    base: float = 0.0
    enough: int | None = None

    def choices(self) -> list[list[int]]:
        """Return for each node the loads above 0 that may be worth it, rising.

        A load that counts in no row is worth nothing. Where neither the total nor a price limits
        loads, one that counts in the same rows as a larger one is not needed either.
        """
        free = self.domain.total >= int(self.domain.caps.sum()) and self.domain.budget is None
        found = []
        for i in range(len(self.domain.caps)):
            steps = np.unique(self.most[:, i])
            steps = steps[steps > 0].tolist()
            top = steps[-1] if steps else 0
            found.append(steps if free and self.goal != "price" else list(range(1, top + 1)))
        return found

    def done(self, loads: Sequence[int]) -> BoolArray:
        """Return which rows are done, bool (rows,)."""
        given = np.asarray(loads)
        arrived = np.where(given <= self.most, given, 0).sum(axis=1)
        return np.asarray(arrived >= self.domain.need)

    def value(self, loads: Sequence[int]) -> float:
        """Return the weight of what is not done by some loads, or their price."""
        if self.goal == "price":
            return float(self.domain.cost(loads))
        return self.base + float(self.weight[~self.done(loads)].sum())


@dataclass(frozen=True, eq=False)
class Times:
    """When nodes complete loads in draws, rounded exactly as in the completion law.

    Attributes
    ----------
    draws
        float64 (draws, n), time of a unit of load.
    """

    problem: CodedProblem
    domain: Domain
    draws: FloatArray

    def of(self, loads: IntArray) -> FloatArray:
        """Return the time of a load of each node in each draw; infinite above the capacity.

        Parameters
        ----------
        loads
            int64 (draws, n).
        """
        arrays = self.problem.arrays
        offset = arrays.startup + arrays.message
        speed = np.where(arrays.speed > 0, arrays.speed, 1.0)
        if self.problem.scaling == "additive":
            times = (offset + loads * arrays.row_time) + (1.0 / speed) * self.draws
        else:
            times = offset + (loads / speed) * self.draws
        return np.where(loads > self.domain.caps, np.inf, times)

    def most(self, times: FloatArray, *, before: bool = False) -> IntArray:
        """Return the largest load that each node completes by a time, int64 (draws, n).

        Parameters
        ----------
        times
            float64 (draws, 1) or (1, 1).
        before
            Whether loads that are complete exactly at the time do not count.
        """
        low = np.zeros(self.draws.shape, np.int64)
        high = np.broadcast_to(self.domain.caps, low.shape)
        while (low < high).any():
            middle = (low + high + 1) // 2
            mine = self.of(middle)
            within = (mine < times) if before else (mine <= times)
            low, high = np.where(within, middle, low), np.where(within, high, middle - 1)
        return low

    def after(self, time: float) -> float:
        """Return the first time after another one at which something can arrive."""
        return float(self.of(self.most(np.array([[time]])) + 1).min(initial=np.inf))


def breakpoints(times: Times, low: FloatArray, high: FloatArray, most: int) -> FloatArray | None:
    """Return every time between two at which something can arrive, None if they are too many.

    Parameters
    ----------
    low, high
        float64 (draws,).
    most
        Largest number of times.

    Returns
    -------
    float64 (draws, times)
        Rising from ``low`` to ``high``; padded with infinity.
    """
    draws, caps = len(times.draws), times.domain.caps
    if draws * int(caps.sum()) > most:
        return None
    columns = [low, high]
    for load in range(1, int(caps.max(initial=0)) + 1):
        found = times.of(np.full((draws, len(caps)), load))
        within = (found > low[:, None]) & (found < high[:, None])
        columns.extend(np.where(within, found, np.inf).T)
    table = np.sort(np.array(columns).T, axis=1)
    used = int(np.isfinite(table).sum(axis=1).max(initial=1))
    return np.ascontiguousarray(table[:, :used])


def over_times(times: Times, grid: FloatArray) -> ScenarioProgram:
    """Return the program of the mean over rising times of each draw.

    Its value is at most the mean of the loads over the draws, and equal to it if each draw's
    completion time is among its times.

    Parameters
    ----------
    grid
        float64 (draws, k), rising; the first one bounds the completion time from below, equal
        and infinite ones are passed over.
    """
    share = 1.0 / len(grid)
    base, rows, weights = float(grid[:, 0].sum()) * share, [], []
    for before, time in zip(grid.T, grid.T[1:], strict=False):
        real = np.isfinite(time) & (time > before)
        gap = np.where(real, np.where(real, time, 0.0) - np.where(real, before, 0.0), 0.0)
        most = times.most(np.where(real, time, 0.0)[:, None], before=True)
        can = most.sum(axis=1) >= times.domain.need
        base += float(gap[~can].sum()) * share
        rows.append(most[real & can])
        weights.append(gap[real & can] * share)
    empty = np.zeros((0, len(times.domain.caps)), np.int64)
    table = np.concatenate([empty, *rows])
    weight: FloatArray = np.concatenate([np.zeros(0), *weights])
    most, where = np.unique(table, axis=0, return_inverse=True)
    where = where.reshape(-1)
    return ScenarioProgram(
        domain=times.domain,
        goal="late",
        most=most,
        weight=np.bincount(where, weight, len(most)).astype(np.float64),
        count=np.bincount(where, minlength=len(most)),
        base=base,
    )


def at_time(
    times: Times, time: float, goal: Goal, enough: int | None = None, *, touching: bool = False
) -> ScenarioProgram:
    """Return a program over all draws at one time; weights and value count draws.

    Parameters
    ----------
    touching
        Whether completion times that are later by rounding count, as for deadlines.
    """
    table = times.most(np.array([[time * (_TOUCHING if touching else 1.0)]]))
    can = table.sum(axis=1) >= times.domain.need
    most, count = np.unique(table[can], axis=0, return_counts=True)
    return ScenarioProgram(
        domain=times.domain,
        goal=goal,
        most=most,
        weight=count.astype(np.float64),
        count=count,
        base=float((~can).sum()),
        enough=enough,
    )


def whole_terms(values: Sequence[Fraction], times: int) -> tuple[list[int], Fraction]:
    """Return values in whole units, and how many units are one.

    Exact where a common fraction is not too fine; otherwise rounded down.

    Parameters
    ----------
    times
        How often each value counts at most, together.
    """
    most = sum(values, Fraction(0)) * max(times, 1)
    exact = math.lcm(*(value.denominator for value in values))
    if exact * most <= _LARGEST:
        return [int(value * exact) for value in values], Fraction(exact)
    unit = Fraction(2) ** math.floor(math.log2(_LARGEST / most))
    return [math.floor(value * unit) for value in values], unit
