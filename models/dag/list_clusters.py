"""Dominant sequence clustering: tasks that had better share a node, and a node for each cluster.

Yang and Gerasoulis, "DSC: scheduling parallel tasks on an unbounded number of processors",
IEEE Transactions on Parallel and Distributed Systems 5(9), 1994. Free tasks are taken in the
order of the longest path through them; a task joins the cluster of a predecessor if it
starts no later there than alone. The step that holds a place for partly free tasks is left
out. Clusters then go to nodes, the largest first, each to where the load stays least.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_board import Tables, tables_of
from allocsolve.models.dag.list_ranks import Estimates, upward_rank
from allocsolve.models.kernels import kernel

__all__ = ["cluster_nodes", "clusters"]


class _Growth(NamedTuple):
    """Clusters while they grow.

    ``begin`` and ``end`` are float64 (n,), ``last`` the end of each cluster, ``able`` bool
    (n, N) the nodes that can run all of it, ``cluster`` int64 (n,) the first task of each
    task's cluster, ``missing`` int64 (n,) the predecessors that have no cluster yet.
    """

    begin: FloatArray
    end: FloatArray
    last: FloatArray
    able: BoolArray
    cluster: IntArray
    missing: IntArray


def clusters(graph: CommGraph, means: Estimates) -> IntArray:
    """Return the cluster of each task, int64 (n,), named after its first task.

    Only tasks that can all run on one node are put together.
    """
    n = graph.n
    growth = _Growth(
        graph.release.astype(np.float64),
        np.zeros(n),
        np.zeros(n),
        graph.eligible.copy(),
        np.full(n, -1, np.int64),
        np.diff(graph.pred_offset),
    )
    level = upward_rank(graph, means.duration, means.delay)
    _cluster(tables_of(graph, inserts=True), means.duration, means.delay, level, growth)
    return growth.cluster


@kernel
def _cluster(
    tables: Tables, duration: FloatArray, delay: FloatArray, level: FloatArray, growth: _Growth
) -> None:
    """Give every task a cluster; ``begin`` holds the start in a cluster of its own first."""
    begin, missing = growth.begin, growth.missing
    heap = [(-(begin[i] + level[i]), i) for i in range(missing.size) if missing[i] == 0]
    heapq.heapify(heap)
    while len(heap) > 0:
        task = heapq.heappop(heap)[1]
        _join(tables, duration, delay, growth, task)
        for q in range(tables.succ_offset[task], tables.succ_offset[task + 1]):
            target = tables.succ_task[q]
            arrival = growth.end[task] + delay[tables.succ_edge[q]]
            begin[target] = max(begin[target], arrival)
            missing[target] -= 1
            if missing[target] == 0:
                heapq.heappush(heap, (-(begin[target] + level[target]), target))


@kernel
def _join(
    tables: Tables, duration: FloatArray, delay: FloatArray, growth: _Growth, task: int
) -> None:
    """Put a task into the cluster of a predecessor, or into a new one.

    Only the two latest arrivals from different clusters matter, so that each predecessor's
    cluster is judged in constant time.
    """
    top, second, owner = _latest_arrivals(tables, delay, growth, task)
    best, best_begin = task, growth.begin[task]
    for q in range(tables.pred_offset[task], tables.pred_offset[task + 1]):
        source = tables.pred_task[q]
        home = growth.cluster[source]
        if not (growth.able[home] & growth.able[task]).any():
            continue
        arrival = second if home == owner else top
        start = max(growth.last[home], float(tables.release[task]), arrival)
        start = max(start, growth.end[source] + tables.edge_lag[tables.pred_edge[q]])
        if start < best_begin or (start == best_begin and (best == task or home < best)):
            best, best_begin = home, start
    growth.begin[task], growth.end[task] = best_begin, best_begin + duration[task]
    growth.cluster[task] = best
    growth.last[best] = max(growth.last[best], growth.end[task])
    for k in range(growth.able.shape[1]):
        growth.able[best, k] &= growth.able[task, k]


@kernel
def _latest_arrivals(
    tables: Tables, delay: FloatArray, growth: _Growth, task: int
) -> tuple[float, float, int]:
    """Return the latest arrival of data, the latest from another cluster, and the first's."""
    top, second, owner = -1.0, -1.0, -1
    for q in range(tables.pred_offset[task], tables.pred_offset[task + 1]):
        source = tables.pred_task[q]
        home, arrival = growth.cluster[source], growth.end[source] + delay[tables.pred_edge[q]]
        if arrival > top:
            if home != owner:
                second = top
            top, owner = arrival, home
        elif home != owner and arrival > second:
            second = arrival
    return top, second, owner


def cluster_nodes(graph: CommGraph, cluster: IntArray) -> IntArray:
    """Return a node for each task such that clusters stay together, int64 (n,).

    -1 for the tasks of a cluster that fits on no node; a group goes where its first task
    goes.
    """
    work = np.zeros((graph.n, graph.nodes), np.int64)
    np.add.at(work, cluster, np.where(graph.eligible, graph.duration, 0))
    able = np.ones((graph.n, graph.nodes), np.bool_)
    np.logical_and.at(able, cluster, graph.eligible)
    need = np.zeros(graph.n, np.int64)
    np.add.at(need, cluster, graph.memory)
    heads = np.unique(cluster)
    size = work[heads].sum(axis=1)
    chosen = np.full(graph.n, -1, np.int64)
    ranked = heads[np.lexsort((heads, -size))]
    _spread(ranked, work, able, need, graph.node_memory.copy(), graph.slots, chosen)
    node = chosen[cluster]
    inside = np.flatnonzero(graph.group >= 0)
    if len(inside):
        _, first = np.unique(graph.group[inside], return_index=True)
        node[inside] = node[inside[first]][graph.group[inside]]
    return node


@kernel
def _spread(
    ranked: IntArray,
    work: IntArray,
    able: BoolArray,
    need: IntArray,
    room: IntArray,
    slots: IntArray,
    chosen: IntArray,
) -> None:
    load = np.zeros(slots.size)
    for position in range(ranked.size):
        head, least = ranked[position], np.inf
        for k in range(slots.size):
            loaded = (load[k] + work[head, k]) / slots[k]
            if able[head, k] and need[head] <= room[k] and loaded < least:
                least, chosen[head] = loaded, k
        if chosen[head] >= 0:
            load[chosen[head]] += work[head, chosen[head]]
            room[chosen[head]] -= need[head]
