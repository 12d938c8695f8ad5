"""Lengths that CP-SAT excludes on nodes of any mix, from the bound upwards.

A question "is there a schedule of at most T ticks" is asked of the model of what such a length
leaves possible (:mod:`allocsolve.models.dag.narrowing`). Well below the optimum the answer "no"
comes within seconds, where minimising over all lengths proves nothing in minutes: destructive
improvement (Klein and Scholl, "Computing lower bounds by destructive improvement", European
Journal of Operational Research 112, 1999). The closer T is to the optimum, the harder is the
question, so the steps of T double after each answer and shrink after a question that was left open.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_hetero_cpsat import NodeCpModel, build, size_of
from allocsolve.models.dag.cut_paths import CutPaths, cut_paths
from allocsolve.models.dag.narrowing import cuts_at_once, narrow
from allocsolve.models.dag.node_windows import NodeTable
from allocsolve.models.result import Bound
from allocsolve.solvers.control import Control
from allocsolve.solvers.dag.area_lp import area_bound
from allocsolve.solvers.engines.cpsat import EngineStatus, run

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["LARGEST", "NodeQuestions", "distances", "tight_gaps"]

LARGEST = 60_000
"""Literals and coefficients of a model beyond which nothing is asked."""

_FIRST = 24
"""The first question is one part of so many of the way from the bound to the best schedule."""

_SHARE = 0.35
"""Share of the time left that a question may take."""

_SHORTEST = 0.1
"""Seconds below which no question is asked."""

_PARAMETERS = {"linearization_level": 1}


class _Ended(Exception):
    """Time is up while a model is being built."""


class NodeQuestions:
    """Raises the bound of a run by questions, and offers what they find.

    Parameters
    ----------
    table
        Holds for all schedules.

    Attributes
    ----------
    abandoned
        Whether a thread of the engine was left behind; nothing more can be asked then.
    """

    def __init__(self, table: NodeTable, control: Control[Schedule]) -> None:
        self.abandoned = False
        self._table = table
        self._control = control

    def fits(self) -> bool:
        """Whether the model is small enough for questions."""
        return size_of(self._table) <= LARGEST

    def ask(self, until: float) -> None:
        """Ask until a reading of the clock, or until value and bound meet.

        There must be an answer and a bound.
        """
        open_from = self._value()
        step = (open_from - self._lower()) // _FIRST
        while self._may_ask(until) and self._lower() < min(open_from, self._value()):
            open_from = min(open_from, self._value())
            step = min(max(1, step), (open_from - self._lower() + 1) // 2)
            length = self._lower() + step - 1
            if self._excludes(length, until):
                step *= 2
            else:
                open_from, step = length, step // 4

    def _value(self) -> int:
        value = self._control.value
        return self._table.graph.problem.arrays.horizon if value is None else value

    def _lower(self) -> int:
        return 0 if self._control.bound is None else self._control.bound.value

    def _may_ask(self, until: float) -> bool:
        rest = min(self._control.remaining(), until - time.monotonic())
        return not self.abandoned and self._control.stopped() is None and rest > _SHORTEST

    def _excludes(self, length: int, until: float) -> bool:
        """Ask for a schedule of at most so many ticks; tell whether there is none."""
        self._control.phase(f"CP-SAT is asked for a makespan of {length} ticks")
        inner = self._within(until)
        try:
            formulation = self._formulate(length, inner)
        except _Ended:
            return False
        if formulation is None:
            detail = "shorter lengths leave no node to some task, or too little room for the work"
            return self._raise(Bound(length + 1, "destructive_area", detail))
        report = run(formulation.model, inner, self._accept(formulation), _PARAMETERS)
        self.abandoned = report.abandoned
        if report.status is EngineStatus.INFEASIBLE:
            detail = "no shorter schedule exists, proven by CP-SAT"
            return self._raise(Bound(length + 1, "cpsat", detail))
        return False

    def _raise(self, bound: Bound) -> bool:
        self._control.raise_bound(bound)
        return True

    def _within(self, until: float) -> Control[Schedule]:
        """Return a control for one question: the same token, a part of the time left."""
        now = time.monotonic()
        deadline = now + _SHARE * max(0.0, min(until - now, self._control.remaining()))
        limits = replace(self._control.limits, gap=0.0, deadline=deadline)
        return Control(limits, self._control.token)

    def _formulate(self, length: int, inner: Control[Schedule]) -> NodeCpModel | None:
        """Return the model of a length, None if that excludes it already."""

        def pulse() -> None:
            if inner.stopped() is not None:
                raise _Ended

        table = narrow(self._table, length, lambda: inner.stopped() is not None)
        pulse()
        if table is None:
            return None
        area = area_bound(table, max(self._lower(), table.value), inner.remaining)
        if area.value > length:
            return None
        pulse()
        gaps = distances(table)
        return build(table, length, windows=area.windows, minimise=False, gaps=gaps, pulse=pulse)

    def _accept(
        self, formulation: NodeCpModel
    ) -> Callable[[Callable[[cp_model.IntVar], int]], None]:
        def accept(value_of: Callable[[cp_model.IntVar], int]) -> None:
            schedule = self._table.graph.to_schedule(*formulation.decode(value_of))
            self._control.offer(schedule, schedule.makespan, "cpsat")

        return accept


def distances(table: NodeTable) -> list[tuple[int, int, int]]:
    """Return what the cut paths say of pairs of tasks, nothing if they take long."""
    paths = cut_paths(table) if cuts_at_once(table.graph) else None
    return [] if paths is None else list(tight_gaps(table, paths))


def tight_gaps(table: NodeTable, paths: CutPaths) -> Iterator[tuple[int, int, int]]:
    """Yield task, later task and the least time between them, where edges do not imply it."""
    graph, gap = table.graph, paths.gap
    least = np.where(table.possible, graph.duration, graph.problem.arrays.horizon).min(axis=1)
    reach = np.where(gap >= 0, gap, -(2**58))
    known = np.full_like(gap, -1)
    np.maximum.at(known, (graph.edge_source, graph.edge_target), graph.edge_lag)
    for a in range(graph.n):
        inner = np.flatnonzero(gap[a] >= 0)
        if not len(inner):
            continue
        way: IntArray = (gap[a, inner] + least[inner])[:, None] + reach[inner]
        tight = gap[a] > np.maximum(known[a], way.max(axis=0))
        yield from ((a, int(b), int(gap[a, b])) for b in np.flatnonzero(tight))
