"""Leximin level by level with cvxpy: the plain way, for every sort of job.

Each program raises all open jobs together. Those whose row has a positive multiplier are at
their level in every optimum (complementary slackness), and are frozen there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.objectives import counted, levels, scale
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.result import SolverInfo, Termination
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished
from allocsolve.solvers.engines.conic import ConicRun, ConicStatus, solve_program
from allocsolve.solvers.fair.presenting import goal_name, offer, repair
from allocsolve.solvers.fair.settings import objective_options

if TYPE_CHECKING:
    from allocsolve.models.fair.convex_market import Solution

__all__ = ["level_by_level", "program_info"]

_CLOSE = 1e-9
"""Relative room that frozen levels leave."""

_PRICED = 1e-7
"""Part of the whole multiplier above which one counts."""


def level_by_level(problem: FairProblem, control: RealControl[FairAnswer], wanted: str) -> Outcome:
    """Solve a program for each level."""
    from allocsolve.models.fair.convex_levels import level_above

    name, rows = goal_name(problem), counted(problem.arrays)
    unit, n = scale(problem, name, problem.settings), len(problem.arrays.gang)
    usual = float(np.median(unit[rows]))
    unit = unit / usual
    floor, held = np.zeros(n), np.ones(n, dtype=np.bool_)
    held[rows] = False
    run, first, answer = None, None, None
    control.phase("a program for each level")
    while not held.all():
        program, decode = level_above(problem, np.where(held, 0.0, unit), floor * (1 - _CLOSE))
        run = solve_program(program, control, wanted)
        if run.status not in (ConicStatus.SOLVED, ConicStatus.INACCURATE):
            return finished(
                control, program_info(control, run), control.stopped() or Termination.SOLVER_ERROR
            )
        found = decode()
        first = first or _in_levels(found, usual)
        price = np.where(held, 0.0, found.job_prices * unit)
        now = ~held & (price >= min(_PRICED * float(price.sum()), float(price.max())))
        floor = np.where(now, float(program.value) * unit, floor)
        held |= now
        shares, pairs = repair(problem.arrays, found.shares, found.pair_shares)
        answer = FairAnswer(
            problem,
            shares,
            prices=first.prices,
            time_prices=first.time_prices,
            job_prices=first.job_prices if pairs is not None else None,
            pair_shares=pairs,
        )
    assert answer is not None
    reached = levels(problem, answer.utilities, name, problem.settings)
    offered = offer(replace(answer, levels=reached), control, "cvxpy")
    warnings = () if offered.proved else (f"the first level has a gap of {offered.gap:.1e}",)
    info = program_info(control, run)
    return finished(control, info, Termination.FINISHED, warnings=warnings)


def _in_levels(found: Solution, usual: float) -> Solution:
    """Return prices of the level itself, where the program counts it in a usual one."""
    return replace(
        found,
        prices=found.prices / usual,
        time_prices=found.time_prices / usual,
        job_prices=found.job_prices / usual,
    )


def program_info(control: RealControl[FairAnswer], run: ConicRun | None) -> SolverInfo:
    """Return the provenance of an answer of a convex program."""
    options = objective_options(control.limits.options)
    if run is None:
        return SolverInfo("none", "", control.limits.seed, 1, options)
    return SolverInfo(run.solver, run.version, control.limits.seed, 1, options)
