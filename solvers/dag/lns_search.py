"""Rounds of large neighbourhood search: free some tasks, let CP-SAT look for a shorter schedule.

Every round is limited by the engine's count of its own work, not by the clock, so that a
number of rounds gives the same schedule again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import BoolArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_hetero_cpsat import NodeCpModel, build
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_build import Placement
from allocsolve.models.dag.search_kernels import NODE_TABLE
from allocsolve.models.errors import UsageError
from allocsolve.models.result import Bound, Scalar
from allocsolve.models.threads import ContextPool
from allocsolve.solvers.control import Control
from allocsolve.solvers.dag import cpsat
from allocsolve.solvers.dag.compiling import is_worth_compiling
from allocsolve.solvers.dag.lns_choice import Chooser
from allocsolve.solvers.dag.lns_part import part_of
from allocsolve.solvers.engines.cpsat import EngineStatus, run
from allocsolve.solvers.loading import make_ready

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["Neighbourhoods", "obstacle"]

_WORK = 0.03
"""Limit of a round in the engine's own unit of work: some tenths of a second."""

_PROBING = 0
"""Level of probing in the presolve of a round; more costs more than it saves."""

_GRAIN = 10_000
"""A round must gain at least this part of the makespan: ticks may be tiny."""

_LARGEST = 2000
"""Tasks and edges above which building the model of a round takes too long."""


_PLAIN_TABLE = 0.05
"""Seconds that the table of a round may take as plain Python."""


class _Ended(Exception):
    """The run should end while a model is being built."""


@dataclass(frozen=True)
class _Found:
    """What a round found: a shorter schedule or None, and whether it searched everything.

    Attributes
    ----------
    least
        A bound on every schedule, where nothing was kept and the search was complete.
    """

    placement: Placement | None
    complete: bool
    least: int = 0
    abandoned: bool = False


_NOTHING = _Found(None, complete=True)


def obstacle(graph: CommGraph, control: Control[Schedule]) -> str | None:
    """Return why rounds are not worth their time, None if they are.

    They must be quick, and the loops they need ready, or get ready in time.
    """
    from allocsolve.models.dag.comm_tables import plain_seconds

    size = graph.n + len(graph.edge_source)
    if not 0 < size <= _LARGEST:
        return f"it has {size} tasks and edges, and rounds are made for 1 to {_LARGEST}"
    if plain_seconds(graph) <= _PLAIN_TABLE:
        return None
    is_cached = NODE_TABLE.loads_within(control.remaining())
    if (is_cached or is_worth_compiling(control, NODE_TABLE)) and make_ready(control, NODE_TABLE):
        return None
    return (
        "there is no time to load or compile the loops that they need; 'allocsolve doctor "
        "--compile' compiles them once"
    )


def _below(value: int) -> int:
    """Return the length that a round asks for below the best one."""
    return value - max(1, value // _GRAIN)


class Neighbourhoods:
    """Rounds that start from the best schedule known and offer what they find.

    Each thread searches a neighbourhood of the same schedule; the best answer of all is the
    schedule of the next round.

    Parameters
    ----------
    control
        Holds a schedule to start from.
    settings
        Levels of linearization and symmetry of CP-SAT.

    Attributes
    ----------
    abandoned
        Whether a thread of the engine was left behind; no more rounds can be made then.
    """

    def __init__(
        self, graph: CommGraph, control: Control[Schedule], settings: Mapping[str, int]
    ) -> None:
        self.abandoned = False
        self._graph = graph
        self._control = control
        self._parameters: dict[str, Scalar] = {
            **cpsat.engine_parameters({**settings, "probing_level": _PROBING}, 1),
            "max_deterministic_time": _WORK,
        }
        seed, threads = control.limits.seed, max(1, control.limits.threads)
        self._choosers = [Chooser(graph, seed * 1013 + chooser) for chooser in range(threads)]

    def run(
        self, rounds: int | None, *, idle: int | None = None, seconds: float = math.inf
    ) -> bool:
        """Carry out rounds; tell whether the clock had no say in them.

        Parameters
        ----------
        rounds
            How many, without end if None.
        idle
            Rounds without a shorter schedule after which to end, if not None.
        seconds
            After which to end.
        """
        until = time.monotonic() + min(seconds, self._control.remaining())
        done = wasted = 0
        with ContextPool(len(self._choosers)) as pool:
            while rounds is None or done < rounds:
                if self._control.stopped() is not None or self.abandoned:
                    return self._control.is_proven()
                if time.monotonic() > until:
                    return False
                wasted = 0 if self._round(pool, until) else wasted + 1
                done += 1
                if idle is not None and wasted >= idle:
                    break
        return time.monotonic() <= until

    def _round(self, pool: ContextPool, until: float) -> bool:
        """Search a neighbourhood in each thread; tell whether the schedule became shorter."""
        start = self._best_known()
        drawn = [chooser.draw(start) for chooser in self._choosers]
        jobs = [pool.submit(self._search, start, free, until) for _, free in drawn]
        is_shorter = False
        for (choice, _), job in zip(drawn, jobs, strict=True):
            found = job.result()
            self.abandoned |= found.abandoned
            choice.learn(is_better=found.placement is not None, is_complete=found.complete)
            if found.placement is not None:
                value = found.placement.makespan
                is_shorter |= self._control.offer(found.placement.schedule(), value, "lns")
            if found.least:
                detail = "no shorter schedule exists, proven by CP-SAT"
                self._control.raise_bound(Bound(found.least, "cpsat", detail))
        return is_shorter

    def _search(self, start: Placement, free: BoolArray, until: float) -> _Found:
        """Look for a shorter schedule in one neighbourhood."""
        inner = self._within(until)
        try:
            formulation = self._formulate(start, free, inner)
        except _Ended:
            return replace(_NOTHING, complete=False)
        if formulation is None:
            return _NOTHING
        found: list[Placement] = []

        def accept(value_of: Callable[[cp_model.IntVar], int]) -> None:
            begin, node = (np.array(row, np.int64) for row in formulation.decode(value_of))
            found.append(Placement(self._graph, begin, node))

        report = run(formulation.model, inner, accept, self._parameters)
        best = found[-1] if found else None
        complete = report.status in (EngineStatus.OPTIMAL, EngineStatus.INFEASIBLE)
        least = 0
        if complete and bool(free.all()):
            least = _below(start.makespan) + 1 if best is None else best.makespan
        return _Found(best, complete, least, report.abandoned)

    def _formulate(
        self, start: Placement, free: BoolArray, inner: Control[Schedule]
    ) -> NodeCpModel | None:
        """Build the model of all shorter schedules; None if a bound shows that there are none."""
        from allocsolve.models.dag.comm_tables import node_table

        def pulse() -> None:
            if inner.stopped() is not None:
                raise _Ended

        table, length = node_table(part_of(start, free)), _below(start.makespan)
        if table.value > length:
            return None
        lower = 0 if self._control.bound is None else self._control.bound.value
        formulation = build(table, length, lower=max(lower, table.value), pulse=pulse)
        formulation.hint(start.start, start.node)
        pulse()
        return formulation

    def _within(self, until: float) -> Control[Schedule]:
        """Return a control for one round: the same token, one thread, the end of the rounds."""
        deadline = None if self._control.limits.deadline is None else until
        limits = replace(self._control.limits, gap=0.0, threads=1, deadline=deadline)
        return Control(limits, self._control.token)

    def _best_known(self) -> Placement:
        schedule = self._control.answer
        if schedule is None:
            raise UsageError("neighbourhoods need a schedule to start from")
        node = self._graph.problem.arrays.mode_node[schedule.mode]
        return Placement(self._graph, schedule.start.copy(), node.copy())
