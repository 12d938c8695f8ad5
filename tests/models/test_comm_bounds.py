"""Clusters, areas and stars never promise more than the best schedule needs."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import allocsolve
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.comm_bounds import (
    ClusterBounds,
    _cluster_ready,
    _pair_ready,
    cluster_heads,
)
from allocsolve.models.dag.comm_identical import Identical, identical_nodes
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem

Draw: TypeAlias = Callable[..., DagProblem]
Best: TypeAlias = Callable[[DagProblem], allocsolve.Schedule | None]


def _lists(problem: DagProblem) -> Identical:
    instance = identical_nodes(problem)
    assert instance is not None
    return instance


def _problem(
    work: list[int], edges: list[tuple[int, int, int]], nodes: int, slots: int = 1
) -> DagProblem:
    return DagProblem(
        tasks=[Task(id=str(i), work=amount) for i, amount in enumerate(work)],
        edges=[Edge(source=str(a), target=str(b), data=data) for a, b, data in edges],
        nodes=[Node(id=f"n{k}", slots=slots) for k in range(nodes)],
    )


@pytest.mark.parametrize("seed", range(300))
def test_nothing_is_above_the_optimum(
    draw_identical: Draw, optimal_schedule: Best, seed: int
) -> None:
    """Every bound, head and tail holds for an optimal schedule found by brute force."""
    problem = draw_identical(seed)
    best = optimal_schedule(problem)
    assert best is not None
    bounds = ClusterBounds(_lists(problem))
    assert bounds.value() <= best.makespan
    starts, ends = best.start.tolist(), best.end.tolist()
    assert all(head <= start for head, start in zip(bounds.heads, starts, strict=True))
    rest = [best.makespan - end for end in ends]
    # Without releases every tail must pass; releases delay a start, never an end after it.
    assert all(tail <= left for tail, left in zip(bounds.tails, rest, strict=True))
    for bound in lower_bounds(problem):
        assert bound.value <= best.makespan, bound


def test_a_cluster_pays_the_cheaper_of_queue_and_transfer() -> None:
    """The second predecessor either waits on the node or sends: 3 + 3 against 3 + 2."""
    problem = _problem([3, 3, 1], [(0, 2, 9), (1, 2, 2)], nodes=2)
    assert cluster_heads(_lists(problem)) == [0, 0, 5]


def test_a_cluster_on_one_node_waits_for_all() -> None:
    """Without a second node nothing can be sent away."""
    problem = _problem([3, 3, 1], [(0, 2, 0), (1, 2, 0)], nodes=1)
    assert cluster_heads(_lists(problem)) == [0, 0, 6]


def test_slots_run_predecessors_side_by_side() -> None:
    """Two slots halve the queue on the node."""
    problem = _problem([3, 3, 1], [(0, 2, 9), (1, 2, 9)], nodes=2, slots=2)
    assert cluster_heads(_lists(problem)) == [0, 0, 3]


@pytest.mark.parametrize("seed", range(40))
def test_two_predecessors_have_a_short_way(draw_identical: Draw, seed: int) -> None:
    """The special case for two predecessors gives what the general rule gives."""
    instance = _lists(draw_identical(seed))
    head = cluster_heads(instance)
    for transfers in instance.incoming:
        if len(transfers) == 2:
            ways = [way(instance, transfers, head) for way in (_pair_ready, _cluster_ready)]
            assert ways[0] == ways[1]


def test_a_star_sees_what_clusters_do_not() -> None:
    """Six leaves of 4 behind a transfer of 8: alone 24, with a second node (24 + 8) / 2 = 16."""
    problem = _problem([1] + [4] * 6, [(0, j, 8) for j in range(1, 7)], nodes=2)
    bounds = ClusterBounds(_lists(problem))
    star = bounds.star()
    assert star is not None
    assert (star.value, star.centre, star.delay, star.work) == (17, 0, 8, 24)
    assert bounds.longest()[0] == 13  # a leaf on the other node: 1 + 8 + 4
    assert lower_bounds(problem)[0].source == "star"


def test_stars_work_backwards_too() -> None:
    """A join is a fork with time running backwards, so its bound is the same."""
    problem = _problem([4] * 6 + [1], [(j, 6, 8) for j in range(6)], nodes=2)
    star = ClusterBounds(_lists(problem)).star()
    assert star is not None
    assert (star.value, star.backwards) == (17, True)


def test_large_instances_look_at_direct_neighbours_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The budget makes bounds weaker, never wrong, and keeps the star of a wide fork."""
    problem = _problem([1] + [4] * 6, [(0, j, 8) for j in range(1, 7)], nodes=2)
    monkeypatch.setattr("allocsolve.models.dag.comm_bounds._WALKS", 0)
    star = ClusterBounds(_lists(problem)).star()
    assert star is not None
    assert star.value == 17
    monkeypatch.setattr("allocsolve.models.dag.comm_bounds._CELLS", 0)
    assert ClusterBounds(_lists(problem)).star() is None


@pytest.mark.parametrize("seed", range(60))
def test_budgets_never_raise_a_bound(
    draw_identical: Draw, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """What is thinned or left out can only lower the value."""
    instance = _lists(draw_identical(seed))
    full = ClusterBounds(instance).value()
    monkeypatch.setattr("allocsolve.models.dag.comm_bounds._WALKS", 0)
    monkeypatch.setattr("allocsolve.models.dag.comm_bounds._TAILS", 1)
    assert ClusterBounds(instance).value() <= full


def test_nodes_that_differ_have_no_such_lists() -> None:
    """The bounds assume that a task may share any node with its predecessors."""
    problem = _problem([1, 1], [(0, 1, 3)], nodes=2)
    fast = problem.replace(nodes=[Node(id="n0"), Node(id="n1", speed=2)])
    assert identical_nodes(fast) is None
    assert "cluster" not in {bound.source for bound in lower_bounds(fast)}


def test_bounds_of_the_public_collection(benchmarks_dir: Path) -> None:
    """Never above a listed length, and off forks and joins at least 0.95 of it on average."""
    folder = benchmarks_dir / "dag" / "commdelay"
    shares = []
    for row in csv.DictReader((folder / "values.csv").open(encoding="utf-8")):
        problem = allocsolve.read(
            folder / f"{row['file']}.dot", nodes=row["processors"], kind="dag"
        )
        optimum = int(row["optimal_length"])
        value = problem.units(lower_bounds(problem)[0].value)
        assert value <= optimum, row["file"]
        if "_Fork_Nodes" not in row["file"] and "_Join_Nodes" not in row["file"]:
            shares.append(float(value / optimum))
    assert sum(shares) / len(shares) >= 0.95
