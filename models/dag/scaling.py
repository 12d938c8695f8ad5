"""From the data of a ``dag`` instance in exact numbers to integers on the coarsest grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray, booleans, frozen, integers, offsets
from allocsolve.models.dag.arrays import NO_LIMIT, DagArrays
from allocsolve.models.dag.data import DagData, DefaultLink, Edge, Link
from allocsolve.models.dag.mode_table import ModeTable, read_modes
from allocsolve.models.errors import InputError
from allocsolve.models.exact import LARGEST, exact, grid

__all__ = ["build_arrays"]

_GRIDS = (Fraction(5, 10**324), Fraction(10**290))
"""Smallest and largest grid: it and 2^53 times it must be floating-point numbers."""


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
    _warn_of_dead_nodes(data, warnings)
    modes = read_modes(data)
    edges = _merge_edges(data, warnings)
    data_unit = grid(edge.data for edge in edges)
    links = _Links(data, data_unit, active=any(edge.data for edge in edges), warnings=warnings)
    releases = [exact(task.release) for task in data.tasks]
    deadlines = [None if t.deadline is None else exact(t.deadline) for t in data.tasks]
    lags = [lag for edge in edges for lag in (edge.min_lag, edge.max_lag)]
    times = [*releases, *deadlines, *modes.grids(), *lags, *links.times]
    tick = grid(time for time in times if time is not None)
    _refuse_extreme(tick, "times")
    scale = _Scale(tick)
    durations = modes.ticks(tick)
    if durations is None:
        raise _too_fine("duration", tick)
    latency, data_time, linked = links.arrays(scale)
    resource_unit, capacity, demand = _resources(data, modes)
    arrays = DagArrays(
        tick=tick,
        release=integers(scale.ticks(value, "release") for value in releases),
        deadline=scale.limits(deadlines, "deadline"),
        mode_offset=offsets(modes.count),
        mode_task=frozen(np.repeat(np.arange(len(modes.count)), modes.count)),
        mode_duration=durations,
        mode_node=integers(modes.node),
        mode_index=integers(modes.index),
        mode_demand=demand,
        capacity=capacity,
        renewable=booleans(resource.renewable for resource in data.resources),
        resource_unit=resource_unit,
        edge_source=integers(edge.source for edge in edges),
        edge_target=integers(edge.target for edge in edges),
        edge_min_lag=integers(scale.ticks(edge.min_lag, "min_lag") for edge in edges),
        edge_max_lag=scale.limits([edge.max_lag for edge in edges], "max_lag"),
        edge_from_start=booleans(edge.from_start for edge in edges),
        edge_data=integers(_edge_data(edges, data_unit, scale)),
        node_slots=integers(node.slots for node in data.nodes),
        latency=latency,
        data_time=data_time,
        linked=linked,
        horizon=0,
        warnings=tuple(warnings),
    )
    return replace(arrays, horizon=_horizon(arrays))


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


def _refuse_extreme(unit: Fraction, what: str) -> None:
    """Refuse a grid whose multiples no document could hold."""
    if not _GRIDS[0] <= unit <= _GRIDS[1]:
        raise InputError(
            f"the {what} have a common grid beyond 5e-324 .. 1e290",
            allowed="numbers within the range of floating-point numbers",
            remedy="measure in another unit",
        )


def _warn_of_dead_nodes(data: DagData, warnings: list[str]) -> None:
    dead = [node.id for node in data.nodes if exact(node.speed) == 0]
    if dead:
        warnings.append(f"nodes with speed 0 are left out: {', '.join(dead)}")


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
        linked.setflags(write=False)
        return frozen(latency), frozen(unit_time), linked


def _resources(data: DagData, modes: ModeTable) -> tuple[tuple[Fraction, ...], IntArray, IntArray]:
    units: list[Fraction] = []
    capacities: list[int] = []
    columns: list[list[int]] = []
    for resource in data.resources:
        amounts = [exact(demand.get(resource.id, 0)) for demand in modes.demand]
        capacity = exact(resource.capacity)
        unit = grid([capacity, *amounts])
        _refuse_extreme(unit, f"amounts of resource '{resource.id}'")
        column = [int(amount / unit) for amount in amounts]
        if capacity / unit > LARGEST or sum(column) > LARGEST:
            raise _too_fine(f"resource '{resource.id}'", unit)
        units.append(unit)
        capacities.append(int(capacity / unit))
        columns.append(column)
    demand = np.array(columns, dtype=np.int64).reshape(len(columns), len(modes.node))
    return tuple(units), integers(capacities), frozen(demand.T)


def _horizon(arrays: DagArrays) -> int:
    """Bound the length of an optimal schedule.

    Some optimal schedule has at every moment before its end a running task, a lag or a
    transfer under way, or a release to come: otherwise everything after that moment could
    be moved one tick to the left (with maximum lags too: no distance between a task before
    and one after it shrinks below zero). So the latest release plus, for each task, the longer
    of its duration and the lags and transfers that leave it is enough.
    """
    longest = arrays.max_duration
    delay = int(arrays.latency.max(initial=0)) + int(arrays.edge_data.max(initial=0)) * int(
        arrays.data_time.max(initial=0)
    )
    if delay > LARGEST:
        raise _too_fine("a transfer", arrays.tick)
    lag = arrays.edge_min_lag + np.where(arrays.edge_data > 0, delay, 0)
    lag += np.where(arrays.edge_from_start, 0, longest[arrays.edge_source])
    share = longest.copy()
    np.maximum.at(share, arrays.edge_source, lag)
    # A negative maximum lag makes the source wait for the target.
    np.maximum.at(share, arrays.edge_target, -arrays.edge_max_lag)
    # Python integers: the sum may leave int64 before it is refused.
    horizon: int = sum(share.tolist()) + int(arrays.release.max(initial=0))
    if horizon > LARGEST:
        raise _too_fine("the sum of durations, lags and transfers", arrays.tick)
    return horizon
