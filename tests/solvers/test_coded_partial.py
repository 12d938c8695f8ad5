"""Partial work: splits of the storage and numbers of batches, beside draws and enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import allocsolve
from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.completion import completion_of
from allocsolve.models.coded.costs import answer_of, exact_cost
from allocsolve.models.coded.data import Limits, MatVec, Node, ObjectiveSpec, Scenarios
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.partial import draws_of, floor_loss, fluid_split, rounded
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law


def _law(shift: float, rate: float) -> Law:
    return Law(law="shifted_exponential", shift=shift, rate=rate)


def _two_types(nodes: int, rows: int, storage: float, **fields: object) -> CodedProblem:
    """Return half of the nodes three times as fast as the others, as in the literature."""
    laws = [_law(1, 1)] * (nodes // 2) + [_law(1 / 3, 3)] * (nodes // 2)
    return CodedProblem(
        task=MatVec(rows=rows),
        nodes=[Node(id=str(i), runtime=law) for i, law in enumerate(laws)],
        limits=Limits(batches="free", total_load=rows * storage),
    ).replace(**fields)


def _rateless(nodes: int, rows: int) -> float:
    """Return E[r / sum 1 / X] of two types from a million draws."""
    draw, total = np.random.default_rng(1), 0.0
    rates = np.repeat([1.0, 3.0], nodes // 2)
    for _ in range(10):
        times = (1 + draw.exponential(1, (100_000, nodes))) / rates
        total += float((rows / (1 / times).sum(axis=1)).mean())
    return total / 10


def _split(problem: CodedProblem) -> tuple[int, ...]:
    domain = Domain.of(problem)
    loads = fluid_split(
        draws_of(problem, 2000), domain.need, domain.caps.astype(float), domain.total
    )
    return rounded(loads, domain.caps, domain.total)


def test_twice_the_rows_come_within_half_a_percent_of_rateless_work() -> None:
    """A thousand rows on ten nodes are fine enough: whole rows cost 0.45 %, the split nearly 0."""
    problem = _two_types(10, 1000, 2)
    mean = completion_law(problem, CodedAnswer.of(_split(problem), batches=1000)).mean
    assert mean <= 1.005 * _rateless(10, 1000)


def test_a_quarter_more_rows_save_two_fifths_of_the_time() -> None:
    """With 1.25 r rows partial work is 40 % faster than HCMM, which waits for whole results."""
    problem = _two_types(10, 500, 1.25)
    mean = completion_law(problem, CodedAnswer.of(_split(problem), batches=500)).mean
    hcmm = allocsolve.solve(
        problem.replace(limits=Limits()), method="hcmm_ceil", time_limit=None, threads=1
    )
    assert mean <= 0.6 * float(hcmm.objective.value)


@pytest.mark.parametrize(("nodes", "rows"), [(4, 100), (10, 200), (20, 400)])
def test_unfinished_rows_cost_what_the_formula_says(nodes: int, rows: int) -> None:
    """Even with unlimited storage n - 1 rows are half done at the end; no loads can avoid that."""
    problem = _two_types(nodes, rows, nodes)
    draws = draws_of(problem, 4000)
    whole = draws.mean(draws.whole([rows] * nodes, rows, rows))
    fluid = draws.mean(rows / (1 / draws.unit).sum(axis=1))
    assert whole / fluid - 1 == pytest.approx(floor_loss(nodes, rows), rel=0.04)


def test_no_other_split_between_two_types_is_better() -> None:
    """The mean on common draws is convex in the split; the fixed point has to find its minimum."""
    problem = _two_types(6, 120, 1.3)
    domain, draws = Domain.of(problem), draws_of(problem, 1000)
    found = fluid_split(draws, 120, domain.caps.astype(float), domain.total)
    least = draws.mean(draws.fluid(found, 120)[0])
    for share in np.linspace(0.05, 0.6, 56):
        slow, fast = share * domain.total / 3, (1 - share) * domain.total / 3
        loads = np.minimum([slow] * 3 + [fast] * 3, 120.0)
        if loads.sum() >= 120:
            assert least <= draws.mean(draws.fluid(loads, 120)[0]) * (1 + 1e-4)


@pytest.mark.parametrize("batches", [3, 40])
def test_times_on_draws_are_those_of_the_completion_rule(batches: int) -> None:
    """The quick formula has to count the same results as the rule that defines completion."""
    problem = _two_types(4, 30, 2).replace(
        nodes=[
            Node(id=str(i), runtime=_law(0.5, 1 + i), startup=i / 4, message=0.1) for i in range(4)
        ]
    )
    loads, draws = [9, 12, 15, 18], draws_of(problem, 300)
    completion = completion_of(problem, CodedAnswer.of(loads, batches=batches))
    known = completion.times(completion.arrivals.times(draws.unit))
    assert draws.whole(loads, 30, batches) == pytest.approx(known, rel=1e-6)


def _messages(seed: int) -> CodedProblem:
    draw = np.random.default_rng(seed)
    count, rows = (2, 6) if seed % 2 else (3, 3)
    nodes = [
        Node(
            id=str(i),
            runtime=_law(float(draw.choice([0.2, 0.5, 1])), float(draw.choice([0.5, 1, 3]))),
            message=float(draw.choice([0.05, 0.2, 0.5])),
        )
        for i in range(count)
    ]
    goals = (ObjectiveSpec(), ObjectiveSpec(name="quantile", q=0.9))
    return CodedProblem(
        task=MatVec(rows=rows),
        nodes=nodes,
        limits=Limits(batches="free", total_load=2 * rows),
        objective=goals[seed % 3 % 2],
    )


@pytest.mark.parametrize("seed", range(4))
def test_loads_and_batches_are_those_of_enumeration(seed: int) -> None:
    """Every message costs time here: all loads in all numbers of batches are compared."""
    problem = _messages(seed)
    rows = Domain.of(problem).need
    best = min(
        exact_cost(problem, answer_of(problem, loads, batches))
        for batches in range(1, rows + 1)
        for loads in itertools.product(range(rows + 1), repeat=len(problem.nodes))
        if rows <= sum(loads) <= 2 * rows and max(loads) >= batches
    )
    result = allocsolve.solve(problem, time_limit=None, threads=1, options={"effort": "1"})
    assert float(result.objective.value) == pytest.approx(best, rel=1e-9)


def test_dear_messages_are_sent_less_often() -> None:
    """The number of batches that is found falls with the price of a message."""
    found = []
    for message in (0.0, 1.0, 100.0):
        nodes = [Node(id=str(i), runtime=_law(1, 1), message=message) for i in range(5)]
        problem = _two_types(2, 40, 2).replace(nodes=nodes)
        result = allocsolve.solve(problem, method="partial_work", time_limit=None, threads=1)
        assert isinstance(result, CodedResult)
        found.append(result.assignment.batches or 1)
    assert found == sorted(found, reverse=True)
    assert found[0] > 12
    assert found[-1] == 1


def test_money_limits_the_storage() -> None:
    """A budget is one more limit of the split: fast nodes are dear, and nobody overspends."""
    nodes = [Node(id=str(i), runtime=_law(1 / (1 + i), 1 + i), cost=1 + i) for i in range(4)]
    problem = _two_types(2, 40, 4).replace(nodes=nodes)
    rich = allocsolve.solve(problem, method="partial_work", time_limit=None, threads=1)
    limits = Limits(batches="free", total_load=160, budget=110)
    poor_problem = problem.replace(limits=limits)
    poor = allocsolve.solve(poor_problem, method="partial_work", time_limit=None, threads=1)
    assert allocsolve.check(poor_problem, poor).violations == ()
    assert float(rich.objective.value) < float(poor.objective.value)


@pytest.mark.parametrize("q", [0.5, 0.8, 0.99])
def test_of_few_draws_the_nearest_one_counts(q: float) -> None:
    """Two or three listed draws lie far from every quantile; without any there is no split."""
    problem = CodedProblem(
        task=MatVec(rows=4),
        nodes=[Node(id=str(i)) for i in range(2)],
        scenarios=Scenarios(samples=[[1, 2], [3, 1]]),
        objective=ObjectiveSpec(name="quantile", q=q),
        limits=Limits(batches=2),
    )
    weight = draws_of(problem, 100, q).weight
    assert weight.sum() == pytest.approx(1)
