"""What the convex programs of all policies share: variables, capacities, time cap, the way back.

Shares are written as parts of the most that a job can hold of a type, and utilities as parts
of the most that it can reach, so that every coefficient lies between 0 and 1 however the
throughputs and stocks are spread. Jobs that can gain nothing and types without stock are left
out before anything is built.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.certificates import ceilings
from allocsolve.models.fair.objectives import counted
from allocsolve.models.fair.problem import FairProblem

__all__ = ["Built", "Decode", "Market", "Solution"]


@dataclass(frozen=True)
class Solution:
    """What a solved program says, in the units of the instance.

    Attributes
    ----------
    shares, pair_shares
        float64 (n, m) and (q, m), feasible up to the tolerance of the solver.
    prices, time_prices, job_prices
        float64 (m,), (n,), (n,), d(objective)/d(capacity, time, utility) in the direction of
        better.
    """

    shares: FloatArray
    prices: FloatArray
    time_prices: FloatArray
    job_prices: FloatArray
    pair_shares: FloatArray | None = None


Decode = Callable[[], Solution]
"""Reads the values of the variables of a solved program."""

Built = tuple[cp.Problem, Decode]
"""A program and the way back."""


class Market:
    """Variables and constraints of a division.

    Attributes
    ----------
    rows, types
        Positions of the jobs that count and of the types in stock.
    unit
        float64 (k,), utility that stands for 1.
    most
        float64 (k, m), time share that stands for 1.
    amount, pair_amount
        Shares, (k, m) and (q, m).
    utility
        Utilities, (k,).
    """

    def __init__(self, problem: FairProblem) -> None:
        arrays = problem.arrays
        self.problem = problem
        self.rows: IntArray = counted(arrays)
        self.types: IntArray = np.flatnonzero(arrays.capacity > 0)
        self.stock: FloatArray = arrays.capacity[self.types]
        self.weight: FloatArray = arrays.weight[self.rows]
        self.gang: FloatArray = arrays.gang[self.rows]
        self.most = self._most(self.gang)
        self.pairs = _Pairs(self) if len(arrays.pair_jobs) else None
        unit = ceilings(problem)[self.rows]
        if self.pairs is not None:
            unit = np.maximum(unit, self.pairs.reach(len(self.rows)))
        self.unit: FloatArray = unit
        self.amount = cp.Variable((len(self.rows), len(self.types)), nonneg=True)
        self.utility = cp.Variable(len(self.rows), nonneg=True)

    def _most(self, gang: FloatArray) -> FloatArray:
        held: FloatArray = self.stock / gang[:, None]
        return np.minimum(held, 1.0) if self.problem.time_cap else held

    @cached_property
    def exchanging(self) -> IntArray:
        """Positions within ``rows`` of the jobs whose throughput counts."""
        return np.flatnonzero(self.problem.arrays.exchanges[self.rows])

    @cached_property
    def gain(self) -> cp.Constraint:
        """No utility without shares that bring it; its dual is the price of utility."""
        brought = self.problem.arrays.throughput[np.ix_(self.rows, self.types)] * self.most
        gained = cp.sum(cp.multiply(brought / self.unit[:, None], self.amount), axis=1)
        if self.pairs is not None:
            gained = gained + self.pairs.gained(self.unit)
        return self.utility[self.exchanging] <= gained[self.exchanging]

    @cached_property
    def held(self) -> cp.Expression:
        """The part of each type's stock that all jobs hold together, (m,)."""
        held = cp.sum(cp.multiply(self.gang[:, None] * self.most / self.stock, self.amount), axis=0)
        demand = self.problem.arrays.demand
        if demand is not None:
            asked = demand[np.ix_(self.rows, self.types)] * (self.gang * self.unit)[:, None]
            held = held + (asked / self.stock).T @ self.utility
        if self.pairs is not None:
            held = held + self.pairs.held()
        return held

    @cached_property
    def capacity(self) -> cp.Constraint:
        """No type is held beyond its stock; its dual is the price."""
        return self.held <= 1

    @cached_property
    def time(self) -> cp.Constraint | None:
        """The time shares of a job sum to at most 1."""
        if not self.problem.time_cap or not len(self.exchanging):
            return None
        used = cp.sum(cp.multiply(self.most, self.amount), axis=1)
        if self.pairs is not None:
            used = used + self.pairs.used()
        return used[self.exchanging] <= 1

    @cached_property
    def constraints(self) -> list[cp.Constraint]:
        """Every constraint of a division."""
        found = [self.gain, self.capacity]
        return found if self.time is None else [*found, self.time]

    def decoder(self, worth: Callable[[], float] | float = 1.0) -> Decode:
        """Return what reads a solution.

        Parameters
        ----------
        worth
            How much one unit of the program's objective is worth in the policy's own.
        """

        def decode() -> Solution:
            return self._read(worth() if callable(worth) else worth)

        return decode

    def _read(self, worth: float) -> Solution:
        arrays = self.problem.arrays
        n, m = arrays.throughput.shape
        place = np.ix_(self.rows, self.types)
        shares, prices, times, jobs = np.zeros((n, m)), np.zeros(m), np.zeros(n), np.zeros(n)
        part = np.where(arrays.throughput[place] > 0, _value(self.amount) * self.most, 0.0)
        if arrays.demand is not None:
            held = arrays.demand[place] * (_value(self.utility) * self.unit)[:, None]
            part = np.where(self._exchanges[:, None], part, 0.0) + held
        shares[place] = part
        prices[self.types] = worth * _dual(self.capacity) / self.stock
        where = self.rows[self.exchanging]
        if self.time is not None:
            times[where] = worth * _dual(self.time)
        jobs[where] = worth * _dual(self.gain) / self.unit[self.exchanging]
        pairs = None if self.pairs is None else self.pairs.shares(m)
        return Solution(shares, prices, times, jobs, pairs)

    @property
    def _exchanges(self) -> np.ndarray:
        return self.problem.arrays.exchanges[self.rows]


class _Pairs:
    """The pairs of jobs that count, with the time that they share."""

    def __init__(self, market: Market) -> None:
        arrays = market.problem.arrays
        place = np.full(len(arrays.gang), -1)
        place[market.rows] = np.arange(len(market.rows))
        ends = place[arrays.pair_jobs]
        self._count, self._jobs = len(ends), len(market.rows)
        self._types = market.types
        self._kept = np.flatnonzero((ends >= 0).all(axis=1))
        self._ends = ends[self._kept]
        gang = arrays.gang[arrays.pair_jobs[self._kept, 0]]
        self._pace = arrays.pair_throughput[self._kept][:, market.types]
        self._most: FloatArray = market._most(gang)
        self._load = gang[:, None] * self._most / market.stock
        self.amount = cp.Variable(self._most.shape, nonneg=True)

    def reach(self, jobs: int) -> FloatArray:
        """Return the most that a pair alone brings each job."""
        best = np.zeros(jobs)
        brought = (self._pace * self._most[:, :, None]).max(axis=1, initial=0.0)
        np.maximum.at(best, self._ends, brought)
        return best

    def _each(self, side: int) -> np.ndarray:
        """Return the matrix that adds what concerns one side of the pairs to its job."""
        table = np.zeros((self._jobs, len(self._ends)))
        table[self._ends[:, side], np.arange(len(self._ends))] = 1.0
        return table

    def gained(self, unit: FloatArray) -> cp.Expression:
        """Return the utilities that sharing brings, in these units."""
        total = cp.Constant(np.zeros(self._jobs))
        for side in (0, 1):
            brought = self._pace[:, :, side] * self._most / unit[self._ends[:, side]][:, None]
            total = total + self._each(side) @ cp.sum(cp.multiply(brought, self.amount), axis=1)
        return total

    def used(self) -> cp.Expression:
        """Return the time that each job spends sharing."""
        spent = cp.sum(cp.multiply(self._most, self.amount), axis=1)
        return (self._each(0) + self._each(1)) @ spent

    def held(self) -> cp.Expression:
        """Return the part of each type's stock that pairs hold."""
        return cp.sum(cp.multiply(self._load, self.amount), axis=0)

    def shares(self, types: int) -> FloatArray:
        """Return the shares of all pairs, float64 (q, types)."""
        found = np.zeros((self._count, types))
        useful = self._pace.max(axis=2) > 0
        found[np.ix_(self._kept, self._types)] = np.where(
            useful, _value(self.amount) * self._most, 0.0
        )
        return found


def _value(variable: cp.Variable) -> FloatArray:
    return np.maximum(np.asarray(variable.value, dtype=np.float64), 0.0)


def _dual(constraint: cp.Constraint) -> FloatArray:
    return np.maximum(np.asarray(constraint.dual_value, dtype=np.float64), 0.0)
