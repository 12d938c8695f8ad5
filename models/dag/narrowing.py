"""What the schedules of at most some length have in common: nodes left out, tasks together.

Facts about a length raise one another until nothing changes:

* a task is not on a node through which every schedule is longer;
* two tasks are on one node if data between any two nodes left to them would come too late;
* tasks on one node run there one after another, in their windows and within its memory;
* heads and tails follow from the node table and the cut paths of what is left.

This is the destructive improvement of Klein and Scholl ("Computing lower bounds by destructive
improvement", European Journal of Operational Research 112, 1999), as far as no engine is needed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag import cut_paths
from allocsolve.models.dag.comm_tables import node_table
from allocsolve.models.dag.graph import NOT_ELIGIBLE, CommGraph
from allocsolve.models.dag.node_windows import NEVER, NodeTable
from allocsolve.models.dag.search_kernels import CUT_PATHS
from allocsolve.models.dag.windows import best_window
from allocsolve.models.kernels import uncompiled

__all__ = ["cuts_at_once", "narrow", "sharpen"]

_ROUNDS = 10
"""Rounds of elimination at most."""

_AT_ONCE = 0.03
"""Seconds that the cut paths may take as plain Python, again and again."""

_PAIRS = 4_000_000
"""Edges times pairs of nodes up to which tasks are put together."""

Stop = Callable[[], bool]


def sharpen(table: NodeTable, stop: Stop) -> tuple[NodeTable, int]:
    """Return a table raised by the cut paths, and their bound.

    Takes a second or so if :func:`allocsolve.models.dag.cut_paths.is_affordable`; a table on
    which some task has no place, or that was stopped, is returned as it is.
    """
    paths = None if table.value >= NEVER else cut_paths.cut_paths(table, stop)
    if paths is None:
        return table, table.value
    if (paths.head > table.task_head).any() or (paths.tail > table.task_tail).any():
        table = node_table(table.graph, stop, (paths.head, paths.tail))
    return table, paths.value


def _sharpen_at_once(table: NodeTable, stop: Stop) -> tuple[NodeTable, int]:
    """Do the same if it takes next to no time."""
    if not cuts_at_once(table.graph):
        return table, table.value
    with uncompiled():
        return sharpen(table, stop)


def cuts_at_once(graph: CommGraph) -> bool:
    """Whether the cut paths take next to no time, with the loops that are loaded."""
    if CUT_PATHS.is_loaded():
        return cut_paths.is_affordable(graph)
    return cut_paths.plain_seconds(graph) <= _AT_ONCE


def narrow(table: NodeTable, length: int, stop: Stop) -> NodeTable | None:
    """Return a table that holds for all schedules of at most ``length`` ticks, None without any."""
    for _ in range(_ROUNDS):
        if table.value > length:
            return None
        before = table
        kept = before.possible & (before.through <= length)
        table, value = _sharpen_at_once(_without(before, kept, stop), stop)
        if max(value, table.value) > length:
            return None
        table = _together(table, length, stop)
        if stop() or _is_same(before, table):
            break
    return None if table.value > length else table


def _is_same(left: NodeTable, right: NodeTable) -> bool:
    """Whether nothing was learnt."""
    return (
        np.array_equal(left.head, right.head)
        and np.array_equal(left.tail, right.tail)
        and np.array_equal(left.graph.group, right.graph.group)
    )


def _without(
    table: NodeTable, kept: BoolArray, stop: Stop, group: IntArray | None = None
) -> NodeTable:
    """Return the table of the nodes that are kept, with other groups if they are given."""
    if group is None and bool((kept == table.possible).all()):
        return table
    duration = np.where(kept, table.graph.duration, NOT_ELIGIBLE)
    chosen = table.graph.group if group is None else group
    graph = dataclasses.replace(table.graph, duration=duration, group=chosen)
    least = np.minimum(table.task_head, NEVER - 1), np.minimum(table.task_tail, NEVER - 1)
    return node_table(graph, stop, least)


def _together(table: NodeTable, length: int, stop: Stop) -> NodeTable:
    """Put tasks together that cannot be apart, and leave out nodes without room for them."""
    graph = table.graph
    if len(graph.edge_source) * graph.nodes**2 > _PAIRS:
        return table
    group = _united(graph, np.flatnonzero(_too_late(table, length)))
    kept = table.possible.copy()
    for tasks in _groups(group):
        kept[tasks] &= _has_room(table, tasks, length)
    if np.array_equal(kept, table.possible) and np.array_equal(group, graph.group):
        return table
    return _without(table, kept, stop, group)


def _too_late(table: NodeTable, length: int) -> BoolArray:
    """Return the edges whose data would come too late between any two nodes, bool (e,)."""
    graph = table.graph
    source, target = graph.edge_source, graph.edge_target
    begun = np.where(table.possible, table.head + graph.duration, NEVER)
    left = np.where(table.possible, table.tail + graph.duration, NEVER)
    data = graph.edge_data[:, None, None]
    linked = graph.linked | (data == 0)
    delay = np.where(data > 0, graph.latency + data * graph.data_time, 0)
    total = begun[source][:, :, None] + left[target][:, None, :]
    total = total + delay + graph.edge_lag[:, None, None]
    apart = linked & ~np.eye(graph.nodes, dtype=bool)
    late: BoolArray = np.where(apart, total, NEVER).min(axis=(1, 2), initial=NEVER) > length
    return late


def _united(graph: CommGraph, edges: IntArray) -> IntArray:
    """Return the groups after the ends of some edges were put into one."""
    group = graph.group.copy()
    fresh = int(group.max(initial=-1)) + 1
    for i, j in zip(
        graph.edge_source[edges].tolist(), graph.edge_target[edges].tolist(), strict=True
    ):
        labels = sorted({int(label) for label in (group[i], group[j]) if label >= 0})
        kept = labels[0] if labels else fresh
        fresh += not labels
        for label in labels[1:]:
            group[group == label] = kept
        group[[i, j]] = kept
    return group


def _groups(group: IntArray) -> Iterator[IntArray]:
    members = np.flatnonzero(group >= 0)
    members = members[np.argsort(group[members], kind="stable")]
    if len(members):
        _, first = np.unique(group[members], return_index=True)
        yield from np.split(members, first[1:])


def _has_room(table: NodeTable, tasks: IntArray, length: int) -> BoolArray:
    """Return the nodes on which tasks can be together within a length, bool (N,)."""
    graph = table.graph
    holds: BoolArray = graph.node_memory >= int(graph.memory[tasks].sum())
    able: BoolArray = holds & np.all(table.possible[tasks], axis=0)
    for k in np.flatnonzero(able).tolist():
        window = best_window(
            table.head[tasks, k],
            table.tail[tasks, k],
            graph.duration[tasks, k],
            int(graph.slots[k]),
        )
        able[k] = window is None or window.value <= length
    return able
