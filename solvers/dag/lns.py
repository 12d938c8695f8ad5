"""Method ``lns``: large neighbourhood search with CP-SAT on nodes of any mix.

1. List schedules and annealing.
2. Rounds: some tasks are freed, the others keep their node and their order; CP-SAT looks for
   a shorter schedule under a small limit (Shaw, "Using constraint programming and local search
   methods to solve vehicle routing problems", CP 1998). Where rounds gain nothing any more,
   annealing goes on from the best schedule, and so on.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.cpsat import overflow
from allocsolve.models.dag.node_windows import NodeTable
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.result import Scalar, SolverInfo, Termination
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag import cpsat
from allocsolve.solvers.dag.annealing import Annealing, search_loops
from allocsolve.solvers.dag.lns_search import Neighbourhoods, obstacle
from allocsolve.solvers.dag.node_start import begin
from allocsolve.solvers.dag.settings import Choice, read_settings, shown
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.engines.cpsat import load, version

__all__ = ["SETTINGS", "Alternation", "solve"]

SETTINGS = {
    "linearization_level": cpsat.SETTINGS["linearization_level"],
    "symmetry_level": cpsat.SETTINGS["symmetry_level"],
    "coolings": Choice(6, 0, 10**6),
    "rounds": Choice(0, 0, 10**6),
}
"""Levels of CP-SAT; ``coolings``: of each chain of annealing before the rounds, if there is no
time limit; ``rounds``: of the search, 0 until the time limit, or 50 without one."""

_ROUNDS = 50
"""Rounds without a time limit."""

_ANNEAL_SHARE = 0.5
"""Share of the time left that annealing takes before the rounds."""

_IDLE = 25
"""Rounds without a shorter schedule after which annealing goes on."""

_PER_TASK = 0.06
"""Seconds left for each task below which annealing alone finds more than with rounds."""

_SHORTEST = 0.2
"""Seconds below which no part is begun."""

_IMPORT_ENGINE = 0.9
"""Seconds that importing the engine takes, with some room."""

_WORTH = 4
"""How many times as long as its import the rounds and annealing must be able to last."""


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Anneal and search neighbourhoods until value and bound meet or a limit ends it."""
    settings = read_settings("lns", control.limits.options, SETTINGS)
    solver = own_solver(control, shown(settings, SETTINGS), control.limits.threads)
    start = begin(problem, control)
    if control.answer is None and (start.reason is not None or start.is_impossible):
        return infeasible(solver, start.reason)
    search = Alternation(
        start.table,
        control,
        settings,
        solver.options,
        coolings=settings["coolings"],
        rounds=settings["rounds"],
    )
    search.run()
    return finished(
        control,
        search.solver or solver,
        control.stopped() or Termination.FINISHED,
        deterministic=search.is_repeatable,
        warnings=search.warnings,
        abandoned=search.abandoned,
    )


class Alternation:
    """Annealing and neighbourhoods in turn, each from the best schedule known.

    Parameters
    ----------
    control
        Holds a schedule to start from; without one nothing is done.
    settings
        Levels of CP-SAT, as in ``SETTINGS``.
    options
        What to report as the options of the engine.
    coolings, rounds
        As in ``SETTINGS``.
    annealing
        Chains to go on with.

    Attributes
    ----------
    solver
        The engine, if it was used.
    warnings
        Why neighbourhoods were not searched, if they were not.
    is_repeatable
        Whether the clock had no say in anything.
    """

    def __init__(
        self,
        table: NodeTable,
        control: Control[Schedule],
        settings: Mapping[str, int],
        options: Mapping[str, Scalar],
        *,
        coolings: int = 6,
        rounds: int = 0,
        annealing: Annealing | None = None,
    ) -> None:
        self.solver: SolverInfo | None = None
        self.warnings: tuple[str, ...] = ()
        self.is_repeatable = True
        self._table = table
        self._control = control
        self._settings = settings
        self._options = options
        self._coolings = coolings
        self._rounds = rounds
        self._annealing = annealing
        self._neighbourhoods: Neighbourhoods | None = None

    @property
    def abandoned(self) -> bool:
        """Whether a thread of the engine was left behind."""
        return self._neighbourhoods is not None and self._neighbourhoods.abandoned

    def run(self, *, if_time: bool = False) -> None:
        """Go on until value and bound meet, a limit ends it or all rounds are done.

        Parameters
        ----------
        if_time
            Whether to leave neighbourhoods out if a time limit leaves too little for them.
        """
        if self._control.answer is None:
            return
        if self._control.limits.deadline is None:
            self._anneal(self._coolings, 1.0)
            self.search(self._rounds or _ROUNDS)
            return
        is_short = self._control.remaining() < _PER_TASK * self._table.graph.n
        while self._goes_on():
            if (if_time and is_short) or not self._can_search():
                self._anneal(None, 1.0)
                return
            self._anneal(None, _ANNEAL_SHARE)
            self.search(self._rounds or None, idle=_IDLE)
            if self._rounds:
                break

    def _goes_on(self) -> bool:
        is_over = self._control.stopped() is not None or self.abandoned
        return not is_over and self._control.remaining() > _SHORTEST

    def _can_search(self) -> bool:
        """Whether CP-SAT can be used; if not, say why."""
        control, graph = self._control, self._table.graph
        is_loaded = "ortools.sat.python.cp_model" in sys.modules
        needed = 0.0 if is_loaded else _WORTH * _IMPORT_ENGINE
        excuse = overflow(graph.problem, cpsat.horizon(graph.problem, control))
        excuse = obstacle(graph, control) or excuse
        if excuse is None and control.remaining() < needed:
            excuse = "the time left is too short to load CP-SAT for it"
        if excuse is not None and self.solver is None and not control.token.cancelled:
            self.warnings = (f"neighbourhoods were not searched: {excuse}",)
        return excuse is None

    def _anneal(self, coolings: int | None, share: float) -> None:
        """Anneal for a share of the time left."""
        if coolings == 0:
            return
        self._control.phase("annealing")
        with search_loops(self._table.graph, self._control, coolings or 1):
            if self._annealing is None:
                self._annealing = Annealing(self._table, self._control)
            seconds = share * self._control.remaining()
            until = time.monotonic() + seconds
            self.is_repeatable &= self._annealing.run(
                coolings,
                lambda: self._control.stopped() is not None or time.monotonic() > until,
                seconds,
            )

    def search(
        self, rounds: int | None, *, idle: int | None = None, seconds: float = math.inf
    ) -> None:
        """Search neighbourhoods for so many rounds or seconds, or until rounds gain nothing."""
        if self._control.stopped() is not None or not self._can_search():
            return
        self._control.phase("loading CP-SAT")
        load()
        limits = self._control.limits
        threads, options = limits.threads, self._options
        self.solver = SolverInfo("ortools", version(), limits.seed, threads, options)
        self._control.phase("searching neighbourhoods")
        if self._neighbourhoods is None:
            self._neighbourhoods = Neighbourhoods(self._table.graph, self._control, self._settings)
        self.is_repeatable &= self._neighbourhoods.run(rounds, idle=idle, seconds=seconds)
