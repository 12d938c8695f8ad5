"""Compiled list scheduling: published examples, feasibility everywhere, and repeatable bytes."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from allocsolve.models.dag import list_build
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Edge, Link, Node, Task
from allocsolve.models.dag.graph import CommGraph, has_graph
from allocsolve.models.dag.list_board import KERNELS
from allocsolve.models.dag.list_build import Builder, Placement
from allocsolve.models.dag.list_clusters import clusters
from allocsolve.models.dag.list_pairs import goes_by_pairs
from allocsolve.models.dag.list_plain import plain_schedule
from allocsolve.models.dag.list_ranks import (
    STATISTICS,
    estimated_times,
    mean_times,
    optimistic_cost,
    upward_rank,
)
from allocsolve.models.dag.list_rules import RULES, Ranks
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.kernels import _is_plain

SEEDS = 150

# Topcuoglu, Hariri and Wu (2002), figure 2: durations on three processors, data of edges.
COSTS = ["14 16 9", "13 19 18", "11 13 19", "13 8 17", "12 13 10"]
COSTS += ["13 16 9", "7 15 11", "5 11 14", "18 12 20", "21 7 16"]
ARCS = "1 2 18 1 3 12 1 4 9 1 5 11 1 6 14 2 8 19 2 9 16 3 7 23 4 8 27 4 9 23 5 9 13 6 8 15"
ARCS += " 7 10 17 8 10 11 9 10 13"


def published_graph() -> DagProblem:
    numbers = list(map(int, ARCS.split()))
    durations = {
        str(i): {f"p{k}": int(cost) for k, cost in enumerate(row.split(), 1)}
        for i, row in enumerate(COSTS, 1)
    }
    return DagProblem(
        tasks=[Task(id=name) for name in durations],
        edges=[
            Edge(source=str(a), target=str(b), data=data)
            for a, b, data in zip(numbers[::3], numbers[1::3], numbers[2::3], strict=True)
        ],
        nodes=[Node(id=f"p{k}") for k in (1, 2, 3)],
        durations=durations,
    )


def random_problem(seed: int, most: int = 14) -> DagProblem:
    """Draw an instance of any node family, some with memory, groups and missing links."""
    draw = random.Random(seed)
    n, count = draw.randint(1, most), draw.randint(1, 4)
    limited, grouped, partial, unrelated = (draw.random() < share for share in (0.4, 0.4, 0.3, 0.5))
    nodes = [
        Node(
            id=f"n{k}",
            speed=draw.choice([1, 2, 3]),
            slots=draw.choice([1, 1, 2, 3]),
            memory=draw.randint(5, 20) if limited and draw.random() < 0.8 else None,
        )
        for k in range(count)
    ]
    tasks, durations = [], {}
    for i in range(n):
        if unrelated:
            able = [k for k in range(count) if draw.random() < 0.8] or [draw.randrange(count)]
            durations[f"t{i}"] = {f"n{k}": draw.choice([0, *range(1, 10)]) for k in able}
        tasks.append(
            Task(
                id=f"t{i}",
                work=None if unrelated else draw.randint(0, 12),
                release=draw.choice([0, 0, draw.randint(0, 9)]),
                memory=draw.randint(0, 5) if limited else None,
                colocate=draw.choice("ab") if grouped and draw.random() < 0.4 else None,
            )
        )
    edges = [
        Edge(
            source=f"t{i}",
            target=f"t{j}",
            data=draw.choice([0, draw.randint(1, 5)]),
            min_lag=draw.choice([0, 0, 0, draw.randint(1, 4)]),
        )
        for i, j in itertools.combinations(range(n), 2)
        if draw.random() < 0.25
    ]
    links = [
        Link(
            between=(f"n{a}", f"n{b}"),
            latency=draw.choice([0, 1, 2]),
            bandwidth=0 if partial and draw.random() < 0.4 else draw.choice([1, 2, None]),
        )
        for a, b in itertools.combinations(range(count), 2)
        if draw.random() < 0.7
    ]
    return DagProblem(tasks=tasks, edges=edges, nodes=nodes, durations=durations, links=links)


def _can_be_placed(graph: CommGraph) -> bool:
    """Whether some choice of nodes obeys eligibility, memory, groups and links (by trying all)."""
    options = [np.flatnonzero(row).tolist() for row in graph.eligible]
    sends = [
        (int(a), int(b))
        for a, b, data in zip(graph.edge_source, graph.edge_target, graph.edge_data, strict=True)
        if data
    ]
    for choice in itertools.product(*options):
        used = np.bincount(choice, weights=graph.memory, minlength=graph.nodes)
        homes = {(int(g), k) for g, k in zip(graph.group, choice, strict=True) if g >= 0}
        if (used > graph.node_memory).any() or len(homes) > len({g for g, _ in homes}):
            continue
        if all(graph.linked[choice[a], choice[b]] for a, b in sends):
            return True
    return False


@pytest.mark.parametrize(
    ("rule", "length"),
    [
        pytest.param("heft", 80, id="heft, published"),
        pytest.param("cpop", 86, id="cpop, published"),
    ],
)
def test_the_published_example_has_its_published_length(rule: str, length: int) -> None:
    """A wrong mean, rank, tie or gap search gives another length on this graph."""
    placement = Builder(CommGraph.of(published_graph())).build(rule)
    assert placement is not None
    assert placement.makespan == length


def test_upward_ranks_are_the_published_ones() -> None:
    """Table 1 of the paper lists the ranks; the order of HEFT follows from them."""
    graph = CommGraph.of(published_graph())
    means = mean_times(graph)
    rank = upward_rank(graph, means.duration, means.delay)
    published = [108.0, 77.0, 80.0, 80.0, 69.0, 63.333, 42.667, 35.667, 44.333, 14.667]
    assert rank == pytest.approx(published, abs=1e-3)


@pytest.mark.parametrize(
    ("statistic", "durations", "delay"),
    [
        ("mean", [4.0, 5.0], 1 + 7.0),
        ("median", [2.0, 5.0], 1 + 4.0),
        ("best", [1.0, 5.0], 1 + 2.0),
        ("worst", [9.0, 5.0], 1 + 15.0),
    ],
)
def test_times_are_estimated_by_each_statistic(
    statistic: str, durations: list[float], delay: float
) -> None:
    """Links of 2, 4 and 15 for the data of 2, a lag of 1; nodes that are not eligible are out."""
    problem = DagProblem(
        tasks=[Task(id="a"), Task(id="b")],
        edges=[Edge(source="a", target="b", data=2, min_lag=1)],
        nodes=[Node(id=name) for name in "xyz"],
        durations={"a": {"x": 1, "y": 2, "z": 9}, "b": {"y": 5}},
        links=[
            Link(between=("x", "y"), latency=2, bandwidth=None),
            Link(between=("x", "z"), latency=0, bandwidth=0.5),
            Link(between=("y", "z"), latency=5, bandwidth=0.2),
        ],
    )
    graph = CommGraph.of(problem)
    times = estimated_times(graph, statistic)
    tick = float(problem.arrays.tick)
    assert (times.duration * tick).tolist() == pytest.approx(durations)
    assert (times.delay * tick).tolist() == pytest.approx([delay])


@pytest.mark.parametrize("statistic", STATISTICS)
def test_every_statistic_gives_an_order_along_the_edges(statistic: str) -> None:
    """Ranks of other statistics must still put a task before its successors."""
    for seed in range(SEEDS):
        graph = CommGraph.of(random_problem(seed))
        position = np.argsort(Ranks(graph, statistic).downhill)
        assert (position[graph.edge_source] < position[graph.edge_target]).all(), seed
        placement = Builder(graph).build("heft", statistic=statistic)
        if placement is not None:
            entries = placement.schedule().entries()
            assert check(graph.problem, entries).violations == (), seed


def test_the_optimistic_cost_of_a_chain_is_exact() -> None:
    """On a chain every later task really can choose freely: a -> b with b at 2 or 9, data 4."""
    problem = DagProblem(
        tasks=[Task(id="a"), Task(id="b")],
        edges=[Edge(source="a", target="b", data=4)],
        nodes=[Node(id="x"), Node(id="y")],
        durations={"a": {"x": 1, "y": 1}, "b": {"x": 2, "y": 9}},
    )
    graph = CommGraph.of(problem)
    cost = optimistic_cost(graph, mean_times(graph).delay)
    assert cost.tolist() == [[2.0, 6.0], [0.0, 0.0]]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("inserts", [True, False], ids=["insertion", "append"])
def test_placements_obey_every_rule(rule: str, inserts: bool) -> None:
    """The independent checker judges slots, links, eligibility, lags, memory and groups."""
    placed = 0
    for seed in range(SEEDS):
        problem = random_problem(seed)
        placement = Builder(CommGraph.of(problem)).build(rule, inserts=inserts)
        if placement is not None:
            placed += 1
            report = check(problem, placement.schedule().entries())
            assert report.violations == (), seed
    assert placed > SEEDS / 2


@pytest.mark.parametrize("rule", ["heft", "one_node", "clusters", "etf", "sufferage"])
def test_an_answer_is_found_whenever_there_is_one(rule: str) -> None:
    """Greedy placement gets stuck on memory and links; the repair must then find the nodes."""
    hopeless = 0
    for seed in range(400):
        graph = CommGraph.of(random_problem(seed, most=6))
        found = Builder(graph).build(rule) is not None
        assert found == _can_be_placed(graph), seed
        hopeless += not found
    assert hopeless > 10


def test_the_plain_schedule_obeys_every_rule_too() -> None:
    """It stands in for the compiled loops when there is no time to compile them."""
    for seed in range(SEEDS):
        problem = random_problem(seed, most=6)
        graph = CommGraph.of(problem)
        schedule = plain_schedule(graph, lambda: False)
        assert (schedule is not None) == _can_be_placed(graph), seed
        if schedule is not None:
            assert check(problem, schedule.entries()).violations == (), seed


def test_ties_go_to_the_smallest_index() -> None:
    """Equal tasks on equal nodes must not depend on hashing or on the order of a set."""
    problem = DagProblem(
        tasks=[Task(id=name, work=1) for name in "dcba"], nodes=[Node(id="y"), Node(id="x")]
    )
    for rule in sorted(set(RULES) - {"one_node"}):
        placement = Builder(CommGraph.of(problem)).build(rule)
        assert placement is not None
        assert (placement.start.tolist(), placement.node.tolist()) == (
            [0, 0, 1, 1],
            [0, 1, 0, 1],
        ), rule


def test_insertion_fills_a_gap_and_append_does_not() -> None:
    """c waits for the data of a on node y, and leaves a gap that only insertion gives to b."""
    problem = DagProblem(
        tasks=[Task(id="a"), Task(id="c"), Task(id="b")],
        edges=[Edge(source="a", target="c", data=5)],
        nodes=[Node(id="x"), Node(id="y")],
        durations={"a": {"x": 1}, "c": {"y": 9}, "b": {"y": 2}},
    )
    builder = Builder(CommGraph.of(problem))
    lengths = []
    for inserts in (True, False):
        placement = builder.build("heft", inserts=inserts)
        assert placement is not None
        lengths.append(placement.makespan)
    assert lengths == [15, 17]


def test_a_cluster_keeps_a_costly_chain_together() -> None:
    """A chain with heavy data is one cluster; a task apart is another."""
    problem = DagProblem(
        tasks=[Task(id=name, work=1) for name in "abc"],
        edges=[Edge(source="a", target="b", data=9)],
        nodes=[Node(id="x"), Node(id="y")],
    )
    graph = CommGraph.of(problem)
    assert clusters(graph, mean_times(graph)).tolist() == [0, 0, 2]


def test_many_gaps_make_room_for_more() -> None:
    """A lane starts with room for few gaps; placing must go on when it is full."""
    tasks = [Task(id=f"t{i}", work=1, release=2 * i) for i in range(60)]
    problem = DagProblem(tasks=tasks, nodes=[Node(id="x")])
    graph = CommGraph.of(problem)
    for rule in ("heft", "etf"):
        placement = Builder(graph).build(rule)
        assert placement is not None
        assert placement.start.tolist() == [2 * i for i in range(60)]


@pytest.mark.parametrize("rule", ["etf", "dls", "min_min"])
def test_heaps_of_pairs_choose_what_comparing_all_ready_tasks_does(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The quick loop must find the same schedule, ties, dead ends and zero lengths included."""
    stuck = 0
    for seed in range(150):
        builder = Builder(CommGraph.of(random_problem(seed, most=14 if seed % 2 else 40)))
        monkeypatch.setattr(list_build, "goes_by_pairs", goes_by_pairs)
        quick = builder.build(rule, inserts=False)
        monkeypatch.setattr(list_build, "goes_by_pairs", lambda *_, **__: False)
        slow = builder.build(rule, inserts=False)
        assert _bytes(quick) == _bytes(slow), seed
        stuck += quick is None
    assert 0 < stuck < 75


def _bytes(placement: Placement | None) -> tuple[list[int], list[int]] | None:
    return None if placement is None else (placement.start.tolist(), placement.node.tolist())


@pytest.mark.skipif(_is_plain(), reason="plain Python is slow, which is no fault of the loop")
@pytest.mark.parametrize("rule", ["etf", "dls", "min_min"])
def test_many_ready_tasks_are_placed_quickly(rule: str) -> None:
    """Looking at every ready task for every placement would take minutes here."""
    tasks = [Task(id=f"t{i}", work=1 + i * 7919 % 101) for i in range(20_000)]
    nodes = [Node(id=f"n{k}", speed=1 + k % 3, slots=1 + k % 2) for k in range(16)]
    builder = Builder(CommGraph.of(DagProblem(tasks=tasks, nodes=nodes)))
    KERNELS.build()
    began = time.process_time()
    assert builder.build(rule, inserts=False) is not None
    assert time.process_time() - began < 10


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("inserts", [True, False], ids=["insertion", "append"])
def test_a_run_in_small_slices_is_the_same_run(
    rule: str, inserts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loops return to look at the clock; what they keep meanwhile must be complete."""
    for seed in range(20):
        builder = Builder(CommGraph.of(random_problem(seed)))
        monkeypatch.setattr(list_build, "_SLICE", 4_000_000)
        whole = builder.build(rule, inserts=inserts)
        monkeypatch.setattr(list_build, "_SLICE", 1)
        sliced = builder.build(rule, inserts=inserts)
        assert _bytes(whole) == _bytes(sliced)


def test_a_stopped_run_gives_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A partly filled board is no schedule."""
    monkeypatch.setattr(list_build, "_SLICE", 1)
    graph = CommGraph.of(published_graph())
    assert Builder(graph, stop=lambda: True).build("heft") is None


def test_graphs_of_other_forms_are_refused() -> None:
    """A deadline has no place in the arrays and would be forgotten."""
    problem = DagProblem(tasks=[Task(id="a", work=1, deadline=5)], nodes=[Node(id="x")])
    assert not has_graph(problem)
    with pytest.raises(UsageError, match="graph of communicating tasks"):
        CommGraph.of(problem)


_BYTES = """
import itertools, json, sys
sys.path.insert(0, sys.argv[1])
from test_list_scheduling import CommGraph, Builder, RULES, random_problem
found = []
for seed in range(20):
    builder = Builder(CommGraph.of(random_problem(seed)))
    for rule, inserts in itertools.product(RULES, (True, False)):
        placement = builder.build(rule, inserts=inserts)
        found.append(placement and [placement.start.tolist(), placement.node.tolist()])
print(json.dumps(found))
"""


def _run(tmp_path: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _BYTES, str(Path(__file__).parent)],
        cwd=tmp_path,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_plain_python_gives_the_same_bytes(tmp_path: Path) -> None:
    """Compiled and plain loops, and any hash seed, are the same method."""
    plain = _run(tmp_path, NUMBA_DISABLE_JIT="1", PYTHONHASHSEED="1")
    assert plain == _run(tmp_path, NUMBA_DISABLE_JIT="0", PYTHONHASHSEED="2")
    assert len(json.loads(plain)) == 40 * len(RULES)


def test_what_is_warm_fits_any_limit() -> None:
    """A kernel that was called is never compiled again; one that was not has to fit."""
    KERNELS.build()
    assert KERNELS.is_loaded()
    assert KERNELS.fits(0.0)
