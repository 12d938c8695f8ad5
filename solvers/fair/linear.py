"""Method ``linear``: total throughput and cost, as linear programs without a modelling layer.

Identical jobs share their variables, and large programs are reduced exactly by a box around
their prices (:mod:`allocsolve.solvers.fair.linear_box`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import UsageError
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.objectives import has_deadlines, require_columns, required
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.result import SolverInfo, Termination
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, infeasible
from allocsolve.solvers.engines.conic import engine_version
from allocsolve.solvers.fair.conflict import find_conflict
from allocsolve.solvers.fair.forms import Form, level_form
from allocsolve.solvers.fair.linear_box import solve_linear_in_box
from allocsolve.solvers.fair.linear_program import Linear, Optimum
from allocsolve.solvers.fair.presenting import goal_name, offer, repair, time_prices_of
from allocsolve.solvers.fair.program import Found
from allocsolve.solvers.fair.settings import objective_options, read_words
from allocsolve.solvers.fair.structured import nothing_to_divide, offer_nothing

__all__ = ["SETTINGS", "refuse_free_types", "solve"]

SETTINGS: Mapping[str, Sequence[str]] = {}

_BEST = 1e-12
"""Relative difference of utility per cost that counts as none."""


def solve(problem: FairProblem, control: RealControl[FairAnswer]) -> Outcome:
    """Solve a division whose objective is linear.

    Raises
    ------
    UsageError
        If a setting is unknown, or a type costs nothing where utility is divided by cost.
    InputError
        If the objective needs data that the instance does not have.
    """
    read_words("linear", control.limits.options, SETTINGS)
    name = goal_name(problem)
    require_columns(problem, name)
    options = objective_options(control.limits.options)
    info = SolverInfo("highs", engine_version("highs"), control.limits.seed, 1, options)
    if nothing_to_divide(problem):
        offer_nothing(problem, control)
        return finished(control, info, Termination.FINISHED)
    refuse_free_types(problem)
    control.phase("a linear program")
    build = _BUILDERS[name if name != "cost" or has_deadlines(problem) else "value"]
    form, program = build(problem)
    found = solve_linear_in_box(
        program, lambda: control.stopped() is not None, seed=control.limits.seed
    )
    if found is None:
        ended_by = control.stopped()
        if ended_by is not None:
            return finished(control, info, ended_by)
        return infeasible(info, find_conflict(problem, control))
    offered = offer(_answer(problem, form, found), control, "linear")
    ended_by = control.stopped() or Termination.FINISHED
    return finished(control, info, ended_by, warnings=offered.warnings)


def refuse_free_types(problem: FairProblem) -> None:
    """Refuse utility per cost where something costs nothing.

    Raises
    ------
    UsageError
        Naming the first such type.
    """
    arrays = problem.arrays
    free = np.flatnonzero((arrays.cost == 0) & (arrays.capacity > 0)).tolist()
    if goal_name(problem) == "cost" and not has_deadlines(problem) and free:
        raise UsageError(
            f"type '{problem.type_ids[free[0]]}' costs nothing: utility for its cost is unlimited"
            "\n  allowed: a cost above 0 for every type, or deadlines"
        )


def _total(problem: FairProblem) -> tuple[Form, Linear]:
    """Build ``max sum w U``."""
    form = level_form(problem, problem.arrays.weight)
    division = form.division
    weight = _column(division.slope) * _count(form)
    return form, Linear(
        division.pace, division.pace * weight[:, None], division.gang, division.stock
    )


def _value(problem: FairProblem) -> tuple[Form, Linear]:
    """Build the most of what money buys at the best utility for its cost anywhere."""
    form, program = _total(problem)
    spent = program.gang[:, None] * _money(problem, form)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(program.pace > 0, program.worth / spent, 0.0)
    best = ratio >= ratio.max() * (1 - _BEST)
    return form, Linear(
        np.where(best, program.pace, 0.0), program.worth, program.gang, program.stock
    )


def _cheapest(problem: FairProblem) -> tuple[Form, Linear]:
    """Build ``min sum cost gang x`` with what each job needs for its deadline."""
    form = level_form(problem, required(problem))
    division = form.division
    spent = division.gang[:, None] * _money(problem, form)
    return form, Linear(
        division.pace, -spent, division.gang, division.stock, _column(division.slope)
    )


def _column(values: FloatArray | None) -> FloatArray:
    assert values is not None
    return values


def _count(form: Form) -> FloatArray:
    k = form.division.size[0]
    return np.ones(k) if form.classes is None else form.classes.count.astype(np.float64)


def _money(problem: FairProblem, form: Form) -> FloatArray:
    """Return what a unit of each type of the division costs."""
    cost = problem.arrays.cost[form.types]
    return cost if form.stretch is None else cost * problem.arrays.capacity[form.types]


def _answer(problem: FairProblem, form: Form, found: Optimum) -> FairAnswer:
    """Return shares and prices; what is bought at a best ratio has no price."""
    name, arrays = goal_name(problem), problem.arrays
    bare = form.answer(Found(found.share, found.prices, 0.0, found.worth))
    assert bare.prices is not None
    n = len(arrays.gang)
    if name == "cost" and not has_deadlines(problem):
        none = np.zeros(len(bare.prices))
        return FairAnswer(problem, bare.shares, prices=none, time_prices=np.zeros(n))
    shares, _ = repair(arrays, bare.shares)
    prices = bare.prices
    unit = arrays.weight
    if name == "cost":
        each = found.worth / _count(form)
        unit = np.zeros(n)
        unit[form.rows] = each if form.classes is None else each[form.classes.member]
    paid = prices + arrays.cost if name == "cost" else prices
    return FairAnswer(
        problem, shares, prices=prices, time_prices=time_prices_of(arrays, paid, unit)
    )


_BUILDERS: Mapping[str, Callable[[FairProblem], tuple[Form, Linear]]] = {
    "total_throughput": _total,
    "cost": _cheapest,
    "value": _value,
}
