"""Methods for elastic jobs: loads, and pieces that realise them.

``water_filling`` and ``equal_shares`` are rules; ``elastic_program`` solves the linear program of
:mod:`allocsolve.solvers.coded.piece_program` where nodes hold some blocks only or a budget
limits the loads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines_elastic import (
    ElasticJob,
    blocks_answer,
    elastic_answer,
    equal_loads,
    equal_parts,
    water_filled,
)
from allocsolve.models.coded.costs import exact_cost, keeps_totals, values_of
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.result import RealBound, Termination
from allocsolve.solvers.coded.ground import read_numbers
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, infeasible, own_solver

__all__ = ["elastic_program", "elastic_rules", "equal_shares", "water_filling"]

_ROUNDED = 1 - 1e-14


def _solve(name: str, problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Offer the loads of a rule, compared with the other one."""
    read_numbers(name, control.limits.options, {})
    values = _compare(problem, control, name)
    if problem.arrays.holds is None and problem.objective_name == "worst_case":
        filled = water_filled(problem)
        if filled is not None:
            value = float(filled[1]) * _ROUNDED
            control.raise_bound(RealBound(value, "water filling", "all nodes work until then"))
    ended = control.stopped() or Termination.FINISHED
    return finished(control, own_solver(control, {}), ended, baselines=values)


def elastic_program(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Solve the linear program over parts of blocks; both rules are compared with it."""
    from allocsolve.solvers.coded.piece_program import Stopped, solve_program

    read_numbers("elastic_program", control.limits.options, {})
    values, solver = _compare(problem, control, "elastic_program"), own_solver(control, {})
    control.phase("loading HiGHS")
    try:
        found = solve_program(ElasticJob.of(problem), lambda: control.stopped() is not None)
    except Stopped:
        ended = control.stopped() or Termination.SOLVER_ERROR
        return finished(control, solver, ended, baselines=values)
    if found.parts is None:
        return infeasible(solver, None)
    answer = blocks_answer(problem, found.parts)
    cost = exact_cost(problem, answer)
    if cost < float("inf") or problem.objective_name != "cost":
        control.offer(answer, cost, "linear program")
    if problem.objective_name == "worst_case":
        detail = "from the multipliers of the linear program"
        control.raise_bound(RealBound(found.bound * _ROUNDED, "highs", detail))
    ended = control.stopped() or Termination.FINISHED
    return finished(control, solver, ended, baselines=values)


def elastic_rules(problem: CodedProblem) -> Iterator[tuple[str, CodedAnswer | None]]:
    """Yield each rule for elastic jobs with its answer, None where it has none."""
    if problem.arrays.holds is None:
        filled, equal = water_filled(problem), equal_loads(problem)
        for rule, loads in (("water_filling", filled and filled[0]), ("equal_shares", equal)):
            yield rule, None if loads is None else elastic_answer(problem, loads)
        return
    parts = equal_parts(ElasticJob.of(problem))
    yield "equal_shares", None if parts is None else blocks_answer(problem, parts)


def _compare(
    problem: CodedProblem, control: RealControl[CodedAnswer], name: str
) -> Mapping[str, float | None]:
    """Offer the answers of the rule of that name, or of all; return the value of each."""
    costs: dict[str, float | None] = {}
    for rule, answer in elastic_rules(problem):
        costs[rule] = None
        if answer is None or not keeps_totals(problem, answer):
            continue
        costs[rule] = cost = exact_cost(problem, answer)
        usable = cost < float("inf") or problem.objective_name != "cost"
        if usable and (name == rule or name != "equal_shares"):
            control.offer(answer, cost, rule)
    return values_of(problem, costs)


water_filling = partial(_solve, "water_filling")
equal_shares = partial(_solve, "equal_shares")
