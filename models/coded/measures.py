"""The measures of an answer that documents carry beside its objective value."""

from __future__ import annotations

from allocsolve.models.coded.answer import CodedAnswer, Metrics
from allocsolve.models.coded.law import NoExactLaw, completion_law
from allocsolve.models.coded.problem import CodedProblem

__all__ = ["measure"]

_QUANTILES = (0.5, 0.9, 0.99)


def measure(problem: CodedProblem, answer: CodedAnswer) -> Metrics:
    """Return mean, quantiles and the probability of the deadline of an answer that is right."""
    goal = problem.objective
    wanted = sorted({*_QUANTILES, *([] if goal.q is None else [float(goal.q)])})
    try:
        law = completion_law(problem, answer)
        mean, found = law.mean, law.quantiles(wanted)
    except NoExactLaw:
        return Metrics()
    late = None if goal.deadline is None else law.deadline_probability(float(goal.deadline))
    return Metrics(mean, dict(zip(wanted, found, strict=True)), late)
