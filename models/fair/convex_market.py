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
from scipy import sparse

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.certificates import ceilings
from allocsolve.models.fair.objectives import counted
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.sharing import SharingClasses, sharing_classes

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
        Positions of the jobs that count and of the types in stock; where pairs share units, of
        one job of each class (:mod:`allocsolve.models.fair.sharing`).
    count
        float64 (k,), jobs for which each row stands.
    weight
        float64 (k,), weight of these jobs together.
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
        self.rows: IntArray = counted(arrays, problem.goal.name)
        self.count: FloatArray = np.ones(len(self.rows))
        self.types: IntArray = np.flatnonzero(arrays.capacity > 0)
        self.stock: FloatArray = arrays.capacity[self.types]
        self.classes = sharing_classes(problem) if len(arrays.pair_jobs) else None
        if self.classes is not None:
            self.rows = self.rows[self.classes.jobs.first]
            self.count = self.classes.jobs.count.astype(np.float64)
        self.weight: FloatArray = arrays.weight[self.rows] * self.count
        self.gang: FloatArray = arrays.gang[self.rows]
        self.most = self.most_of(self.gang * self.count)
        self.pairs = None if self.classes is None else _Pairs(self, self.classes)
        unit = ceilings(problem)[self.rows]
        if self.pairs is not None:
            unit = np.maximum(unit, self.pairs.reach(len(self.rows)))
        self.unit: FloatArray = unit
        self.amount = cp.Variable((len(self.rows), len(self.types)), nonneg=True)
        self.utility = cp.Variable(len(self.rows), nonneg=True)

    def most_of(self, gang: FloatArray, times: FloatArray | float = 1.0) -> FloatArray:
        """Return the largest share of time of these gangs on each type.

        Parameters
        ----------
        times
            How often the share counts for the time cap.
        """
        held: FloatArray = self.stock / gang[:, None]
        if not self.problem.time_cap:
            return held
        return np.minimum(held, 1.0 / np.asarray(times).reshape(-1, 1))

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
        each = (self.gang * self.count)[:, None] * self.most / self.stock
        held = cp.sum(cp.multiply(each, self.amount), axis=0)
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
        part = _value(self.amount) * self.most
        part = np.where(arrays.throughput[np.ix_(self.rows, self.types)] > 0, part, 0.0)
        if arrays.demand is not None:
            demand = arrays.demand[np.ix_(self.rows, self.types)]
            held = demand * (_value(self.utility) * self.unit)[:, None]
            part = np.where(self._exchanges[:, None], part, 0.0) + held
        prices, times, jobs = np.zeros(m), np.zeros(len(self.rows)), np.zeros(len(self.rows))
        prices[self.types] = worth * _dual(self.capacity) / self.stock
        where = self.exchanging
        if self.time is not None:
            times[where] = worth * _dual(self.time) / self.count[where]
        jobs[where] = worth * _dual(self.gain) / self.unit[where] / self.count[where]
        shares, wide = np.zeros((n, m)), np.zeros((len(self.rows), m))
        wide[:, self.types] = part
        every, member = self._members
        shares[every] = wide[member]
        pairs = None if self.pairs is None else self.pairs.shares(m)
        return Solution(shares, prices, self.spread(times), self.spread(jobs), pairs)

    @property
    def _members(self) -> tuple[IntArray, IntArray]:
        """Positions of all jobs that count, and the row that each of them has."""
        if self.classes is None:
            return self.rows, np.arange(len(self.rows))
        return self.classes.rows, self.classes.jobs.member

    def spread(self, values: FloatArray) -> FloatArray:
        """Return what rows say for all jobs, float64 (n,), 0 for those that do not count."""
        every, member = self._members
        spread = np.zeros(len(self.problem.arrays.gang))
        spread[every] = values[member]
        return spread

    @property
    def _exchanges(self) -> np.ndarray:
        return self.problem.arrays.exchanges[self.rows]


class _Pairs:
    """The classes of pairs of jobs that count, with the time that each pair shares."""

    def __init__(self, market: Market, classes: SharingClasses) -> None:
        arrays = market.problem.arrays
        self._jobs, self._types = len(market.rows), market.types
        self._classes = classes
        self._ends, self._each = classes.ends, classes.each
        gang = arrays.gang[arrays.pair_jobs[classes.pair_first, 0]] * classes.pair_count
        rates = arrays.pair_rates[arrays.pair_kind[classes.pair_first]]
        self._pace: FloatArray = rates[:, market.types]
        alone = self._ends[:, 0] == self._ends[:, 1]
        times = np.where(alone, self._each.sum(axis=1), self._each.max(axis=1))
        self._most: FloatArray = market.most_of(gang, times)
        self._load = gang[:, None] * self._most / market.stock
        self.amount = cp.Variable(self._most.shape, nonneg=True)

    def reach(self, jobs: int) -> FloatArray:
        """Return the most that a class of pairs alone brings each job."""
        best = np.zeros(jobs)
        brought = (self._pace * self._most[:, :, None]).max(axis=1, initial=0.0) * self._each
        np.maximum.at(best, self._ends, brought)
        return best

    def _sums(self, side: int) -> sparse.csr_matrix:
        """Return the matrix that adds what concerns one side of the pairs to its job."""
        shape = (self._jobs, len(self._ends))
        places = (self._ends[:, side], np.arange(len(self._ends)))
        return sparse.csr_matrix((self._each[:, side], places), shape=shape)

    def gained(self, unit: FloatArray) -> cp.Expression:
        """Return the utilities that sharing brings, in these units."""
        total = cp.Constant(np.zeros(self._jobs))
        for side in (0, 1):
            brought = self._pace[:, :, side] * self._most / unit[self._ends[:, side]][:, None]
            total = total + self._sums(side) @ cp.sum(cp.multiply(brought, self.amount), axis=1)
        return total

    def used(self) -> cp.Expression:
        """Return the time that each job spends sharing."""
        spent = cp.sum(cp.multiply(self._most, self.amount), axis=1)
        return (self._sums(0) + self._sums(1)) @ spent

    def held(self) -> cp.Expression:
        """Return the part of each type's stock that pairs hold."""
        return cp.sum(cp.multiply(self._load, self.amount), axis=0)

    def shares(self, types: int) -> FloatArray:
        """Return the shares of all pairs, float64 (q, types)."""
        found = np.zeros((len(self._ends) + 1, types))  # the last row is that of no class
        useful = self._pace.max(axis=2) > 0
        found[:-1, self._types] = np.where(useful, _value(self.amount) * self._most, 0.0)
        return found[self._classes.pair_member]


def _value(variable: cp.Variable) -> FloatArray:
    return np.maximum(np.asarray(variable.value, dtype=np.float64), 0.0)


def _dual(constraint: cp.Constraint) -> FloatArray:
    return np.maximum(np.asarray(constraint.dual_value, dtype=np.float64), 0.0)
