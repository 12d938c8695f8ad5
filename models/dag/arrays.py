"""A ``dag`` instance as integers on its time grid: what bounds, formulations and search read.

Shapes: n tasks, m modes, e edges, N nodes, R resources. A *mode* is one way to execute a
task: a mode of the project form (no node) or one eligible node.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray, booleans, integers, matrix, offsets
from allocsolve.models.dag.data import DagData, DefaultLink, Edge, Link, Task
from allocsolve.models.errors import InputError
from allocsolve.models.exact import LARGEST, exact, grid

__all__ = ["NO_LIMIT", "DagArrays", "build_arrays"]

NO_LIMIT = 2**62
"""Stands for "no deadline" and "no maximum lag"."""


@dataclass(frozen=True, eq=False)
class DagArrays:
    """Integer arrays of an instance; all are read-only.

    Attributes
    ----------
    tick
        Length of one time unit of the grid, in units of the input.
    release, deadline
        int64 (n,), ticks; deadline ``NO_LIMIT`` if there is none.
    mode_offset
        int64 (n + 1,); the modes of task i are ``mode_offset[i] : mode_offset[i + 1]``.
    mode_task, mode_duration, mode_node, mode_index
        int64 (m,): owner, ticks, node (-1 if it runs on none), position among the ``modes``
        of the task as listed in the input (0 for a mode that is a node).
    mode_demand
        int64 (m, R), in units of ``resource_unit``.
    capacity, renewable
        int64 (R,) and bool (R,).
    resource_unit
        R fractions: one unit of each resource's grid in units of the input.
    edge_source, edge_target
        int64 (e,), sorted, without repetitions for the same ``edge_from_start``.
    edge_min_lag, edge_max_lag
        int64 (e,), ticks from the end (or start) of the source to the start of the target;
        maximum ``NO_LIMIT`` if there is none.
    edge_from_start
        bool (e,): the lag counts from the start of the source.
    edge_data
        int64 (e,), multiples of the data grid; 0 sends nothing.
    node_slots
        int64 (N,).
    latency, data_time
        int64 (N, N), ticks and ticks per unit of data; all zero if nothing is ever paid.
    linked
        bool (N, N): data can pass from one node to the other.
    horizon
        Ticks; if the instance has an answer it has an optimal one that ends by then.
    warnings
        What was repaired or left out while reading.
    """

    tick: Fraction
    release: IntArray
    deadline: IntArray
    mode_offset: IntArray
    mode_task: IntArray
    mode_duration: IntArray
    mode_node: IntArray
    mode_index: IntArray
    mode_demand: IntArray
    capacity: IntArray
    renewable: BoolArray
    resource_unit: tuple[Fraction, ...]
    edge_source: IntArray
    edge_target: IntArray
    edge_min_lag: IntArray
    edge_max_lag: IntArray
    edge_from_start: BoolArray
    edge_data: IntArray
    node_slots: IntArray
    latency: IntArray
    data_time: IntArray
    linked: BoolArray
    horizon: int
    warnings: tuple[str, ...]

    def modes_of(self, task: int) -> range:
        """Return the modes of a task."""
        return range(int(self.mode_offset[task]), int(self.mode_offset[task + 1]))

    def delay(self, edge: int, source: int, target: int) -> int | None:
        """Return the ticks that the data of an edge takes between two nodes.

        None means that the two nodes have no link; -1 as node stands for "no node".
        """
        data = int(self.edge_data[edge])
        if data == 0 or source == target or source < 0 or target < 0:
            return 0
        if not self.linked[source, target]:
            return None
        return int(self.latency[source, target]) + data * int(self.data_time[source, target])

    @cached_property
    def communicates(self) -> bool:
        """Whether some data costs time or cannot pass between two nodes."""
        if not self.edge_data.any():
            return False
        return bool(self.latency.any() or self.data_time.any() or not self.linked.all())

    @cached_property
    def min_duration(self) -> IntArray:
        """Shortest duration of each task, int64 (n,); 0 for a task without a mode."""
        return _reduce(self, smallest=True)

    @cached_property
    def max_duration(self) -> IntArray:
        """Longest duration of each task, int64 (n,); 0 for a task without a mode."""
        return _reduce(self, smallest=False)

    @cached_property
    def start_lag(self) -> IntArray:
        """Lag from start to start that every choice of modes implies, int64 (e,), ticks.

        Communication is left out: it is free when both tasks share a node.
        """
        lag = np.where(
            self.edge_from_start,
            self.edge_min_lag,
            self.edge_min_lag + self.min_duration[self.edge_source],
        )
        lag.setflags(write=False)
        return lag

    @cached_property
    def order(self) -> IntArray | None:
        """A topological order of the tasks along the edges, smallest index first.

        None if the edges have a cycle (possible with lags).
        """
        return _topological(len(self.release), self.edge_source, self.edge_target)


def _reduce(arrays: DagArrays, *, smallest: bool) -> IntArray:
    pick = min if smallest else max
    durations: list[int] = arrays.mode_duration.tolist()
    bounds: list[int] = arrays.mode_offset.tolist()
    return integers(pick(durations[a:b], default=0) for a, b in itertools.pairwise(bounds))


def _topological(n: int, source: IntArray, target: IntArray) -> IntArray | None:
    import heapq

    successors: list[list[int]] = [[] for _ in range(n)]
    missing = [0] * n
    for i, j in zip(source.tolist(), target.tolist(), strict=True):
        successors[i].append(j)
        missing[j] += 1
    ready = [i for i in range(n) if not missing[i]]
    order: list[int] = []
    while ready:
        i = heapq.heappop(ready)
        order.append(i)
        for j in successors[i]:
            missing[j] -= 1
            if not missing[j]:
                heapq.heappush(ready, j)
    return integers(order) if len(order) == n else None


@dataclass(frozen=True)
class _RawMode:
    task: int
    duration: Fraction
    node: int
    index: int
    demand: dict[str, Fraction]


@dataclass(frozen=True)
class _RawEdge:
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
    tick = grid(
        [
            *releases,
            *(value for value in deadlines if value is not None),
            *(mode.duration for mode in modes),
            *(edge.min_lag for edge in edges),
            *(edge.max_lag for edge in edges if edge.max_lag is not None),
            *links.times,
        ]
    )
    scale = _Scale(tick)
    latency, data_time, linked = links.arrays(scale)
    resource_unit, capacity, demand = _resources(data, modes)
    counts = [0] * len(data.tasks)
    for mode in modes:
        counts[mode.task] += 1
    edge_data = [scale.amount(edge.data / data_unit, "data of an edge") for edge in edges]
    largest_delay = int(latency.max(initial=0)) + max(edge_data, default=0) * int(
        data_time.max(initial=0)
    )
    return DagArrays(
        tick=tick,
        release=integers(scale.ticks(value, "release") for value in releases),
        deadline=integers(
            NO_LIMIT if value is None else scale.ticks(value, "deadline") for value in deadlines
        ),
        mode_offset=offsets(counts),
        mode_task=integers(mode.task for mode in modes),
        mode_duration=integers(scale.ticks(mode.duration, "duration") for mode in modes),
        mode_node=integers(mode.node for mode in modes),
        mode_index=integers(mode.index for mode in modes),
        mode_demand=demand,
        capacity=capacity,
        renewable=booleans(resource.renewable for resource in data.resources),
        resource_unit=resource_unit,
        edge_source=integers(edge.source for edge in edges),
        edge_target=integers(edge.target for edge in edges),
        edge_min_lag=integers(scale.ticks(edge.min_lag, "min_lag") for edge in edges),
        edge_max_lag=integers(
            NO_LIMIT if edge.max_lag is None else scale.ticks(edge.max_lag, "max_lag")
            for edge in edges
        ),
        edge_from_start=booleans(edge.from_start for edge in edges),
        edge_data=integers(edge_data),
        node_slots=integers(node.slots for node in data.nodes),
        latency=latency,
        data_time=data_time,
        linked=linked,
        horizon=_horizon(scale, releases, modes, edges, largest_delay),
        warnings=tuple(warnings),
    )


class _Scale:
    """Turns exact numbers into integers of the grid and refuses what does not fit."""

    def __init__(self, tick: Fraction) -> None:
        self.tick = tick

    def ticks(self, value: Fraction, field: str) -> int:
        return self.amount(value / self.tick, field)

    def amount(self, scaled: Fraction, field: str) -> int:
        if abs(scaled) > LARGEST:
            raise _too_fine(field, self.tick)
        return int(scaled)


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
    modes: list[_RawMode] = []
    for i, task in enumerate(data.tasks):
        if task.modes is None:
            modes.extend(_node_modes(i, task, data))
            continue
        for k, mode in enumerate(task.modes):
            demand = {name: exact(amount) for name, amount in mode.demand.items()}
            modes.append(_RawMode(i, exact(mode.duration), -1, k, demand))
    return modes


def _node_modes(i: int, task: Task, data: DagData) -> list[_RawMode]:
    demand = {name: exact(amount) for name, amount in task.demand.items()}
    row = data.durations.get(task.id)
    modes = []
    for k, node in enumerate(data.nodes):
        speed = exact(node.speed)
        if speed == 0 or not _is_eligible(task, node.id, node.type):
            continue
        if row is not None:
            if node.id not in row:
                continue
            duration = exact(row[node.id])
        else:
            assert task.work is not None
            duration = exact(task.work) / speed
        modes.append(_RawMode(i, duration, k, 0, demand))
    return modes


def _is_eligible(task: Task, node: str, node_type: str | None) -> bool:
    return task.eligible is None or node in task.eligible or node_type in task.eligible


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


def _horizon(
    scale: _Scale,
    releases: Sequence[Fraction],
    modes: Sequence[_RawMode],
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
    longest = [0] * len(releases)
    for mode in modes:
        longest[mode.task] = max(longest[mode.task], scale.ticks(mode.duration, "duration"))
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
