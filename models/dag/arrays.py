"""A ``dag`` instance as integers on its time grid: what bounds, formulations and search read.

Shapes: n tasks, m modes, e edges, N nodes, R resources. A *mode* is one way to execute a
task: a mode of the project form (no node) or one eligible node.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray, integers
from allocsolve.models.dag.ordering import order_along

__all__ = ["NO_LIMIT", "DagArrays"]

NO_LIMIT = 2**62
"""Stands for "no deadline" and "no maximum lag"."""


@dataclass(frozen=True, eq=False)
class DagArrays:
    """Integer arrays of an instance; all are read-only.

    Attributes
    ----------
    tick
        Length of one time unit of the grid, in units of the input.
    release, deadline
        int64 (n,), ticks; deadline ``NO_LIMIT`` if there is none.
    mode_offset
        int64 (n + 1,); the modes of task i are ``mode_offset[i] : mode_offset[i + 1]``. A node
        that is dead, or has less memory than the task alone needs, is no mode.
    mode_task, mode_duration, mode_node, mode_index
        int64 (m,): owner, ticks, node (-1 if it runs on none), position among the ``modes``
        of the task as listed in the input (0 for a mode that is a node).
    mode_demand
        int64 (m, R), in units of ``resource_unit``.
    capacity, renewable
        int64 (R,) and bool (R,).
    resource_unit
        R fractions: one unit of each resource's grid in units of the input.
    edge_source, edge_target
        int64 (e,), sorted, without repetitions for the same ``edge_from_start``.
    edge_min_lag, edge_max_lag
        int64 (e,), ticks from the end (or start) of the source to the start of the target;
        maximum ``NO_LIMIT`` if there is none.
    edge_from_start
        bool (e,): the lag counts from the start of the source.
    edge_data
        int64 (e,), multiples of the data grid; 0 sends nothing.
    node_slots
        int64 (N,).
    task_memory, node_memory
        int64 (n,) and (N,), multiples of a common unit; a task holds its memory from the
        beginning to the end of the schedule. A node without a limit has as much as all tasks
        together, and all are zero if no node has a limit.
    colocation
        int64 (n,): tasks with the same number share a node; -1 for a task on its own.
    latency, data_time
        int64 (N, N), ticks and ticks per unit of data; all zero if nothing is ever paid.
        Zero within a node. If all pairs of nodes have the same link, the rows share memory.
    linked
        bool (N, N): data can pass from one node to the other.
    horizon
        Ticks; if the instance has an answer it has an optimal one that ends by then.
    warnings
        What was repaired or left out while reading.
    """

    tick: Fraction
    release: IntArray
    deadline: IntArray
    mode_offset: IntArray
    mode_task: IntArray
    mode_duration: IntArray
    mode_node: IntArray
    mode_index: IntArray
    mode_demand: IntArray
    capacity: IntArray
    renewable: BoolArray
    resource_unit: tuple[Fraction, ...]
    edge_source: IntArray
    edge_target: IntArray
    edge_min_lag: IntArray
    edge_max_lag: IntArray
    edge_from_start: BoolArray
    edge_data: IntArray
    node_slots: IntArray
    task_memory: IntArray
    node_memory: IntArray
    colocation: IntArray
    latency: IntArray
    data_time: IntArray
    linked: BoolArray
    horizon: int
    warnings: tuple[str, ...]

    def modes_of(self, task: int) -> range:
        """Return the modes of a task."""
        return range(int(self.mode_offset[task]), int(self.mode_offset[task + 1]))

    def delay(self, edge: int, source: int, target: int) -> int | None:
        """Return the ticks that the data of an edge takes between two nodes.

        None means that the two nodes have no link; -1 as node stands for "no node".
        """
        data = int(self.edge_data[edge])
        if data == 0 or source == target or source < 0 or target < 0:
            return 0
        if not self.linked[source, target]:
            return None
        return int(self.latency[source, target]) + data * int(self.data_time[source, target])

    @cached_property
    def communicates(self) -> bool:
        """Whether some data costs time or cannot pass between two nodes."""
        if not self.edge_data.any():
            return False
        return bool(self.latency.any() or self.data_time.any() or not self.linked.all())

    @cached_property
    def limits_memory(self) -> bool:
        """Whether the memory of some node can run out."""
        return bool((self.node_memory < self.task_memory.sum()).any())

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The sets of two or more tasks that share a node, each in increasing order."""
        members: dict[int, list[int]] = {}
        for task, label in enumerate(self.colocation.tolist()):
            if label >= 0:
                members.setdefault(label, []).append(task)
        return tuple(tuple(group) for group in members.values() if len(group) > 1)

    @cached_property
    def min_duration(self) -> IntArray:
        """Shortest duration of each task, int64 (n,); 0 for a task without a mode."""
        return _reduce(self, smallest=True)

    @cached_property
    def max_duration(self) -> IntArray:
        """Longest duration of each task, int64 (n,); 0 for a task without a mode."""
        return _reduce(self, smallest=False)

    @cached_property
    def start_lag(self) -> IntArray:
        """Lag from start to start that every choice of modes implies, int64 (e,), ticks.

        Communication is left out: it is free when both tasks share a node.
        """
        lag = np.where(
            self.edge_from_start,
            self.edge_min_lag,
            self.edge_min_lag + self.min_duration[self.edge_source],
        )
        lag.setflags(write=False)
        return lag

    @cached_property
    def order(self) -> IntArray | None:
        """A topological order of the tasks along the edges, smallest index first.

        None if the edges have a cycle (possible with lags).
        """
        return _topological(len(self.release), self.edge_source, self.edge_target)


def _reduce(arrays: DagArrays, *, smallest: bool) -> IntArray:
    pick = np.minimum if smallest else np.maximum
    found = np.zeros(len(arrays.mode_offset) - 1, np.int64)
    able = np.diff(arrays.mode_offset) > 0
    if able.any():
        # Tasks without a mode take no room, so each row ends where the next one begins.
        found[able] = pick.reduceat(arrays.mode_duration, arrays.mode_offset[:-1][able])
    found.setflags(write=False)
    return found


def _topological(n: int, source: IntArray, target: IntArray) -> IntArray | None:
    if bool((source < target).all()):  # the order of the input is topological itself
        return integers(range(n))
    successors: list[list[int]] = [[] for _ in range(n)]
    for i, j in zip(source.tolist(), target.tolist(), strict=True):
        successors[i].append(j)
    order = integers(order_along(successors))
    position = np.empty(n, np.int64)
    position[order] = np.arange(n)
    return order if bool((position[source] < position[target]).all()) else None
