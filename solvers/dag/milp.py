"""Method ``milp``: a mixed-integer program, solved by HiGHS to true optimality.

Once a schedule is known the program only asks for a better one: its horizon is one tick below
the best makespan. It has no solution exactly if the schedule is optimal.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

from allocsolve.models.dag import milp_disjunctive, milp_time_indexed
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.milp_modes import Milp
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.result import Bound, SolverInfo, Termination
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag.opening import open_run
from allocsolve.solvers.dag.settings import read_words
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.engines.milp import EngineRun, EngineStatus, Numerics, load, run, version

__all__ = ["FORMULATIONS", "SETTINGS", "choose", "formulation_module", "solve"]

FORMULATIONS = {"disjunctive": milp_disjunctive, "time_indexed": milp_time_indexed}
"""The formulations; each has ``build`` and ``too_large``."""

SETTINGS = {"formulation": ("auto", *FORMULATIONS)}
"""``formulation``: which program; ``auto`` chooses by the instance."""

_COMFORTABLE = 15_000
"""Pairs of a mode and a start up to which the time-indexed program is preferred to flows."""


class _Ended(Exception):
    """The run should end while the program is being built."""


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Find and prove a schedule with HiGHS.

    Raises
    ------
    UsageError
        If a setting is unknown, or no formulation can take the instance.
    """
    wanted = read_words("milp", control.limits.options, SETTINGS)["formulation"]
    opening = open_run(problem, control)
    if opening.reason is not None:
        return infeasible(own_solver(control, {}), opening.reason)
    ended_by = control.stopped()
    if ended_by is not None:
        return finished(control, own_solver(control, {}), ended_by)
    name = choose(problem, _horizon(problem, control), _lower(control), wanted)
    control.phase("loading HiGHS and Pyomo")
    load()
    seed = control.limits.seed
    solver = SolverInfo("highs", version(), seed, 1, {"formulation": name})
    try:
        program = _build(problem, control, formulation_module(name))
    except _Ended:
        return finished(control, solver, control.stopped() or Termination.FINISHED)
    control.phase("HiGHS searches")
    report = run(program.model, control, _accept(program, control), _numerics(problem, control))
    return _outcome(control, solver, report)


def formulation_module(name: str) -> ModuleType:
    """Return the module of a formulation."""
    return FORMULATIONS[name]


def choose(problem: DagProblem, horizon: int, lower: int, wanted: str = "auto") -> str:
    """Return the name of the formulation to use for schedules that end by ``horizon``.

    Sequencing binaries are best where tasks exclude each other in pairs. Where several can
    share a resource or a node, short horizons are better taken moment by moment.

    Raises
    ------
    UsageError
        If the wanted one (or, for ``auto``, every one) is too large for the instance.
    """
    excuses = {
        "disjunctive": milp_disjunctive.too_large(problem, horizon),
        "time_indexed": milp_time_indexed.too_large(problem, horizon, lower),
    }
    fitting = [name for name, excuse in excuses.items() if excuse is None]
    if wanted != "auto":
        fitting = [name for name in fitting if name == wanted]
        excuses = {wanted: excuses[wanted]}
    if not fitting:
        told = "; ".join(f"{name}: {excuse}" for name, excuse in excuses.items())
        raise UsageError(f"method 'milp' cannot take this instance ({told}); use method 'cpsat'")
    if len(fitting) == 1 or not milp_disjunctive.needs_flows(problem, horizon):
        return fitting[0]
    small = milp_time_indexed.size(problem, horizon) <= _COMFORTABLE
    return "time_indexed" if small else "disjunctive"


def _horizon(problem: DagProblem, control: Control[Schedule]) -> int:
    """Return the latest end of the schedules that are of interest."""
    proven = problem.arrays.horizon
    return proven if control.value is None else min(control.value - 1, proven)


def _lower(control: Control[Schedule]) -> int:
    return 0 if control.bound is None else control.bound.value


def _build(problem: DagProblem, control: Control[Schedule], module: ModuleType) -> Milp:
    def pulse() -> None:
        if control.stopped() is not None:
            raise _Ended

    pulse()
    control.phase("building the mixed-integer program")
    program: Milp = module.build(
        problem, _horizon(problem, control), lower=_lower(control), pulse=pulse
    )
    pulse()
    return program


def _accept(
    program: Milp, control: Control[Schedule]
) -> Callable[[Callable[[object], float]], None]:
    def accept(value_of: Callable[[object], float]) -> None:
        schedule = program.decode(value_of)
        if schedule is not None:
            control.offer(schedule, schedule.makespan, "milp")

    return accept


def _numerics(problem: DagProblem, control: Control[Schedule]) -> Numerics:
    """Return tolerances at which the errors of a whole path stay far below one tick."""
    largest = max(1, len(problem.tasks) * _horizon(problem, control))
    return Numerics(tolerance=min(1e-6, max(1e-9, 0.1 / largest)))


def _outcome(control: Control[Schedule], solver: SolverInfo, report: EngineRun) -> Outcome:
    if report.status is EngineStatus.INFEASIBLE:
        if control.value is None:
            return infeasible(solver, None)
        control.raise_bound(Bound(control.value, "highs", "HiGHS proves that nothing is better"))
    ended_by = control.stopped()
    if ended_by is None and report.status is EngineStatus.STOPPED:
        ended_by = Termination.TIME_LIMIT
    warnings: tuple[str, ...] = ()
    if ended_by is None and not control.is_proven():
        warnings = ("HiGHS closed its gap only within its tolerances; the bound is what it proved",)
    return finished(
        control,
        solver,
        ended_by or Termination.FINISHED,
        abandoned=report.abandoned,
        warnings=warnings,
    )
