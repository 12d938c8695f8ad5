"""Explanations of infeasibility: find a short argument why an instance has no schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.area import eligible_sets
from allocsolve.models.dag.arrays import NO_LIMIT
from allocsolve.models.dag.disjunctive import excluding
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reason_types import (
    CriticalPath,
    DemandExceedsCapacity,
    NoEligibleNode,
    PositiveLagCycle,
    WindowOverload,
)
from allocsolve.models.dag.relaxation import Relaxation
from allocsolve.models.dag.windows import Energy, best_window, energies
from allocsolve.models.exact import plain
from allocsolve.models.result import Reason

__all__ = [
    "CriticalPath",
    "DemandExceedsCapacity",
    "NoEligibleNode",
    "PositiveLagCycle",
    "WindowOverload",
    "find_reason",
]


def find_reason(problem: DagProblem) -> Reason | None:
    """Return a proof that the instance has no schedule, None if no short one is found.

    The simplest explanation comes first: a task without a node, a demand above a capacity,
    a cycle of lags of positive length, a critical path beyond a deadline, a window that
    must hold more work than it can (for resources, nodes and sets of nodes). Deciding
    feasibility is NP-complete, so None promises nothing.
    """
    relaxation = Relaxation(problem)
    for argument in (
        _no_eligible_node,
        _excessive_task,
        _excessive_total,
        _positive_cycle,
        _late_task,
        _overload,
    ):
        reason = argument(relaxation)
        if reason is not None:
            return reason
    return None


def _no_eligible_node(relaxation: Relaxation) -> NoEligibleNode | None:
    offset = relaxation.arrays.mode_offset
    empty = np.flatnonzero(offset[1:] == offset[:-1])
    stuck = int(empty[0]) if len(empty) else _stuck_group(relaxation)
    return None if stuck is None else NoEligibleNode(task=relaxation.problem.tasks[stuck].id)


def _stuck_group(relaxation: Relaxation) -> int | None:
    """Return the first task of a group that no node can take as a whole, None without one."""
    arrays = relaxation.arrays
    for group in arrays.groups:
        able = np.ones(len(arrays.node_slots), np.bool_)
        for task in group:
            modes = arrays.modes_of(task)
            able &= np.isin(np.arange(len(able)), arrays.mode_node[modes.start : modes.stop])
        need = int(arrays.task_memory[list(group)].sum())
        if not (able & (arrays.node_memory >= need)).any():
            return group[0]
    return None


def _excessive_task(relaxation: Relaxation) -> DemandExceedsCapacity | None:
    """Find a task none of whose modes fits, and a resource that shows it best."""
    if relaxation.fits.all():
        return None
    arrays = relaxation.arrays
    unfit = arrays.mode_task[relaxation.usable & ~relaxation.fits]
    if not len(unfit):
        return None
    task = int(unfit[0])
    modes = arrays.modes_of(task)
    excess = relaxation.excess[modes.start : modes.stop]
    resource = int(excess.sum(axis=0).argmax())
    demands = arrays.mode_demand[modes.start : modes.stop, resource]
    demand = int(demands[excess[:, resource]].min())
    return _demand(relaxation, relaxation.problem.tasks[task].id, resource, demand)


def _excessive_total(relaxation: Relaxation) -> DemandExceedsCapacity | None:
    arrays = relaxation.arrays
    for resource in np.flatnonzero(~arrays.renewable).tolist():
        total = int(relaxation.least_demand(resource).sum())
        if total > arrays.capacity[resource]:
            return _demand(relaxation, None, resource, total)
    return None


def _demand(
    relaxation: Relaxation, task: str | None, resource: int, demand: int
) -> DemandExceedsCapacity:
    arrays = relaxation.arrays
    unit = arrays.resource_unit[resource]
    return DemandExceedsCapacity(
        task=task,
        resource=relaxation.problem.resources[resource].id,
        demand=plain(demand * unit),
        capacity=plain(int(arrays.capacity[resource]) * unit),
    )


def _positive_cycle(relaxation: Relaxation) -> PositiveLagCycle | None:
    cycle = relaxation.forward.cycle
    if cycle is None:
        return None
    length = sum(
        relaxation.lag(source, target)
        for source, target in zip(cycle, [*cycle[1:], cycle[0]], strict=True)
    )
    return PositiveLagCycle(path=_ids(relaxation, cycle), length=_time(relaxation, length))


def _late_task(relaxation: Relaxation) -> CriticalPath | None:
    """Find the task that is late first in time."""
    end = relaxation.head + relaxation.min_duration
    late = np.flatnonzero(end > relaxation.arrays.deadline)
    if not len(late):
        return None
    task = int(late[end[late].argmin()])
    return CriticalPath(
        task=relaxation.problem.tasks[task].id,
        path=_ids(relaxation, relaxation.forward.path_to(task)),
        length=_time(relaxation, int(end[task])),
        deadline=_time(relaxation, int(relaxation.arrays.deadline[task])),
    )


@dataclass(frozen=True, eq=False)
class _Place:
    """Something of limited capacity and the work that each task must do there."""

    work: Energy
    capacity: int
    unit: Fraction = Fraction(1)
    resource: str | None = None
    node: str | None = None
    exclusive: bool = False


def _overload(relaxation: Relaxation) -> WindowOverload | None:
    if not (relaxation.arrays.deadline < NO_LIMIT).any():
        return None
    latest_end = relaxation.latest_ends()
    bounded = np.flatnonzero(latest_end < NO_LIMIT // 2)
    head, tail = relaxation.head[bounded], -latest_end[bounded]
    for place in _places(relaxation):
        work = place.work[bounded]
        window = best_window(head, tail, work, place.capacity)
        if window is not None and window.value > 0:
            inside = (head >= window.head) & (tail >= window.tail) & (work > 0)
            tasks = bounded[inside].tolist()
            return _describe(relaxation, place, tasks, (window.head, -window.tail))
    return None


def _places(relaxation: Relaxation) -> Iterator[_Place]:
    arrays, problem = relaxation.arrays, relaxation.problem
    for r in np.flatnonzero(arrays.renewable & (arrays.capacity > 0)).tolist():
        yield _Place(
            relaxation.least_energy(r),
            int(arrays.capacity[r]),
            arrays.resource_unit[r],
            resource=problem.resources[r].id,
        )
    duration = relaxation.min_duration
    yield from _exclusive_places(relaxation)
    for k, tasks in relaxation.bound_tasks():
        work = np.zeros_like(duration)
        work[tasks] = duration[tasks]
        yield _Place(work, int(arrays.node_slots[k]), node=problem.nodes[k].id)
    for nodes in [*eligible_sets(relaxation), relaxation.used_nodes]:
        work = np.where(relaxation.only_within(nodes), duration, 0)
        yield _Place(work, max(int(arrays.node_slots[nodes].sum()), 1))


def _exclusive_places(relaxation: Relaxation) -> Iterator[_Place]:
    """Yield the resources with tasks no two of which fit at once."""
    arrays = relaxation.arrays
    for r in np.flatnonzero(arrays.renewable & (arrays.capacity > 1)).tolist():
        capacity = np.full(1, arrays.capacity[r])
        for tasks in excluding(relaxation, r):
            length = np.zeros_like(relaxation.min_duration)
            length[tasks] = relaxation.min_duration[tasks]
            yield _Place(
                energies(capacity, length),
                int(capacity[0]),
                arrays.resource_unit[r],
                resource=relaxation.problem.resources[r].id,
                exclusive=True,
            )


def _describe(
    relaxation: Relaxation, place: _Place, tasks: list[int], window: tuple[int, int]
) -> WindowOverload:
    start, end = window
    capacity = place.capacity
    if place.resource is None and place.node is None:
        capacity = _slots_for(relaxation, tasks)
    work = sum(int(place.work[task]) for task in tasks)
    return WindowOverload(
        resource=place.resource,
        node=place.node,
        start=_time(relaxation, start),
        end=_time(relaxation, end),
        work=plain(relaxation.problem.units(work) * place.unit),
        available=plain(relaxation.problem.units(capacity * (end - start)) * place.unit),
        tasks=_ids(relaxation, tasks),
        exclusive=place.exclusive,
    )


def _slots_for(relaxation: Relaxation, tasks: list[int]) -> int:
    """Return the slots of all nodes on which at least one of the tasks can run."""
    arrays = relaxation.arrays
    modes = relaxation.on_node & np.isin(arrays.mode_task, tasks)
    nodes: IntArray = np.unique(arrays.mode_node[modes])
    return int(arrays.node_slots[nodes].sum())


def _ids(relaxation: Relaxation, tasks: list[int]) -> list[str]:
    return [relaxation.problem.tasks[task].id for task in tasks]


def _time(relaxation: Relaxation, ticks: int) -> int | float:
    return plain(relaxation.problem.units(ticks))
