"""All tasks one after another: a schedule where there is time for nothing else."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.dispatch import Plan
from allocsolve.models.dag.graph import NOT_ELIGIBLE, CommGraph
from allocsolve.models.dag.network import Network

__all__ = ["sequential_plan", "sequential_schedule"]


def sequential_plan(network: Network) -> Plan | None:
    """Return the tasks in topological order, each in its shortest way.

    One step for each task and edge. What fits alone fits while nothing else runs.

    Returns
    -------
    Plan | None
        None where one task alone may not decide: with bounds on starts from above,
        non-renewable resources, memory that can run out, tasks that share a node, or pairs of
        nodes without a link; or if some task has no way.
    """
    apart = network.communicates and not all(map(all, network.linked))
    if network.bounded or network.budget or network.packed or apart or not all(network.ways):
        return None
    chosen = [min(ways, key=lambda way: way.duration) for ways in network.ways]
    start = list(network.release)
    free = 0
    for task in network.order:
        start[task] = max(start[task], free)
        end = free = start[task] + chosen[task].duration
        for other, min_lag, _, from_start, data in network.outgoing[task]:
            delay = network.delay(data, chosen[task].node, chosen[other].node) or 0
            begin = (start[task] if from_start else end) + min_lag + delay
            start[other] = max(start[other], begin)
    return Plan(start, chosen)


def sequential_schedule(graph: CommGraph) -> Schedule | None:
    """Return the tasks in topological order on the node that works least for them.

    One step for each task and edge. Nothing has to be sent, so neither links nor shared
    nodes matter.

    Returns
    -------
    Schedule | None
        None if no node can run every task, or memory is limited.
    """
    everywhere = (graph.duration != NOT_ELIGIBLE).all(axis=0)
    if graph.limits_memory or not everywhere.any():
        return None
    work = np.where(everywhere, graph.duration.sum(axis=0), np.iinfo(np.int64).max)
    node = int(work.argmin())
    return graph.to_schedule(_starts(graph, node), np.full(graph.n, node, np.int64))


def _starts(graph: CommGraph, node: int) -> IntArray:
    """Return the earliest starts (ticks) of the tasks in topological order."""
    duration = graph.duration[:, node].tolist()
    start = graph.release.tolist()
    offset, edges = graph.succ_offset.tolist(), graph.succ_edge.tolist()
    target, lag = graph.edge_target.tolist(), graph.edge_lag.tolist()
    free = 0
    for task in graph.order.tolist():
        start[task] = max(start[task], free)
        free = start[task] + duration[task]
        for edge in edges[offset[task] : offset[task + 1]]:
            start[target[edge]] = max(start[target[edge]], free + lag[edge])
    return np.array(start, np.int64)
