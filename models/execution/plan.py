"""A schedule as a (max, +) recursion: what every task waits for, and how long.

``start = max(earliest, max over arcs of (end or start of the source + lag + transfer))`` and
``end = start + duration * X``. The arcs are those of the instance (with the data that passes
between nodes) and the order in which the plan hands on slots and renewable resources.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray, integers, offsets
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.arrays import NO_LIMIT
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.exact import exact
from allocsolve.models.execution.chains import Use, link_units

__all__ = ["Arc", "ArcTable", "ReplayPlan", "plan_replay"]

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Arc:
    """A wait of one task for another.

    Attributes
    ----------
    source, target
        Tasks.
    lag, transfer
        Ticks from the end (or start) of the source to the start of the target; the transfer
        is the part that a law of the links multiplies.
    from_start
        The wait counts from the start of the source.
    edge
        Edge of the instance, -1 for an order that the plan implies.
    """

    source: int
    target: int
    lag: float
    transfer: int = 0
    from_start: bool = False
    edge: int = -1


@dataclass(frozen=True, eq=False)
class ArcTable:
    """Arcs as arrays; those into the task at position p are ``offset[p] : offset[p + 1]``."""

    offset: IntArray
    source: IntArray
    edge: IntArray
    from_start: BoolArray
    lag: FloatArray
    transfer: FloatArray


@dataclass(frozen=True, eq=False)
class ReplayPlan:
    """A schedule as arrays for the replay; times in ticks of the instance.

    Attributes
    ----------
    schedule
        The plan.
    order
        int64 (n,), tasks such that each comes after all it waits for.
    arcs
        What the tasks wait for, by target along ``order``.
    earliest, duration
        float64 (n,), by task.
    node
        int64 (n,), -1 for none.
    rank
        int64 (n,): position of the task among those of its node by planned start.
    windows
        By task the intervals in which its node is not available, rising.
    planned
        Makespan of the plan.
    warnings
        What the replay leaves out.
    """

    schedule: Schedule
    order: IntArray
    arcs: ArcTable
    earliest: FloatArray
    duration: FloatArray
    node: IntArray
    rank: IntArray
    windows: dict[int, tuple[tuple[float, float], ...]]
    planned: int
    warnings: tuple[str, ...]

    @property
    def problem(self) -> DagProblem:
        """The instance."""
        return self.schedule.problem


def plan_replay(
    schedule: Schedule,
    starts: Literal["eager", "planned"] = "eager",
    places: Sequence[Sequence[int]] | None = None,
) -> ReplayPlan:
    """Return the recursion that replays a schedule.

    Parameters
    ----------
    schedule
        A valid schedule.
    starts
        ``planned`` keeps every task from starting before its planned start.
    places
        The nodes on each of which a task takes one slot; by default the node of its mode.
        A task with several starts when all are free.

    Raises
    ------
    CheckFailed
        If a node or a renewable resource is overloaded.
    """
    problem, arrays = schedule.problem, schedule.problem.arrays
    node = arrays.mode_node[schedule.mode]
    if places is None:
        places = [() if k < 0 else (k,) for k in node.tolist()]
    edges, warnings = _edges(schedule)
    arcs = _merged([*edges, *_chains(schedule, places, edges)])
    order, kept = _sorted_arcs(schedule, arcs)
    if len(kept) < len(arcs):
        warnings.append("waits that close a cycle are left out of the replay")
    earliest = schedule.start if starts == "planned" else arrays.release
    return ReplayPlan(
        schedule=schedule,
        order=integers(order),
        arcs=_table(order, kept),
        earliest=earliest.astype(np.float64),
        duration=(schedule.end - schedule.start).astype(np.float64),
        node=node,
        rank=_ranks(schedule, node),
        windows=_windows(problem, places),
        planned=schedule.makespan,
        warnings=tuple(warnings),
    )


def _edges(schedule: Schedule) -> tuple[list[Arc], list[str]]:
    """Return the arcs of the instance that look forward in the plan, and what is left out."""
    arrays = schedule.problem.arrays
    node, start = arrays.mode_node[schedule.mode].tolist(), schedule.start.tolist()
    rows = zip(
        arrays.edge_source.tolist(),
        arrays.edge_target.tolist(),
        arrays.edge_min_lag.tolist(),
        arrays.edge_from_start.tolist(),
        strict=True,
    )
    arcs, backward = [], 0
    for edge, (source, target, lag, from_start) in enumerate(rows):
        if start[source] > start[target] or source == target:
            backward += 1
            continue
        transfer = arrays.delay(edge, node[source], node[target]) or 0
        arcs.append(Arc(source, target, lag, transfer, from_start, edge))
    warnings = []
    if backward:
        warnings.append(
            f"{backward} minimum lag(s) below zero let the earlier task wait for a later one; "
            "the replay does not keep them"
        )
    limited = int((arrays.edge_max_lag < NO_LIMIT).sum())
    if limited:
        warnings.append(
            f"{limited} maximum lag(s) are not kept: a task starts as soon as it can, "
            "also if what it follows ended too long ago"
        )
    return arcs, warnings


def _chains(
    schedule: Schedule, places: Sequence[Sequence[int]], edges: Sequence[Arc]
) -> Iterator[Arc]:
    """Yield the order on nodes and renewable resources."""
    problem, arrays = schedule.problem, schedule.problem.arrays
    start, end = schedule.start.tolist(), schedule.end.tolist()
    predecessors: list[set[int]] = [set() for _ in start]
    for arc in edges:
        predecessors[arc.target].add(arc.source)
    setups = _Setups(problem)
    long = [task for task in range(len(start)) if end[task] > start[task]]
    held: dict[int, list[Use]] = defaultdict(list)
    for task in long:
        for k in places[task]:
            held[k].append(Use(task, start[task], end[task], 1))
    for k, uses in sorted(held.items()):
        pause = setups.on(k) if problem.setups else None
        for pair in link_units(int(arrays.node_slots[k]), uses, predecessors, pause):
            yield Arc(*pair, float(pause(*pair)) if pause else 0.0)
    demand = arrays.mode_demand[schedule.mode]
    for r in np.flatnonzero(arrays.renewable).tolist():
        uses = [Use(t, start[t], end[t], int(demand[t, r])) for t in long if demand[t, r]]
        for pair in link_units(int(arrays.capacity[r]), uses, predecessors):
            yield Arc(*pair, 0.0)


class _Setups:
    """Setup times between tasks that follow each other on a node, in ticks."""

    def __init__(self, problem: DagProblem) -> None:
        self._label = [task.setup_class for task in problem.tasks]
        self._node = [node.id for node in problem.nodes]
        self._times = {
            (setup.node, setup.before, setup.after): exact(setup.time) / problem.arrays.tick
            for setup in problem.setups
        }

    def on(self, node: int) -> _Pause:
        """Return the setup times on a node."""
        return _Pause(self._label, self._node[node], self._times)


@dataclass(frozen=True)
class _Pause:
    label: Sequence[str | None]
    node: str
    times: dict[tuple[str | None, str, str], Fraction]

    def __call__(self, before: int, after: int) -> Fraction:
        first, second = self.label[before], self.label[after]
        if first is None or second is None:
            return _ZERO
        everywhere = self.times.get((None, first, second), _ZERO)
        return self.times.get((self.node, first, second), everywhere)


def _merged(arcs: Sequence[Arc]) -> list[Arc]:
    """Return the arcs without those that another one between the same tasks implies."""
    best: dict[tuple[int, int, bool], Arc] = {}
    several: list[Arc] = []
    for arc in arcs:
        key = (arc.source, arc.target, arc.from_start)
        other = best.get(key)
        if other is None or (arc.lag >= other.lag and not other.transfer):
            best[key] = arc
        elif arc.transfer or arc.lag > other.lag:
            several.append(arc)
    return [*best.values(), *several]


def _sorted_arcs(schedule: Schedule, arcs: Sequence[Arc]) -> tuple[list[int], list[Arc]]:
    """Return the tasks in an order along the arcs, by planned start, and the arcs it keeps.

    A cycle can only be of tasks that start together; its first task then waits for no one.
    """
    start = schedule.start.tolist()
    outgoing: dict[int, list[Arc]] = defaultdict(list)
    waiting = [0] * len(start)
    for arc in arcs:
        outgoing[arc.source].append(arc)
        waiting[arc.target] += 1
    ready = [(start[task], task) for task in range(len(start)) if not waiting[task]]
    heapq.heapify(ready)
    order: list[int] = []
    position: dict[int, int] = {}
    rest = iter(sorted(range(len(start)), key=lambda task: (start[task], task)))
    while len(order) < len(start):
        if ready:
            task = heapq.heappop(ready)[1]
        else:
            task = next(task for task in rest if task not in position)
        if task in position:
            continue
        position[task] = len(order)
        order.append(task)
        for arc in outgoing[task]:
            waiting[arc.target] -= 1
            if not waiting[arc.target]:
                heapq.heappush(ready, (start[arc.target], arc.target))
    return order, [arc for arc in arcs if position[arc.source] < position[arc.target]]


def _table(order: Sequence[int], arcs: Sequence[Arc]) -> ArcTable:
    """Return the arcs by target along the order."""
    incoming: dict[int, list[Arc]] = defaultdict(list)
    for arc in arcs:
        incoming[arc.target].append(arc)
    rows = [arc for task in order for arc in incoming[task]]
    return ArcTable(
        offset=offsets([len(incoming[task]) for task in order]),
        source=integers(arc.source for arc in rows),
        edge=integers(arc.edge for arc in rows),
        from_start=np.array([arc.from_start for arc in rows], np.bool_),
        lag=np.array([arc.lag for arc in rows], np.float64),
        transfer=np.array([arc.transfer for arc in rows], np.float64),
    )


def _ranks(schedule: Schedule, node: IntArray) -> IntArray:
    seen: dict[int, int] = defaultdict(int)
    ranks = np.zeros(len(node), np.int64)
    for task in np.lexsort((np.arange(len(node)), schedule.start)).tolist():
        ranks[task] = seen[int(node[task])]
        seen[int(node[task])] += 1
    return ranks


def _windows(
    problem: DagProblem, places: Sequence[Sequence[int]]
) -> dict[int, tuple[tuple[float, float], ...]]:
    tick = problem.arrays.tick
    closed = [
        [(float(exact(a) / tick), float(exact(b) / tick)) for a, b in node.unavailable]
        for node in problem.nodes
    ]
    found = {}
    for task, nodes in enumerate(places):
        windows = sorted(window for k in nodes for window in closed[k])
        if windows:
            found[task] = tuple(windows)
    return found
