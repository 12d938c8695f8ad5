"""Method ``cvxpy``: the readable convex program of each objective, for any solver of cvxpy."""

from __future__ import annotations

import numpy as np

from allocsolve.models.errors import UsageError
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.certificates import TIGHT
from allocsolve.models.fair.objectives import counted, require_columns
from allocsolve.models.fair.problem import FairFeature, FairProblem
from allocsolve.models.fair.settings import LEXICOGRAPHIC
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Outcome, Proof, RealControl
from allocsolve.solvers.ending import finished, infeasible
from allocsolve.solvers.engines.conic import SOLVERS, ConicStatus, load, solve_program
from allocsolve.solvers.fair.conflict import find_conflict
from allocsolve.solvers.fair.convex_leximin import level_by_level, program_info
from allocsolve.solvers.fair.linear import refuse_free_types
from allocsolve.solvers.fair.presenting import firm, goal_name, offer, repair
from allocsolve.solvers.fair.settings import read_words
from allocsolve.solvers.fair.structured import at_level, nothing_to_divide, offer_nothing

__all__ = ["SETTINGS", "solve"]

_PLAIN = ("completion_time", "partial_allocation", "envy_free_efficiency")
_STRICT = (
    "with unequal weights or gangs the program asks for more than envy-freeness: it compares "
    "shares that no job has the time for"
)

SETTINGS = {"solver": SOLVERS}
"""``solver``: which solver of cvxpy; ``auto`` takes HiGHS for linear programs, else Clarabel."""


def solve(problem: FairProblem, control: RealControl[FairAnswer]) -> Outcome:
    """Build the program of the objective, solve it and certify the answer.

    Raises
    ------
    UsageError
        If a setting is unknown.
    InputError
        If the objective needs data that the instance does not have.
    """
    wanted = read_words("cvxpy", control.limits.options, SETTINGS)["solver"]
    require_columns(problem, goal_name(problem))
    if nothing_to_divide(problem):
        offer_nothing(problem, control)
        return finished(control, program_info(control, None), Termination.FINISHED)
    control.phase("loading cvxpy")
    load()
    from allocsolve.models.fair.convex import PROGRAMS

    _refuse(problem)
    if goal_name(problem) in LEXICOGRAPHIC:
        return level_by_level(problem, control, wanted)
    control.phase("building the convex program")
    program, decode = PROGRAMS[goal_name(problem)](problem)
    control.phase("solving the convex program")
    run = solve_program(program, control, wanted)
    info = program_info(control, run)
    if run.status is ConicStatus.INFEASIBLE:
        explained = goal_name(problem) == "cost" and not problem.pairs
        return infeasible(info, find_conflict(problem, control, wanted) if explained else None)
    if run.status not in (ConicStatus.SOLVED, ConicStatus.INACCURATE):
        return finished(control, info, control.stopped() or Termination.SOLVER_ERROR)
    found = decode()
    shares, pairs = repair(problem.arrays, found.shares, found.pair_shares)
    answer = FairAnswer(
        problem,
        shares,
        prices=firm(problem, found.prices),
        time_prices=found.time_prices,
        job_prices=found.job_prices if pairs is not None else None,
        pair_shares=pairs,
    )
    offered = offer(at_level(problem, answer), control, "cvxpy")
    if goal_name(problem) in TIGHT and not offered.proved:
        warning = f"{run.solver} left a certified gap of {offered.said}"
        if not offered.kept:
            (warning,) = offered.warnings
        return finished(control, info, Termination.FINISHED, warnings=(warning,))
    if goal_name(problem) == "envy_free_efficiency" and not _is_uniform(problem):
        return finished(control, info, Termination.FINISHED, warnings=(_STRICT,))
    if run.status is ConicStatus.INACCURATE:
        warning = f"{run.solver} did not reach its tolerances"
        return finished(control, info, Termination.FINISHED, warnings=(warning,))
    return Outcome(Proof.OPTIMAL, Termination.FINISHED, info)


def _refuse(problem: FairProblem) -> None:
    """Refuse demands and pairs where the objective has no meaning with them, and no cost."""
    name, hard = goal_name(problem), {FairFeature.DEMANDS, FairFeature.PAIRS} & problem.features
    if hard and name in _PLAIN:
        raise UsageError(f"objective '{name}' takes no {' or '.join(sorted(hard))}")
    refuse_free_types(problem)


def _is_uniform(problem: FairProblem) -> bool:
    """Whether the shares of another job never add up to more than a job's own time."""
    rows, arrays = counted(problem.arrays), problem.arrays
    part = arrays.weight[rows] / arrays.gang[rows]
    return not problem.time_cap or bool(np.ptp(part) <= 1e-12 * part.max())
