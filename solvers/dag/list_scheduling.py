"""Method ``list``: priority rules, random sampling and justification, without an engine."""

from __future__ import annotations

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag.improve import Improver
from allocsolve.solvers.dag.opening import open_run
from allocsolve.solvers.dag.settings import Choice, read_settings, shown
from allocsolve.solvers.ending import finished, infeasible, own_solver

__all__ = ["SETTINGS", "solve"]

SETTINGS = {"samples": Choice(500, 0, 10**9)}
"""``samples``: number of schedules drawn by rules and at random."""


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Find a schedule by list scheduling; it is proven only if a lower bound meets it."""
    settings = read_settings("list", control.limits.options, SETTINGS)
    solver = own_solver(control, shown(settings, SETTINGS))
    opening = open_run(problem, control)
    if opening.reason is not None:
        return infeasible(solver, opening.reason)
    improver = Improver(problem, opening.network, control, opening.plan)
    return finished(control, solver, improver.run(settings["samples"]))
