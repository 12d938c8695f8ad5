"""Least times between tasks when what lies between them is cut somewhere or shares a node.

Let task a precede task b, and look at the edges on the paths from a to b. In a schedule, let t
be the longest delay that some edge with its ends on different nodes makes the start of b wait
for, counted from the end of a. Every edge that would make it wait longer has both ends on one
node. So the tasks that such edges connect, with those they must share a node with, are on one
node: together they fit into its memory, and they run there one after another (with s slots, s
at a time). Hence the least time between a and b is at least the smallest t for which each of
these sets fits on some node, and takes no longer than t there.

The ways from a to an edge and on to b are such times themselves, so a chain that memory cuts
several times pays for each of the cuts. Without the memory this is the argument of Papadimitriou
and Yannakakis ("Towards an architecture-independent analysis of parallel algorithms", SIAM
Journal on Computing 19, 1990), that a set of tasks is either split, and data travels, or works
alone.

The smallest t is found as in the algorithm of Kruskal: edges are united in the order of falling
delays, until the sets need as much time as the next edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag.cut_kernels import Desk, Gaps, View, fill_gaps
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.node_windows import NodeTable
from allocsolve.models.kernels import PLAIN_AT_ONCE, paced, uncompiled

__all__ = ["CutPaths", "cut_paths", "is_affordable", "plain_seconds", "warm"]

_OPERATIONS = 200_000_000
"""Tasks and edges between pairs of tasks up to which the times are computed: a second or so."""

_SLICE = 5_000_000
"""Tasks and edges looked at between two looks at the clock."""

_PER_LOOK = 4e-6
"""Seconds that plain Python takes for one of them."""

_DELAYS = 4_000_000
"""Edges times pairs of nodes up to which the least delays are looked for."""

_SAFE = 2**56
"""Horizons below this leave room for sums of a few numbers."""


@dataclass(frozen=True, eq=False)
class CutPaths:
    """Least times around and between tasks, ticks.

    Attributes
    ----------
    head, tail
        int64 (n,): least start, and least time from the end to the end of the schedule.
    gap
        int64 (n, n): least time from the end of a task to the start of another one that it
        leads to, -1 for pairs without a path.
    value
        A lower bound on the makespan.
    """

    head: IntArray
    tail: IntArray
    gap: IntArray
    value: int


def is_affordable(graph: CommGraph) -> bool:
    """Whether the times take a second or two at most."""
    small = len(graph.edge_source) * graph.nodes**2 <= _DELAYS
    return small and _looks(graph) <= _OPERATIONS and graph.problem.arrays.horizon < _SAFE


def plain_seconds(graph: CommGraph) -> float:
    """Return how long the times of a graph take as plain Python, roughly."""
    return _PER_LOOK * _looks(graph)


def _looks(graph: CommGraph) -> int:
    """Return about how many tasks and edges are looked at for all pairs of tasks."""
    return (graph.n + len(graph.edge_source)) * graph.n**2 // 6


def cut_paths(table: NodeTable, stop: Callable[[], bool] = lambda: False) -> CutPaths | None:
    """Return the times that hold in every schedule for which the table holds.

    None if it was stopped. Each task must be possible on some node.
    """
    graph = table.graph
    view, n = _view(table), graph.n
    gaps = Gaps(*(np.full((n + 2, n + 2), -1, np.int64) for _ in range(2)))
    desk, row = _desk(view), n
    with uncompiled(when=plain_seconds(graph) < PLAIN_AT_ONCE):
        while row >= 0:
            if stop():
                return None
            row = fill_gaps(view, gaps, desk, row, paced(fill_gaps, _SLICE))
    gap = gaps.ahead
    place = np.empty(n, np.int64)
    place[graph.order] = np.arange(1, n + 1)
    return CutPaths(
        head=gap[0, place],
        tail=gap[place, n + 1],
        gap=gap[np.ix_(place, place)],
        value=int(gap[0, n + 1]),
    )


def _view(table: NodeTable) -> View:
    graph, n = table.graph, table.graph.n
    order, most = graph.order, graph.problem.arrays.horizon + 1
    place = np.empty(n, np.int64)
    place[order] = np.arange(1, n + 1)
    duration = np.where(table.possible, graph.duration, most)[order]
    inner = np.arange(1, n + 1)
    source = np.concatenate([place[graph.edge_source], np.zeros(n, np.int64), inner])
    target = np.concatenate([place[graph.edge_target], inner, np.full(n, n + 1)])
    by_source = np.argsort(source, kind="stable")
    source, target = source[by_source], target[by_source]
    lag = np.concatenate([graph.edge_lag, table.task_head[order], table.task_tail[order]])
    delay = np.concatenate([_least_delay(table, most), np.zeros(2 * n, np.int64)])
    nothing = np.zeros((1, graph.nodes), np.int64)
    framed = np.concatenate([nothing, duration, nothing])
    kinds = _kinds(framed, graph)
    return View(
        source=source,
        target=target,
        lag=lag[by_source],
        delay=delay[by_source],
        offset=np.searchsorted(source, np.arange(n + 3)),
        least=framed.min(axis=1),
        reach=_reach(n + 2, source, target),
        duration=np.ascontiguousarray(framed[:, kinds]),
        memory=np.concatenate([[0], graph.memory[order], [0]]),
        group=np.concatenate([[-1], graph.group[order], [-1]]),
        group_memory=_group_memory(graph),
        slots=graph.slots[kinds],
        room=graph.node_memory[kinds],
        most=most,
    )


def _kinds(duration: IntArray, graph: CommGraph) -> IntArray:
    """Return one node of each kind: durations, slots and memory."""
    columns = np.vstack([duration, graph.slots[None, :], graph.node_memory[None, :]])
    _, first = np.unique(columns, axis=1, return_index=True)
    kinds: IntArray = first.astype(np.int64)
    return kinds


def _desk(view: View) -> Desk:
    tasks, edges = len(view.least), len(view.source)
    return Desk(
        inner=np.zeros(tasks, np.int64),
        cost=np.zeros(edges, np.int64),
        edge=np.zeros(edges, np.int64),
        parent=np.zeros(tasks, np.int64),
        memory=np.zeros(tasks, np.int64),
        work=np.zeros(view.duration.shape, np.int64),
        before=np.zeros(tasks, np.int64),
        after=np.zeros(tasks, np.int64),
        first=np.zeros(len(view.group_memory), np.int64),
    )


def _group_memory(graph: CommGraph) -> IntArray:
    total = np.zeros(int(graph.group.max(initial=-1)) + 2, np.int64)
    grouped = np.flatnonzero(graph.group >= 0)
    np.add.at(total, graph.group[grouped], graph.memory[grouped])
    return total


def _least_delay(table: NodeTable, most: int) -> IntArray:
    """Return the least delay of each edge between two different nodes for its ends."""
    graph = table.graph
    source, target = graph.edge_source, graph.edge_target
    data = graph.edge_data[:, None, None]
    linked = graph.linked & ~np.eye(graph.nodes, dtype=bool)
    able = table.possible[source][:, :, None] & table.possible[target][:, None, :] & linked
    delay = graph.latency + data * graph.data_time
    least = np.where(able, delay, most).min(axis=(1, 2), initial=most)
    free = (graph.edge_data == 0) | _share(graph)
    return np.where(free, 0, least)


def _share(graph: CommGraph) -> BoolArray:
    """Return which edges have both ends in one group, bool (e,)."""
    left, right = graph.group[graph.edge_source], graph.group[graph.edge_target]
    shared: BoolArray = (left >= 0) & (left == right)
    return shared


def _reach(count: int, source: IntArray, target: IntArray) -> BoolArray:
    reach = np.zeros((count, count), np.bool_)
    for q in range(len(source) - 1, -1, -1):
        reach[source[q], target[q]] = True
        reach[source[q]] |= reach[target[q]]
    return reach


def warm() -> None:
    """Call every kernel once."""
    from allocsolve.models.dag.data import Edge, Node, Task
    from allocsolve.models.dag.node_windows import plain_table
    from allocsolve.models.dag.problem import DagProblem

    problem = DagProblem(
        tasks=[Task(id=name, work=1, colocate="g" if name in "ab" else None) for name in "abc"],
        edges=[Edge(source="a", target="c", data=1), Edge(source="b", target="c", data=1)],
        nodes=[Node(id="x"), Node(id="y")],
    )
    nothing = np.zeros(3, np.int64)
    cut_paths(plain_table(CommGraph.of(problem), nothing, nothing))
