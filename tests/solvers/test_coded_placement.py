"""Placement of partitions under every limit, against all placements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import allocsolve
from allocsolve.models.arrays import BoolArray
from allocsolve.models.coded.answer import CodedResult
from allocsolve.models.coded.baselines_gradient import GradientJob
from allocsolve.models.coded.data import Gradient, Limits, Node
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.result import Status

SEEDS = 200


def _instance(seed: int) -> CodedProblem:
    """Return a small gradient job; storage, locality, budget and total load now and then."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(3, 5))
    partitions = int(draw.integers(1, 4 if count < 4 else 3))
    nodes = []
    for i in range(count):
        held = draw.choice(partitions, int(draw.integers(1, partitions + 1)), replace=False)
        nodes.append(
            Node(
                id=str(i),
                speed=int(draw.integers(1, 5)),
                cost=Fraction(int(draw.integers(0, 4)), 2),
                startup=int(draw.integers(0, 2)),
                storage=int(draw.integers(0, partitions + 1)) if draw.random() < 0.2 else None,
                holds=sorted(held.tolist()) if draw.random() < 0.5 else None,
            )
        )
    budget = int(draw.integers(partitions, 6 * partitions)) if draw.random() < 0.5 else None
    total = int(draw.integers(2 * partitions, 3 * partitions)) if draw.random() < 0.2 else None
    return CodedProblem(
        task=Gradient(partitions=partitions, stragglers=1),
        nodes=nodes,
        limits=Limits(budget=budget, total_load=total),
    )


def _key(
    job: GradientJob, parts: Sequence[Sequence[int]], already: Sequence[Sequence[int]] | None
) -> tuple[float, int, Fraction, float]:
    """Return time, moves, price and work of a placement, in the order in which they count."""
    times = [job.time(i, len(mine)) for i, mine in enumerate(parts) if mine]
    moves = 0
    if already is not None:
        pairs = zip(parts, already, strict=True)
        moves = sum(len(set(mine) - set(before)) for mine, before in pairs)
    price = sum(
        (Fraction(n.cost) * len(p) for n, p in zip(job.problem.nodes, parts, strict=True)),
        Fraction(0),
    )
    return round(max(times, default=0.0), 9), moves, price, round(sum(times), 9)


def _best(
    problem: CodedProblem, already: Sequence[Sequence[int]] | None = None
) -> tuple[float, int, Fraction, float] | None:
    """Return the least key of all placements, None if there is no placement."""
    job, holds = GradientJob(problem), problem.arrays.holds
    choices = []
    for i, cap in enumerate(job.caps):
        mine = [p for p in range(job.task.partitions) if holds is None or holds[i, p]]
        sizes = range(min(len(mine), cap) + 1)
        choices.append([part for size in sizes for part in itertools.combinations(mine, size)])
    keys = []
    for parts in itertools.product(*choices):
        counts = [sum(p in mine for mine in parts) for p in range(job.task.partitions)]
        if min(counts) >= job.copies and job.allows(job.answer(parts, "mds")):
            keys.append(_key(job, parts, already))
    return min(keys, default=None)


def _solve(
    problem: CodedProblem, method: str = "placement", warm_start: object | None = None
) -> CodedResult:
    result = allocsolve.solve(
        problem, method=method, time_limit=None, threads=1, warm_start=warm_start
    )
    assert isinstance(result, CodedResult)
    return result


@pytest.mark.parametrize("block", range(4))
def test_placements_are_those_of_enumeration(block: int) -> None:
    """Time, then price, then work; the flow and its bisection agree wherever they apply."""
    for seed in range(block, SEEDS, 4):
        problem = _instance(seed)
        best, result = _best(problem), _solve(problem)
        flow = _solve(problem, "partitions")
        if best is None:
            assert result.status is Status.INFEASIBLE, seed
            assert flow.status in (Status.INFEASIBLE, Status.UNKNOWN), seed
            continue
        assert result.status is Status.OPTIMAL, seed
        assert allocsolve.check(problem, result).valid, seed
        parts = result.assignment.partitions
        assert parts is not None
        assert _key(GradientJob(problem), parts, None) == pytest.approx(best), seed
        assert flow.objective.value == pytest.approx(best[0]), seed


def test_as_little_as_possible_is_moved() -> None:
    """Data that lie somewhere already stay there as long as the time is the least one."""
    nodes = [Node(id=str(i), speed=speed) for i, speed in enumerate((1, 1, 2, 2))]
    problem = CodedProblem(task=Gradient(partitions=3, stragglers=1), nodes=nodes)
    before = ((0, 1, 2), (0, 1), (2,), ())  # correct, but the first node is late
    start = GradientJob(problem).answer(before, "mds")
    best, result = _best(problem, before), _solve(problem, warm_start=start)
    assert best is not None
    parts = result.assignment.partitions
    assert parts is not None
    assert _key(GradientJob(problem), parts, before) == pytest.approx(best)
    assert result.solver.options["moves"] == best[1] > 0
    unmoved = _solve(problem).assignment.partitions
    assert unmoved is not None
    assert _key(GradientJob(problem), unmoved, before)[1] >= best[1]


def test_a_start_of_least_time_stays_as_it_is() -> None:
    """Nothing is moved for a cheaper or less busy placement."""
    nodes = [Node(id=str(i), cost=i) for i in range(4)]
    problem = CodedProblem(task=Gradient(partitions=2, stragglers=1), nodes=nodes)
    start = GradientJob(problem).answer(((), (0,), (1,), (0,)), "mds")
    assert not allocsolve.check(problem, start).valid  # the second partition is on one node only
    start = GradientJob(problem).answer(((1,), (0,), (1,), (0,)), "mds")
    result = _solve(problem, warm_start=start)
    assert result.status is Status.OPTIMAL
    assert result.assignment.partitions == ((1,), (0,), (1,), (0,))


def test_a_budget_and_locality_are_optimised_together() -> None:
    """A flow does not see prices: the method for partitions hands over to a program."""
    holds: list[list[int] | None] = [[0, 1], None, [1], [0]]
    nodes = [
        Node(id=str(i), speed=1 + 3 * (i == 1), cost=1 + 4 * (i == 1), holds=held)
        for i, held in enumerate(holds)
    ]
    problem = CodedProblem(
        task=Gradient(partitions=2, stragglers=1), nodes=nodes, limits=Limits(budget=5)
    )
    best, result = _best(problem), _solve(problem, "partitions")
    assert best is not None
    assert result.status is Status.OPTIMAL
    assert result.objective.value == pytest.approx(best[0])


def test_many_partitions_that_are_alike_are_counted() -> None:
    """Thousands of partitions are one class: the program has a number for each node, no more."""
    nodes = [Node(id=str(i), speed=1 + i) for i in range(6)]
    problem = CodedProblem(task=Gradient(partitions=2000, stragglers=2), nodes=nodes)
    result = _solve(problem)
    assert result.status is Status.OPTIMAL
    table: BoolArray = np.zeros((6, 2000), np.bool_)
    for i, mine in enumerate(result.assignment.partitions or ()):
        table[i, list(mine)] = True
    assert (table.sum(axis=0) == 3).all()
