"""What both mixed-integer programs read of a ``dag`` problem: windows, modes, capacities.

Shapes and units are those of :class:`allocsolve.models.dag.arrays.DagArrays`; times in ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from allocsolve.models.arrays import BoolArray
from allocsolve.models.dag.arrays import NO_LIMIT, DagArrays
from allocsolve.models.dag.bounds import earliest_starts, latest_starts, tails
from allocsolve.models.dag.problem import DagProblem

__all__ = ["EdgeRow", "Frame", "Pool", "Pulse", "edge_rows", "frame", "go_on"]

Pulse = Callable[[], None]


def go_on() -> None:
    """Do nothing: the pulse of a build that nobody may interrupt."""


@dataclass(frozen=True)
class Pool:
    """Something of limited capacity that modes hold while they run: a node or a resource.

    Attributes
    ----------
    held
        Amount that each mode holds, for the usable modes that take time and hold any.
    is_node
        Whether it is a node, whose slots the modes hold, or a resource.
    """

    capacity: int
    held: Mapping[int, int]
    is_node: bool


@dataclass(frozen=True, slots=True)
class EdgeRow:
    """An edge of the problem, see :class:`DagArrays`; ``max_lag`` is None without a limit."""

    edge: int
    source: int
    target: int
    min_lag: int
    max_lag: int | None
    from_start: bool


@dataclass(frozen=True, eq=False)
class Frame:
    """The part of a problem that schedules ending by ``horizon`` can use.

    Attributes
    ----------
    lower
        A proven lower bound on the makespan, at most ``horizon``.
    first
        Earliest start of each task.
    last
        Latest start of each usable mode.
    modes
        Usable modes of each task: they fit into the capacities and into the horizon.
    tail
        Ticks that must pass from the end of each task to the end of the schedule.
    possible
        False if the windows alone show that no schedule ends by the horizon.
    """

    problem: DagProblem
    horizon: int
    lower: int
    first: Sequence[int]
    last: Mapping[int, int]
    modes: Sequence[Sequence[int]]
    tail: Sequence[int]
    possible: bool

    @property
    def arrays(self) -> DagArrays:
        """The integer arrays of the problem."""
        return self.problem.arrays

    @cached_property
    def duration(self) -> Sequence[int]:
        """Duration of each mode."""
        return tuple(self.arrays.mode_duration.tolist())

    @cached_property
    def node(self) -> Sequence[int]:
        """Node of each mode, -1 for none."""
        return tuple(self.arrays.mode_node.tolist())

    @cached_property
    def tasks(self) -> range:
        """The tasks."""
        return range(len(self.first))

    def latest(self, task: int) -> int:
        """Return the latest start of a task."""
        return max(self.last[mode] for mode in self.modes[task])

    def latest_end(self, task: int) -> int:
        """Return the latest end of a task."""
        return max(self.last[mode] + self.duration[mode] for mode in self.modes[task])

    def users(self, pool: Pool) -> list[int]:
        """Return the tasks that may hold some of a pool."""
        return [i for i in self.tasks if any(m in pool.held for m in self.modes[i])]

    def least(self, pool: Pool, task: int) -> int:
        """Return the least amount of a pool over the modes of a user that hold any."""
        return min(pool.held[m] for m in self.modes[task] if m in pool.held)

    def most(self, pool: Pool, task: int) -> int:
        """Return the largest amount of a pool over the modes of a user."""
        return max(pool.held[m] for m in self.modes[task] if m in pool.held)

    @cached_property
    def pools(self) -> Sequence[Pool]:
        """The nodes and renewable resources that more modes want than they have room for."""
        return tuple(pool for pool in self._all_pools() if self._is_scarce(pool))

    def _all_pools(self) -> Iterator[Pool]:
        running = [m for modes in self.modes for m in modes if self.duration[m] > 0]
        for k, slots in enumerate(self.arrays.node_slots.tolist()):
            held = {m: 1 for m in running if self.node[m] == k}
            yield Pool(slots, held, is_node=True)
        for k in np.flatnonzero(self.arrays.renewable).tolist():
            demand = self.arrays.mode_demand[:, k].tolist()
            held = {m: demand[m] for m in running if demand[m]}
            yield Pool(int(self.arrays.capacity[k]), held, is_node=False)

    def _is_scarce(self, pool: Pool) -> bool:
        most = (max(pool.held.get(m, 0) for m in modes) for modes in self.modes)
        return sum(most) > pool.capacity

    @cached_property
    def is_last(self) -> Sequence[bool]:
        """Whether no other task is sure to start after the end of each task, (n,)."""
        arrays = self.arrays
        last = [True] * len(self.first)
        safe = ~arrays.edge_from_start & (arrays.edge_min_lag >= 0)
        for source in arrays.edge_source[safe].tolist():
            last[source] = arrays.order is None
        return tuple(last)

    @cached_property
    def precedes(self) -> BoolArray:
        """Which tasks are sure to end before which others start, bool (n, n)."""
        arrays = self.arrays
        before = np.zeros((len(self.first), len(self.first)), np.bool_)
        if arrays.order is None:
            return before
        rank = np.argsort(arrays.order, kind="stable")
        safe = np.flatnonzero(~arrays.edge_from_start & (arrays.edge_min_lag >= 0))
        source, target = arrays.edge_source[safe], arrays.edge_target[safe]
        for e in np.argsort(-rank[source], kind="stable").tolist():
            before[source[e]] |= before[target[e]]
            before[source[e], target[e]] = True
        return before


def frame(problem: DagProblem, horizon: int, lower: int = 0) -> Frame:
    """Return the windows and modes of schedules that end by ``horizon``."""
    first, last, tail = (
        earliest_starts(problem),
        latest_starts(problem, horizon),
        tails(problem),
    )
    n = len(problem.tasks)
    if first is None or last is None or tail is None:
        return Frame(problem, horizon, 0, [0] * n, {}, [[]] * n, [0] * n, possible=False)
    usable = dict(_usable(problem, horizon, first.tolist(), last.tolist()))
    modes = [[m for m in problem.arrays.modes_of(task) if m in usable] for task in range(n)]
    return Frame(
        problem,
        horizon,
        lower,
        first.tolist(),
        usable,
        modes,
        tail.tolist(),
        possible=all(modes) and lower <= horizon,
    )


def _usable(
    problem: DagProblem, horizon: int, first: Sequence[int], last: Sequence[int]
) -> Iterator[tuple[int, int]]:
    """Yield each usable mode with its latest start."""
    arrays = problem.arrays
    rows = zip(arrays.mode_task.tolist(), arrays.mode_duration.tolist(), strict=True)
    for mode, (task, duration) in enumerate(rows):
        binding = (duration > 0) | ~arrays.renewable
        fits = bool((arrays.mode_demand[mode] <= arrays.capacity)[binding].all())
        latest = min(last[task], min(int(arrays.deadline[task]), horizon) - duration)
        if fits and first[task] <= latest:
            yield mode, latest


def edge_rows(arrays: DagArrays) -> Iterator[EdgeRow]:
    """Yield the edges."""
    rows = zip(
        arrays.edge_source.tolist(),
        arrays.edge_target.tolist(),
        arrays.edge_min_lag.tolist(),
        arrays.edge_max_lag.tolist(),
        arrays.edge_from_start.tolist(),
        strict=True,
    )
    for edge, (source, target, min_lag, max_lag, from_start) in enumerate(rows):
        most = None if max_lag == NO_LIMIT else max_lag
        yield EdgeRow(edge, source, target, min_lag, most, from_start)
