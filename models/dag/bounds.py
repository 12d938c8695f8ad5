"""Lower bounds on the makespan that need no search, each with its source.

All of them relax a schedule to the heads and tails of :mod:`allocsolve.models.dag.relaxation` and
to the least amount of work that the modes allow, so they hold for minimum and maximum lags,
releases, several modes, slots, speeds and communication.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.area import area_weights
from allocsolve.models.dag.disjunctive import cliques
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.relaxation import (
    Relaxation,
    earliest_starts,
    heads,
    latest_starts,
    tails,
)
from allocsolve.models.dag.windows import Energy, Window, best_window
from allocsolve.models.exact import plain
from allocsolve.models.result import Bound

if TYPE_CHECKING:
    from allocsolve.models.dag.comm_bounds import StarWindow

__all__ = ["earliest_starts", "heads", "latest_starts", "lower_bounds", "tails"]

_SHOWN = 8
"""Ids that a sentence lists at most."""


def lower_bounds(problem: DagProblem) -> list[Bound]:
    """Return lower bounds on the makespan in ticks, the highest first.

    ===================  =========================================================
    source               argument
    ===================  =========================================================
    ``critical_path``    longest path over lags, releases and shortest durations
    ``resource_energy``  window argument on a renewable resource (Klein and Scholl,
                         "Computing lower bounds by destructive improvement",
                         European Journal of Operational Research 112, 1999)
    ``machine``          window argument on a node to which tasks are bound (Carlier
                         1982)
    ``node_area``        window argument on weighted nodes: the dual of sharing the
                         tasks among unrelated nodes (Lenstra, Shmoys and Tardos 1990)
    ``disjunctive``      one-machine window on tasks no two of which can overlap
                         (Mingozzi, Maniezzo, Ricciardelli and Bianco, "An exact
                         algorithm for the resource-constrained project scheduling
                         problem", Management Science 44, 1998)
    ``cluster``          longest head, work and tail when the predecessors of each task
                         choose between its node and another one
    ``head_tail_area``   window argument on all slots between these heads and tails
    ``star``             work around a task that other nodes can begin only later
    ===================  =========================================================

    The last three hold for data that travels between identical nodes (sources in
    :mod:`allocsolve.models.dag.comm_bounds`).

    Bounds of one source are given once, for the resource, node or set of tasks where it
    is highest. The list is empty if the lags have a cycle of positive length: then no
    schedule exists.
    """
    relaxation = Relaxation(problem)
    if relaxation.forward.cycle:
        return []
    found = [_critical_path(relaxation)]
    for argument in (_resource_energy, _machine, _node_area, _disjunctive):
        best = max(argument(relaxation), key=lambda bound: bound.value, default=None)
        if best is not None:
            found.append(best)
    found.extend(_communication(relaxation))
    return sorted(found, key=lambda bound: -bound.value)


def _critical_path(relaxation: Relaxation) -> Bound:
    end = relaxation.head + relaxation.min_duration
    if not len(end):
        return Bound(0, "critical_path", "there are no tasks")
    last = int(end.argmax())
    path = _names(relaxation, relaxation.forward.path_to(last), " -> ")
    value = int(end[last])
    return Bound(value, "critical_path", f"the path {path} takes {_time(relaxation, value)}")


def _resource_energy(relaxation: Relaxation) -> Iterator[Bound]:
    arrays, problem = relaxation.arrays, relaxation.problem
    for r in np.flatnonzero(arrays.renewable & (arrays.capacity > 0)).tolist():
        capacity = int(arrays.capacity[r])
        window = _window(relaxation, relaxation.least_energy(r), capacity)
        if window is not None:
            unit = arrays.resource_unit[r]
            work = plain(problem.units(window.energy) * unit)
            yield Bound(
                window.value,
                "resource_energy",
                f"resource '{problem.resources[r].id}' of capacity {plain(capacity * unit)} must "
                f"give {work} (amount times time) {_between(relaxation, window)}",
            )


def _machine(relaxation: Relaxation) -> Iterator[Bound]:
    arrays, problem = relaxation.arrays, relaxation.problem
    for node, tasks in relaxation.bound_tasks():
        slots = int(arrays.node_slots[node])
        window = _window(relaxation, relaxation.min_duration[tasks], slots, tasks)
        if window is not None:
            yield Bound(
                window.value,
                "machine",
                f"node '{problem.nodes[node].id}' with {slots} slot(s) must work "
                f"{_time(relaxation, window.energy)} {_between(relaxation, window)}",
            )


def _node_area(relaxation: Relaxation) -> Iterator[Bound]:
    for area in area_weights(relaxation):
        window = _window(relaxation, area.work, area.capacity)
        if window is not None:
            yield Bound(
                window.value,
                "node_area",
                f"the tasks keep {area.where} busy for "
                f"{_time(relaxation, window.value - window.head - window.tail)} "
                f"{_between(relaxation, window)}",
            )


def _disjunctive(relaxation: Relaxation) -> Iterator[Bound]:
    for clique in cliques(relaxation):
        work = np.zeros_like(relaxation.min_duration)
        work[clique] = relaxation.min_duration[clique]
        window = _window(relaxation, work, 1)
        tasks = [] if window is None else _inside(relaxation, window, work)
        if window is not None and len(tasks) > 1:
            yield Bound(
                window.value,
                "disjunctive",
                f"no two of the tasks {_names(relaxation, tasks, ', ')} can overlap; they take "
                f"{_time(relaxation, window.energy)} {_between(relaxation, window)}",
            )


def _communication(relaxation: Relaxation) -> Iterator[Bound]:
    if not relaxation.arrays.communicates:
        return
    # Loaded only here: without data between nodes nothing of it is needed.
    from allocsolve.models.dag.comm_bounds import ClusterBounds
    from allocsolve.models.dag.comm_identical import identical_nodes

    instance = identical_nodes(relaxation.problem)
    if instance is None:
        return
    bounds = ClusterBounds(instance)
    value, task = bounds.longest()
    yield Bound(
        value,
        "cluster",
        f"{_time(relaxation, bounds.heads[task])} must pass before task "
        f"{_names(relaxation, [task], '')} and {_time(relaxation, bounds.tails[task])} after it, "
        "whichever of its neighbours share its node",
    )
    area, star = bounds.area(), bounds.star()
    if area is not None:
        where = "all slots together" if instance.capacity > 1 else "the only slot"
        yield Bound(
            area.value,
            "head_tail_area",
            f"{where} must work {_time(relaxation, area.energy)} {_between(relaxation, area)}",
        )
    if star is not None:
        yield Bound(star.value, "star", _around(relaxation, star))


def _around(relaxation: Relaxation, star: StarWindow) -> str:
    task = _names(relaxation, [star.centre], "")
    side, until = ("before", "end by") if star.backwards else ("after", "begin at")
    return (
        f"work of {_time(relaxation, star.work)} {side} task {task} can {until} "
        f"{_time(relaxation, star.delay)} {side} it at the closest on nodes other than its own"
    )


def _window(
    relaxation: Relaxation, work: Energy, capacity: int, tasks: IntArray | slice = slice(None)
) -> Window | None:
    return best_window(relaxation.head[tasks], relaxation.tail[tasks], work, capacity)


def _inside(relaxation: Relaxation, window: Window, work: IntArray) -> list[int]:
    inside = (relaxation.head >= window.head) & (relaxation.tail >= window.tail) & (work > 0)
    return [int(task) for task in np.flatnonzero(inside)]


def _time(relaxation: Relaxation, ticks: int) -> int | float:
    return plain(relaxation.problem.units(ticks))


def _between(relaxation: Relaxation, window: Window) -> str:
    after = _time(relaxation, window.head)
    before = _time(relaxation, window.tail)
    return f"after the first {after} and before the last {before} of the project"


def _names(relaxation: Relaxation, tasks: list[int], joint: str) -> str:
    ids = [relaxation.problem.tasks[task].id for task in tasks]
    if len(ids) > _SHOWN:
        ids = [*ids[: _SHOWN - 1], f"({len(ids) - _SHOWN} more)", ids[-1]]
    return joint.join(ids)
