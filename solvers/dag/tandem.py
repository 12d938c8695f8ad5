"""Compiled search on projects and shops, with CP-SAT beside it or after it.

With two threads or more and a time limit, one thread is CP-SAT's and the others search: what
CP-SAT can prove is proven, and where it cannot, search finds far shorter schedules. With one
thread they take turns; without a time limit a fixed amount of search comes first.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping

from allocsolve.models.dag import project_data, shop_data
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.cpsat import overflow
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import PROJECTS, SHOPS
from allocsolve.models.errors import SolverMissing
from allocsolve.models.kernels import KernelSet
from allocsolve.models.result import SolverInfo, Termination
from allocsolve.solvers.control import Control, Outcome, Proof
from allocsolve.solvers.dag import cpsat
from allocsolve.solvers.dag.compiling import is_worth_compiling, loads_in_time
from allocsolve.solvers.dag.genetic import Genetic
from allocsolve.solvers.dag.opening import Opening
from allocsolve.solvers.dag.prover import REFUTING, Prover
from allocsolve.solvers.dag.refuting import refute
from allocsolve.solvers.dag.settings import shown
from allocsolve.solvers.dag.tabu import Tabu
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.engines.cpsat import version
from allocsolve.solvers.loading import make_ready

__all__ = ["kernels_for", "search"]

_IMPORT = 0.9
"""Seconds that importing the engine takes, with some room."""

_SHORTEST = 0.15
"""Seconds below which the engine is not begun."""

_FIRST_TRY, _SEARCH_SHARE = 0.15, 0.6
"""With one thread: share of the time left in which CP-SAT tries a proof before the search, and
the share of the rest that search has."""

_FIXED = {"genetic": 3000, "tabu": 3}
"""Children, or runs, before CP-SAT where there is no time limit."""


def kernels_for(problem: DagProblem) -> KernelSet | None:
    """Return the loops of the search that suits a problem, None if none does."""
    if shop_data.excuse(problem) is None:
        return SHOPS
    has_lines = bool(problem.arrays.renewable.any()) or len(problem.nodes) > 0
    return PROJECTS if has_lines and project_data.excuse(problem) is None else None


def search(
    problem: DagProblem,
    control: Control[Schedule],
    opening: Opening,
    settings: Mapping[str, int],
    kernels: KernelSet,
) -> Outcome | None:
    """Carry out the method; None if its loops cannot be made ready in time."""
    run = _Tandem(problem, control, opening, settings, kernels)
    if control.limits.deadline is None:
        return run.in_turn() if make_ready(control, kernels) else None
    if not (loads_in_time(control, kernels) or is_worth_compiling(control, kernels)):
        return None
    return run.side_by_side() if control.limits.threads > 1 else run.taking_turns()


class _Tandem:
    """The state of one run."""

    def __init__(
        self,
        problem: DagProblem,
        control: Control[Schedule],
        opening: Opening,
        settings: Mapping[str, int],
        kernels: KernelSet,
    ) -> None:
        self._problem = problem
        self._control = control
        self._opening = opening
        self._settings = settings
        self._kernels = kernels
        self._excuse = overflow(problem, cpsat.horizon(problem, control))
        self._prover: Prover | None = None
        self._engine_ran = False
        self._is_impossible = False
        self._is_abandoned = False

    def in_turn(self) -> Outcome:
        """Search for a fixed amount, then let the engine prove, without a time limit."""
        # Shaving would look at the clock, which must have no say here.
        refute(self._problem, self._control, math.inf, shaves=False, compiles=True)
        is_complete = self._search(1, None, self._is_over)
        self._prove(math.inf)
        one = self._control.limits.threads == 1 or not self._engine_ran
        return self._outcome(deterministic=is_complete and one)

    def side_by_side(self) -> Outcome:
        """Let the engine have one thread and the search the others."""
        if self._may_prove(self._control.remaining()):
            self._prover = Prover(self._problem, self._control, self._settings, 1)
            self._prover.start()
        threads = self._control.limits.threads - (self._prover is not None)
        try:
            if make_ready(self._control, self._kernels):
                self._search(threads, math.inf, self._is_over)
            if self._prover is not None:
                self._prover.wait()
        finally:
            if self._prover is not None:
                self._prover.close()
        if self._prover is not None:
            self._excuse = self._prover.missing
            self._engine_ran = self._prover.has_run
            self._is_impossible = self._prover.is_impossible
            self._is_abandoned = self._prover.is_abandoned
        return self._outcome(deterministic=False)

    def taking_turns(self) -> Outcome:
        """Let the engine try shortly, then search, then let the engine go on.

        What the engine proves at once is the same whether or not loops are in the cache, so it
        comes before everything that needs them or looks at the clock.
        """
        first = _FIRST_TRY * self._control.remaining()
        if self._may_prove(first):
            self._prove(first)
            if self._is_over():
                return self._outcome(deterministic=True)
        refute(self._problem, self._control, REFUTING * self._control.remaining())
        if not self._is_over() and make_ready(self._control, self._kernels):
            share = _SEARCH_SHARE if self._excuse is None else 1.0
            self._search(1, share * self._control.remaining(), self._is_over)
        if self._may_prove(self._control.remaining()):
            self._prove(math.inf)
        return self._outcome(deterministic=False)

    def _search(self, threads: int, seconds: float | None, stop: Callable[[], bool]) -> bool:
        problem, control = self._problem, self._control
        if self._kernels is SHOPS:
            control.phase("tabu search")
            runs = _FIXED["tabu"] if seconds is None else None
            return Tabu(problem, control, threads).run(runs, stop, seconds or math.inf)
        control.phase("genetic search")
        children = _FIXED["genetic"] if seconds is None else None
        genetic = Genetic(problem, self._opening.network, control, threads)
        return genetic.run(children, stop, seconds or math.inf)

    def _prove(self, seconds: float) -> None:
        """Let the engine work for so many seconds, if there is one and something is left to do."""
        if self._is_over() or self._is_abandoned or self._excuse is not None:
            return
        try:
            outcome = cpsat.run_engine(self._problem, self._control, self._settings, seconds)
        except SolverMissing as error:  # search alone has an answer too
            self._excuse = str(error)
            return
        self._engine_ran = True
        self._is_impossible = outcome.proof is Proof.INFEASIBLE
        self._is_abandoned = outcome.abandoned

    def _is_over(self) -> bool:
        if self._is_impossible or (self._prover is not None and self._prover.ends_the_run):
            return True
        return self._control.stopped() is not None

    def _may_prove(self, seconds: float) -> bool:
        """Whether there is an engine, and time to load and start it."""
        return self._excuse is None and seconds >= self._needed()

    @staticmethod
    def _needed() -> float:
        """Return the seconds below which it makes no sense to load and start the engine."""
        is_loaded = "ortools.sat.python.cp_model" in sys.modules
        return _SHORTEST + (0.0 if is_loaded else _IMPORT)

    def _outcome(self, *, deterministic: bool) -> Outcome:
        control, options = self._control, shown(self._settings, cpsat.SETTINGS)
        solver = own_solver(control, options, control.limits.threads)
        if self._engine_ran:
            solver = SolverInfo(
                "ortools", version(), control.limits.seed, control.limits.threads, options
            )
        if self._is_impossible:
            return infeasible(solver, None)
        by_itself = Termination.FINISHED if self._is_unlimited() else Termination.TIME_LIMIT
        warnings = () if self._excuse is None else (f"CP-SAT was not used: {self._excuse}",)
        return finished(
            control,
            solver,
            control.stopped() or by_itself,
            deterministic=deterministic,
            warnings=warnings,
            abandoned=self._is_abandoned,
        )

    def _is_unlimited(self) -> bool:
        return self._control.limits.deadline is None
