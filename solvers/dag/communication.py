"""Method ``communication``: data between identical nodes, to proven optimality.

1. A list schedule; bounds by clusters, areas and stars.
2. Forks and joins by dynamic programming over the loads of nodes.
3. Annealing over a node for every task and an order of all tasks.
4. CP-SAT is asked for a schedule one tick shorter than the best one, again and again; when
   the time for that is over, questions for shorter lengths push the bound up.

Nodes or links that differ, and large instances, are left to ``heterogeneous``.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_bounds import ClusterBounds
from allocsolve.models.dag.comm_cpsat import size_of
from allocsolve.models.dag.comm_identical import Identical, identical_nodes
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import ANNEALING
from allocsolve.models.dag.star import fork_of
from allocsolve.models.kernels import uncompiled
from allocsolve.models.result import Bound, Scalar, SolverInfo, Termination
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag import cpsat, heterogeneous
from allocsolve.solvers.dag.anneal_identical import Annealing, plain_seconds
from allocsolve.solvers.dag.compiling import (
    PLAIN_SEARCH,
    UNCOMPILED,
    is_worth_compiling,
    loads_in_time,
)
from allocsolve.solvers.dag.improve import Improver
from allocsolve.solvers.dag.opening import Opening, open_run
from allocsolve.solvers.dag.settings import Choice, read_settings, shown
from allocsolve.solvers.dag.star import solve_fork
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.engines.cpsat import load, version
from allocsolve.solvers.loading import loops, make_ready

__all__ = ["SETTINGS", "search", "solve", "suited"]

SETTINGS = cpsat.SETTINGS | {"rounds": Choice(8, 0, 10**6)}
"""Those of CP-SAT; ``rounds``: coolings of the annealing before CP-SAT is asked."""

_ANNEAL_SHARE, _SHORT_SHARE, _SHORT = 0.3, 0.6, 1.0
"""Share of the time left that annealing takes at most before CP-SAT is asked; a larger one if
less than a second is left, for a good schedule comes sooner than a proof."""

_PROVABLE, _LARGE_SHARE = 100, 0.7
"""Tasks beyond which a proof is rare, and the share of the time that annealing has then."""

_LOADS_SHARE = 0.3
"""Share of the time left that the dynamic programme for forks takes at most."""

_FEW_ROUNDS = 2
"""Coolings, one from the best schedule and one from random nodes, that plain Python makes."""

_COLD_SHARE = 0.25
"""Share of the time left that CP-SAT has before annealing is compiled, where it is not."""

_IMPORT_ENGINE = 0.9
"""Seconds that importing the engine takes, with some room."""

_FEW = 25
"""Tasks up to which decisions prove more than other methods where no data passes."""

_LARGEST_MODEL = 50_000
"""Literals and clauses beyond which CP-SAT answers no question."""


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Find and prove a schedule of communicating tasks."""
    settings = read_settings("communication", control.limits.options, SETTINGS)
    instance = _lists(problem)
    if instance is None:
        return heterogeneous.search(problem, control, settings)
    opening = open_run(problem, control)
    if opening.reason is not None:
        return infeasible(own_solver(control, shown(settings, SETTINGS)), opening.reason)
    return search(instance, control, opening, settings)


def suited(problem: DagProblem) -> Identical | None:
    """Return the lists of an instance with data between identical nodes, or of a few tasks.

    None for any other, and for one that is too large to prove anything by decisions.
    """
    few = len(problem.tasks) <= _FEW
    return _lists(problem) if few or problem.arrays.communicates else None


def _lists(problem: DagProblem) -> Identical | None:
    instance = identical_nodes(problem)
    if instance is None or instance.graph.limits_memory or instance.graph.has_groups:
        return None
    return instance if size_of(instance) <= _LARGEST_MODEL else None


def search(
    instance: Identical,
    control: Control[Schedule],
    opening: Opening,
    settings: Mapping[str, int],
) -> Outcome:
    """Improve and prove the answer that the control holds, on identical nodes."""
    return _Search(instance, control, opening, settings).outcome()


class _Search:
    """The state of one run."""

    def __init__(
        self,
        instance: Identical,
        control: Control[Schedule],
        opening: Opening,
        settings: Mapping[str, int],
    ) -> None:
        self.instance = instance
        self.control = control
        self.opening = opening
        self.settings = {key: settings.get(key, choice.default) for key, choice in SETTINGS.items()}
        self.bounds = ClusterBounds(instance)
        self.fork = fork_of(instance)
        self.solver = own_solver(control, self._shown())
        self.repeatable = True
        self.searched = False
        self.is_cold = False
        self.is_open = False
        self.warnings: list[str] = []
        self.abandoned = False

    def outcome(self) -> Outcome:
        """Run part after part until value and bound meet or a limit ends the run."""
        proofs = (self._ask_first, self._anneal_late, self._ask)
        for part in (self._count_loads, self._anneal, *proofs, self._sample):
            if not self._is_over() and not self.abandoned:
                part()
        return finished(
            self.control,
            self.solver,
            self.control.stopped() or self._out_of_time(),
            deterministic=self.repeatable,
            warnings=tuple(self.warnings),
            abandoned=self.abandoned,
        )

    def _out_of_time(self) -> Termination:
        """Return what it means that all parts came to their end: too little time, or no answer."""
        if self.control.limits.deadline is not None:
            return Termination.TIME_LIMIT
        return Termination.SOLVER_ERROR if self.is_open else Termination.FINISHED

    def _is_over(self) -> bool:
        return self.control.stopped() is not None

    def _is_over_by(self, until: float) -> bool:
        """Whether to end a part now; one that the clock ends cannot be repeated exactly."""
        if self._is_over():
            return True
        late = time.monotonic() > until
        self.repeatable &= not late
        return late

    def _shown(self) -> dict[str, Scalar]:
        return shown(self.settings, SETTINGS)

    def _count_loads(self) -> None:
        """Solve a fork or join by dynamic programming."""
        if self.fork is None or self.control.value is None:
            return
        self.control.phase("dynamic programming")
        until = time.monotonic() + _LOADS_SHARE * self.control.remaining()
        answer = solve_fork(self.fork, self.control.value, lambda: self._is_over_by(until))
        if answer.places is not None:
            schedule = self.instance.graph.to_schedule(*self.fork.schedule(answer.places))
            self.control.offer(schedule, schedule.makespan, "fork_join")
        kind = "join" if self.fork.backwards else "fork"
        detail = f"no placement of the leaves of this {kind} is shorter"
        self.control.raise_bound(Bound(answer.least, "fork_join", detail))

    def _anneal(self) -> None:
        """Spend a share of the time on better schedules, or all of it if CP-SAT cannot help.

        Where the loops are not compiled this is a short search in plain Python, unless a
        proof is rare and there is time to compile them.
        """
        rest = self.control.remaining()
        share, rounds = self._plan(rest)
        if self.control.limits.deadline is None:
            seconds = plain_seconds(self.instance.graph, rounds or 1)
            with loops(self.control, ANNEALING, plain=seconds) as can_run:
                if can_run:
                    self._cool(rounds, math.inf)
        elif loads_in_time(self.control, ANNEALING):
            self._cool(rounds, share * rest)
        elif self.instance.n > _PROVABLE and is_worth_compiling(self.control, ANNEALING):
            self._anneal_compiled()
        else:
            self._anneal_plainly(rounds, rest)

    def _anneal_compiled(self) -> None:
        """Compile the loops, then anneal for a share of the time that this leaves."""
        if make_ready(self.control, ANNEALING):
            rest = self.control.remaining()
            share, rounds = self._plan(rest)
            self._cool(rounds, share * rest)

    def _anneal_plainly(self, rounds: int | None, rest: float) -> None:
        """Anneal without compiled loops: shortly if CP-SAT can be asked then."""
        seconds = min(_SHORT_SHARE * rest, PLAIN_SEARCH) if self._can_ask(rest) else rest
        whole = plain_seconds(self.instance.graph, rounds or _FEW_ROUNDS)
        few = plain_seconds(self.instance.graph, _FEW_ROUNDS)
        effort = 1.0 if whole <= seconds else min(1.0, seconds / few)
        with uncompiled():
            complete = self._cool(rounds, seconds, effort)
        self.is_cold = effort < 1.0 or not complete
        self.repeatable &= not self.is_cold

    def _cool(self, rounds: int | None, seconds: float, effort: float = 1.0) -> bool:
        """Anneal for so many rounds or seconds; tell whether the rounds came to their end."""
        self.control.phase("annealing")
        self.searched = True
        until = time.monotonic() + seconds
        annealing = Annealing(self.bounds, self.control, self.control.limits.seed, effort)
        annealing.run(rounds, lambda: self._is_over_by(until))
        return time.monotonic() <= until

    def _plan(self, rest: float) -> tuple[float, int | None]:
        """Return the share of the time left and the rounds (None: no end) of annealing."""
        rounds = self.settings["rounds"]
        if self.control.limits.deadline is None:
            return 1.0, rounds
        if not self._can_ask(rest):
            return 1.0, None
        if self.instance.n > _PROVABLE:
            return _LARGE_SHARE, None
        return (_SHORT_SHARE if rest < _SHORT else _ANNEAL_SHARE), rounds

    def _can_ask(self, rest: float) -> bool:
        return rest >= (0.0 if "ortools.sat.python.cp_model" in sys.modules else _IMPORT_ENGINE)

    def _ask_first(self) -> None:
        """Where annealing was cut short for want of compiled loops, try a proof without it."""
        if self.is_cold and is_worth_compiling(self.control, ANNEALING):
            self._ask(_COLD_SHARE * self.control.remaining())

    def _anneal_late(self) -> None:
        """Compile what this instance turned out to need."""
        if not self.is_cold:
            return
        if is_worth_compiling(self.control, ANNEALING):
            self._anneal_compiled()
        else:
            self.warnings.append(UNCOMPILED)

    def _ask(self, seconds: float = math.inf) -> None:
        """Ask CP-SAT until nothing is open or the time is over."""
        if not self._can_ask(self.control.remaining()):
            self.repeatable = False
            return
        self.control.phase("loading CP-SAT")
        self.searched = True
        load(self._is_over)
        from allocsolve.solvers.dag.questions import Questions

        limits = self.control.limits
        self.solver = SolverInfo("ortools", version(), limits.seed, limits.threads, self._shown())
        questions = Questions(
            self.bounds,
            self.fork,
            self.control,
            cpsat.engine_parameters(self.settings, limits.threads),
        )
        questions.ask_all(seconds)
        self.abandoned, self.is_open = questions.abandoned, questions.is_open
        self.repeatable &= limits.threads == 1 and not self.is_open

    def _sample(self) -> None:
        """Where there was no time to load anything, spend it on list schedules."""
        if not self.searched and self.control.limits.deadline is not None:
            self.control.phase("sampling schedules")
            problem, opening = self.instance.graph.problem, self.opening
            Improver(problem, opening.network, self.control, opening.plan).run(None)
