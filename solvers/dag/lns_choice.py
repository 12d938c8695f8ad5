"""Which tasks a round frees: four operators, chosen and sized by what they gained so far.

The weight of an operator follows its gains by exponential smoothing, and operators are drawn
in proportion to their weights (Ropke and Pisinger, "An adaptive large neighborhood search
heuristic for the pickup and delivery problem with time windows", Transportation Science 40,
2006). Each has a size of its own: it grows where the engine searched everything, and shrinks
where the engine ran out of its limit.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_build import Placement

__all__ = ["OPERATORS", "Choice", "Chooser", "critical_path"]

_FIRST_SIZE, _LEAST_SIZE = 16, 6
"""Tasks that an operator frees at first, and at least."""

_GROWTH, _SHRINKAGE = 1.3, 0.85
"""Factors of the size after a round that was searched completely, and one that was not."""

_REACTION, _LEAST_WEIGHT = 0.15, 0.1
"""Share of the newest round in a weight, and the least weight."""

Draw = random.Random
Operator = Callable[[Placement, int, Draw], IntArray]


def _by_start(placement: Placement, tasks: IntArray) -> IntArray:
    sorted_tasks: IntArray = tasks[np.argsort(placement.start[tasks], kind="stable")]
    return sorted_tasks


def _stretch(tasks: IntArray, size: int, source: Draw) -> IntArray:
    """Return so many tasks in a row, from a random place on."""
    first = source.randrange(max(1, len(tasks) - size + 1))
    return tasks[first : first + size]


def window(placement: Placement, size: int, source: Draw) -> IntArray:
    """Return tasks that start one after another, on all nodes."""
    return _stretch(_by_start(placement, np.arange(placement.graph.n)), size, source)


def few_nodes(placement: Placement, size: int, source: Draw) -> IntArray:
    """Return tasks that start one after another on two nodes."""
    used = np.unique(placement.node).tolist()
    chosen = source.sample(used, min(2, len(used)))
    return _stretch(
        _by_start(placement, np.flatnonzero(np.isin(placement.node, chosen))), size, source
    )


def critical(placement: Placement, size: int, source: Draw) -> IntArray:
    """Return a stretch of the path that fixes the makespan, and tasks near it in time."""
    path = critical_path(placement)
    core = _stretch(path, max(1, size // 2), source)
    graph = placement.graph
    length = graph.duration[np.arange(graph.n), placement.node]
    begin, end = placement.start[core].min(), (placement.start + length)[core].max()
    near = np.flatnonzero((placement.start < end) & (placement.start + length > begin))
    others = np.setdiff1d(near, core)
    drawn = source.sample(others.tolist(), min(len(others), size - len(core)))
    return np.concatenate((core, np.array(drawn, np.int64)))


def cluster(placement: Placement, size: int, source: Draw) -> IntArray:
    """Return tasks around a random one: its neighbours along edges, theirs, and so on."""
    graph = placement.graph
    found = [source.randrange(graph.n)]
    seen = set(found)
    for task in found:
        if len(found) >= size:
            break
        near = [*_row(graph.pred_offset, graph.pred_task, task)]
        near += _row(graph.succ_offset, graph.succ_task, task)
        fresh = [other for other in dict.fromkeys(near) if other not in seen]
        source.shuffle(fresh)
        seen.update(fresh)
        found.extend(fresh)
    return np.array(found[:size], np.int64)


def _row(offset: IntArray, tasks: IntArray, task: int) -> list[int]:
    row: list[int] = tasks[offset[task] : offset[task + 1]].tolist()
    return row


def critical_path(placement: Placement) -> IntArray:
    """Return tasks, each of which fixes the start of the next, up to the makespan."""
    graph = placement.graph
    end = placement.start + graph.duration[np.arange(graph.n), placement.node]
    task = int(end.argmax())
    path = [task]
    while True:
        before = _blocker(placement, end, task)
        if before is None or len(path) > graph.n:
            return np.array(path[::-1], np.int64)
        task = before
        path.append(task)


def _blocker(placement: Placement, end: IntArray, task: int) -> int | None:
    """Return a task that lets a task start no earlier, None if there is none."""
    graph, node = placement.graph, placement.node
    for q in range(graph.pred_offset[task], graph.pred_offset[task + 1]):
        other, edge = int(graph.pred_task[q]), graph.pred_edge[q]
        arrival = end[other] + graph.edge_lag[edge]
        data, here, there = graph.edge_data[edge], node[other], node[task]
        if data and here != there:
            arrival += graph.latency[here, there] + data * graph.data_time[here, there]
        if arrival == placement.start[task]:
            return other
    ahead = (node == node[task]) & (end == placement.start[task]) & (placement.start < end)
    tasks = np.flatnonzero(ahead)
    return int(tasks[0]) if len(tasks) else None


OPERATORS: Mapping[str, Operator] = {
    "window": window,
    "few_nodes": few_nodes,
    "critical": critical,
    "cluster": cluster,
}
"""The operators by name: from a schedule, a size and random numbers to tasks."""


@dataclass
class Choice:
    """An operator with what it learnt."""

    name: str
    weight: float = 1.0
    size: float = _FIRST_SIZE

    def learn(self, *, is_better: bool, is_complete: bool) -> None:
        """Take in whether a round found a better schedule, and whether it searched everything."""
        weight = (1 - _REACTION) * self.weight + _REACTION * is_better
        self.weight = max(_LEAST_WEIGHT, weight)
        if is_complete:
            self.size *= _GROWTH
        elif not is_better:
            self.size = max(_LEAST_SIZE, _SHRINKAGE * self.size)


class Chooser:
    """Draws an operator and the tasks that it frees."""

    def __init__(self, graph: CommGraph, seed: int) -> None:
        self._graph = graph
        self._source = random.Random(seed)
        self.choices = [Choice(name) for name in OPERATORS]

    def draw(self, placement: Placement) -> tuple[Choice, BoolArray]:
        """Return an operator and which tasks to free, with all that share a node with them."""
        weights = [choice.weight for choice in self.choices]
        choice = self._source.choices(self.choices, weights)[0]
        choice.size = min(choice.size, float(self._graph.n))
        tasks = OPERATORS[choice.name](placement, int(choice.size), self._source)
        free = np.zeros(self._graph.n, np.bool_)
        free[tasks] = True
        groups = np.unique(self._graph.group[free])
        free |= np.isin(self._graph.group, groups[groups >= 0])
        return choice, free
