"""The objective value of an answer."""

from __future__ import annotations

from fractions import Fraction

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.worst import worst_case
from allocsolve.models.exact import exact, plain

__all__ = ["load_cost", "objective_value"]


def objective_value(problem: CodedProblem, answer: CodedAnswer) -> int | float:
    """Return the value of an answer that passes the checker, for the objective of the problem.

    Returns
    -------
    int or float
        Infinite if the mean is.

    Raises
    ------
    NoExactLaw
        If the completion time has no exact law here.
    """
    goal, name = problem.objective, problem.objective_name
    if name == "cost":
        return plain(load_cost(problem, answer))
    if name == "worst_case":
        return worst_case(problem, answer)
    law = completion_law(problem, answer)
    if name == "quantile":
        assert goal.q is not None
        return law.quantile(float(goal.q))
    if name == "deadline_probability":
        assert goal.deadline is not None
        return law.deadline_probability(float(goal.deadline))
    return law.mean


def load_cost(problem: CodedProblem, answer: CodedAnswer) -> Fraction:
    """Return the price of all loads, exactly."""
    pairs = zip(problem.nodes, answer.loads, strict=True)
    return sum((exact(node.cost) * load for node, load in pairs), Fraction(0))
