"""Tasks on communicating nodes as arrays: what compiled loops, bounds and formulations read.

Shapes: n tasks, N nodes, e edges. Every edge says ``start(to) >= end(from) + min_lag +
delay``; the delay is ``latency + data * data_time`` between different nodes, and 0 on the
same node or without data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.arrays import DagArrays
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import UsageError

__all__ = ["HONOURED", "NOT_ELIGIBLE", "CommGraph", "has_choice", "has_graph"]

ScalarT = TypeVar("ScalarT", bound=np.generic)

NOT_ELIGIBLE = -1
"""Duration of a task on a node where it cannot run."""

_CHOICE = 1.5
"""Nodes for each task, on the average, from which on nodes are chosen rather than given."""

HONOURED = frozenset(
    {
        Feature.MODES,
        Feature.NODES,
        Feature.RELEASES,
        Feature.LAGS,
        Feature.COMMUNICATION,
        Feature.MEMORY,
        Feature.COLOCATION,
    }
)
"""Features of an instance that a :class:`CommGraph` carries."""


def has_graph(problem: DagProblem) -> bool:
    """Whether the instance asks for nothing beyond what a :class:`CommGraph` carries."""
    return problem.features <= HONOURED


def has_choice(problem: DagProblem) -> bool:
    """Whether a :class:`CommGraph` carries the instance, and many tasks may choose a node."""
    if len(problem.nodes) < 2 or not has_graph(problem):
        return False
    return len(problem.arrays.mode_task) >= _CHOICE * max(1, len(problem.tasks))


@dataclass(frozen=True, eq=False)
class CommGraph:
    """A problem whose tasks all run on nodes; every array is read-only and C-contiguous.

    Attributes
    ----------
    duration
        int64 (n, N), ticks, ``NOT_ELIGIBLE`` where a task cannot run: it is not eligible
        there, or the tasks it shares a node with are not, or they need more memory.
    mode
        int64 (n, N), index into the problem's table of modes, -1 where not eligible.
    edge_source, edge_target, edge_data, edge_lag
        int64 (e,): ends, data (multiples of the data grid), minimum lag >= 0 (ticks).
    pred_offset, pred_task, pred_edge
        Predecessors of task i are ``pred_task[pred_offset[i] : pred_offset[i + 1]]``, along
        the edges ``pred_edge``; smallest index first.
    succ_offset, succ_task, succ_edge
        The same for successors.
    latency, data_time, linked
        int64, int64, bool (N, N); ticks and ticks per unit of data.
    slots
        int64 (N,): tasks that a node runs at a time.
    release
        int64 (n,), ticks.
    order
        int64 (n,), topological, smallest index first.
    memory, node_memory
        int64 (n,) and (N,), multiples of a common unit; a node without a limit has as much
        as all tasks together.
    group
        int64 (n,): tasks with the same number share a node; -1 for a task on its own.
    """

    problem: DagProblem
    duration: IntArray
    mode: IntArray
    edge_source: IntArray
    edge_target: IntArray
    edge_data: IntArray
    edge_lag: IntArray
    pred_offset: IntArray
    pred_task: IntArray
    pred_edge: IntArray
    succ_offset: IntArray
    succ_task: IntArray
    succ_edge: IntArray
    latency: IntArray
    data_time: IntArray
    linked: BoolArray
    slots: IntArray
    release: IntArray
    order: IntArray
    memory: IntArray
    node_memory: IntArray
    group: IntArray

    def __post_init__(self) -> None:
        """Close all arrays: loops are compiled once, for arrays that cannot be written to."""
        for value in vars(self).values():
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @classmethod
    def of(cls, problem: DagProblem) -> CommGraph:
        """Build the arrays of a problem.

        Raises
        ------
        UsageError
            If the problem is not of this form (see :func:`has_graph`).
        """
        arrays = problem.arrays
        order = arrays.order
        if not has_graph(problem) or order is None:
            raise UsageError(
                "only tasks that run on nodes, with lags from end to start of at least zero, "
                "make a graph of communicating tasks"
            )
        duration, mode = _tables(arrays)
        memory, node_memory = _frozen(arrays.task_memory), _frozen(arrays.node_memory)
        group = _frozen(arrays.colocation)
        _narrow(duration, group, memory, node_memory)
        mode[duration == NOT_ELIGIBLE] = -1
        n = len(arrays.release)
        pred_offset, pred_edge = _rows(n, arrays.edge_target)
        succ_offset, succ_edge = _rows(n, arrays.edge_source)
        return cls(
            problem,
            _frozen(duration),
            _frozen(mode),
            _frozen(arrays.edge_source),
            _frozen(arrays.edge_target),
            _frozen(arrays.edge_data),
            _frozen(arrays.edge_min_lag),
            pred_offset,
            _frozen(arrays.edge_source[pred_edge]),
            pred_edge,
            succ_offset,
            _frozen(arrays.edge_target[succ_edge]),
            succ_edge,
            _frozen(arrays.latency),
            _frozen(arrays.data_time),
            _frozen(arrays.linked),
            _frozen(arrays.node_slots),
            _frozen(arrays.release),
            _frozen(order),
            memory,
            node_memory,
            group,
        )

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.duration)

    @property
    def nodes(self) -> int:
        """Number of nodes, N."""
        return len(self.slots)

    @cached_property
    def eligible(self) -> BoolArray:
        """Where each task can run, bool (n, N)."""
        able: BoolArray = self.duration != NOT_ELIGIBLE
        able.setflags(write=False)
        return able

    @cached_property
    def is_open(self) -> bool:
        """Whether every task can run on every node."""
        return bool(self.eligible.all())

    @cached_property
    def fully_linked(self) -> bool:
        """Whether data can pass between any two nodes."""
        return bool(self.linked.all())

    @cached_property
    def uniform_links(self) -> bool:
        """Whether all pairs of different nodes have the same link."""
        apart = ~np.eye(self.nodes, dtype=bool)
        return all(
            len(np.unique(table[apart])) <= 1
            for table in (self.latency, self.data_time, self.linked)
        )

    @cached_property
    def identical(self) -> bool:
        """Whether all nodes are alike: durations, slots, memory and links."""
        alike = bool((self.duration == self.duration[:, :1]).all())
        alike &= len(np.unique(self.slots)) <= 1 and len(np.unique(self.node_memory)) <= 1
        return alike and self.is_open and self.uniform_links

    @cached_property
    def related(self) -> bool:
        """Whether durations are a work divided by a speed of the node (links may differ)."""
        if not self.is_open or not self.n:
            return self.is_open
        if int(self.duration.max()) ** 2 >= 2**62:
            return self.identical
        base = self.duration[int(self.duration[:, 0].argmax())]
        left = self.duration * base[0]
        return bool((left == self.duration[:, :1] * base[None, :]).all())

    @property
    def unrelated(self) -> bool:
        """Whether durations follow no speeds, or some task cannot run everywhere."""
        return not self.related

    @property
    def limits_memory(self) -> bool:
        """Whether the memory of some node can run out."""
        return bool((self.node_memory < self.memory.sum()).any())

    @property
    def has_groups(self) -> bool:
        """Whether some tasks must share a node."""
        return bool((self.group >= 0).any())

    def with_edges(
        self, source: IntArray, target: IntArray, data: IntArray, lag: IntArray
    ) -> CommGraph:
        """Return the graph with more edges, which its topological order must follow.

        No pair of tasks may be joined by two edges.
        """
        ends = [
            np.concatenate((self.edge_source, source)),
            np.concatenate((self.edge_target, target)),
        ]
        pred_offset, pred_edge = _rows(self.n, ends[1])
        succ_offset, succ_edge = _rows(self.n, ends[0])
        return replace(
            self,
            edge_source=_frozen(ends[0]),
            edge_target=_frozen(ends[1]),
            edge_data=_frozen(np.concatenate((self.edge_data, data))),
            edge_lag=_frozen(np.concatenate((self.edge_lag, lag))),
            pred_offset=pred_offset,
            pred_task=_frozen(ends[0][pred_edge]),
            pred_edge=pred_edge,
            succ_offset=succ_offset,
            succ_task=_frozen(ends[1][succ_edge]),
            succ_edge=succ_edge,
        )

    def to_schedule(
        self, start: Sequence[int] | IntArray, node: Sequence[int] | IntArray
    ) -> Schedule:
        """Return the schedule with a start (ticks) and a node for each task."""
        chosen = np.asarray(node, np.int64)
        mode = self.mode[np.arange(self.n), chosen]
        return Schedule(self.problem, _frozen(np.array(start, np.int64)), _frozen(mode))


def _frozen(array: NDArray[ScalarT]) -> NDArray[ScalarT]:
    kept = np.ascontiguousarray(array)
    kept.setflags(write=False)
    return kept


def _tables(arrays: DagArrays) -> tuple[IntArray, IntArray]:
    """Return duration and mode of each task on each node."""
    shape = (len(arrays.release), len(arrays.node_slots))
    duration, mode = np.full(shape, NOT_ELIGIBLE, np.int64), np.full(shape, -1, np.int64)
    duration[arrays.mode_task, arrays.mode_node] = arrays.mode_duration
    mode[arrays.mode_task, arrays.mode_node] = np.arange(len(arrays.mode_task))
    return duration, mode


def _rows(n: int, owner: IntArray) -> tuple[IntArray, IntArray]:
    """Return offsets and edges of a compressed-sparse-row table of edges by owner."""
    offset = np.zeros(n + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=n), out=offset[1:])
    return _frozen(offset), _frozen(np.argsort(owner, kind="stable"))


def _narrow(duration: IntArray, group: IntArray, memory: IntArray, capacity: IntArray) -> None:
    """Take away the nodes on which a task's group cannot be, or does not fit."""
    need = memory.copy()
    members = np.flatnonzero(group >= 0)
    if len(members):
        count = int(group.max()) + 1
        total = np.zeros(count, np.int64)
        np.add.at(total, group[members], memory[members])
        able = np.ones((count, duration.shape[1]), np.bool_)
        np.logical_and.at(able, group[members], duration[members] != NOT_ELIGIBLE)
        need[members] = total[group[members]]
        duration[members] = np.where(able[group[members]], duration[members], NOT_ELIGIBLE)
    if need.any():
        duration[need[:, None] > capacity[None, :]] = NOT_ELIGIBLE
