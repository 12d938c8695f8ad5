"""Bounds on the cost of a coded job, from the true laws of its nodes."""

from __future__ import annotations

import math

import numpy as np

from allocsolve.models.coded.bounds import Adaptive, ceiling_of, lower_mean, lower_quantile
from allocsolve.models.coded.bounds_scenarios import rateless_times
from allocsolve.models.coded.law import completion_law
from allocsolve.models.result import RealBound
from allocsolve.solvers.coded.ground import Ground

__all__ = ["bound_cost"]

_MARKS = 160
"""Quantiles of the answer at which the lower sum of a mean has its points."""

_DETAILS = {
    "adaptive loads": "no loads do better than loads that may depend on what other nodes have sent",
    "rateless loads": "no loads do better than if every row counted as soon as it is done",
}
"""What a ceiling says."""


def bound_cost(ground: Ground) -> None:
    """Raise the bound of a run that has an answer; none where the answer is not needed."""
    problem = ground.problem
    if ground.over():
        return
    if problem.arrays.scenarios is not None:
        _bound_scenarios(ground)
        return
    goal, name, answer = problem.objective, problem.objective_name, ground.control.answer
    ceiling = ceiling_of(problem, ground.domain)
    source, detail = f"{ceiling.name}, true laws", _DETAILS[ceiling.name]
    if name in ("deadline_probability", "cost"):
        assert goal.deadline is not None
        reach = float(ceiling.reach(np.array([float(goal.deadline)]))[0])
        if name == "deadline_probability":
            ground.control.raise_bound(RealBound(-min(1.0, reach), source, detail))
        elif isinstance(ceiling, Adaptive):
            _bound_price(ground, ceiling, source)
    elif answer is not None:
        law = completion_law(problem, answer)
        if name == "quantile":
            assert goal.q is not None
            q = float(goal.q)
            value = lower_quantile(ceiling, q, law.quantile(q), ground.over)
        else:
            marks = law.quantiles(np.linspace(0.001, 0.9995, _MARKS).tolist())
            value = lower_mean(ceiling, marks, ground.over)
        ground.control.raise_bound(RealBound(value, source, detail))


def _bound_price(ground: Ground, ceiling: Adaptive, source: str) -> None:
    goal = ground.problem.objective
    assert goal.deadline is not None
    assert goal.confidence is not None
    prices = ceiling.in_order(ground.problem.arrays.cost)
    value = ceiling.least_cost(float(goal.deadline), float(goal.confidence), prices)
    ground.control.raise_bound(RealBound(value * (1 - 1e-9), source, _DETAILS[ceiling.name]))


def _bound_scenarios(ground: Ground) -> None:
    """Let every row of every scenario count as soon as it is there."""
    problem, goal = ground.problem, ground.problem.objective
    times = np.sort(rateless_times(problem, ground.domain))
    name = problem.objective_name
    if name == "mean":
        value = math.fsum(times.tolist()) / len(times)
    elif name == "quantile":
        assert goal.q is not None
        value = float(times[max(math.ceil(float(goal.q) * len(times) * (1 - 1e-14)), 1) - 1])
    elif name == "deadline_probability":
        assert goal.deadline is not None
        value = -float(np.mean(times <= float(goal.deadline) * (1 + 4e-15)))
    else:
        return
    value = max(value - 1e-12 * abs(value), -1.0 if name == "deadline_probability" else 0.0)
    ground.control.raise_bound(
        RealBound(value, "rateless loads, given scenarios", _DETAILS["rateless loads"])
    )
