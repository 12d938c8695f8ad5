"""From the data of a ``dag`` instance in exact numbers to integers on the coarsest grid."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from operator import itemgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray, booleans, integers, matrix, offsets
from allocsolve.models.dag.arrays import NO_LIMIT, DagArrays
from allocsolve.models.dag.data import DagData, DefaultLink, Edge, Link, Node, Task
from allocsolve.models.errors import InputError
from allocsolve.models.exact import LARGEST, Number, exact, grid

__all__ = ["build_arrays"]


_Host: TypeAlias = tuple[int, Node, Fraction]
"""Index, data and speed of a node."""


class _RawMode(NamedTuple):
    task: int
    duration: Fraction
    node: int
    position: int
    demand: dict[str, Fraction]


class _RawEdge(NamedTuple):
    source: int
    target: int
    from_start: bool
    min_lag: Fraction
    max_lag: Fraction | None
    data: Fraction


def build_arrays(data: DagData) -> DagArrays:
    """Scale validated data to integers, exactly.

    Raises
    ------
    InputError
        If no grid makes every time, amount and lag an integer of at most 2^53.
    """
    warnings: list[str] = []
    modes = _modes(data, warnings)
    edges = _merge_edges(data, warnings)
    data_unit = grid(edge.data for edge in edges)
    links = _Links(data, data_unit, active=any(edge.data for edge in edges), warnings=warnings)
    releases = [exact(task.release) for task in data.tasks]
    deadlines = [None if t.deadline is None else exact(t.deadline) for t in data.tasks]
    lags = [lag for edge in edges for lag in (edge.min_lag, edge.max_lag)]
    durations = [mode.duration for mode in modes]
    times = [*releases, *deadlines, *durations, *lags, *links.times]
    scale = _Scale(grid(value for value in times if value is not None))
    ticks = [scale.ticks(duration, "duration") for duration in durations]
    latency, data_time, linked = links.arrays(scale)
    resource_unit, capacity, demand = _resources(data, modes)
    task_memory, node_memory = _memory(data)
    edge_data = _edge_data(edges, data_unit, scale)
    largest_delay = int(latency.max(initial=0)) + max(edge_data, default=0) * int(
        data_time.max(initial=0)
    )
    return DagArrays(
        tick=scale.tick,
        release=integers(scale.ticks(value, "release") for value in releases),
        deadline=scale.limits(deadlines, "deadline"),
        mode_offset=_mode_offsets(modes, len(data.tasks)),
        mode_task=integers(mode.task for mode in modes),
        mode_duration=integers(ticks),
        mode_node=integers(mode.node for mode in modes),
        mode_index=integers(mode.position for mode in modes),
        mode_demand=demand,
        capacity=capacity,
        renewable=booleans(resource.renewable for resource in data.resources),
        resource_unit=resource_unit,
        edge_source=integers(edge.source for edge in edges),
        edge_target=integers(edge.target for edge in edges),
        edge_min_lag=integers(scale.ticks(edge.min_lag, "min_lag") for edge in edges),
        edge_max_lag=scale.limits([edge.max_lag for edge in edges], "max_lag"),
        edge_from_start=booleans(edge.from_start for edge in edges),
        edge_data=integers(edge_data),
        node_slots=integers(node.slots for node in data.nodes),
        task_memory=task_memory,
        node_memory=node_memory,
        colocation=_colocation(data.tasks),
        latency=latency,
        data_time=data_time,
        linked=linked,
        horizon=_horizon(
            scale, releases, _longest(modes, ticks, len(releases)), edges, largest_delay
        ),
        warnings=tuple(warnings),
    )


class _Scale:
    """Turns exact numbers into integers of the grid and refuses what does not fit."""

    def __init__(self, tick: Fraction) -> None:
        self.tick = tick

    def ticks(self, value: Fraction, field: str) -> int:
        """Return ``value / tick`` in plain integers: fractions cost ten times as much."""
        scaled = value.numerator * self.tick.denominator
        return self.within(scaled // (value.denominator * self.tick.numerator), field)

    def limits(self, values: Sequence[Fraction | None], field: str) -> IntArray:
        """Return upper limits in ticks, ``NO_LIMIT`` for None."""
        return integers(NO_LIMIT if v is None else self.ticks(v, field) for v in values)

    def within(self, scaled: int, field: str) -> int:
        if abs(scaled) > LARGEST:
            raise _too_fine(field, self.tick)
        return scaled


def _too_fine(field: str, unit: Fraction) -> InputError:
    return InputError(
        f"the numbers cannot be scaled to integers within 2^53: {field} does not fit on the "
        f"common grid of {float(unit):.3g}",
        allowed="numbers whose common grid keeps every value and their sum within 2^53",
        remedy="round durations, speeds, lags, latencies or bandwidths to fewer digits",
    )


def _modes(data: DagData, warnings: list[str]) -> list[_RawMode]:
    dead = [node.id for node in data.nodes if exact(node.speed) == 0]
    if dead:
        warnings.append(f"nodes with speed 0 are left out: {', '.join(dead)}")
    hosts = [(k, node, exact(node.speed)) for k, node in enumerate(data.nodes)]
    alive = {node.id: (k, node, speed) for k, node, speed in hosts if speed != 0}
    modes: list[_RawMode] = []
    quotients = _Quotients(alive.values())
    for i, task in enumerate(data.tasks):
        if task.modes is None:
            modes.extend(_node_modes(i, task, data.durations.get(task.id), alive, quotients))
            continue
        for k, mode in enumerate(task.modes):
            demand = {name: exact(amount) for name, amount in mode.demand.items()}
            modes.append(_RawMode(i, exact(mode.duration), -1, k, demand))
    return modes


def _node_modes(
    i: int,
    task: Task,
    row: Mapping[str, Number] | None,
    alive: Mapping[str, _Host],
    quotients: _Quotients,
) -> list[_RawMode]:
    demand = {name: exact(amount) for name, amount in task.demand.items()}
    if row is not None:
        # Only the nodes listed: a large shop has few for each of its many tasks.
        candidates = sorted((alive[node] for node in row if node in alive), key=itemgetter(0))
    else:
        candidates = list(alive.values())
    hosts = [host for host in candidates if _is_eligible(task, host[1]) and _fits(task, host[1])]
    if row is not None:
        listed = [(k, row[node.id]) for k, node, _ in hosts]
        return [_RawMode(i, exact(duration), k, 0, demand) for k, duration in listed]
    assert task.work is not None
    durations = quotients.of(exact(task.work))
    return [_RawMode(i, durations[k], k, 0, demand) for k, _, _ in hosts]


class _Quotients:
    """Works over speeds; equal works are divided once, since dividing fractions is slow."""

    def __init__(self, hosts: Iterable[_Host]) -> None:
        self._speeds = [(k, speed) for k, _, speed in hosts]
        self._known: dict[Fraction, dict[int, Fraction]] = {}

    def of(self, work: Fraction) -> dict[int, Fraction]:
        """Return the duration on each node."""
        if work not in self._known:
            self._known[work] = {k: work if v == 1 else work / v for k, v in self._speeds}
        return self._known[work]


def _is_eligible(task: Task, node: Node) -> bool:
    allowed = task.eligible
    return allowed is None or node.id in allowed or node.type in allowed


def _fits(task: Task, node: Node) -> bool:
    """Whether the memory of the node is enough for the task alone."""
    return node.memory is None or not task.memory or exact(task.memory) <= exact(node.memory)


def _mode_offsets(modes: Sequence[_RawMode], tasks: int) -> IntArray:
    counts = [0] * tasks
    for mode in modes:
        counts[mode.task] += 1
    return offsets(counts)


def _merge_edges(data: DagData, warnings: list[str]) -> list[_RawEdge]:
    index = {task.id: i for i, task in enumerate(data.tasks)}
    merged: dict[tuple[int, int, bool], _RawEdge] = {}
    repeated: list[Edge] = []
    for edge in data.edges:
        raw = _RawEdge(
            index[edge.source],
            index[edge.target],
            edge.lag_from == "start",
            exact(edge.min_lag),
            None if edge.max_lag is None else exact(edge.max_lag),
            exact(edge.data),
        )
        key = (raw.source, raw.target, raw.from_start)
        if key in merged:
            repeated.append(edge)
            raw = _tightest(merged[key], raw)
        merged[key] = raw
    if repeated:
        first = repeated[0]
        warnings.append(
            f"{len(repeated)} repeated edge(s), e.g. '{first.source}' -> '{first.target}': "
            "the tightest of each lag holds"
        )
    return [merged[key] for key in sorted(merged)]


def _edge_data(edges: Sequence[_RawEdge], unit: Fraction, scale: _Scale) -> list[int]:
    field = "data of an edge"
    return [scale.within(int(edge.data / unit) if edge.data else 0, field) for edge in edges]


def _tightest(a: _RawEdge, b: _RawEdge) -> _RawEdge:
    maxima = [edge.max_lag for edge in (a, b) if edge.max_lag is not None]
    return _RawEdge(
        a.source,
        a.target,
        a.from_start,
        max(a.min_lag, b.min_lag),
        min(maxima) if maxima else None,
        max(a.data, b.data),
    )


class _Links:
    """The links of all pairs of nodes in exact numbers, before the grid is known."""

    def __init__(
        self, data: DagData, data_unit: Fraction, *, active: bool, warnings: list[str]
    ) -> None:
        self.nodes = len(data.nodes)
        self.default = data.default_link or DefaultLink()
        self.links = data.links
        self.index = {node.id: k for k, node in enumerate(data.nodes)}
        self.active = active and self.nodes > 1
        self.data_unit = data_unit
        dead = [link for link in data.links if link.bandwidth == 0]
        if dead:
            pairs = ", ".join("-".join(link.between) for link in dead)
            warnings.append(f"links with bandwidth 0 carry no data and are left out: {pairs}")

    @property
    def times(self) -> list[Fraction]:
        """Every latency and time per unit of data, for the grid."""
        if not self.active:
            return []
        used: list[Link | DefaultLink] = [self.default, *self.links]
        return [exact(link.latency) for link in used] + [self._unit_time(link) for link in used]

    def _unit_time(self, link: Link | DefaultLink) -> Fraction:
        if link.bandwidth is None or link.bandwidth == 0:
            return Fraction(0)
        return self.data_unit / exact(link.bandwidth)

    def arrays(self, scale: _Scale) -> tuple[IntArray, IntArray, BoolArray]:
        """Return latency, time per data unit and connectivity, each (N, N)."""
        shape = (self.nodes, self.nodes)
        latency, unit_time = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        linked = np.ones(shape, np.bool_)
        if self.active:
            latency[:] = scale.ticks(exact(self.default.latency), "latency")
            unit_time[:] = scale.ticks(self._unit_time(self.default), "data / bandwidth")
            linked[:] = self.default.bandwidth != 0
            for link in self.links:
                a, b = (self.index[end] for end in link.between)
                latency[[a, b], [b, a]] = scale.ticks(exact(link.latency), "latency")
                unit_time[[a, b], [b, a]] = scale.ticks(self._unit_time(link), "data / bandwidth")
                linked[[a, b], [b, a]] = link.bandwidth != 0
            for table in (latency, unit_time):
                np.fill_diagonal(table, 0)
            np.fill_diagonal(linked, val=True)
        for array in (latency, unit_time, linked):
            array.setflags(write=False)
        return latency, unit_time, linked


def _resources(
    data: DagData, modes: Sequence[_RawMode]
) -> tuple[tuple[Fraction, ...], IntArray, IntArray]:
    units: list[Fraction] = []
    capacities: list[int] = []
    columns: list[list[int]] = []
    for resource in data.resources:
        amounts = [mode.demand.get(resource.id, Fraction(0)) for mode in modes]
        capacity = exact(resource.capacity)
        unit = grid([capacity, *amounts])
        column = [int(amount / unit) for amount in amounts]
        if capacity / unit > LARGEST or sum(column) > LARGEST:
            raise _too_fine(f"resource '{resource.id}'", unit)
        units.append(unit)
        capacities.append(int(capacity / unit))
        columns.append(column)
    demand = [list(row) for row in zip(*columns, strict=True)] if columns else [[] for _ in modes]
    return tuple(units), integers(capacities), matrix(demand, len(units))


def _memory(data: DagData) -> tuple[IntArray, IntArray]:
    """Return needs and capacities in a common unit; without a limit nobody needs any."""
    limits = [None if node.memory is None else exact(node.memory) for node in data.nodes]
    known = [limit for limit in limits if limit is not None]
    if not known:
        return integers([0] * len(data.tasks)), integers([0] * len(limits))
    needs = [exact(task.memory or 0) for task in data.tasks]
    unit = grid([*needs, *known])
    need = [int(amount / unit) for amount in needs]
    total = sum(need)
    if total > LARGEST:
        raise InputError(
            "the memory of the tasks cannot be scaled to integers whose sum is within 2^53",
            allowed="amounts on a common grid",
            remedy="round memory to fewer digits",
        )
    capacity = [total if limit is None else min(total, int(limit / unit)) for limit in limits]
    return integers(need), integers(capacity)


def _colocation(tasks: Sequence[Task]) -> IntArray:
    numbers: dict[str, int] = {}
    labels = [task.colocate for task in tasks]
    return integers(-1 if k is None else numbers.setdefault(k, len(numbers)) for k in labels)


def _longest(modes: Sequence[_RawMode], ticks: Sequence[int], tasks: int) -> list[int]:
    """Return the longest duration of each task."""
    longest = [0] * tasks
    for mode, duration in zip(modes, ticks, strict=True):
        longest[mode.task] = max(longest[mode.task], duration)
    return longest


def _horizon(
    scale: _Scale,
    releases: Sequence[Fraction],
    longest: Sequence[int],
    edges: Sequence[_RawEdge],
    largest_delay: int,
) -> int:
    """Bound the length of an optimal schedule.

    Some optimal schedule has at every moment before its end a running task, a lag or a
    transfer under way, or a release to come: otherwise everything after that moment could
    be moved one tick to the left (with maximum lags too: no distance between a task before
    and one after it shrinks below zero). So the latest release plus, for each task, the longer
    of its duration and the lags and transfers that leave it is enough.
    """
    share = list(longest)
    for edge in edges:
        lag = scale.ticks(edge.min_lag, "min_lag")
        lag += 0 if edge.from_start else longest[edge.source]
        lag += largest_delay if edge.data else 0
        share[edge.source] = max(share[edge.source], lag)
        if edge.max_lag is not None:
            # A negative maximum lag makes the source wait for the target.
            wait = -scale.ticks(edge.max_lag, "max_lag")
            share[edge.target] = max(share[edge.target], wait)
    horizon = sum(share) + max((scale.ticks(r, "release") for r in releases), default=0)
    if horizon > LARGEST:
        raise _too_fine("the sum of durations, lags and transfers", scale.tick)
    return horizon
