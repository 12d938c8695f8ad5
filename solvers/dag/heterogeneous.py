"""Method ``heterogeneous``: communicating tasks on nodes of any mix.

1. List schedules; bounds from the node table and from sharing the work among nodes.
2. Annealing over a node for every task and an order, for a share of the time.
3. For some tens of tasks, neighbourhoods for a share of the time, then CP-SAT from the best
   schedule.
4. Beyond, annealing and neighbourhoods in turn until the end.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_hetero_cpsat import NodeCpModel, build, size_of
from allocsolve.models.dag.cpsat import overflow
from allocsolve.models.dag.graph import has_choice, has_graph
from allocsolve.models.dag.node_windows import NodeTable, NodeWindow
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.dag.search_kernels import ANNEALING, NODE_TABLE
from allocsolve.models.errors import SolverCrash
from allocsolve.models.kernels import PLAIN_AT_ONCE, uncompiled
from allocsolve.models.result import Bound, Scalar, SolverInfo, Termination
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag import cpsat
from allocsolve.solvers.dag.annealing import Annealing, search_loops
from allocsolve.solvers.dag.compiling import (
    PLAIN_SEARCH,
    UNCOMPILED,
    is_worth_compiling,
    loads_in_time,
)
from allocsolve.solvers.dag.lns import Alternation
from allocsolve.solvers.dag.node_questions import NodeQuestions, distances
from allocsolve.solvers.dag.node_start import NodeStart, begin, raise_area_bound
from allocsolve.solvers.dag.settings import Choice, read_settings, shown
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.engines.cpsat import EngineRun, EngineStatus, load, run, version

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["SETTINGS", "search", "solve", "suited"]

SETTINGS = cpsat.SETTINGS | {"rounds": Choice(6, 0, 10**6)}
"""Those of CP-SAT; ``rounds``: coolings of the annealing before CP-SAT starts."""

_ANNEAL_SHARE = 0.15
"""Share of the time left that annealing takes at most before CP-SAT starts."""

_COLD_SHARE = 0.25
"""Share of the time left that CP-SAT has before annealing is compiled, where it is not."""

_ELIMINATE_SHARE = 0.1
"""Share of the time left that excluding lengths takes at most."""

_ASK_SHARE, _ASKED = 0.35, 80
"""Share of the time left for questions to CP-SAT, and tasks up to which some are answered."""

_SEARCHED, _SEARCH_SHARE, _IDLE = 25, 0.25, 30
"""Tasks from which on neighbourhoods are searched before CP-SAT starts, for which share of the
time left at most, and after how many rounds without a gain that ends."""

_PROVABLE = 60
"""Tasks up to which CP-SAT gets the rest of the time; beyond, other search finds more."""

_LARGEST_MODEL = 1_000_000
"""Literals and coefficients beyond which CP-SAT is not used."""

_IMPORT_ENGINE, _IMPORT_LP = 0.9, 0.6
"""Seconds that importing an engine takes, with some room."""


class _Ended(Exception):
    """The run should end while the model is being built."""


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Find a schedule as good as the limits allow, and prove it if they allow that too."""
    settings = read_settings("heterogeneous", control.limits.options, SETTINGS)
    return search(problem, control, settings)


def suited(problem: DagProblem) -> bool:
    """Whether there are nodes to choose from, and nothing is asked that this leaves out.

    Tasks that send no data and are nearly all bound to a node, as in shops, are better served
    by CP-SAT.
    """
    communicates = Feature.COMMUNICATION in problem.features and len(problem.nodes) > 1
    return (communicates and has_graph(problem)) or has_choice(problem)


def search(problem: DagProblem, control: Control[Schedule], settings: Mapping[str, int]) -> Outcome:
    """Carry out all parts of the method."""
    chosen = {key: settings.get(key, choice.default) for key, choice in SETTINGS.items()}
    return _Search(problem, control, chosen).outcome()


class _Search:
    """The state of one run."""

    def __init__(
        self, problem: DagProblem, control: Control[Schedule], settings: dict[str, int]
    ) -> None:
        self.problem = problem
        self.control = control
        self.settings = settings
        self.solver = own_solver(control, self._shown(), control.limits.threads)
        self.windows: tuple[NodeWindow, ...] = ()
        self.annealing: Annealing | None = None
        self.alternation: Alternation | None = None
        self.ended_by = Termination.FINISHED
        self.is_repeatable = True
        self.is_abandoned = False
        self.is_impossible = False
        self.is_cold = False
        self.warnings: list[str] = []

    def outcome(self) -> Outcome:
        """Run part after part until value and bound meet or a limit ends the run."""
        start = begin(self.problem, self.control)
        if self.control.answer is None and (start.reason is not None or start.is_impossible):
            return infeasible(self.solver, start.reason)
        for part in self._parts():
            if self.control.stopped() is None and not self.is_impossible:
                part(start)
        if self.is_impossible:
            return infeasible(self.solver, None)
        return finished(
            self.control,
            self.solver,
            self.control.stopped() or self.ended_by,
            deterministic=self.is_repeatable,
            warnings=tuple(self.warnings),
            abandoned=self.is_abandoned,
        )

    def _parts(self) -> tuple[Callable[[NodeStart], None], ...]:
        return (
            self._share_work,
            self._anneal_first,
            self._search_first,
            self._eliminate,
            self._prove_first,
            self._anneal_late,
            self._ask,
            self._prove,
            self._improve,
        )

    def _shown(self) -> dict[str, Scalar]:
        return shown(self.settings, SETTINGS)

    def _is_over(self) -> bool:
        return self.control.stopped() is not None

    def _share_work(self, start: NodeStart) -> None:
        if "highspy" in sys.modules or self.control.remaining() > _IMPORT_LP:
            self.windows = raise_area_bound(start.table, self.control)

    def _anneal_first(self, start: NodeStart) -> None:
        """Anneal for a share of the time; shortly, if nothing is compiled and CP-SAT may prove."""
        if self.control.answer is None or not self.settings["rounds"]:
            return
        rest = self.control.remaining()
        endless = self.control.limits.deadline is None
        if endless or self._is_large(start) or loads_in_time(self.control, ANNEALING):
            self._anneal(start)
        else:
            share = min(_ANNEAL_SHARE * rest, PLAIN_SEARCH)
            with uncompiled():
                self.is_cold = not self._cool(start, share)
            self.is_repeatable &= not self.is_cold

    def _anneal(self, start: NodeStart) -> None:
        """Anneal for a share of the time, with loops as quick as the time allows."""
        rounds = self.settings["rounds"]
        with search_loops(start.table.graph, self.control, rounds) as is_quick:
            if is_quick:
                self.is_repeatable &= self._cool(start, _ANNEAL_SHARE * self.control.remaining())
            else:
                self.is_cold = True
                self.is_repeatable = False

    def _cool(self, start: NodeStart, share: float) -> bool:
        """Anneal for so many seconds; tell whether the clock had no say in it."""
        self.control.phase("annealing")
        self.annealing = self.annealing or Annealing(start.table, self.control)
        until = time.monotonic() + share
        return self.annealing.run(
            self.settings["rounds"], lambda: self._is_over() or time.monotonic() > until, share
        )

    def _prove_first(self, start: NodeStart) -> None:
        """Where annealing was cut short for want of compiled loops, try a proof without it."""
        if self.is_cold and is_worth_compiling(self.control, ANNEALING):
            self._prove(start, _COLD_SHARE * self.control.remaining())

    def _anneal_late(self, start: NodeStart) -> None:
        """Compile what this instance turned out to need."""
        if not self.is_cold or self.is_abandoned:
            return
        if is_worth_compiling(self.control, ANNEALING):
            self._anneal(start)
        else:
            self.warnings.append(UNCOMPILED)

    def _eliminate(self, start: NodeStart) -> None:
        """Raise the bound by what shorter lengths leave possible."""
        value, bound = self.control.value, self.control.bound
        if value is None or bound is None or not self._may_eliminate(start):
            return
        from allocsolve.solvers.dag.node_elimination import destructive_bound

        self.control.phase("excluding lengths")
        rest = self.control.remaining()
        until = time.monotonic() + _ELIMINATE_SHARE * rest
        least = destructive_bound(
            start.table,
            bound.value,
            value,
            lambda: 0.0 if self._is_over() else until - time.monotonic(),
        )
        detail = "shorter lengths leave no node to some task, or too little room for the work"
        self.control.raise_bound(Bound(least, "destructive_area", detail))

    def _ask(self, start: NodeStart) -> None:
        """Ask CP-SAT for lengths that are too short, for a share of the time."""
        known = self.control.value is not None and self.control.bound is not None
        endless = self.control.limits.deadline is None
        if endless or not known or self.is_abandoned or start.table.graph.n > _ASKED:
            return
        if not self._may_eliminate(start) or self._can_prove(start) is not None:
            return
        load(self._is_over)
        self.solver = self._engine()
        questions = NodeQuestions(start.table, self.control)
        questions.ask(time.monotonic() + _ASK_SHARE * self.control.remaining())
        self.is_repeatable = False
        self.is_abandoned = questions.abandoned

    def _engine(self) -> SolverInfo:
        """Return what is said of a run in which CP-SAT took part."""
        limits = self.control.limits
        return SolverInfo("ortools", version(), limits.seed, limits.threads, self._shown())

    def _may_eliminate(self, start: NodeStart) -> bool:
        """Whether the engine that this needs is loaded, and questions are answered quickly."""
        if "highspy" not in sys.modules or not self._has_quick_tables(start):
            return False
        from allocsolve.solvers.dag.node_elimination import is_small

        return is_small(start.table, self.control.remaining())

    @staticmethod
    def _has_quick_tables(start: NodeStart) -> bool:
        """Whether a table takes little time, compiled or not."""
        from allocsolve.models.dag.comm_tables import plain_seconds

        return plain_seconds(start.table.graph) <= PLAIN_AT_ONCE or NODE_TABLE.is_loaded()

    def _narrowed(self, start: NodeStart, length: int) -> NodeTable:
        """Return the table of all schedules of at most a length."""
        if not self._has_quick_tables(start):
            return start.table
        from allocsolve.solvers.dag.node_elimination import within

        return within(start.table, length, self._is_over)

    def _can_prove(self, start: NodeStart) -> str | None:
        """Return why CP-SAT is not used, None if it is."""
        needed = 0.0 if "ortools.sat.python.cp_model" in sys.modules else _IMPORT_ENGINE
        if self.control.remaining() < needed:
            return "there is no time left to load it"
        if size_of(start.table) > _LARGEST_MODEL:
            return "the model is too large"
        return overflow(self.problem, cpsat.horizon(self.problem, self.control))

    def _is_large(self, start: NodeStart) -> bool:
        """Whether other search finds more than CP-SAT in the time that there is."""
        return start.table.graph.n > _PROVABLE and self.control.limits.deadline is not None

    def _prove(self, start: NodeStart, seconds: float = math.inf) -> None:
        """Let CP-SAT search; beyond some size only if nothing else can."""
        if self.is_abandoned or (self._is_large(start) and self.annealing is not None):
            return
        excuse = self._can_prove(start)
        if excuse is not None:
            self.warnings.append(f"CP-SAT was not used: {excuse}")
            return
        self.control.phase("loading CP-SAT")
        load(self._is_over)
        self.solver = self._engine()
        try:
            formulation = self._formulate(start)
        except _Ended:
            return
        self.control.phase("CP-SAT searches")
        self._conclude(
            run(
                formulation.model,
                self.control,
                self._accept(start, formulation),
                cpsat.engine_parameters(self.settings, self.control.limits.threads),
                seconds,
            )
        )

    def _formulate(self, start: NodeStart) -> NodeCpModel:
        def pulse() -> None:
            if self._is_over():
                raise _Ended

        pulse()
        self.control.phase("building the CP-SAT model")
        length = cpsat.horizon(self.problem, self.control)
        lower = 0 if self.control.bound is None else self.control.bound.value
        table = self._narrowed(start, length)
        formulation = build(
            table,
            length,
            lower=lower,
            windows=self.windows,
            gaps=distances(table),
            minimise=True,
            pulse=pulse,
        )
        known = self.control.answer
        if known is not None:
            formulation.hint(known.start, self.problem.arrays.mode_node[known.mode])
        pulse()
        return formulation

    def _accept(
        self, start: NodeStart, formulation: NodeCpModel
    ) -> Callable[[Callable[[cp_model.IntVar], int]], None]:
        def accept(value_of: Callable[[cp_model.IntVar], int]) -> None:
            schedule = start.table.graph.to_schedule(*formulation.decode(value_of))
            self.control.offer(schedule, schedule.makespan, "cpsat")

        return accept

    def _conclude(self, report: EngineRun) -> None:
        self.is_abandoned = report.abandoned
        self.is_repeatable &= self.control.limits.threads == 1
        if report.status in (EngineStatus.UNKNOWN, EngineStatus.FEASIBLE):
            self.is_repeatable = False
            self.ended_by = Termination.TIME_LIMIT  # the engine's clock may ring before ours
        if report.status is EngineStatus.INFEASIBLE:
            if self.control.answer is not None:
                raise SolverCrash("CP-SAT calls an instance infeasible that has an answer")
            self.is_impossible = True
        if report.status is EngineStatus.OPTIMAL and report.bound is not None:
            self.control.raise_bound(Bound(report.bound, "cpsat", "proven by CP-SAT"))

    def _search_first(self, start: NodeStart) -> None:
        """Search neighbourhoods for a share of the time, so that CP-SAT starts from less."""
        is_small = start.table.graph.n < _SEARCHED
        if is_small or self._is_large(start) or self.is_cold or self.control.answer is None:
            return
        if self.control.limits.deadline is None or not self.settings["rounds"]:
            return
        seconds = _SEARCH_SHARE * self.control.remaining()
        self._improvement(start).search(None, idle=_IDLE, seconds=seconds)
        self._take_over()

    def _improve(self, start: NodeStart) -> None:
        """Anneal and search neighbourhoods until the end, where CP-SAT was of no use."""
        if self.control.limits.deadline is None or self.is_abandoned:
            return
        self._improvement(start).run(if_time=True)
        self._take_over()
        self.warnings.extend(self._improvement(start).warnings)

    def _improvement(self, start: NodeStart) -> Alternation:
        if self.alternation is None:
            self.alternation = Alternation(
                start.table, self.control, self.settings, self._shown(), annealing=self.annealing
            )
        return self.alternation

    def _take_over(self) -> None:
        """Note how annealing and neighbourhoods ended."""
        if self.alternation is not None:
            self.solver = self.alternation.solver or self.solver
            self.is_abandoned |= self.alternation.abandoned
            self.is_repeatable &= self.alternation.is_repeatable
