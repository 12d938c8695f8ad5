"""Answers of the problem kind ``dag``: a schedule, in two forms.

:class:`ScheduledTask` is one line of a schedule as documents hold it (ids, exact times in
input units); it may be wrong in every way and is what the checker judges.
:class:`Schedule` is a complete schedule of a known problem as arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from allocsolve.models.arrays import IntArray, integers
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError, SolverMissing
from allocsolve.models.exact import plain
from allocsolve.models.result import Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Appraisal", "DagResult", "Robustness", "Schedule", "ScheduledTask"]


@dataclass(frozen=True)
class ScheduledTask:
    """When, where and how one task runs; times in input units, exactly.

    Attributes
    ----------
    node
        Id of the node, None for a task of the project form.
    mode
        Position in the task's ``modes``; 0 for a task on a node.
    """

    task: str
    start: Fraction
    end: Fraction
    node: str | None = None
    mode: int = 0


@dataclass(frozen=True, eq=False)
class Schedule:
    """A start and a mode for every task of a problem.

    Attributes
    ----------
    start
        int64 (n,), ticks of the problem's grid.
    mode
        int64 (n,), index into the problem's table of modes.
    """

    problem: DagProblem
    start: IntArray
    mode: IntArray

    @classmethod
    def of(cls, problem: DagProblem, start: Sequence[int], mode: Sequence[int]) -> Schedule:
        """Build a schedule from plain sequences."""
        return cls(problem, integers(start), integers(mode))

    @classmethod
    def from_entries(cls, problem: DagProblem, entries: Sequence[ScheduledTask]) -> Schedule:
        """Build a schedule from entries that name every task once.

        Raises
        ------
        InputError
            If a task is missing or comes twice, an id is unknown, a time is not on the
            problem's grid, or an end does not follow from start and mode.
        """
        start, mode = [-1] * len(problem.tasks), [-1] * len(problem.tasks)
        for entry in entries:
            task = problem.task_index.get(entry.task)
            if task is None:
                raise InputError(f"the schedule names an unknown task '{entry.task}'")
            if mode[task] >= 0:
                raise InputError(f"task '{entry.task}' is scheduled twice")
            mode[task] = _find_mode(problem, task, entry)
            start[task] = _find_start(problem, mode[task], entry)
        if -1 in mode:
            raise InputError(f"task '{problem.tasks[mode.index(-1)].id}' is not scheduled")
        return cls.of(problem, start, mode)

    @property
    def end(self) -> IntArray:
        """End of each task, int64 (n,), ticks."""
        end = self.start + self.problem.arrays.mode_duration[self.mode]
        end.setflags(write=False)
        return end

    @property
    def makespan(self) -> int:
        """Latest end in ticks, 0 without tasks."""
        return int(self.end.max(initial=0))

    def entries(self) -> tuple[ScheduledTask, ...]:
        """Return one entry for each task, in the order of the instance."""
        return self._entries

    @cached_property
    def _entries(self) -> tuple[ScheduledTask, ...]:
        """Built once: checker and document want the same."""
        arrays = self.problem.arrays
        step, parts = arrays.tick.numerator, arrays.tick.denominator
        nodes = arrays.mode_node[self.mode].tolist()
        modes = arrays.mode_index[self.mode].tolist()
        return tuple(
            ScheduledTask(
                task=task.id,
                start=Fraction(start * step, parts),
                end=Fraction(end * step, parts),
                node=None if node < 0 else self.problem.nodes[node].id,
                mode=mode,
            )
            for task, start, end, node, mode in zip(
                self.problem.tasks,
                self.start.tolist(),
                self.end.tolist(),
                nodes,
                modes,
                strict=True,
            )
        )

    def __iter__(self) -> Iterator[ScheduledTask]:
        return iter(self.entries())

    def __len__(self) -> int:
        return len(self.start)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with the columns task, start, end, node, mode.

        Raises
        ------
        SolverMissing
            If pandas (extra ``frames``) is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise SolverMissing("to_frame needs pandas: pip install 'allocsolve[frames]'") from None
        entries = self.entries()
        return pd.DataFrame(
            {
                "task": [entry.task for entry in entries],
                "start": [plain(entry.start) for entry in entries],
                "end": [plain(entry.end) for entry in entries],
                "node": [entry.node for entry in entries],
                "mode": [entry.mode for entry in entries],
            }
        )


def _find_mode(problem: DagProblem, task: int, entry: ScheduledTask) -> int:
    arrays = problem.arrays
    node = -1 if entry.node is None else problem.node_index.get(entry.node, -2)
    for mode in arrays.modes_of(task):
        if arrays.mode_node[mode] == node and arrays.mode_index[mode] == entry.mode:
            return mode
    raise InputError(f"task '{entry.task}' cannot run in mode {entry.mode} on node {entry.node!r}")


def _find_start(problem: DagProblem, mode: int, entry: ScheduledTask) -> int:
    ticks = entry.start / problem.arrays.tick
    if ticks.denominator != 1:
        raise InputError(
            f"task '{entry.task}': start {plain(entry.start)} is not on the time grid of "
            f"{plain(problem.arrays.tick)}"
        )
    end = entry.start + problem.units(int(problem.arrays.mode_duration[mode]))
    if entry.end != end:
        raise InputError(
            f"task '{entry.task}': end {plain(entry.end)} does not follow from its start and "
            f"mode, which give {plain(end)}"
        )
    return ticks.numerator


@dataclass(frozen=True)
class Appraisal:
    """A schedule on drawn nodes.

    Attributes
    ----------
    makespan
        As planned, input units.
    value
        The quantile of the makespan, ``math.inf`` if so much of it is infinite.
    ci
        95 % interval of it.
    """

    makespan: float
    value: float
    ci: tuple[float, float]


@dataclass(frozen=True)
class Robustness:
    """How a schedule was chosen for its quantile, and what that costs.

    Attributes
    ----------
    quantile
        The one that is least, 0 to 1.
    chosen, nominal
        The schedule of the result, and the one that is best as planned, on the same draws;
        these were not used for the choice.
    source
        What found the chosen schedule.
    candidates
        Number of different schedules that were compared.
    replications, seed
        Of the draws behind ``chosen`` and ``nominal``.
    law
        The law of every node as documents show it, None for those of the instance.
    """

    quantile: float
    chosen: Appraisal
    nominal: Appraisal
    source: str
    candidates: int
    replications: int
    seed: int
    law: Mapping[str, object] | None = None

    @property
    def price(self) -> float:
        """By which share the chosen schedule is longer than the nominal one, as planned."""
        if self.chosen.makespan == self.nominal.makespan:
            return 0.0
        return self.chosen.makespan / self.nominal.makespan - 1

    @property
    def gain(self) -> float | None:
        """By which share its quantile is less than that of the nominal one; None if unknown."""
        if not 0 < self.nominal.value < math.inf:
            return None
        return 1 - self.chosen.value / self.nominal.value


@dataclass(frozen=True)
class DagResult(Result[Schedule]):
    """Result of a ``dag`` problem.

    Attributes
    ----------
    robust
        How the schedule was chosen, if a quantile was asked for.
    """

    robust: Robustness | None = None

    @property
    def schedule(self) -> Schedule:
        """The schedule.

        Raises
        ------
        NoSolution
            If there is none.
        """
        return self.require()
