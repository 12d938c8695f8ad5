"""What the structured methods share: from a problem to a certified answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.bounds import guessed_prices
from allocsolve.models.fair.certificates import ceilings, price_bound
from allocsolve.models.fair.objectives import (
    counted,
    evaluate,
    isolated,
    require_columns,
    spread,
)
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.split import split_shares
from allocsolve.models.fair.utility import utilities
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, own_solver
from allocsolve.solvers.fair.compiling import UNCOMPILED, plain_seconds
from allocsolve.solvers.fair.forms import Form, form_of, level_form
from allocsolve.solvers.fair.kernel_sets import BOX, INTERIOR
from allocsolve.solvers.fair.presenting import Offered, goal_name, offer, repair
from allocsolve.solvers.fair.program import Division, Found
from allocsolve.solvers.fair.settings import objective_options
from allocsolve.solvers.loading import loops

__all__ = [
    "answer_by",
    "at_level",
    "compiled",
    "known_form",
    "nothing_to_divide",
    "offer_nothing",
    "offer_split",
    "run_by",
]

Core = Callable[[Division], Found]
"""Finds the optimum of a division."""

_ROUNDS = 30
_SETTLED = 1e-11


def run_by(
    core: Core, name: str, problem: FairProblem, control: RealControl[FairAnswer]
) -> Outcome:
    """Solve a problem by one method and certify the answer.

    Raises
    ------
    InputError
        If the objective needs data that the instance does not have.
    """
    require_columns(problem, goal_name(problem))
    info = own_solver(control, objective_options(control.limits.options))
    control.phase("dividing")
    form = known_form(problem)
    with compiled(problem, control, form) as able:
        if not able:
            offer_split(problem, control)
            late = control.stopped() or Termination.TIME_LIMIT
            return finished(control, info, late, warnings=(UNCOMPILED,))
        offered = answer_by(core, name, problem, control, form)
    ended_by = control.stopped()
    if control.answer is None:
        offer_split(problem, control)
    warnings = offered.warnings if ended_by is None else ()
    return finished(control, info, ended_by or Termination.FINISHED, warnings=warnings)


def known_form(problem: FairProblem) -> Form | None:
    """Return the division that stands for a problem; None if it is not a single one."""
    if nothing_to_divide(problem) or goal_name(problem) == "finish_time_fairness":
        return None
    return form_of(problem)


def compiled(
    problem: FairProblem, control: RealControl[FairAnswer], form: Form | None
) -> AbstractContextManager[bool]:
    """Give a block the loops of the structured methods; what is compiled first is waited for.

    Meanwhile the equal split is there, so that there is an answer whenever the run ends.
    """
    plain = plain_seconds(problem, division=None if form is None else form.division)
    return loops(control, INTERIOR, BOX, plain=plain, before=lambda: offer_split(problem, control))


def answer_by(
    core: Core,
    name: str,
    problem: FairProblem,
    control: RealControl[FairAnswer],
    form: Form | None = None,
) -> Offered:
    """Offer the answer of one method, with its bound.

    Parameters
    ----------
    form
        The division that stands for the problem, if it is known already.
    """
    if nothing_to_divide(problem):
        return offer_nothing(problem, control)
    if goal_name(problem) == "finish_time_fairness":
        return offer(_finish_times(core, problem, control), control, name)
    form = form or form_of(problem)
    found = core(form.division)
    return offer(at_level(problem, form.answer(found, _worth(problem, found))), control, name)


def nothing_to_divide(problem: FairProblem) -> bool:
    """Whether no job counts, or none has anything left to do where that is what counts."""
    rows = counted(problem.arrays, goal_name(problem))
    if goal_name(problem) in ("makespan", "finish_time_fairness"):
        return not (problem.arrays.jobs.remaining[rows] > 0).any()
    return not len(rows)


def offer_nothing(problem: FairProblem, control: RealControl[FairAnswer]) -> Offered:
    """Offer the allocation that gives nothing."""
    n, m = problem.arrays.throughput.shape
    answer = FairAnswer(
        problem, np.zeros((n, m)), prices=np.zeros(m), time_prices=np.zeros(n), levels=np.zeros(0)
    )
    return offer(answer, control, "empty")


def offer_split(problem: FairProblem, control: RealControl[FairAnswer]) -> None:
    """Offer the equal split, which needs no search, with prices that prove some bound.

    It breaks no rule, but those of floors that are not the split itself.
    """
    if problem.arrays.demand is not None or nothing_to_divide(problem):
        return
    shares, _ = repair(problem.arrays, split_shares(problem.arrays, problem.settings))
    answer = FairAnswer(problem, shares, prices=guessed_prices(problem))
    offer(at_level(problem, answer), control, "equal_split", bounds=False)


def _worth(problem: FairProblem, found: Found) -> float:
    """Return what a unit of the level is worth in the objective."""
    name = goal_name(problem)
    if name == "makespan":
        return 1 / found.level**2
    if name == "equal_throughput":
        return float(problem.arrays.weight[counted(problem.arrays)].sum())
    return 1.0


def at_level(problem: FairProblem, answer: FairAnswer) -> FairAnswer:
    """Take from each job what it has above the lowest level, where all must be equal.

    Time that pairs share stays, as it brings two jobs something.
    """
    if goal_name(problem) != "equal_throughput":
        return answer
    rows, weight = counted(problem.arrays), problem.arrays.weight
    lowest = float((answer.utilities[rows] / weight[rows]).min(initial=np.inf))
    shares = answer.shares.copy()
    own = utilities(problem.arrays, shares)[rows]
    wanted = lowest * weight[rows] - (answer.utilities[rows] - own)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(own > 0, np.clip(wanted / own, 0.0, 1.0), 1.0)
    shares[rows] *= part[:, None]
    return replace(answer, shares=shares)


def _finish_times(core: Core, problem: FairProblem, control: RealControl[FairAnswer]) -> FairAnswer:
    """Solve max-min programs whose prices bound the ratio, until the bound stays.

    Each bound is the root of a convex function that lies below the true one and touches it
    at the last ratio (Newton's method, as Dinkelbach, Management Science 13, 1967).
    """
    arrays, rows = problem.arrays, counted(problem.arrays)
    jobs = arrays.jobs
    left, elapsed = jobs.remaining[rows], jobs.elapsed[rows]
    alone_time = isolated(arrays, problem.settings)[rows]
    ratio = float(((elapsed + left / ceilings(problem)[rows]) / alone_time).max())
    for _ in range(_ROUNDS):
        time = np.where(left > 0, ratio * alone_time - elapsed, 1.0)
        form = level_form(problem, spread(rows, left / time, len(arrays.gang)))
        found = core(form.division)
        answer = form.answer(found, _slope(form, found))
        offer(answer, control, "levels", bounds=False)
        assert answer.prices is not None
        bound = price_bound(problem, "finish_time_fairness", answer.prices)
        if bound <= ratio * (1 + _SETTLED) or control.stopped() is not None:
            break
        ratio = bound
    return answer


def _slope(form: Form, found: Found) -> float:
    """Return what a unit of the level is worth in the ratio that its shares reach.

    Not in the ratio that was asked for: where both rounds end in the same shares, the prices of
    the first one are kept. Where a job with nothing left has the largest ratio, it is 0.
    """
    problem, rows, name = form.problem, form.rows, "finish_time_fairness"
    jobs = problem.arrays.jobs
    left, elapsed = jobs.remaining[rows], jobs.elapsed[rows]
    alone_time = isolated(problem.arrays, problem.settings)[rows]
    ratio = evaluate(form.answer(found), name)
    if ratio <= float((elapsed / alone_time)[left == 0].max(initial=-np.inf)):
        return 0.0
    each = found.worth
    if form.classes is not None:
        each = (each / form.classes.count)[form.classes.member]
    time = np.where(left > 0, ratio * alone_time - elapsed, 1.0)
    rise = float(each @ (left * alone_time / time**2))
    return 1 / rise if rise > 0 else 1.0
