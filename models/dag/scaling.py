"""From the data of a ``dag`` instance in exact numbers to integers on the coarsest grid."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from allocsolve.models.arrays import IntArray, booleans, frozen, integers, offsets
from allocsolve.models.columns import Column, largest_multiple
from allocsolve.models.dag.arrays import NO_LIMIT, DagArrays
from allocsolve.models.dag.data import DagData, Task
from allocsolve.models.dag.edge_table import EdgeTable, read_edges
from allocsolve.models.dag.link_table import LinkTable
from allocsolve.models.dag.mode_table import ModeTable, read_modes
from allocsolve.models.errors import InputError
from allocsolve.models.exact import LARGEST, exact, grid

__all__ = ["build_arrays"]

_GRIDS = (Fraction(5, 10**324), Fraction(10**290))
"""Smallest and largest grid: it and 2^53 times it must be floating-point numbers."""


def build_arrays(data: DagData, step: Fraction = Fraction(0)) -> DagArrays:
    """Scale validated data to integers, exactly.

    Parameters
    ----------
    step
        A further time that has to be a multiple of the tick, in input units; 0 for none.

    Raises
    ------
    InputError
        If no grid makes every time, amount and lag an integer of at most 2^53.
    """
    warnings: list[str] = []
    _warn_of_dead_nodes(data, warnings)
    modes, edges = read_modes(data), read_edges(data)
    _warn_of_repeated(edges, warnings)
    data_unit = edges.data.grid() or Fraction(1)
    links = LinkTable(data, data_unit, active=edges.data.grid() > 0)
    warnings.extend(links.warnings)
    releases = Column.of([task.release for task in data.tasks])
    due = [k for k, task in enumerate(data.tasks) if task.deadline is not None]
    deadlines = Column.of([data.tasks[k].deadline or 0 for k in due])
    columns = (releases, deadlines, edges.min_lag, edges.max_lag)
    tick = grid([step, *(column.grid() for column in columns), *modes.grids(), *links.times])
    _refuse_extreme(tick, "times")
    scale = _Scale(tick)
    durations = modes.ticks(tick)
    if durations is None:
        raise _too_fine("duration", tick)
    latency, data_time, linked = links.arrays(scale.ticks)
    resource_unit, capacity, demand = _resources(data, modes)
    task_memory, node_memory = _memory(data)
    arrays = DagArrays(
        tick=tick,
        release=scale.column(releases, "release"),
        deadline=scale.limits(deadlines, due, len(data.tasks), "deadline"),
        mode_offset=offsets(modes.count),
        mode_task=frozen(np.repeat(np.arange(len(modes.count)), modes.count)),
        mode_duration=durations,
        mode_node=frozen(modes.node),
        mode_index=frozen(modes.index),
        mode_demand=demand,
        capacity=capacity,
        renewable=booleans(resource.renewable for resource in data.resources),
        resource_unit=resource_unit,
        edge_source=frozen(edges.source),
        edge_target=frozen(edges.target),
        edge_min_lag=scale.column(edges.min_lag, "min_lag"),
        edge_max_lag=scale.limits(edges.max_lag, edges.bounded, len(edges.source), "max_lag"),
        edge_from_start=booleans(edges.from_start),
        edge_data=scale.fitting(edges.data.multiples(data_unit), "data of an edge"),
        node_slots=integers(node.slots for node in data.nodes),
        latency=latency,
        data_time=data_time,
        linked=linked,
        task_memory=task_memory,
        node_memory=node_memory,
        colocation=_colocation(data.tasks),
        horizon=0,
        warnings=tuple(warnings),
    )
    return replace(arrays, horizon=_horizon(arrays))


class _Scale:
    """Turns exact numbers into integers of the grid and refuses what does not fit."""

    def __init__(self, tick: Fraction) -> None:
        self.tick = tick

    def ticks(self, value: Fraction, field: str) -> int:
        """Return ``value / tick``."""
        scaled = int(value / self.tick)
        if abs(scaled) > LARGEST:
            raise _too_fine(field, self.tick)
        return scaled

    def column(self, values: Column, field: str) -> IntArray:
        """Return ``values / tick``."""
        return self.fitting(values.multiples(self.tick), field)

    def limits(
        self, values: Column, owners: Sequence[int] | IntArray, size: int, field: str
    ) -> IntArray:
        """Return the upper limits of their owners in ticks, ``NO_LIMIT`` for all others."""
        limits = np.full(size, NO_LIMIT, np.int64)
        limits[owners] = self.column(values, field)
        return frozen(limits)

    def fitting(self, scaled: IntArray, field: str) -> IntArray:
        """Return numbers that were scaled already, if they are within 2^53."""
        if largest_multiple(scaled) > LARGEST:
            raise _too_fine(field, self.tick)
        return frozen(scaled)


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


def _warn_of_repeated(edges: EdgeTable, warnings: list[str]) -> None:
    if edges.repeated:
        first = edges.repeated[0]
        warnings.append(
            f"{len(edges.repeated)} repeated edge(s), e.g. '{first.source}' -> "
            f"'{first.target}': the tightest of each lag holds"
        )


def _resources(data: DagData, modes: ModeTable) -> tuple[tuple[Fraction, ...], IntArray, IntArray]:
    units: list[Fraction] = []
    capacities: list[int] = []
    table = np.zeros((len(modes.node), len(data.resources)), np.int64)
    holders = np.bincount(modes.holder, minlength=len(modes.demand)).tolist()
    for r, resource in enumerate(data.resources):
        amounts = Column.of([demand.get(resource.id, 0) for demand in modes.demand])
        capacity = exact(resource.capacity)
        unit = grid([capacity, amounts.grid()])
        _refuse_extreme(unit, f"amounts of resource '{resource.id}'")
        column = amounts.multiples(unit)
        total = sum(map(operator.mul, column.tolist(), holders))
        if capacity / unit > LARGEST or total > LARGEST:
            raise _too_fine(f"resource '{resource.id}'", unit)
        units.append(unit)
        capacities.append(int(capacity / unit))
        table[:, r] = column[modes.holder]
    return tuple(units), integers(capacities), frozen(table)


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
