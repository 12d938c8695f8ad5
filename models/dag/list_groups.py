"""Groups of nodes of similar speed, and the certificate of a schedule made within groups.

Su, Ren, Vardi and Wierman, "Communication-aware scheduling of precedence-constrained tasks
on related machines", Operations Research Letters 51(6), 2023: a linear program splits each
task among speeds, the task is then restricted to one group of machines, and tasks start
earliest first (ETF) within their groups. The groups are those of Li, "Scheduling to minimize
total weighted completion time via time-indexed linear programming relaxations", FOCS 2017.

A slot of a node counts as a machine. On nodes that are not related there are no speeds to
group; there each task is restricted to the nodes where it takes at most twice its time in
the linear program (filtering; Lin and Vitter, "Epsilon-approximations with minimum packing
constraint violation", STOC 1992), and there is no certificate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.dag.graph import CommGraph

__all__ = ["Certificate", "SpeedGroups", "certify", "filtered_nodes", "group_nodes", "speed_groups"]

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class SpeedGroups:
    """Groups of related nodes.

    Attributes
    ----------
    speed
        float64 (N,), relative.
    members
        Nodes of each group, slowest group first; the slowest nodes are in none.
    total
        float64: speed of all slots of each group.
    """

    speed: FloatArray
    members: list[IntArray]
    total: FloatArray


@dataclass(frozen=True)
class Certificate:
    """Terms of ``makespan <= chain + area + waiting``, in ticks.

    Attributes
    ----------
    chain
        Durations along a chain of tasks, each the predecessor of the next that ends last.
    area
        For every group the work placed in it over its speed, summed.
    waiting
        Along the chain, how long after the end of the predecessor the data of all
        predecessors reach the nodes of the group, in the mean weighted by speed.
    """

    chain: float
    area: float
    waiting: float

    @property
    def total(self) -> float:
        """The guaranteed makespan."""
        return self.chain + self.area + self.waiting


def speed_groups(graph: CommGraph) -> SpeedGroups | None:
    """Return the groups of a graph with related nodes, None for any other graph."""
    if not graph.related or not graph.n:
        return None
    reference = graph.duration[int(graph.duration[:, 0].argmax())].astype(np.float64)
    speed = reference.max() / reference if reference.all() else np.ones(graph.nodes)
    machines = int(graph.slots.sum())
    least = speed.max() / machines
    ratio = 2.0
    if machines > 3:
        ratio = max(2.0, math.log(machines) / math.log(math.log(machines)))
    kept = np.flatnonzero(speed >= least * (1 - _ROUNDING))
    level = np.floor(np.log(speed[kept] / least) / math.log(ratio) + _ROUNDING).astype(np.int64)
    members = [kept[level == value] for value in np.unique(level)]
    total = np.array([float((speed[group] * graph.slots[group]).sum()) for group in members])
    return SpeedGroups(speed, members, total)


def group_nodes(graph: CommGraph, groups: SpeedGroups, share: FloatArray) -> BoolArray:
    """Return the nodes of the group that each task is restricted to, bool (n, N).

    Of the groups at least as fast as the fastest one above which half of the task lies,
    it is the one of greatest total speed.

    Parameters
    ----------
    share
        float64 (n, N): the part of each task that the linear program gives to each node.
    """
    count = len(groups.members)
    of = np.zeros(graph.nodes, np.int64)
    for number, group in enumerate(groups.members):
        of[group] = number
    mass = np.zeros((graph.n, count))
    np.add.at(mass.T, of, share.T)
    above = np.cumsum(mass[:, ::-1], axis=1)[:, ::-1]
    lowest = count - 1 - (above[:, ::-1] >= 0.5 - _ROUNDING).argmax(axis=1)
    widest = np.array([low + int(groups.total[low:].argmax()) for low in range(count)])
    inside = np.zeros((count, graph.nodes), np.bool_)
    for number, group in enumerate(groups.members):
        inside[number, group] = True
    allowed: BoolArray = inside[widest[lowest]]
    return allowed


def filtered_nodes(graph: CommGraph, share: FloatArray) -> BoolArray:
    """Return the nodes on which each task takes at most twice its time in the program."""
    mean = (np.where(graph.eligible, graph.duration, 0) * share).sum(axis=1)
    slack = np.maximum(2.0 * mean, np.where(graph.eligible, graph.duration, 2**60).min(axis=1))
    allowed: BoolArray = graph.eligible & (graph.duration <= slack[:, None] + _ROUNDING)
    return allowed


def certify(
    graph: CommGraph, groups: SpeedGroups, allowed: BoolArray, start: IntArray, node: IntArray
) -> Certificate:
    """Return the terms that bound the makespan of an earliest-start-first schedule.

    While a task of the chain could run in its group but does not, every slot of the group
    that its data have reached is busy: ETF starts tasks in the order of their starts, so a
    free slot would have been taken. Hence what lies between two tasks of the chain is
    waiting for data or covered by the work of the group.
    """
    rows = np.arange(graph.n)
    end = start + graph.duration[rows, node]
    weight = groups.speed * graph.slots
    work = graph.duration[rows, node] * groups.speed[node]
    area = float((work / (allowed * weight).sum(axis=1)).sum())
    chain, waiting = 0.0, 0.0
    task = int(end.argmax())
    while task >= 0:
        chain += float(graph.duration[task, node[task]])
        sources = graph.pred_task[graph.pred_offset[task] : graph.pred_offset[task + 1]]
        before = int(sources[end[sources].argmax()]) if len(sources) else -1
        wait = _arrivals(graph, task, end, node) - (int(end[before]) if before >= 0 else 0)
        share = allowed[task] * weight
        waiting += float((np.maximum(wait, 0) * share).sum() / share.sum())
        task = before
    return Certificate(chain, area, waiting)


def _arrivals(graph: CommGraph, task: int, end: IntArray, node: IntArray) -> IntArray:
    """Return when a task is released and all its data are on each node, int64 (N,)."""
    arrival = np.full(graph.nodes, graph.release[task])
    for q in range(int(graph.pred_offset[task]), int(graph.pred_offset[task + 1])):
        source, edge = int(graph.pred_task[q]), int(graph.pred_edge[q])
        delay = np.zeros(graph.nodes, np.int64)
        if graph.edge_data[edge]:
            home = int(node[source])
            delay = graph.latency[home] + graph.edge_data[edge] * graph.data_time[home]
        arrival = np.maximum(arrival, end[source] + graph.edge_lag[edge] + delay)
    return arrival
