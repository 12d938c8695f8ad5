"""A fair division as arrays: what solvers, checkers and the execution model compute with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.fair.columns import JobColumns

__all__ = ["FairArrays"]

ArrayT = TypeVar("ArrayT", BoolArray, FloatArray)


@dataclass(frozen=True, eq=False)
class FairArrays:
    """n jobs, m types, q pairs; every array is read-only.

    Attributes
    ----------
    jobs
        The columns of the jobs.
    capacity, cost
        float64 (m,), stock and price of each type.
    entity_weight
        float64 (entities,).
    entity_is_fifo
        bool (entities,).
    pair_jobs
        int64 (q, 2), the two jobs of each pair.
    pair_kind
        int64 (q,), row of ``pair_rates`` of each pair.
    pair_rates
        float64 (kinds, m, 2), progress of each of the two while they share.
    time_cap
        Whether the time shares of a job sum to at most 1.
    """

    jobs: JobColumns
    capacity: FloatArray
    cost: FloatArray
    entity_weight: FloatArray
    entity_is_fifo: BoolArray
    pair_jobs: IntArray
    pair_kind: IntArray
    pair_rates: FloatArray
    time_cap: bool

    def __post_init__(self) -> None:
        for array in (
            self.capacity,
            self.cost,
            self.entity_weight,
            self.entity_is_fifo,
            self.pair_jobs,
            self.pair_kind,
            self.pair_rates,
        ):
            array.setflags(write=False)

    @property
    def throughput(self) -> FloatArray:
        """float64 (n, m), progress per unit of time on each type."""
        return self.jobs.throughput

    @property
    def demand(self) -> FloatArray | None:
        """float64 (n, m), amount held per unit of progress, None if nothing is demanded."""
        return self.jobs.demand

    @property
    def gang(self) -> FloatArray:
        """float64 (n,), units that a job holds at once."""
        return self.jobs.gang

    @cached_property
    def pair_throughput(self) -> FloatArray:
        """float64 (q, m, 2), progress of the two jobs of each pair while they share."""
        return _fixed(self.pair_rates[self.pair_kind])

    @cached_property
    def exchanges(self) -> BoolArray:
        """Whether the throughput of a job counts, bool (n,): not for those of demands only."""
        if self.demand is None:
            return _fixed(np.ones(len(self.gang), dtype=np.bool_))
        gains, asks = (self.throughput > 0).any(axis=1), (self.demand > 0).any(axis=1)
        return _fixed(np.logical_or(gains, np.logical_not(asks)))

    @cached_property
    def reachable(self) -> BoolArray:
        """Whether any allocation gives the job a positive utility, bool (n,)."""
        stock = self.capacity > 0
        able = np.zeros(len(self.gang), dtype=np.bool_)
        for j in np.flatnonzero(stock):  # by column: no copy of a table of a million jobs
            able |= self.throughput[:, j] > 0
        gains: BoolArray = np.any(self.pair_rates[:, stock] > 0, axis=1)
        able[self.pair_jobs[gains[self.pair_kind]]] = True
        if self.demand is not None:
            able |= ~self.exchanges
            able &= ~(self.demand[:, ~stock] > 0).any(axis=1)
        return _fixed(able)

    @cached_property
    def weight(self) -> FloatArray:
        """float64 (n,), weight of each job after the weights of the entities are divided.

        A ``fair`` entity divides its weight in proportion to the weights of its jobs, a
        ``fifo`` one gives it to the job of least arrival (the first of equals), so that the
        others have weight 0. A job without entity keeps its own weight. Source: Narayanan
        et al., OSDI 2020, section 4.3.
        """
        entity, own = self.jobs.entity, self.jobs.weight
        if not (entity >= 0).any():
            return own
        weight = own.copy()
        members = np.flatnonzero(entity >= 0)
        total = np.bincount(entity[members], own[members], len(self.entity_weight))
        weight[members] = self.entity_weight[entity[members]] * own[members]
        weight[members] /= total[entity[members]]
        for k in np.flatnonzero(self.entity_is_fifo):
            line = np.flatnonzero(entity == k)
            if len(line):
                weight[line] = 0.0
                weight[line[np.argmin(self.jobs.arrival[line])]] = self.entity_weight[k]
        return _fixed(weight)


def _fixed(array: ArrayT) -> ArrayT:
    array.setflags(write=False)
    return array
