"""Method ``cpsat``: the CP-SAT formulation, started from a list schedule."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.cpsat import DagCpModel, build, overflow
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import SolverCrash, UsageError
from allocsolve.models.result import Bound, Scalar, SolverInfo, Termination
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag.opening import open_run
from allocsolve.solvers.dag.settings import Choice, read_settings, shown
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.engines.cpsat import EngineRun, EngineStatus, load, run, version

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = [
    "SETTINGS",
    "Ended",
    "accept",
    "engine_parameters",
    "formulate",
    "horizon",
    "run_engine",
    "solve",
]

SETTINGS = {
    "linearization_level": Choice(0, 0, 2),
    "symmetry_level": Choice(0, 0, 4),
    "probing_level": Choice(2, 0, 3),
}
"""Parameters of CP-SAT that may be set.

Without a linear relaxation the search is several times faster on projects and shops of up
to 100 tasks, and proves more of them. Symmetry detection stays off, because it can end the
engine with an internal error on models with many equal parts.
"""

_WORKER = {0: "no_lp", 1: "default_lp", 2: "max_lp"}
"""CP-SAT's name of the complete search of each linearization level."""


class Ended(Exception):
    """The run should end while the model is being built."""


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Find and prove a schedule with CP-SAT.

    Raises
    ------
    UsageError
        If a setting is unknown, or the numbers are too large for the engine.
    """
    settings = read_settings("cpsat", control.limits.options, SETTINGS)
    opening = open_run(problem, control)
    solver = own_solver(control, shown(settings, SETTINGS))
    if opening.reason is not None:
        return infeasible(solver, opening.reason)
    ended_by = control.stopped()
    if ended_by is not None:
        return finished(control, solver, ended_by)
    excuse = overflow(problem, horizon(problem, control))
    if excuse is not None:
        raise UsageError(f"method 'cpsat' cannot take this instance: {excuse}; use method 'list'")
    return run_engine(problem, control, settings)


def horizon(problem: DagProblem, control: Control[Schedule]) -> int:
    """Return a time by which some optimal schedule ends."""
    proven = problem.arrays.horizon
    return proven if control.value is None else min(control.value, proven)


def run_engine(
    problem: DagProblem,
    control: Control[Schedule],
    settings: Mapping[str, int],
    seconds: float = math.inf,
) -> Outcome:
    """Build the model, run the engine for so many seconds and report how it ended."""
    control.phase("loading CP-SAT")
    load(lambda: control.stopped() is not None)
    solver = SolverInfo(
        "ortools",
        version(),
        control.limits.seed,
        control.limits.threads,
        shown(settings, SETTINGS),
    )
    try:
        formulation = formulate(problem, control)
    except Ended:
        return finished(control, solver, control.stopped() or Termination.FINISHED)
    control.phase("CP-SAT searches")
    parameters = engine_parameters(settings, control.limits.threads)
    report = run(formulation.model, control, accept(formulation, control), parameters, seconds)
    return _outcome(control, solver, report)


def formulate(problem: DagProblem, control: Control[Schedule]) -> DagCpModel:
    """Build the model of all schedules up to the best one, which is its hint.

    Raises
    ------
    Ended
        If the run ends meanwhile.
    """

    def pulse() -> None:
        if control.stopped() is not None:
            raise Ended

    pulse()
    control.phase("building the CP-SAT model")
    lower = 0 if control.bound is None else control.bound.value
    formulation = build(problem, horizon(problem, control), lower=lower, pulse=pulse)
    answer = control.answer
    if answer is not None and answer.makespan <= horizon(problem, control):
        formulation.hint(answer)
    pulse()
    return formulation


def accept(
    formulation: DagCpModel, control: Control[Schedule]
) -> Callable[[Callable[[cp_model.IntVar], int]], None]:
    """Return what offers the schedules that the engine finds."""

    def take(value_of: Callable[[cp_model.IntVar], int]) -> None:
        schedule = formulation.decode(value_of)
        control.offer(schedule, schedule.makespan, "cpsat")

    return take


def engine_parameters(settings: Mapping[str, int], threads: int) -> dict[str, Scalar]:
    """Return the parameters of the engine.

    With two threads one searches completely and the other one in neighbourhoods; which one
    is complete matters much. One thread, and larger portfolios, are left as the engine
    makes them.
    """
    parameters: dict[str, Scalar] = {
        "linearization_level": settings["linearization_level"],
        "symmetry_level": settings["symmetry_level"],
        "cp_model_probing_level": settings["probing_level"],
    }
    if threads == 2:
        parameters["subsolvers"] = _WORKER[settings["linearization_level"]]
    return parameters


def _outcome(control: Control[Schedule], solver: SolverInfo, report: EngineRun) -> Outcome:
    if report.status is EngineStatus.INFEASIBLE:
        if control.answer is not None:
            raise SolverCrash("CP-SAT calls an instance infeasible that has an answer")
        return infeasible(solver, None)
    if report.status is EngineStatus.OPTIMAL and report.bound is not None:
        control.raise_bound(Bound(report.bound, "cpsat", "proven by CP-SAT"))
    return finished(
        control,
        solver,
        _ended_by(control, report),
        deterministic=control.limits.threads == 1,
        abandoned=report.abandoned,
    )


def _ended_by(control: Control[Schedule], report: EngineRun) -> Termination:
    """Return what ended the engine; it calls an answer within the gap optimal."""
    if report.status is EngineStatus.OPTIMAL:
        return control.stopped() or Termination.FINISHED
    # The engine's clock may ring a little before ours.
    return control.stopped() or Termination.TIME_LIMIT
