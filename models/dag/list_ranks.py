"""Priorities of tasks with communication: ranks, levels, cost tables, and orders made of them.

Times differ between nodes, so ranks take estimates: as published the mean duration over the
nodes where a task can run, and for an edge the mean latency and transfer time over all linked
pairs of different nodes. Other statistics give other orders, none of which is always better
(Zhao and Sakellariou, "An experimental investigation into the rank function of the
heterogeneous earliest finish time scheduling algorithm", Euro-Par 2003).
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.kernels import kernel

__all__ = [
    "STATISTICS",
    "Estimates",
    "downward_rank",
    "estimated_times",
    "mean_times",
    "median_duration",
    "optimistic_cost",
    "order_by",
    "upward_rank",
]

STATISTICS = ("mean", "median", "best", "worst")
"""Ways to make one number of the times on different nodes."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimated times of a graph: duration float64 (n,), lag plus delay float64 (e,)."""

    duration: FloatArray
    delay: FloatArray


def estimated_times(graph: CommGraph, statistic: str) -> Estimates:
    """Return the times that a statistic of :data:`STATISTICS` gives, in ticks.

    ``median`` is the lower one. All but ``mean`` take the delays of one link: of the linked
    pairs of different nodes the one that is best, worst or in the middle for the mean amount
    of data.
    """
    if statistic == "mean":
        return mean_times(graph)
    able, largest = graph.eligible, np.iinfo(np.int64).max
    if statistic == "median":
        duration = median_duration(graph)
    elif statistic == "best":
        least = np.where(able, graph.duration, largest).min(axis=1, initial=largest)
        duration = np.where(able.any(axis=1), least, 0).astype(np.float64)
    else:
        duration = graph.duration.max(axis=1, initial=0).astype(np.float64)
    return Estimates(duration, graph.edge_lag + _delay_of_one_link(graph, statistic))


def _delay_of_one_link(graph: CommGraph, statistic: str) -> FloatArray:
    pairs = graph.linked & ~np.eye(graph.nodes, dtype=bool)
    latency, unit = graph.latency[pairs], graph.data_time[pairs]
    sends = graph.edge_data > 0
    if not len(latency) or not sends.any():
        return np.zeros(len(sends))
    ranked = np.argsort(latency + unit * graph.edge_data[sends].mean(), kind="stable")
    place = {"best": 0, "median": (len(ranked) - 1) // 2, "worst": len(ranked) - 1}[statistic]
    link = ranked[place]
    delay = np.where(sends, latency[link] + graph.edge_data * unit[link], 0)
    return delay.astype(np.float64)


def mean_times(graph: CommGraph) -> Estimates:
    """Return the mean durations and delays, in ticks."""
    able = graph.eligible
    total = np.where(able, graph.duration, 0).sum(axis=1)
    duration = total / np.maximum(able.sum(axis=1), 1)
    pairs = graph.linked & ~np.eye(graph.nodes, dtype=bool)
    count = max(int(pairs.sum()), 1)
    latency = int(graph.latency[pairs].sum()) / count
    unit = int(graph.data_time[pairs].sum()) / count
    delay = np.where(graph.edge_data > 0, latency + graph.edge_data * unit, 0.0)
    return Estimates(duration, delay + graph.edge_lag)


def median_duration(graph: CommGraph) -> FloatArray:
    """Return the lower median of each task's durations, float64 (n,)."""
    able = graph.eligible
    ranked = np.sort(np.where(able, graph.duration, np.iinfo(np.int64).max), axis=1)
    middle = np.maximum(able.sum(axis=1) - 1, 0) // 2
    picked = np.take_along_axis(ranked, middle[:, None], axis=1)[:, 0]
    return np.where(able.any(axis=1), picked, 0).astype(np.float64)


def upward_rank(graph: CommGraph, duration: FloatArray, delay: FloatArray) -> FloatArray:
    """Return the longest path from each task to the end, with the task itself, float64 (n,).

    The upward rank of Topcuoglu, Hariri and Wu (2002); with no delays the static level of
    Sih and Lee (1993).
    """
    rank = np.zeros(graph.n)
    _upward(graph.order, graph.succ_offset, graph.succ_task, graph.succ_edge, duration, delay, rank)
    return rank


@kernel
def _upward(
    order: IntArray,
    offset: IntArray,
    target: IntArray,
    edge: IntArray,
    duration: FloatArray,
    delay: FloatArray,
    rank: FloatArray,
) -> None:
    for position in range(order.size - 1, -1, -1):
        task, longest = order[position], 0.0
        for q in range(offset[task], offset[task + 1]):
            longest = max(longest, delay[edge[q]] + rank[target[q]])
        rank[task] = duration[task] + longest


def downward_rank(graph: CommGraph, duration: FloatArray, delay: FloatArray) -> FloatArray:
    """Return the longest path from the start to each task, without the task, float64 (n,)."""
    rank = graph.release.astype(np.float64)
    _downward(
        graph.order, graph.succ_offset, graph.succ_task, graph.succ_edge, duration, delay, rank
    )
    return rank


@kernel
def _downward(
    order: IntArray,
    offset: IntArray,
    target: IntArray,
    edge: IntArray,
    duration: FloatArray,
    delay: FloatArray,
    rank: FloatArray,
) -> None:
    for position in range(order.size):
        task = order[position]
        for q in range(offset[task], offset[task + 1]):
            begin = rank[task] + duration[task] + delay[edge[q]]
            rank[target[q]] = max(rank[target[q]], begin)


def optimistic_cost(graph: CommGraph, delay: FloatArray) -> FloatArray:
    """Return the optimistic cost table of Arabnejad and Barbosa (2014), float64 (n, N).

    Entry (i, k) is the longest of the shortest paths from the end of task i on node k to
    the end of the graph when every later task may choose its node freely.
    """
    table = np.zeros((graph.n, graph.nodes))
    transfer = np.where(graph.edge_data > 0, delay - graph.edge_lag, 0.0)
    _optimistic(
        graph.order,
        graph.succ_offset,
        graph.succ_task,
        graph.succ_edge,
        graph.duration,
        graph.eligible,
        transfer,
        graph.edge_lag,
        table,
    )
    return table


@kernel
def _optimistic(
    order: IntArray,
    offset: IntArray,
    target: IntArray,
    edge: IntArray,
    duration: IntArray,
    eligible: BoolArray,
    transfer: FloatArray,
    lag: IntArray,
    table: FloatArray,
) -> None:
    nodes = table.shape[1]
    for position in range(order.size - 1, -1, -1):
        task = order[position]
        for q in range(offset[task], offset[task + 1]):
            after, cheapest = target[q], np.inf
            for k in range(nodes):
                if eligible[after, k]:
                    cheapest = min(cheapest, table[after, k] + duration[after, k])
            for k in range(nodes):
                cost = cheapest + transfer[edge[q]]
                if eligible[after, k]:
                    cost = min(cost, table[after, k] + duration[after, k])
                table[task, k] = max(table[task, k], cost + lag[edge[q]])


def order_by(graph: CommGraph, priority: FloatArray) -> IntArray:
    """Return the order in which the ready task of highest priority is always next.

    Ties go to the smallest index. int64 (n,).
    """
    order = np.zeros(graph.n, np.int64)
    missing = np.diff(graph.pred_offset)
    _order_by(graph.succ_offset, graph.succ_task, missing, priority, order)
    return order


@kernel
def _order_by(
    offset: IntArray, target: IntArray, missing: IntArray, priority: FloatArray, order: IntArray
) -> None:
    heap = [(-priority[i], i) for i in range(missing.size) if missing[i] == 0]
    heapq.heapify(heap)
    for position in range(order.size):
        task = heapq.heappop(heap)[1]
        order[position] = task
        for q in range(offset[task], offset[task + 1]):
            after = target[q]
            missing[after] -= 1
            if missing[after] == 0:
                heapq.heappush(heap, (-priority[after], after))
