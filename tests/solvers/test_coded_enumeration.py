"""Enumeration of coded loads against all loads: also where rules start a little off the best."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import allocsolve
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import Limits, MatVec, Node, ObjectiveSpec
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.value import objective_value
from allocsolve.models.nodes import Law
from allocsolve.models.result import Sense, Status
from allocsolve.solvers import control
from allocsolve.solvers.coded.enumeration import is_small
from allocsolve.solvers.coded.ground import Ground

MEAN = ObjectiveSpec(name="mean")
UPPER, MEDIAN = (ObjectiveSpec(name="quantile", q=Fraction(q, 10)) for q in (9, 5))
DEADLINE = ObjectiveSpec(name="deadline_probability", deadline=2)
COST = ObjectiveSpec(name="cost", deadline=4, confidence=Fraction(3, 5))


def _draw(seed: int, goal: ObjectiveSpec, kinds: list[int], *, tight: bool) -> CodedProblem:
    """Draw nodes of some kinds, and a limit of one unit more than is needed."""
    draw = np.random.default_rng(seed)
    rate, shift = draw.choice([0.5, 1, 2, 4], 4), draw.uniform(0.1, 1, 4).round(2)
    rows = 5 if len(kinds) == 3 else 4
    nodes = [
        Node(
            id=f"w{i}",
            runtime=Law(law="shifted_exponential", shift=float(shift[k]), rate=float(rate[k])),
            cost=1 + i if goal is COST else 0,
        )
        for i, k in enumerate(kinds)
    ]
    limits = Limits(total_load=rows + 1) if tight else Limits()
    return CodedProblem(task=MatVec(rows=rows), nodes=nodes, objective=goal, limits=limits)


def _best(problem: CodedProblem) -> float:
    """Return the best value of all loads that the limit allows."""
    task, goal = problem.task, problem.objective
    assert isinstance(task, MatVec)
    most = problem.limits.total_load or task.rows * len(problem.nodes)
    values = []
    for loads in itertools.product(range(task.rows + 1), repeat=len(problem.nodes)):
        if not task.rows <= sum(loads) <= most:
            continue
        answer = CodedAnswer.of(loads)
        if goal.confidence is None or allocsolve.check(problem, answer).valid:
            values.append(objective_value(problem, answer))
    return max(values) if problem.sense is Sense.MAX else min(values)


@pytest.mark.parametrize(
    ("seed", "goal", "kinds", "tight"),
    [
        pytest.param(5, MEAN, [0, 0, 1, 1], True, id="all of the limit, equal loads of a kind"),
        pytest.param(104, MEAN, [0, 0, 1], False, id="another order of the nodes"),
        pytest.param(19, MEDIAN, [0, 1, 2], True, id="half a percent better than a rule"),
        pytest.param(24, MEDIAN, [0, 0, 1], False, id="one percent better than a rule"),
        pytest.param(29, MEDIAN, [0, 0, 1, 1], True, id="better loads more than once"),
        pytest.param(6, UPPER, [0, 0, 1], False, id="a high quantile"),
        pytest.param(37, DEADLINE, [0, 1, 2], True, id="a deadline that few meet"),
        pytest.param(100, DEADLINE, [0, 0, 1], False, id="a deadline that most meet"),
        pytest.param(8, COST, [0, 0, 1, 1], False, id="nodes alike in all but their cost"),
        pytest.param(109, COST, [0, 0, 1], True, id="just enough confidence"),
    ],
)
def test_what_is_called_optimal_is_the_best_of_all_loads(
    seed: int, goal: ObjectiveSpec, kinds: list[int], tight: bool
) -> None:
    """A search that cuts off a little too much would still call its answer optimal."""
    problem = _draw(seed, goal, kinds, tight=tight)
    result = allocsolve.solve(problem, method="enumeration", threads=1, time_limit=None)
    assert result.status is Status.OPTIMAL
    assert result.objective.value == pytest.approx(_best(problem), rel=1e-8, abs=0)


def test_loads_of_a_fleet_are_counted_beyond_all_floats() -> None:
    """Some 10^1500 loads are too many to be enumerated, which is no reason to fail."""
    nodes = [Node(id=f"w{i}", runtime=Law(law="exponential", rate=1)) for i in range(2000)]
    problem = CodedProblem(task=MatVec(rows=4000), nodes=nodes)
    assert not is_small(Ground(problem, control.RealControl[CodedAnswer](control.Limits(math.inf))))
