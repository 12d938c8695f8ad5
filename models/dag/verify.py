"""Verification of the reasons why an instance has no schedule.

Part of the independent checker: each reason is proved again from the data of the instance
in exact arithmetic, whoever found it. A reason may say less than what can be proved (a
shorter path, less work), never more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType

from allocsolve.models.dag.data import DagData, Edge, Task
from allocsolve.models.dag.placement import Places
from allocsolve.models.dag.reason_types import (
    CriticalPath,
    DemandExceedsCapacity,
    NoEligibleNode,
    PositiveLagCycle,
    WindowOverload,
)
from allocsolve.models.exact import Number, exact, plain
from allocsolve.models.result import Reason, SolverProof

__all__ = ["verify_reason"]


def verify_reason(problem: DagData, reason: Reason) -> bool:
    """Tell whether a reason proves that the instance has no schedule.

    A :class:`SolverProof` has no argument that could be checked: it is accepted as the
    claim that it is. A reason of an unknown type is not accepted.
    """
    if isinstance(reason, SolverProof):
        return True
    facts = _Facts(problem)
    if isinstance(reason, PositiveLagCycle):
        return _verify_cycle(facts, reason)
    if isinstance(reason, CriticalPath):
        return _verify_path(facts, reason)
    if isinstance(reason, DemandExceedsCapacity):
        return _verify_demand(facts, reason)
    if isinstance(reason, NoEligibleNode):
        return reason.task in facts.tasks and _fits_nowhere(facts, reason.task)
    return isinstance(reason, WindowOverload) and _verify_window(facts, reason)


def _fits_nowhere(facts: _Facts, name: str) -> bool:
    """Whether no node can take a task and all that share its node, with their memory."""
    label = facts.tasks[name].colocate
    together = [task for task in facts.data.tasks if task.id == name]
    if label is not None:
        together = [task for task in facts.data.tasks if task.colocate == label]
    common = set.intersection(*({mode.node for mode in facts.modes(t.id)} for t in together))
    need = sum((exact(task.memory or 0) for task in together), Fraction(0))
    room = {node.id: node.memory for node in facts.data.nodes}
    rooms = [None if node is None else room[node] for node in common]
    return all(memory is not None and exact(memory) < need for memory in rooms)


@dataclass(frozen=True, slots=True)
class _Mode:
    """One way to execute a task; ``node`` is None in the project form."""

    duration: Fraction
    demand: Mapping[str, Number]
    node: str | None


class _Facts:
    """What the data implies for every schedule, as exact numbers."""

    def __init__(self, data: DagData) -> None:
        self.data = data
        self.tasks = {task.id: task for task in data.tasks}
        self.capacity = {r.id: exact(r.capacity) for r in data.resources}
        self.used_up = {r.id for r in data.resources if not r.renewable}
        self._places = Places(data)
        self._fitting: dict[str, list[_Mode]] = {}

    @property
    def slots(self) -> Mapping[str, int]:
        """Slots of each node."""
        return {node.id: node.slots for node in self.data.nodes}

    def modes(self, task_id: str) -> list[_Mode]:
        """Return every mode of a task, also those that do not fit."""
        task = self.tasks[task_id]
        if task.modes is not None:
            return [_Mode(exact(mode.duration), mode.demand, None) for mode in task.modes]
        return list(self._node_modes(task))

    def _node_modes(self, task: Task) -> Iterator[_Mode]:
        for node in self._places.nodes:
            duration = self._places.duration(task, node)
            if duration is not None and self._places.has_room(task, node):
                yield _Mode(duration, task.demand, node)

    def excess(self, mode: _Mode) -> list[str]:
        """Return the resources of which the mode alone needs more than there is."""
        return [
            resource
            for resource, amount in mode.demand.items()
            if exact(amount) > self.capacity[resource]
            and (mode.duration > 0 or resource in self.used_up)
        ]

    def fitting(self, task_id: str) -> list[_Mode]:
        """Return the modes of a task that fit."""
        if task_id not in self._fitting:
            modes = [mode for mode in self.modes(task_id) if not self.excess(mode)]
            self._fitting[task_id] = modes
        return self._fitting[task_id]

    def shortest(self, task_id: str) -> Fraction:
        """Return the shortest duration over the modes that fit (of which there are some)."""
        return min(mode.duration for mode in self.fitting(task_id))

    def longest(self, task_id: str) -> Fraction:
        """Return the longest duration over the modes that fit."""
        return max(mode.duration for mode in self.fitting(task_id))

    def release(self, task_id: str) -> Fraction:
        """Return the release."""
        return exact(self.tasks[task_id].release)

    def deadline(self, task_id: str) -> Fraction | None:
        """Return the deadline, None if there is none."""
        deadline = self.tasks[task_id].deadline
        return None if deadline is None else exact(deadline)

    @cached_property
    def lags(self) -> Mapping[tuple[str, str], Fraction]:
        """The longest lag from start to start of each pair of tasks that has any.

        Edges of a task without a fitting mode are left out.
        """
        lags: dict[tuple[str, str], Fraction] = {}
        for edge in self.data.edges:
            if self.fitting(edge.source) and self.fitting(edge.target):
                for pair, lag in self._lags_of(edge):
                    lags[pair] = max(lag, lags.get(pair, lag))
        return MappingProxyType(lags)

    def _lags_of(self, edge: Edge) -> Iterator[tuple[tuple[str, str], Fraction]]:
        from_end = edge.lag_from == "end"
        least = self.shortest(edge.source) if from_end else 0
        yield (edge.source, edge.target), exact(edge.min_lag) + least
        if edge.max_lag is not None:
            most = self.longest(edge.source) if from_end else 0
            yield (edge.target, edge.source), -exact(edge.max_lag) - most


def _sum_lags(facts: _Facts, pairs: Sequence[tuple[str, str]]) -> Fraction | None:
    """Return the sum of the lags of the pairs, None if some pair has none."""
    if any(pair not in facts.lags for pair in pairs):
        return None
    return sum((facts.lags[pair] for pair in pairs), Fraction(0))


def _verify_cycle(facts: _Facts, reason: PositiveLagCycle) -> bool:
    path = reason.path
    if not path:
        return False
    length = _sum_lags(facts, list(zip(path, [*path[1:], path[0]], strict=True)))
    return length is not None and 0 < reason.length <= plain(length)


def _verify_path(facts: _Facts, reason: CriticalPath) -> bool:
    path = reason.path
    if not path or path[-1] != reason.task or not set(path) <= set(facts.tasks):
        return False
    lags = _sum_lags(facts, list(itertools.pairwise(path)))
    deadline = facts.deadline(reason.task)
    if lags is None or deadline is None or not facts.fitting(reason.task):
        return False
    end = facts.release(path[0]) + lags + facts.shortest(reason.task)
    return end > deadline and reason.length <= plain(end) and reason.deadline == plain(deadline)


def _verify_demand(facts: _Facts, reason: DemandExceedsCapacity) -> bool:
    capacity = facts.capacity.get(reason.resource)
    if capacity is None or reason.capacity != plain(capacity):
        return False
    if reason.task is None:
        return _verify_total(facts, reason, capacity)
    if reason.task not in facts.tasks or facts.fitting(reason.task):
        return False
    demands = [
        exact(mode.demand[reason.resource])
        for mode in facts.modes(reason.task)
        if reason.resource in facts.excess(mode)
    ]
    return reason.demand in [plain(demand) for demand in demands]


def _verify_total(facts: _Facts, reason: DemandExceedsCapacity, capacity: Fraction) -> bool:
    """Verify that all tasks together use up too much of a non-renewable resource."""
    if reason.resource not in facts.used_up:
        return False
    total = Fraction(0)
    for task in facts.tasks:
        demands = [exact(m.demand.get(reason.resource, 0)) for m in facts.fitting(task)]
        total += min(demands, default=Fraction(0))
    return total > capacity and reason.demand <= plain(total)


def _verify_window(facts: _Facts, reason: WindowOverload) -> bool:
    """Prove the overload again within the window that the data really forces."""
    tasks = reason.tasks
    if not tasks or len(set(tasks)) < len(tasks) or not set(tasks) <= set(facts.tasks):
        return False
    if not all(facts.fitting(task) for task in tasks):
        return False
    need, windows = _need(facts, reason), _windows(facts)
    if need is None or windows is None:
        return False
    work, capacity = need
    starts, ends = zip(*(windows[task] for task in tasks), strict=True)
    if None in ends:
        return False
    start, end = min(starts), max(ends)
    proved = work > capacity * (end - start)
    covers = reason.start <= plain(start) and plain(end) <= reason.end
    offered = plain(capacity * (exact(reason.end) - exact(reason.start)))
    amounts = math.isclose(reason.available, offered, rel_tol=1e-12)
    return proved and covers and amounts and reason.available < reason.work <= plain(work)


def _need(facts: _Facts, reason: WindowOverload) -> tuple[Fraction, Fraction] | None:
    """Return the least work of the tasks and the capacity of what they run on.

    None if the tasks are not bound to what the reason names.
    """
    if reason.resource is not None:
        if reason.node is not None or reason.resource not in facts.capacity:
            return None
        if reason.resource in facts.used_up:
            return None
        resource = reason.resource
        if reason.exclusive:
            return _need_one_by_one(facts, reason.tasks, resource)
        work = _least(facts, reason.tasks, lambda m: m.duration * exact(m.demand.get(resource, 0)))
        return work, facts.capacity[resource]
    if reason.exclusive:
        return None
    nodes = {mode.node for task in reason.tasks for mode in facts.fitting(task)}
    if reason.node is not None and nodes != {reason.node}:
        return None
    slots = sum(facts.slots[node] for node in nodes if node is not None)
    work = _least(facts, reason.tasks, lambda mode: mode.duration)
    return None if None in nodes else (work, Fraction(slots))


def _need_one_by_one(
    facts: _Facts, tasks: Sequence[str], resource: str
) -> tuple[Fraction, Fraction] | None:
    """Return what the tasks need if each counts with the whole capacity.

    None if one may take no time, or two of them may run at once.
    """
    capacity = facts.capacity[resource]
    demands = [
        min(exact(mode.demand.get(resource, 0)) for mode in facts.fitting(task)) for task in tasks
    ]
    if not all(facts.shortest(task) for task in tasks) or sum(sorted(demands)[:2]) <= capacity:
        return None
    return _least(facts, tasks, lambda mode: mode.duration * capacity), capacity


def _least(facts: _Facts, tasks: Sequence[str], work: Callable[[_Mode], Fraction]) -> Fraction:
    return sum((min(work(m) for m in facts.fitting(task)) for task in tasks), Fraction(0))


def _windows(facts: _Facts) -> Mapping[str, tuple[Fraction, Fraction | None]] | None:
    """Return the earliest start and the latest end of each task that has a fitting mode.

    None as an end means that nothing bounds it. The whole is None if the lags have a
    positive cycle, for which there is a better reason.
    """
    tasks = [task for task in facts.tasks if facts.fitting(task)]
    earliest = {task: facts.release(task) for task in tasks}
    latest = {
        task: deadline - facts.shortest(task)
        for task in tasks
        if (deadline := facts.deadline(task)) is not None
    }
    if not _settle(facts, earliest, latest):
        return None
    ends = dict.fromkeys(tasks, math.inf) | {t: latest[t] + facts.longest(t) for t in latest}
    for task in latest:
        deadline = facts.deadline(task)
        ends[task] = ends[task] if deadline is None else min(ends[task], deadline)
    for edge in facts.data.edges:
        if edge.lag_from == "end" and edge.source in ends and edge.target in latest:
            ends[edge.source] = min(ends[edge.source], latest[edge.target] - exact(edge.min_lag))
    return {
        task: (earliest[task], end if isinstance(end, Fraction) else None)
        for task, end in ends.items()
    }


def _settle(facts: _Facts, earliest: dict[str, Fraction], latest: dict[str, Fraction]) -> bool:
    """Push starts along all lags until nothing changes; False if that never ends."""
    arcs = _ordered(facts)
    for _ in range(len(earliest) + 1):
        changed = False
        for (source, target), lag in arcs:
            if earliest[source] + lag > earliest[target]:
                earliest[target] = earliest[source] + lag
                changed = True
        for (source, target), lag in reversed(arcs):
            if target in latest and (source not in latest or latest[target] - lag < latest[source]):
                latest[source] = latest[target] - lag
                changed = True
        if not changed:
            return True
    return False


def _ordered(facts: _Facts) -> list[tuple[tuple[str, str], Fraction]]:
    """Return the lags in an order in which, without cycles, one pass settles all."""
    sorter: TopologicalSorter[str] = TopologicalSorter()
    for source, target in facts.lags:
        sorter.add(target, source)
    try:
        rank = {task: i for i, task in enumerate(sorter.static_order())}
    except CycleError:
        rank = {task: i for i, task in enumerate(facts.tasks)}
    return sorted(facts.lags.items(), key=lambda arc: rank[arc[0][0]])
