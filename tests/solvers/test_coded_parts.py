"""Partitions of gradients and pieces of elastic jobs, against listed values and enumeration."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

import allocsolve
from allocsolve.models.coded.answer import CodedResult
from allocsolve.models.coded.baselines_elastic import pieces_of
from allocsolve.models.coded.data import Elastic, Gradient, Limits, Node, ObjectiveSpec
from allocsolve.models.coded.placing import arcs, flow_placement
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law
from allocsolve.models.result import Status

RANDOM = Law(law="shifted_exponential", shift=1, rate=1)


def _gradient(
    speeds: Sequence[int], partitions: int, stragglers: int, **fields: object
) -> CodedProblem:
    return CodedProblem(
        task=Gradient(partitions=partitions, stragglers=stragglers),
        nodes=[Node(id=f"w{i}", speed=speed) for i, speed in enumerate(speeds)],
    ).replace(**fields)


def _solve(problem: CodedProblem, method: str = "auto") -> CodedResult:
    result = allocsolve.solve(problem, method=method, time_limit=None, threads=1)
    assert isinstance(result, CodedResult)
    assert allocsolve.check(problem, result).violations == ()
    return result


@pytest.mark.parametrize(
    ("speeds", "partitions"), [([1, 2, 3, 4, 4], 7), ([2, 2, 4, 4, 8, 8], 14)], ids=str
)
def test_loads_follow_speeds_where_that_is_exact(speeds: list[int], partitions: int) -> None:
    """The listed instances have an optimum of one time unit, with loads equal to the speeds."""
    result = _solve(_gradient(speeds, partitions, 1))
    assert result.status is Status.OPTIMAL
    assert result.objective.value == 1
    assert list(result.assignment.loads) == speeds


@pytest.mark.parametrize("seed", range(6))
def test_the_least_worst_time_is_that_of_plain_enumeration(seed: int) -> None:
    """All whole loads with enough copies are compared; capacities count."""
    draw = np.random.default_rng(seed)
    speeds, partitions = draw.integers(1, 6, 4).tolist(), int(draw.integers(2, 6))
    storage = int(draw.integers(2, 6)) if seed % 2 else partitions
    problem = _gradient(speeds, partitions, 1)
    nodes = [Node(id=n.id, speed=n.speed, storage=storage, startup=seed % 3) for n in problem.nodes]
    problem = problem.replace(nodes=nodes)
    cap = min(storage, partitions)
    best = min(
        (
            max(seed % 3 + x / c for x, c in zip(loads, speeds, strict=True) if x)
            for loads in itertools.product(range(cap + 1), repeat=4)
            if sum(loads) >= 2 * partitions
        ),
        default=math.inf,
    )
    result = _solve(problem)
    assert (result.status is Status.OPTIMAL) == math.isfinite(best)
    if math.isfinite(best):
        assert result.objective.value == pytest.approx(best)


def test_data_stays_where_it_is() -> None:
    """Partitions go only to nodes that hold them, and the flow finds the exact optimum."""
    holds = [[0, 1], [1, 2, 3], [0, 2, 3], [0, 1, 2, 3]]
    nodes = [Node(id=str(i), speed=i + 1, holds=held) for i, held in enumerate(holds)]
    result = _solve(_gradient([1], 4, 1).replace(nodes=nodes))
    assert result.status is Status.OPTIMAL
    assert result.objective.value == 1
    assert result.baselines["cyclic"] is None


def test_a_flow_that_is_too_small_is_no_placement() -> None:
    """Capacities that add up are not enough if the wrong nodes have them."""
    holds = np.array([[True, False], [True, False], [False, True], [True, True]])
    assert flow_placement([1, 1, 0, 2], holds, 2) is None
    placed = flow_placement([1, 1, 1, 1], holds, 2)
    assert placed is not None
    assert sorted(part for mine in placed for part in mine) == [0, 0, 1, 1]


def test_arcs_cover_evenly() -> None:
    """Loads that add up to three times around the circle put every partition on three nodes."""
    counts = np.zeros(5, int)
    for mine in arcs([5, 4, 3, 2, 1], 5):
        assert len(set(mine)) == len(mine)
        counts[list(mine)] += 1
    assert counts.tolist() == [3] * 5


def test_too_many_stragglers_have_no_answer() -> None:
    """Nobody is left to answer."""
    result = _solve(_gradient([1, 2, 3], 4, 3))
    assert result.status is Status.INFEASIBLE
    assert result.certificate.reason is not None
    assert "needed on 4 nodes" in result.certificate.reason.sentence()


@pytest.mark.parametrize("budget", [15, 17, 24, 40])
def test_a_budget_is_kept(budget: int) -> None:
    """Fast nodes are dear here: the least time that the money allows is found and proven."""
    nodes = [Node(id=str(i), speed=1 + i, cost=1 + 2 * i) for i in range(4)]
    problem = _gradient([1], 4, 1).replace(nodes=nodes, limits=Limits(budget=budget))
    best = min(
        (
            max(load / (1 + i) for i, load in enumerate(loads))
            for loads in itertools.product(range(5), repeat=4)
            if sum(loads) >= 8 and sum((1 + 2 * i) * x for i, x in enumerate(loads)) <= budget
        ),
        default=math.inf,
    )
    result = _solve(problem)
    assert result.status is (Status.OPTIMAL if math.isfinite(best) else Status.INFEASIBLE)
    if math.isfinite(best):
        assert result.objective.value == pytest.approx(best)


@pytest.mark.parametrize("method", ["partitions", "heterogeneity_aware", "placement"])
@pytest.mark.parametrize("light", [0, 2])
def test_nodes_without_a_mean_have_a_placement(method: str, light: int) -> None:
    """An infinite worst case is a value: nobody may claim that there is no answer."""
    heavy = Law(law="pareto", shape=Fraction(1, 2), scale=1)
    nodes = [
        Node(id=str(i), runtime=RANDOM if i < light else heavy, holds=[i, (i + 1) % 3])
        for i in range(3)
    ]
    problem = _gradient([1], 3, 1).replace(nodes=nodes)
    result = _solve(problem, method)
    assert result.status is Status.FEASIBLE
    assert math.isinf(result.objective.value)
    assert result.objective.bound is None
    median = problem.replace(objective=ObjectiveSpec(name="quantile", q=Fraction(1, 2)))
    if method != "placement":
        assert math.isfinite(_solve(median, method).objective.value)


@pytest.mark.parametrize("method", ["partitions", "placement"])
def test_work_that_takes_no_time_is_placed(method: str) -> None:
    """Where all times are 0 there is no unit to count them in."""
    nothing = Law(law="deterministic", value=0)
    nodes = [Node(id=str(i), runtime=nothing) for i in range(3)]
    result = _solve(_gradient([1], 4, 1).replace(nodes=nodes), method)
    assert result.status is Status.OPTIMAL
    assert result.objective.value == 0


def test_means_are_never_worse_than_a_rule() -> None:
    """With random times groups may be better than arcs; the best is kept."""
    nodes = [Node(id=str(i), speed=1 + i // 2, runtime=RANDOM) for i in range(6)]
    problem = _gradient([1], 6, 1).replace(nodes=nodes, objective=ObjectiveSpec(name="mean"))
    result = _solve(problem)
    values = [value for value in result.baselines.values() if value is not None]
    assert len(values) == 3
    assert result.objective.value <= min(values)


def test_orders_let_slow_nodes_help() -> None:
    """Partitions that are sent one by one, in good orders, beat every whole result here."""
    nodes = [Node(id=str(i), speed=1 + i // 2, runtime=RANDOM) for i in range(4)]
    problem = _gradient([1], 3, 1).replace(
        nodes=nodes, objective=ObjectiveSpec(name="mean"), limits=Limits(batches="free")
    )
    result = _solve(problem)
    assert result.assignment.order is not None
    assert result.assignment.batches == 3
    values = [value for value in result.baselines.values() if value is not None]
    assert result.objective.value < 0.9 * min(values)


@pytest.mark.parametrize(
    ("speeds", "threshold", "time"),
    [
        ([2, 2, 3, 3, 4, 4], 3, Fraction(1, 6)),
        ([1, 2, 4, 8, 16, 32], 3, Fraction(1, 15)),
        ([1, 1, 1, 1, 10, 10], 4, Fraction(1, 2)),
    ],
)
def test_water_is_filled_to_the_listed_level(
    speeds: list[int], threshold: int, time: Fraction
) -> None:
    """The published examples, with pieces that give each node exactly its load."""
    nodes = [Node(id=f"w{i}", speed=speed) for i, speed in enumerate(speeds)]
    problem = CodedProblem(task=Elastic(recovery_threshold=threshold), nodes=nodes)
    result = _solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.objective.value == pytest.approx(float(time))
    assert list(result.assignment.loads) == [min(Fraction(1), speed * time) for speed in speeds]
    assert len(result.assignment.pieces or ()) <= len(speeds)


@pytest.mark.parametrize("seed", range(5))
def test_elastic_loads_with_startups_and_storage_meet_their_bound(seed: int) -> None:
    """Capacities and startups bend the level; bound and value must still meet."""
    draw = np.random.default_rng(seed)
    nodes = [
        Node(
            id=str(i),
            speed=int(draw.integers(1, 9)),
            startup=Fraction(int(draw.integers(0, 4)), 10),
            storage=Fraction(int(draw.integers(5, 11)), 10),
        )
        for i in range(6)
    ]
    problem = CodedProblem(task=Elastic(recovery_threshold=2, stragglers=1), nodes=nodes)
    result = _solve(problem)
    assert result.status is Status.OPTIMAL
    equal = result.baselines["equal_shares"]
    assert equal is None or result.objective.value <= equal


def test_pieces_realise_any_loads() -> None:
    """Loads of at most 1 with a whole sum are always cut into no more pieces than nodes."""
    loads = [Fraction(1), Fraction(1, 3), Fraction(1, 2), Fraction(1, 6), Fraction(0)]
    pieces = pieces_of("abcde", loads)
    assert len(pieces) <= 5
    assert all(len(set(piece.nodes)) == 2 for piece in pieces)
    for name, load in zip("abcde", loads, strict=True):
        assert sum(piece.size for piece in pieces if name in piece.nodes) == load
