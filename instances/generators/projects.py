"""Random projects: resources, several modes, minimum and maximum lags.

Sources: Kolisch, Sprecher and Drexl (1995) for resource factor and strength; C. Schwindt,
"Generation of resource-constrained project scheduling problems subject to temporal
constraints", report WIOR-543, Karlsruhe (1998), for lags.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from allocsolve.instances.generators.draw import Draw
from allocsolve.instances.generators.network import draw_network
from allocsolve.instances.generators.settings import Setting, Values
from allocsolve.models.dag.data import Edge, Mode, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.exact import Number

__all__ = ["LAGS", "MULTIMODE", "RCPSP", "draw_lags", "draw_multimode", "draw_rcpsp"]

Arc: TypeAlias = tuple[int, int]

_REACH = 50
"""A maximum lag leads at most so many tasks on."""

_COMMON = (
    Setting("network_complexity", 1.5, 0, 100, "mean number of arcs per task"),
    Setting("resource_factor", 0.5, 0, 1, "share of the resources that a task needs"),
    Setting(
        "resource_strength",
        0.3,
        0,
        1,
        "0: capacity just fits the largest demand; 1: it fits the earliest schedule",
    ),
    Setting("min_duration", 1, 0, 10**9, "shortest duration"),
    Setting("max_duration", 10, 0, 10**9, "longest duration"),
    Setting("max_demand", 10, 1, 10**9, "largest demand for a resource"),
)
RCPSP = (Setting("resources", 4, 0, 100, "number of renewable resources"), *_COMMON)
"""Settings of the family ``rcpsp``."""

MULTIMODE = (
    Setting("resources", 2, 0, 100, "number of renewable resources"),
    Setting("nonrenewable", 2, 0, 100, "number of non-renewable resources"),
    Setting("modes", 3, 1, 100, "modes per task"),
    Setting("nonrenewable_strength", 0.5, 0, 1, "0: total fits the least demands; 1: the largest"),
    *_COMMON,
)
"""Settings of the family ``multimode``."""

LAGS = (
    *RCPSP,
    Setting("max_lag_share", 0.3, 0, 1, "share of the tasks from which a maximum lag leads on"),
    Setting("slack", 0.3, 0, 100, "maximum lag beyond the earliest distance, as a share of it"),
)
"""Settings of the family ``lags``."""


def draw_rcpsp(draw: Draw, tasks: int, values: Values) -> DagProblem:
    """Draw a project with one mode per task."""
    arcs = draw_network(draw, tasks, values.number("network_complexity")).arcs
    needs = _needs(draw, tasks, values, modes=1)
    return _problem(needs, _precedence(arcs), _finish_lags(arcs, needs), values)


def draw_multimode(draw: Draw, tasks: int, values: Values) -> DagProblem:
    """Draw a project whose tasks have several modes: the longer, the less demanding.

    With scarce non-renewable resources it may have no schedule.
    """
    arcs = draw_network(draw, tasks, values.number("network_complexity")).arcs
    used_up = values.integer("nonrenewable")
    needs = _needs(draw, tasks, values, modes=values.integer("modes"), used_up=used_up)
    return _problem(needs, _precedence(arcs), _finish_lags(arcs, needs), values, used_up)


def draw_lags(draw: Draw, tasks: int, values: Values) -> DagProblem:
    """Draw a project with lags from start to start; scarce resources may leave no schedule.

    Every arc has a minimum lag of up to one and a half durations. A maximum lag leads from
    a task to one of those soon behind it and leaves ``slack`` beyond their distance in the
    earliest schedule, so the lags alone never contradict each other.
    """
    arcs = draw_network(draw, tasks, values.number("network_complexity")).arcs
    needs = _needs(draw, tasks, values, modes=1)
    lags = {(i, j): draw.integer(0, needs[i][0].duration * 3 // 2) for i, j in arcs}
    most = _maximum_lags(draw, tasks, lags, values)
    pairs = [*lags, *(pair for pair in most if pair not in lags)]
    edges = [
        _edge(i, j, min_lag=lags.get((i, j), 0), max_lag=most.get((i, j)), lag_from="start")
        for i, j in pairs
    ]
    return _problem(needs, edges, lags, values)


def _maximum_lags(
    draw: Draw, tasks: int, lags: Mapping[Arc, int], values: Values
) -> dict[Arc, int]:
    starts = _earliest(tasks, lags)
    leaving: list[list[int]] = [[] for _ in range(tasks)]
    for i, j in lags:
        leaving[i].append(j)
    most: dict[Arc, int] = {}
    for i in range(tasks):
        behind = _soon_behind(i, leaving)
        if draw.chance(values.number("max_lag_share")) and behind:
            j = draw.choice(behind)
            distance = starts[j] - starts[i]
            most[i, j] = distance + round(distance * values.number("slack"))
    return most


def _soon_behind(i: int, leaving: Sequence[Sequence[int]]) -> list[int]:
    """Return the tasks to which a path leads from task i, if they are not far behind it."""
    found = {i}
    for a in range(i, min(i + _REACH, len(leaving))):
        if a in found:
            found.update(b for b in leaving[a] if b <= i + _REACH)
    return sorted(found - {i})


@dataclass(frozen=True)
class _Need:
    """A mode: duration and demand for each resource, renewable ones first."""

    duration: int
    demand: tuple[int, ...]


def _needs(
    draw: Draw, tasks: int, values: Values, *, modes: int, used_up: int = 0
) -> list[list[_Need]]:
    """Draw the modes of every task: durations rise and demands fall from mode to mode."""
    renewable = values.integer("resources")
    return [_task_needs(draw, values, modes, (renewable, used_up)) for _ in range(tasks)]


def _task_needs(draw: Draw, values: Values, modes: int, kinds: Sequence[int]) -> list[_Need]:
    low, high = values.integer("min_duration"), values.integer("max_duration")
    durations = sorted(draw.integer(low, high) for _ in range(modes))
    columns: list[list[int]] = []
    for count in kinds:
        size = round(values.number("resource_factor") * count)
        needed = set(draw.subset(range(count), size))
        columns.extend(_column(draw, values, modes, needed=r in needed) for r in range(count))
    rows = zip(*columns, strict=True) if columns else [()] * modes
    return [_Need(d, tuple(row)) for d, row in zip(durations, rows, strict=True)]


def _column(draw: Draw, values: Values, modes: int, *, needed: bool) -> list[int]:
    if not needed:
        return [0] * modes
    most = values.integer("max_demand")
    return sorted((draw.integer(1, most) for _ in range(modes)), reverse=True)


def _edge(
    i: int,
    j: int,
    *,
    min_lag: int = 0,
    max_lag: int | None = None,
    lag_from: Literal["start", "end"] = "end",
) -> Edge:
    """Return an edge between two tasks counted from 0; their ids count from 1."""
    return Edge(
        source=str(i + 1), target=str(j + 1), min_lag=min_lag, max_lag=max_lag, lag_from=lag_from
    )


def _precedence(arcs: Sequence[Arc]) -> list[Edge]:
    return [_edge(i, j) for i, j in arcs]


def _finish_lags(arcs: Sequence[Arc], needs: Sequence[Sequence[_Need]]) -> dict[Arc, int]:
    """Return the lag from start to start of each precedence, in the shortest mode."""
    return {(i, j): needs[i][0].duration for i, j in arcs}


def _problem(
    needs: Sequence[Sequence[_Need]],
    edges: Sequence[Edge],
    lags: Mapping[Arc, int],
    values: Values,
    used_up: int = 0,
) -> DagProblem:
    """Put the parts together; capacities lie between what must and what could be needed."""
    renewable = values.integer("resources")
    starts = _earliest(len(needs), lags)
    resources = []
    for r in range(renewable):
        least = max((min(need.demand[r] for need in task) for task in needs), default=0)
        most = max(least, _peak(needs, starts, r))
        capacity = _between(least, most, values.number("resource_strength"))
        resources.append(Resource(id=f"R{r + 1}", capacity=capacity))
    for r in range(renewable, renewable + used_up):
        least = sum(min(need.demand[r] for need in task) for task in needs)
        most = sum(max(need.demand[r] for need in task) for task in needs)
        capacity = _between(least, most, values.number("nonrenewable_strength"))
        name = f"N{r - renewable + 1}"
        resources.append(Resource(id=name, capacity=capacity, renewable=False))
    names = [resource.id for resource in resources]
    tasks = [
        Task(id=str(i + 1), modes=[_mode(need, names) for need in task])
        for i, task in enumerate(needs)
    ]
    return DagProblem(tasks=tasks, edges=edges, resources=resources)


def _mode(need: _Need, names: Sequence[str]) -> Mode:
    demand: dict[str, Number] = {
        name: amount for name, amount in zip(names, need.demand, strict=True) if amount
    }
    return Mode(duration=need.duration, demand=demand)


def _between(least: int, most: int, strength: float) -> int:
    return least + round(strength * (most - least))


def _earliest(tasks: int, lags: Mapping[Arc, int]) -> list[int]:
    starts = [0] * tasks
    for i, j in sorted(lags):
        starts[j] = max(starts[j], starts[i] + lags[i, j])
    return starts


def _peak(needs: Sequence[Sequence[_Need]], starts: Sequence[int], r: int) -> int:
    """Return the most of a resource that the earliest schedule (first modes) holds at once."""
    events = [(start, task[0].demand[r]) for start, task in zip(starts, needs, strict=True)]
    events += [
        (start + task[0].duration, -task[0].demand[r])
        for start, task in zip(starts, needs, strict=True)
    ]
    held = peak = 0
    for _, change in sorted(events):
        held += change
        peak = max(peak, held)
    return peak
