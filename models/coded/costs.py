"""What an answer costs: its objective value, turned so that methods always make it least."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.value import load_cost, objective_value
from allocsolve.models.exact import exact
from allocsolve.models.result import Sense

__all__ = ["answer_of", "exact_cost", "keeps_totals", "values_of"]


def answer_of(problem: CodedProblem, loads: Sequence[int], batches: int) -> CodedAnswer:
    """Return loads as an answer under any MDS code; the number of batches is always said."""
    used = max(1, min(batches, max(loads, default=1)))
    return CodedAnswer(
        loads=tuple(Fraction(load) for load in loads),
        batches=used if problem.limits.batches != 1 else None,
    )


def exact_cost(problem: CodedProblem, answer: CodedAnswer) -> float:
    """Return the cost of an answer that keeps all limits; infinite below the confidence.

    Raises
    ------
    NoExactLaw
        If the completion time has no exact law here.
    """
    goal = problem.objective
    if problem.objective_name == "cost":
        assert goal.deadline is not None
        assert goal.confidence is not None
        law = completion_law(problem, answer)
        if law.deadline_probability(float(goal.deadline)) < float(goal.confidence) - 1e-12:
            return math.inf
    value = objective_value(problem, answer)
    return -value if problem.sense is Sense.MAX else value


def values_of(
    problem: CodedProblem, costs: Mapping[str, float | None]
) -> Mapping[str, float | None]:
    """Return named costs in units of the objective; None stays None."""
    sign = -1.0 if problem.sense is Sense.MAX else 1.0
    # Adding 0 turns a probability of -0 into 0.
    return {name: None if cost is None else sign * cost + 0.0 for name, cost in costs.items()}


def keeps_totals(problem: CodedProblem, answer: CodedAnswer) -> bool:
    """Whether the loads of all nodes together keep the total load and the budget, exactly."""
    limits, total = problem.limits, sum(answer.loads, Fraction(0))
    if limits.total_load is not None and total > exact(limits.total_load):
        return False
    return limits.budget is None or load_cost(problem, answer) <= exact(limits.budget)
