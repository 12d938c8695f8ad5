"""What surrounds tasks on nodes: least times before and after them, and windows of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag.graph import CommGraph

__all__ = ["NEVER", "NodeTable", "NodeWindow", "plain_table"]

NEVER = 2**61
"""Head of a task on a node where it cannot run, or cannot run in time ever."""


@dataclass(frozen=True, eq=False)
class NodeTable:
    """What surrounds each task on each node in every schedule; ticks.

    Attributes
    ----------
    head, tail
        int64 (n, N): least start of a task on a node, and least time from its end there to
        the end of the schedule; ``NEVER`` where no schedule has it.
    """

    graph: CommGraph
    head: IntArray
    tail: IntArray

    @cached_property
    def possible(self) -> BoolArray:
        """Where a task may run, bool (n, N)."""
        possible: BoolArray = (self.head < NEVER) & (self.tail < NEVER)
        return possible

    @cached_property
    def through(self) -> IntArray:
        """Least makespan of a schedule with a task on a node, int64 (n, N)."""
        total = self.head + self.graph.duration + self.tail
        return np.where(self.possible, total, NEVER)

    @cached_property
    def task_head(self) -> IntArray:
        """Least start of each task, int64 (n,)."""
        least: IntArray = np.where(self.possible, self.head, NEVER).min(axis=1, initial=NEVER)
        return least

    @cached_property
    def task_tail(self) -> IntArray:
        """Least time after the end of each task, int64 (n,)."""
        least: IntArray = np.where(self.possible, self.tail, NEVER).min(axis=1, initial=NEVER)
        return least

    @cached_property
    def value(self) -> int:
        """The bound: every task runs somewhere; ``NEVER`` or more if some task cannot."""
        return int(self.through.min(axis=1, initial=2 * NEVER).max(initial=0))


def plain_table(graph: CommGraph, head: IntArray, tail: IntArray) -> NodeTable:
    """Return the table of a least start and a least time after the end of each task, (n,)."""
    apart = np.where(graph.eligible, 0, NEVER)
    return NodeTable(graph, np.maximum(head[:, None], apart), np.maximum(tail[:, None], apart))


class NodeWindow(NamedTuple):
    """The tasks that cannot start on a node before ``head`` and leave ``tail`` behind them.

    In a schedule of length T >= head + tail, those that run on the node take at most
    ``slots * (T - head - tail)`` there.
    """

    node: int
    head: int
    tail: int

    def inside(self, table: NodeTable) -> BoolArray:
        """Return which tasks belong to the window if they run on the node, bool (n,)."""
        late: BoolArray = table.head[:, self.node] >= self.head
        late &= table.tail[:, self.node] >= self.tail
        late &= table.possible[:, self.node]
        return late
