"""Cut paths and what a length leaves possible never contradict an optimal schedule."""

from __future__ import annotations

import itertools
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag import cut_paths as cuts
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import heads, tails
from allocsolve.models.dag.comm_tables import node_table
from allocsolve.models.dag.cut_paths import cut_paths
from allocsolve.models.dag.data import Edge, Link, Node, Task
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.narrowing import narrow, sharpen
from allocsolve.models.dag.node_windows import NEVER, NodeTable, plain_table
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import CUT_PATHS

Draw = Callable[[str, int], DagProblem]
Optimal = Callable[[DagProblem], Schedule | None]

FAMILIES = ("related", "unrelated", "eligible", "linked", "packed", "mixed")
DRAWN = 50


@pytest.fixture(scope="module", autouse=True)
def _compiled() -> None:
    """Narrowing takes cut paths only where their loops are loaded."""
    CUT_PATHS.build()


def _mixed(seed: int) -> DagProblem:
    """Draw dear data between few nodes with slots, memory, groups, lags and missing links."""
    source = random.Random(f"mixed {seed}")
    pick = source.choice
    names = "xyz"[: pick((2, 3))]
    related = pick((True, False))
    tasks = [
        Task(
            id=str(i),
            work=2 * source.randint(0, 3) if related else None,
            release=pick((0, 0, 0, 4)),
            eligible=pick((None, None, None, source.sample(names, 2))),
            memory=source.randint(1, 3),
            colocate=pick((None, None, None, "p")),
        )
        for i in range(5)
    ]
    return DagProblem(
        tasks=tasks,
        edges=[
            Edge(source=str(i), target=str(j), data=pick((0, 1, 2, 5)), min_lag=pick((0, 0, 1)))
            for i, j in itertools.combinations(range(5), 2)
            if j == i + 1 or source.random() < 0.15
        ],
        nodes=[
            Node(id=name, speed=pick((1, 2)), slots=pick((1, 1, 2)), memory=pick((4, 5, 7, None)))
            for name in names
        ],
        durations={}
        if related
        else {t.id: {k: source.randint(0, 4) for k in names} for t in tasks},
        links=[
            Link(between=pair, latency=pick((0, 1, 3)), bandwidth=pick((0, 0.5, 1, None)))
            for pair in itertools.combinations(names, 2)
        ],
    )


def _draw(draw_cluster: Draw, family: str, seed: int) -> DagProblem:
    return _mixed(seed) if family == "mixed" else draw_cluster(family, seed)


def _tables(problem: DagProblem) -> list[NodeTable]:
    graph = CommGraph.of(problem)
    head, tail = heads(problem), tails(problem)
    assert head is not None
    assert tail is not None
    return [node_table(graph), plain_table(graph, head, tail)]


@pytest.mark.parametrize("family", FAMILIES)
def test_cut_paths_hold_in_an_optimal_schedule(
    draw_cluster: Draw, optimal_schedule: Optimal, family: str
) -> None:
    """Heads, tails, times between tasks and the bound are never above what is optimal."""
    for seed in range(DRAWN):
        problem = _draw(draw_cluster, family, seed)
        schedule = optimal_schedule(problem)
        for table in _tables(problem):
            if schedule is None or table.value >= NEVER:
                assert schedule is None, seed
                continue
            paths = cut_paths(table)
            assert paths is not None
            start, end = schedule.start, schedule.start + _lengths(schedule)
            assert (paths.head <= start).all(), seed
            assert (paths.tail <= schedule.makespan - end).all(), seed
            between = start[None, :] - end[:, None]
            assert (paths.gap <= between)[paths.gap >= 0].all(), seed
            assert paths.value <= schedule.makespan, seed


def _lengths(schedule: Schedule) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]
    lengths = schedule.problem.arrays.mode_duration[schedule.mode]
    return lengths


@pytest.mark.parametrize("family", FAMILIES)
def test_the_length_of_the_optimum_is_never_excluded(
    draw_cluster: Draw, optimal_schedule: Optimal, family: str
) -> None:
    """At the optimum and beyond, some table is left, and the optimal schedule obeys it."""
    for seed in range(DRAWN):
        problem = _draw(draw_cluster, family, seed)
        schedule = optimal_schedule(problem)
        if schedule is None:
            continue
        node = problem.arrays.mode_node[schedule.mode]
        tasks = np.arange(len(node))
        for table, extra in itertools.product(_tables(problem), (0, 2)):
            length = schedule.makespan + extra
            left = narrow(table, length, lambda: False)
            assert left is not None, seed
            assert left.possible[tasks, node].all(), seed
            assert (left.head[tasks, node] <= schedule.start).all(), seed
            rest = length - schedule.start - _lengths(schedule)
            assert (left.tail[tasks, node] <= rest).all(), seed
            group = left.graph.group
            assert all(len(set(node[group == label])) == 1 for label in set(group) - {-1}), seed


@pytest.mark.parametrize("family", FAMILIES)
def test_sharper_tables_are_tables(
    draw_cluster: Draw, optimal_schedule: Optimal, family: str
) -> None:
    """What the cut paths raise still holds for an optimal schedule, and is never lower."""
    for seed in range(DRAWN):
        problem = _draw(draw_cluster, family, seed)
        schedule = optimal_schedule(problem)
        for table in _tables(problem):
            raised, value = sharpen(table, lambda: False)
            assert (raised.head >= table.head)[table.possible].all(), seed
            assert schedule is None or max(raised.value, value) <= schedule.makespan, seed


def _chain(memory: float, cut: int) -> DagProblem:
    """Return four tasks in a row on nodes that hold two of them; one edge has little data."""
    return DagProblem(
        tasks=[Task(id=name, work=1, memory=memory) for name in "abcd"],
        edges=[
            Edge(source=i, target=j, data=2 if k == cut else 7)
            for k, (i, j) in enumerate(itertools.pairwise("abcd"))
        ],
        nodes=[Node(id=name, memory=2) for name in "xyz"],
    )


@pytest.mark.parametrize(
    ("memory", "cut", "expected"),
    [
        pytest.param(0.5, 0, 4, id="all fit on one node"),
        pytest.param(1, 1, 6, id="the cheap edge in the middle splits them evenly"),
        pytest.param(1, 0, 4 + 7, id="a cheap edge at the end leaves too much for one node"),
        pytest.param(2, 0, 4 + 7 + 7 + 2, id="each task is alone"),
    ],
)
def test_memory_that_forces_cuts_pays_for_them(memory: float, cut: int, expected: int) -> None:
    """Where a chain does not fit on a node, its data has to pass, as often as needed."""
    graph = CommGraph.of(_chain(memory, cut))
    paths = cut_paths(node_table(graph))
    assert paths is not None
    assert paths.value == expected


@pytest.mark.parametrize(
    ("memory", "lag", "data", "expected"),
    [
        pytest.param(1, 3, 7, 1 + 3 + 1, id="together: the lag alone"),
        pytest.param(2, 3, 7, 1 + 3 + 7 + 1, id="apart: lag and data"),
        pytest.param(2, 0, 1, 1 + 1 + 1, id="apart: one tick of data"),
    ],
)
def test_a_cut_waits_for_lag_and_data(memory: float, lag: int, data: int, expected: int) -> None:
    """A bound that forgets a lag or a tick still holds, but proves less than it could."""
    problem = DagProblem(
        tasks=[Task(id=name, work=1, memory=memory) for name in "ab"],
        edges=[Edge(source="a", target="b", data=data, min_lag=lag)],
        nodes=[Node(id=name, memory=2) for name in "xy"],
    )
    graph, nothing = CommGraph.of(problem), np.zeros(2, np.int64)
    for table in (node_table(graph), plain_table(graph, nothing, nothing)):
        paths = cut_paths(table)
        assert paths is not None
        assert paths.value == expected


def test_tasks_that_share_a_node_are_one_item() -> None:
    """Colocated ends of a chain leave no memory for its middle, which pays twice."""
    problem = DagProblem(
        tasks=[Task(id=n, work=1, memory=1, colocate="p" if n in "ac" else None) for n in "abc"],
        edges=[Edge(source="a", target="b", data=5), Edge(source="b", target="c", data=5)],
        nodes=[Node(id=name, memory=2) for name in "xy"],
    )
    paths = cut_paths(node_table(CommGraph.of(problem)))
    assert paths is not None
    assert paths.value == 3 + 5 + 5


def test_dear_data_puts_tasks_together() -> None:
    """A length that no message fits into leaves one node for both, and nothing where it is slow."""
    problem = DagProblem(
        tasks=[Task(id="a", work=4), Task(id="b", work=4)],
        edges=[Edge(source="a", target="b", data=9)],
        nodes=[Node(id="x", speed=2), Node(id="y")],
    )
    left = narrow(node_table(CommGraph.of(problem)), 7, lambda: False)
    assert left is not None
    assert left.graph.group.tolist() == [0, 0]
    assert left.possible.tolist() == [[True, False], [True, False]]


def test_large_graphs_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where pairs of tasks are too many, the table stays as it is."""
    table = node_table(CommGraph.of(generate("layered", tasks=30, seed=1)))
    assert cuts.is_affordable(table.graph)
    monkeypatch.setattr(cuts, "_OPERATIONS", 0)
    assert not cuts.is_affordable(table.graph)
    length = 2 * table.value
    left = narrow(table, length, lambda: False)
    assert left is not None
    assert (left.head <= node_table(table.graph).head).all()


def test_a_stop_leaves_no_half_of_the_times() -> None:
    """Times of some pairs only could be read as if all were there."""
    table = node_table(CommGraph.of(generate("layered", tasks=30, seed=1)))
    assert cut_paths(table, lambda: True) is None


def _printed(seed: int) -> str:
    """Return the times of an instance as text."""
    paths = cut_paths(node_table(CommGraph.of(_mixed(seed))))
    return "" if paths is None else repr((paths.gap.tolist(), paths.head.tolist(), paths.value))


def test_compiled_and_plain_loops_agree(tmp_path: Path) -> None:
    """The bound does not depend on whether a compiler was there."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    script += "import test_cut_paths as own; print([own._printed(seed) for seed in range(30)])"
    printed = [
        subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_DISABLE_JIT": plain},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for plain in ("0", "1")
    ]
    assert printed[0] == printed[1] != ""
