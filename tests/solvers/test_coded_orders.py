"""Orders of partitions within nodes: the law of covered sets, all orders, and what they gain."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import allocsolve
from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.completion import completion_of
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.data import Gradient, Limits, Node, ObjectiveSpec
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.law_exact import Covered, parts_of
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law

RANDOM = Law(law="shifted_exponential", shift=1, rate=1)


def _gradient(nodes: int, partitions: int, stragglers: int, **fields: object) -> CodedProblem:
    return CodedProblem(
        task=Gradient(partitions=partitions, stragglers=stragglers),
        nodes=[Node(id=str(i), speed=1 + i // 2, runtime=RANDOM) for i in range(nodes)],
        limits=Limits(batches="free"),
        objective=ObjectiveSpec(name="mean"),
    ).replace(**fields)


def _turned(nodes: int, count: int, places: int) -> CodedAnswer:
    parts = [[(i + k) % count for k in range(places)] for i in range(nodes)]
    return CodedAnswer.of([places] * nodes, partitions=parts, order=parts, batches=places)


def _solve(problem: CodedProblem) -> CodedResult:
    result = allocsolve.solve(problem, time_limit=None, threads=1)
    assert isinstance(result, CodedResult)
    assert allocsolve.check(problem, result).violations == ()
    return result


def test_covered_sets_have_the_law_of_draws() -> None:
    """Seven nodes with six results each have too many states, their covered sets have 64."""
    problem, answer = _gradient(7, 6, 1), _turned(7, 6, 6)
    completion = completion_of(problem, answer)
    (part,) = parts_of(completion)
    assert isinstance(part, Covered)
    draws = 1 + np.random.default_rng(2).exponential(1, (40_000, 7))
    times = completion.times(completion.arrivals.times(draws))
    law = completion_law(problem, answer)
    assert law.mean == pytest.approx(times.mean(), abs=4 * times.std() / 200)
    for q in (0.1, 0.5, 0.9):
        late = float((times > law.quantile(q)).mean())
        assert late == pytest.approx(1 - q, abs=0.01)


@pytest.mark.parametrize("batches", [2, 3])
def test_covered_sets_and_states_agree(batches: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where both laws exist they are one; results with two partitions cover both."""
    problem, answer = _gradient(4, 3, 1), replace(_turned(4, 3, 3), batches=batches)
    by_states = completion_law(problem, answer)
    monkeypatch.setattr("allocsolve.models.coded.law_exact.MOST_STATES", 1)
    by_sets = completion_law(problem, answer)
    assert by_sets.mean == pytest.approx(by_states.mean, rel=1e-12)
    assert by_sets.quantile(0.999) == pytest.approx(by_states.quantile(0.999), rel=1e-9)


def test_few_orders_are_all_looked_at() -> None:
    """Three partitions on each of three nodes have 36 orders that differ; the best one is found."""
    problem = _gradient(3, 3, 1)
    result = _solve(problem)
    assert result.solver.options["orders"] == "all"
    best = min(
        exact_cost(
            problem, CodedAnswer.of([3] * 3, partitions=[range(3)] * 3, order=order, batches=3)
        )
        for order in itertools.product(itertools.permutations(range(3)), repeat=3)
    )
    assert float(result.objective.value) <= best * (1 + 1e-12)


@pytest.mark.parametrize(
    ("goal", "gain"),
    [
        pytest.param(ObjectiveSpec(name="mean"), 0.07, id="mean"),
        pytest.param(ObjectiveSpec(name="quantile", q=0.95), 0.05, id="quantile"),
        pytest.param(ObjectiveSpec(name="deadline_probability", deadline=2), 0.02, id="deadline"),
    ],
)
def test_searched_orders_beat_turned_ones(goal: ObjectiveSpec, gain: float) -> None:
    """Beginning at different places is good, but not the best: speeds differ."""
    problem = _gradient(4, 4, 1, objective=goal)
    result = _solve(problem)
    assert result.solver.options["orders"] == "searched"
    turned = exact_cost(problem, _turned(4, 4, 4))
    value = float(result.objective.value) * (-1 if goal.name == "deadline_probability" else 1)
    assert value <= turned - gain * abs(turned)
    rules = [x for x in result.baselines.values() if x is not None]
    sign = -1 if goal.name == "deadline_probability" else 1
    assert value <= min(sign * rule for rule in rules)


def test_local_data_is_ordered_too() -> None:
    """Nodes that hold some partitions only send them one by one, in orders of their own."""
    nodes = [
        Node(id=str(i), runtime=RANDOM, holds=sorted({i, (i + 1) % 4, (i + 2) % 4}))
        for i in range(4)
    ]
    result = _solve(_gradient(4, 4, 1).replace(nodes=nodes))
    assert result.assignment.order is not None
    rules = [x for x in result.baselines.values() if x is not None]
    assert float(result.objective.value) < 0.95 * min(rules)


def test_dear_messages_are_joined() -> None:
    """Where a message takes longer than a partition, results are sent in fewer batches."""
    nodes = [Node(id=str(i), runtime=RANDOM, message=4) for i in range(3)]
    result = _solve(_gradient(3, 4, 1).replace(nodes=nodes))
    assert (result.assignment.batches or 1) < 4
