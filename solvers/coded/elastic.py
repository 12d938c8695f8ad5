"""Methods ``water_filling`` and ``equal_shares``: elastic loads, and pieces that realise them."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines_elastic import elastic_answer, equal_loads, water_filled
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scores import exact_cost
from allocsolve.models.coded.value import load_cost
from allocsolve.models.exact import exact
from allocsolve.models.result import RealBound, Termination
from allocsolve.solvers.coded.ground import read_numbers
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, own_solver

__all__ = ["equal_shares", "water_filling"]


def _solve(name: str, problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Offer the loads of a method, compared with the other one."""
    read_numbers(name, control.limits.options, {})
    filled = water_filled(problem)
    found = {"water_filling": None if filled is None else filled[0]}
    found["equal_shares"] = equal_loads(problem)
    sign = -1.0 if problem.objective_name == "deadline_probability" else 1.0
    values: dict[str, float | None] = {}
    for rule, loads in found.items():
        values[rule] = None
        if loads is None or not _allowed(problem, loads):
            continue
        answer = elastic_answer(problem, loads)
        cost = exact_cost(problem, answer)
        values[rule] = sign * cost + 0.0
        usable = cost < float("inf") or problem.objective_name != "cost"
        if usable and name in (rule, "water_filling"):
            control.offer(answer, cost, rule)
    if filled is not None and problem.objective_name == "worst_case":
        value = float(filled[1]) * (1 - 1e-14)
        control.raise_bound(RealBound(value, "water filling", "all nodes work until then"))
    ended = control.stopped() or Termination.FINISHED
    return finished(control, own_solver(control, {}), ended, baselines=values)


def _allowed(problem: CodedProblem, loads: list[Fraction]) -> bool:
    limits, total = problem.limits, sum(loads, Fraction(0))
    if limits.total_load is not None and total > exact(limits.total_load):
        return False
    answer = CodedAnswer(loads=tuple(loads))
    return limits.budget is None or load_cost(problem, answer) <= exact(limits.budget)


water_filling = partial(_solve, "water_filling")
equal_shares = partial(_solve, "equal_shares")
