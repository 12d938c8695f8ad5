"""The ``dag`` problem as a time-indexed mixed-integer program, in its step form.

Pritsker, Watters and Wolfe, "Multiproject scheduling with limited resources: a zero-one
programming approach", Management Science 16 (1969), with the steps of which Artigues, "On the
strength of time-indexed formulations for the resource-constrained project scheduling problem",
Operations Research Letters 45 (2017), shows that they are as strong as the disaggregated form
and sparse.

===============  ===========================================================================
``begun[m, t]``  1 if the task of mode m starts in mode m at time t or before
``done[t]``      1 if everything has ended by time t
===============  ===========================================================================

The makespan is the lower bound plus the number of moments after it at which not everything is
done. There is no big M, and all coefficients are demands: the numbers are safe. The size grows
with the horizon, which is why long ones are refused.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.milp_frame import EdgeRow, Frame, Pool, Pulse, edge_rows, frame, go_on
from allocsolve.models.dag.milp_modes import (
    Milp,
    add_rows,
    build_within,
    choices,
    new_model,
    taken,
)
from allocsolve.models.dag.problem import DagProblem

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from allocsolve.models.dag.milp_modes import Rows, Term

__all__ = ["build", "size", "too_large"]

_LARGEST = 60_000
"""Most pairs of a mode and a start."""

_FINEST = 10**8
"""Largest capacity: a step that is wrong by 1e-9 is then far below one unit."""


def size(problem: DagProblem, horizon: int, lower: int = 0) -> int:
    """Return the number of pairs of a mode and a start that the program would decide on."""
    window = frame(problem, horizon, lower)
    return sum(last - window.first[i] + 1 for i, last in _starts(window))


def _starts(window: Frame) -> list[tuple[int, int]]:
    return [(i, window.last[m]) for i, modes in enumerate(window.modes) for m in modes]


def too_large(problem: DagProblem, horizon: int, lower: int = 0) -> str | None:
    """Return why the program cannot be built in reasonable time, or None."""
    pairs = size(problem, horizon, lower)
    if pairs > _LARGEST:
        return (
            f"a time-indexed program over {horizon} ticks has {pairs} pairs of a mode and a start, "
            f"at most {_LARGEST} are built"
        )
    largest = int(problem.arrays.capacity.max(initial=0))
    return f"capacity {largest} is too fine" if largest > _FINEST else None


def build(problem: DagProblem, horizon: int, *, lower: int = 0, pulse: Pulse = go_on) -> Milp:
    """Build the program for schedules that end by ``horizon``.

    Parameters
    ----------
    horizon
        Ticks; the problem's own horizon, or a value that a better schedule must not exceed.
    lower
        A proven lower bound on the makespan, ticks.
    pulse
        Called again and again while building; it may raise to end the build.
    """
    window = frame(problem, horizon, lower)
    return build_within(window, lambda: _Builder(window, pulse).build())


class _Builder:
    """Builds one program, one kind of constraints after the other."""

    def __init__(self, window: Frame, pulse: Pulse) -> None:
        self.frame = window
        self.pulse = pulse
        self.model = new_model(window)
        self.task = {m: i for i, modes in enumerate(window.modes) for m in modes}

    def build(self) -> Milp:
        """Add variables and constraints, and return the program with its decoder."""
        self._variables()
        model = self.model
        add_rows(model, "one_mode", self._one_mode())
        add_rows(model, "choice", choices(self.frame, self.chosen))
        add_rows(model, "grow", self._grow())
        add_rows(model, "precedence", self._precedence())
        add_rows(model, "capacity", self._capacities())
        add_rows(model, "last", self._ends())
        return Milp(model, self.decode)

    def decode(self, value_of: Callable[[pyo.Var], float]) -> Schedule:
        """Return the schedule of a solution: the first moment of each step is the start."""
        window, begun = self.frame, self.model.begun
        modes = taken(window, lambda m: value_of(begun[m, window.last[m]]))
        start = [
            next(
                t
                for t in range(window.first[i], window.last[m] + 1)
                if t == window.last[m] or value_of(begun[m, t]) > 0.5
            )
            for i, m in enumerate(modes)
        ]
        return Schedule.of(window.problem, start, modes)

    def _variables(self) -> None:
        import pyomo.environ as pyo

        window = self.frame
        starts: list[tuple[int, int]] = []
        for task, modes in enumerate(window.modes):
            self.pulse()
            for m in modes:
                starts.extend((m, t) for t in range(window.first[task], window.last[m] + 1))
        self.model.begun = pyo.Var(starts, domain=pyo.Binary)
        self.model.done = pyo.Var(range(window.lower, window.horizon), domain=pyo.Binary)
        late = sum(1 - self.model.done[t] for t in self.model.done)
        self.model.objective = pyo.Objective(expr=window.lower + late)

    def begun(self, mode: int, time: int) -> Term:
        """Return 1 if a mode has started by a time: a variable, or 0 before its window."""
        if time < self.frame.first[self.task[mode]]:
            return 0
        return self.model.begun[mode, min(time, self.frame.last[mode])]

    def chosen(self, mode: int) -> Term:
        """Return 1 if a mode is taken: if it has started by the end of its window."""
        return self.model.begun[mode, self.frame.last[mode]]

    def _one_mode(self) -> Rows:
        """Start every task in one mode within its window."""
        for modes in self.frame.modes:
            yield sum(self.chosen(m) for m in modes) == 1

    def _grow(self) -> Rows:
        """Keep what has begun so."""
        for mode, task in self.task.items():
            self.pulse()
            for t in range(self.frame.first[task], self.frame.last[mode]):
                yield self.model.begun[mode, t] <= self.model.begun[mode, t + 1]

    def _precedence(self) -> Rows:
        """Keep minimum lags with transfers, and maximum lags."""
        for row in edge_rows(self.frame.arrays):
            self.pulse()
            yield from self._least(row)
            if row.max_lag is not None:
                yield from self._most(row, row.max_lag)

    def _origin(self, row: EdgeRow, mode: int) -> int:
        return 0 if row.from_start else self.frame.duration[mode]

    def _least(self, row: EdgeRow) -> Rows:
        """Let the target start by t only if the source has started early enough before.

        Modes of the target with the same distances to all modes of the source share a row.
        """
        window = self.frame
        groups: dict[tuple[int | None, ...], list[int]] = defaultdict(list)
        for mode in window.modes[row.target]:
            groups[self._distances(row, mode)].append(mode)
        sources = window.modes[row.source]
        for distances, targets in groups.items():
            pairs = [(m, d) for m, d in zip(sources, distances, strict=True) if d is not None]
            for t in range(window.first[row.target], max(window.last[m] for m in targets) + 1):
                ready = sum(self.begun(m, t - distance) for m, distance in pairs)
                yield sum(self.begun(m, t) for m in targets) <= ready

    def _distances(self, row: EdgeRow, target: int) -> tuple[int | None, ...]:
        """Return the least distance of starts for each mode of the source, None without a link."""
        window = self.frame
        distances = []
        for mode in window.modes[row.source]:
            delay = window.arrays.delay(row.edge, window.node[mode], window.node[target])
            reach = None if delay is None else self._origin(row, mode) + row.min_lag + delay
            distances.append(reach)
        return tuple(distances)

    def _most(self, row: EdgeRow, max_lag: int) -> Rows:
        """Make the target start within a maximum lag after the source."""
        window = self.frame
        for mode in window.modes[row.source]:
            distance = self._origin(row, mode) + max_lag
            for t in range(window.first[row.source], window.last[mode] + 1):
                reached = sum(self.begun(m, t + distance) for m in window.modes[row.target])
                yield self.begun(mode, t) <= reached

    def _capacities(self) -> Rows:
        """Keep what the running modes hold within each pool at every moment."""
        for pool in self.frame.pools:
            for moment, running in self._running(pool).items():
                self.pulse()
                if self._may_exceed(pool, running):
                    held = (
                        pool.held[m]
                        * (self.begun(m, moment) - self.begun(m, moment - self.frame.duration[m]))
                        for m in running
                    )
                    yield sum(held) <= pool.capacity

    def _running(self, pool: Pool) -> dict[int, list[int]]:
        """Return for each moment the modes of a pool that may run then."""
        running: dict[int, list[int]] = defaultdict(list)
        for mode in pool.held:
            end = self.frame.last[mode] + self.frame.duration[mode]
            for moment in range(self.frame.first[self.task[mode]], end):
                running[moment].append(mode)
        return running

    def _may_exceed(self, pool: Pool, running: Sequence[int]) -> bool:
        most: dict[int, int] = defaultdict(int)
        for mode in running:
            task = self.task[mode]
            most[task] = max(most[task], pool.held[mode])
        return sum(most.values()) > pool.capacity

    def _ends(self) -> Rows:
        """Let everything be done by t only if every task has started its duration before t."""
        window = self.frame
        for task, modes in enumerate(window.modes):
            self.pulse()
            if window.is_last[task]:
                for t in self.model.done:
                    ended = sum(self.begun(m, t - window.duration[m]) for m in modes)
                    yield self.model.done[t] <= ended
