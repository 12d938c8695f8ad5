"""Least times before and after a task on each node: an optimistic cost table that is a bound.

The table of Arabnejad and Barbosa ("List scheduling algorithm for heterogeneous systems by an
optimistic cost table", IEEE Transactions on Parallel and Distributed Systems 25, 2014) lets
every task choose its best node for each of its neighbours apart. Read with releases and lags,
it never exceeds what a schedule takes. Here it is sharpened by the *local set*: predecessors
that share the node of a task run there one after another (with s slots, s at a time), so
either some of them stay away and send their data, or all of them wait for each other. If the
latest arrival from another node is that of i, all that would arrive later share the node;
hence only beginnings of the order by arrival have to be tried.

Tails are heads of the reversed graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.node_windows import NEVER, NodeTable
from allocsolve.models.kernels import PLAIN_AT_ONCE, kernel, paced, uncompiled

__all__ = ["fill_heads", "node_table", "plain_seconds", "warm"]

_SLICE = 3_000_000
"""Pairs of nodes looked at between two looks at the clock."""

_THOROUGH = 400_000_000
"""Pairs of nodes over all edges up to which every pair of nodes has its own delay."""

_PER_PAIR = 5e-6
"""Seconds that plain Python takes for a pair of nodes of an edge."""


class _View(NamedTuple):
    """A graph, or the reversed graph, as the kernels read it; shapes as in ``CommGraph``.

    ``least_delay`` int64 (2, N): least latency and least time of a unit of data from any
    other node.
    """

    duration: IntArray
    offset: IntArray
    task: IntArray
    data: IntArray
    lag: IntArray
    latency: IntArray
    data_time: IntArray
    linked: BoolArray
    least_delay: IntArray
    slots: IntArray
    group: IntArray
    memory: IntArray
    node_memory: IntArray
    order: IntArray
    thorough: bool


class _Desk(NamedTuple):
    """Room for the predecessors of one task: (d,) each, ``arrival`` (d, N)."""

    arrival: IntArray
    remote: IntArray
    start: IntArray
    rank: IntArray


@kernel
def _arrive(view: _View, head: IntArray, task: int, arrival: IntArray) -> None:
    """Write when the data of each predecessor may reach each node from another node."""
    nodes = view.slots.size
    for q in range(view.offset[task], view.offset[task + 1]):
        source, row = view.task[q], q - view.offset[task]
        for k in range(nodes):
            arrival[row, k] = NEVER
        if view.group[source] >= 0 and view.group[source] == view.group[task]:
            continue
        if view.thorough:
            _arrive_by_pair(view, head, source, q, arrival[row])
        else:
            _arrive_at_least(view, head, source, q, arrival[row])


@kernel
def _arrive_by_pair(
    view: _View, head: IntArray, source: int, entry: int, arrival: IntArray
) -> None:
    """Compare all pairs of nodes."""
    data, nodes = view.data[entry], view.slots.size
    for home in range(nodes):
        if head[source, home] >= NEVER:
            continue
        end = head[source, home] + view.duration[source, home] + view.lag[entry]
        for k in range(nodes):
            if k == home:
                continue
            moment = end
            if data > 0:
                if not view.linked[home, k]:
                    continue
                moment += view.latency[home, k] + data * view.data_time[home, k]
            arrival[k] = min(arrival[k], moment)


@kernel
def _arrive_at_least(
    view: _View, head: IntArray, source: int, entry: int, arrival: IntArray
) -> None:
    """Take the least delay to each node, and the best other node for the source."""
    data, nodes = view.data[entry], view.slots.size
    first, second, where = NEVER, NEVER, -1
    for home in range(nodes):
        if head[source, home] >= NEVER:
            continue
        end = head[source, home] + view.duration[source, home] + view.lag[entry]
        if end < first:
            first, second, where = end, first, home
        else:
            second = min(second, end)
    for k in range(nodes):
        end = second if k == where else first
        if data > 0 and end < NEVER:
            if view.least_delay[0, k] >= NEVER:
                end = NEVER
            else:
                end += view.least_delay[0, k] + data * view.least_delay[1, k]
        arrival[k] = end


@kernel
def _local(view: _View, head: IntArray, task: int, node: int, desk: _Desk, count: int) -> int:
    """Return when the first ``count`` predecessors by arrival are served on the node itself."""
    begin, slots = view.offset[task], view.slots[node]
    room = view.node_memory[node] - view.memory[task]
    area, latest, degree = 0, 0, view.offset[task + 1] - begin
    for place in range(degree - 1, -1, -1):  # latest start first: all in the area start later
        row = desk.start[place]
        if desk.rank[row] >= count:
            continue
        source = view.task[begin + row]
        room -= view.memory[source]
        if head[source, node] >= NEVER or room < 0:
            return NEVER
        area += view.duration[source, node]
        shared = head[source, node] + (area + slots - 1) // slots
        alone = head[source, node] + view.duration[source, node] + view.lag[begin + row]
        latest = max(latest, shared, alone)
    return latest


@kernel
def _ready(view: _View, head: IntArray, task: int, node: int, desk: _Desk) -> int:
    """Return the least time at which some choice of local predecessors serves the task."""
    begin = view.offset[task]
    degree = view.offset[task + 1] - begin
    if degree == 1:
        return int(min(desk.arrival[0, node], _local_one(view, head, begin, node)))
    for row in range(degree):
        desk.remote[row] = -desk.arrival[row, node]
    by_arrival = np.argsort(desk.remote[:degree], kind="mergesort")
    for place in range(degree):
        desk.rank[by_arrival[place]] = place
        desk.remote[place] = head[view.task[begin + place], node]
    desk.start[:degree] = np.argsort(desk.remote[:degree], kind="mergesort")
    low, high = 0, degree
    while low < high:  # fewest local ones that take as long as the next one to arrive
        middle = (low + high) // 2
        if _local(view, head, task, node, desk, middle) >= desk.arrival[by_arrival[middle], node]:
            high = middle
        else:
            low = middle + 1
    best = _local(view, head, task, node, desk, low)
    if low > 0:
        best = min(best, desk.arrival[by_arrival[low - 1], node])
    return best


@kernel
def _local_one(view: _View, head: IntArray, entry: int, node: int) -> int:
    source = view.task[entry]
    if head[source, node] >= NEVER:
        return NEVER
    return int(head[source, node] + view.duration[source, node] + view.lag[entry])


@kernel
def fill_heads(view: _View, head: IntArray, desk: _Desk, place: int, budget: int) -> int:
    """Raise ``head`` (n, N) task by task from a place of the order on; return the next place.

    Stops after about ``budget`` pairs of nodes.
    """
    nodes = view.slots.size
    while place < view.order.size and budget > 0:
        task = view.order[place]
        degree = view.offset[task + 1] - view.offset[task]
        budget -= nodes * (1 + degree * (nodes if view.thorough else 8))
        if degree > 0:
            _arrive(view, head, task, desk.arrival)
            for node in range(nodes):
                if head[task, node] < NEVER:
                    ready = _ready(view, head, task, node, desk)
                    head[task, node] = max(head[task, node], ready)
        place += 1
    return place


def node_table(
    graph: CommGraph,
    stop: Callable[[], bool] = lambda: False,
    least: tuple[IntArray, IntArray] | None = None,
) -> NodeTable:
    """Return heads and tails; what was not reached when it was stopped is lower, but right.

    Parameters
    ----------
    least
        Heads and tails of the tasks that are known already, int64 (n,) each.
    """
    known = (graph.release, np.zeros(graph.n, np.int64)) if least is None else least
    with uncompiled(when=plain_seconds(graph) < PLAIN_AT_ONCE):
        head = _filled(_forwards(graph), known[0], stop)
        tail = _filled(_backwards(graph), known[1], stop)
    return NodeTable(graph, head, tail)


def plain_seconds(graph: CommGraph) -> float:
    """Return how long the table of a graph takes as plain Python, roughly."""
    pairs = len(graph.pred_task) * graph.nodes
    thorough = pairs * graph.nodes <= _THOROUGH
    return _PER_PAIR * pairs * (graph.nodes if thorough else 8)


def _filled(view: _View, least: IntArray, stop: Callable[[], bool]) -> IntArray:
    nodes = len(view.slots)
    head = np.where(view.duration >= 0, least[:, None], NEVER)
    degree = int(np.diff(view.offset).max(initial=0))
    desk = _Desk(
        arrival=np.zeros((degree, nodes), np.int64),
        remote=np.zeros(degree, np.int64),
        start=np.zeros(degree, np.int64),
        rank=np.zeros(degree, np.int64),
    )
    place = 0
    while place < len(view.order) and not stop():
        place = fill_heads(view, head, desk, place, paced(fill_heads, _SLICE))
    head.setflags(write=False)
    return head


def _forwards(graph: CommGraph) -> _View:
    return _view(graph, graph.pred_offset, graph.pred_task, graph.pred_edge, graph.order)


def _backwards(graph: CommGraph) -> _View:
    order = np.ascontiguousarray(graph.order[::-1])
    view = _view(graph, graph.succ_offset, graph.succ_task, graph.succ_edge, order)
    latency, data_time, linked = graph.latency.T, graph.data_time.T, graph.linked.T
    return view._replace(
        latency=np.ascontiguousarray(latency),
        data_time=np.ascontiguousarray(data_time),
        linked=np.ascontiguousarray(linked),
        least_delay=_least_delay(latency, data_time, linked),
    )


def _view(
    graph: CommGraph, offset: IntArray, task: IntArray, edge: IntArray, order: IntArray
) -> _View:
    return _View(
        duration=graph.duration,
        offset=offset,
        task=task,
        data=graph.edge_data[edge],
        lag=graph.edge_lag[edge],
        latency=graph.latency,
        data_time=graph.data_time,
        linked=graph.linked,
        least_delay=_least_delay(graph.latency, graph.data_time, graph.linked),
        slots=graph.slots,
        group=graph.group,
        memory=graph.memory,
        node_memory=graph.node_memory,
        order=order,
        thorough=len(task) * graph.nodes**2 <= _THOROUGH,
    )


def _least_delay(latency: IntArray, data_time: IntArray, linked: BoolArray) -> IntArray:
    """Return the least latency and time of a unit of data to each node, int64 (2, N)."""
    apart = linked & ~np.eye(len(linked), dtype=bool)
    least = [np.where(apart, table, NEVER).min(axis=0) for table in (latency, data_time)]
    return np.array(least, np.int64)


def warm() -> None:
    """Call every kernel of the table once."""
    from allocsolve.models.dag.data import Edge, Node, Task
    from allocsolve.models.dag.problem import DagProblem

    problem = DagProblem(
        tasks=[Task(id=name, work=1) for name in "abc"],
        edges=[Edge(source="a", target="c", data=1), Edge(source="b", target="c", data=1)],
        nodes=[Node(id="x"), Node(id="y")],
    )
    node_table(CommGraph.of(problem))
