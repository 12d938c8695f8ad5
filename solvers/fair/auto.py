"""Method ``auto``: the fastest way for objective and size, another one where it falls short."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.objectives import counted, require_columns
from allocsolve.models.fair.problem import FairFeature, FairProblem
from allocsolve.models.result import SolverInfo, Termination
from allocsolve.solvers.control import Outcome, Proof, RealControl
from allocsolve.solvers.ending import finished, own_solver
from allocsolve.solvers.engines.conic import engine_version
from allocsolve.solvers.fair import convex, leximin, linear, matching, partial
from allocsolve.solvers.fair.compiling import UNCOMPILED
from allocsolve.solvers.fair.interior import solve_interior
from allocsolve.solvers.fair.level_core import solve_level
from allocsolve.solvers.fair.presenting import goal_name
from allocsolve.solvers.fair.price_box import solve_in_box
from allocsolve.solvers.fair.program import Division, Found
from allocsolve.solvers.fair.rows import LEVELS, WELFARE
from allocsolve.solvers.fair.settings import objective_options, read_words
from allocsolve.solvers.fair.structured import answer_by, compiled, known_form, offer_split

__all__ = ["SETTINGS", "solve"]

SETTINGS: Mapping[str, Sequence[str]] = {}

_STRUCTURED = (*LEVELS, *WELFARE)
_BY_BOX = ("nash", *LEVELS)

_OTHERS = {
    "leximin": leximin.solve,
    "dominant_resource": leximin.solve,
    "completion_time": matching.solve,
    "partial_allocation": partial.solve,
    "total_throughput": linear.solve,
    "cost": linear.solve,
}

_FEW = 600
"""Numbers in the table of throughputs up to which a level is one linear program."""

_CONVEX_SIZE = 400_000
"""Numbers in the table of throughputs up to which a second opinion by cvxpy is affordable."""

_CONVEX_PACE = 1000
"""Numbers in that table for each second that cvxpy may take: building it cannot be stopped."""


def solve(problem: FairProblem, control: RealControl[FairAnswer]) -> Outcome:
    """Solve a division.

    Raises
    ------
    UsageError
        If a setting is unknown.
    InputError
        If the objective needs data that the instance does not have.
    """
    read_words("auto", control.limits.options, SETTINGS)
    name = goal_name(problem)
    require_columns(problem, name)
    hard = {FairFeature.DEMANDS, FairFeature.PAIRS} & problem.features
    other = _OTHERS.get(name)
    if other is not None and not hard:
        return other(problem, control)
    if name not in _STRUCTURED or hard:
        return convex.solve(problem, control)
    if name in LEVELS and problem.arrays.throughput.size <= _FEW:
        offered = answer_by(solve_level, "linear", problem, control)
        if offered.proved:
            return finished(control, _highs(control), Termination.FINISHED)
    form = known_form(problem)
    with compiled(problem, control, form) as able:
        if not able:
            return _uncompiled(problem, control)
        offered = answer_by(_core(name, control), "structured", problem, control, form)
    ended_by = control.stopped()
    if control.answer is None and ended_by is not None:
        offer_split(problem, control)
    if not offered.proved and ended_by is None and _is_small(problem):
        return convex.solve(problem, control)
    info = own_solver(control, objective_options(control.limits.options))
    ended_by = ended_by or Termination.FINISHED
    return finished(control, info, ended_by, warnings=offered.warnings)


def _uncompiled(problem: FairProblem, control: RealControl[FairAnswer]) -> Outcome:
    """Offer the equal split, and what a solver of cvxpy finds in the time that is left."""
    offer_split(problem, control)
    ended_by = control.stopped()
    if ended_by is None and _is_small(problem, _CONVEX_PACE * control.remaining()):
        outcome = convex.solve(problem, control)
        if outcome.proof is not Proof.NOTHING:
            return outcome
        return replace(outcome, warnings=(*outcome.warnings, UNCOMPILED))
    info = own_solver(control, objective_options(control.limits.options))
    return finished(control, info, ended_by or Termination.TIME_LIMIT, warnings=(UNCOMPILED,))


def _highs(control: RealControl[FairAnswer]) -> SolverInfo:
    options = objective_options(control.limits.options)
    return SolverInfo("highs", engine_version("highs"), control.limits.seed, 1, options)


def _is_small(problem: FairProblem, most: float = _CONVEX_SIZE) -> bool:
    rows = len(counted(problem.arrays, goal_name(problem)))
    return rows * len(problem.types) <= min(most, _CONVEX_SIZE)


def _core(name: str, control: RealControl[FairAnswer]) -> Callable[[Division], Found]:
    def core(division: Division) -> Found:
        if name in _BY_BOX:
            return solve_in_box(division, seed=control.limits.seed, stop=control.stopped)
        return solve_interior(division, stop=control.stopped)

    return core
