"""Node tables never exceed the optimum; annealing obeys every rule and repeats its bytes."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.anneal_chain import Chain, Cooling, sites_of
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import heads, tails
from allocsolve.models.dag.check import check
from allocsolve.models.dag.comm_tables import node_table
from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_build import Builder
from allocsolve.models.dag.node_windows import NEVER, NodeTable, NodeWindow, plain_table
from allocsolve.models.dag.problem import DagProblem

Draw = Callable[[str, int], DagProblem]
Optimal = Callable[[DagProblem], Schedule | None]

FAMILIES = ("related", "unrelated", "eligible", "linked", "packed")
DRAWN = 60


def _plain(graph: CommGraph) -> NodeTable:
    head, tail = heads(graph.problem), tails(graph.problem)
    assert head is not None
    assert tail is not None
    return plain_table(graph, head, tail)


@pytest.mark.parametrize("family", FAMILIES)
def test_tables_never_exceed_an_optimal_schedule(
    draw_cluster: Draw, optimal_schedule: Optimal, family: str
) -> None:
    """Head, tail and the sum through every task hold for the optimum of brute force."""
    for seed in range(DRAWN):
        problem = draw_cluster(family, seed)
        schedule = optimal_schedule(problem)
        graph = CommGraph.of(problem)
        for table in (node_table(graph), _plain(graph)):
            if schedule is None:
                continue
            start: IntArray = schedule.start
            node = problem.arrays.mode_node[schedule.mode]
            tasks = np.arange(graph.n)
            end = start + graph.duration[tasks, node]
            makespan = int(end.max(initial=0))
            assert (table.head[tasks, node] <= start).all(), seed
            assert (table.tail[tasks, node] <= makespan - end).all(), seed
            assert table.value <= makespan, seed


def test_a_table_says_where_no_schedule_exists() -> None:
    """Data for a task on another node without a link leaves no place for it."""
    from allocsolve.models.dag.data import Edge, Link, Node, Task

    problem = DagProblem(
        tasks=[Task(id="a", work=1, eligible=["x"]), Task(id="b", work=1, eligible=["y"])],
        edges=[Edge(source="a", target="b", data=1)],
        nodes=[Node(id="x"), Node(id="y")],
        links=[Link(between=("x", "y"), bandwidth=0)],
    )
    assert node_table(CommGraph.of(problem)).value >= NEVER


def test_local_predecessors_run_one_after_another() -> None:
    """Three predecessors of a join with dear data share its node: 3 + 1, not 1 + 1."""
    from allocsolve.models.dag.data import Edge, Node, Task

    problem = DagProblem(
        tasks=[Task(id=name, work=1) for name in "abcz"],
        edges=[Edge(source=name, target="z", data=9) for name in "abc"],
        nodes=[Node(id="x"), Node(id="y")],
    )
    assert node_table(CommGraph.of(problem)).value == 4


def test_many_pairs_of_nodes_are_thinned_but_stay_right(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the least delay to each node heads are lower, never higher."""
    from allocsolve.models.dag import comm_tables

    graph = CommGraph.of(generate("layered", tasks=60, seed=1, node_kind="unrelated", nodes=5))
    exact = node_table(graph)
    monkeypatch.setattr(comm_tables, "_THOROUGH", 0)
    thin = node_table(graph)
    assert (thin.head <= exact.head).all()
    assert (thin.tail <= exact.tail).all()
    assert 0 < thin.value <= exact.value


def test_a_stopped_table_is_lower() -> None:
    """What was not reached when the time was over is a trivial bound."""
    graph = CommGraph.of(generate("layered", tasks=30, seed=1, node_kind="related"))
    assert node_table(graph, lambda: True).value <= node_table(graph).value


def test_a_window_holds_the_tasks_between_its_head_and_tail() -> None:
    """Only tasks that start late enough and leave enough behind them count."""
    table = node_table(CommGraph.of(generate("layered", tasks=30, seed=1, node_kind="related")))
    inside = NodeWindow(1, 10, 20).inside(table)
    assert inside.tolist() == ((table.head[:, 1] >= 10) & (table.tail[:, 1] >= 20)).tolist()


@pytest.mark.parametrize("family", FAMILIES)
def test_annealing_obeys_every_rule(draw_cluster: Draw, family: str) -> None:
    """The checker accepts the best state, which has the makespan that the kernel claims."""
    for seed in range(30):
        problem = draw_cluster(family, seed)
        graph = CommGraph.of(problem)
        start = Builder(graph).build("heft")
        if start is None:
            continue
        table = node_table(graph)
        chain = Chain(sites_of(graph, np.where(table.possible, table.tail, 0)), start, seed)
        chain.cool(Cooling(3.0, 0.1, 300), 0, lambda: False)
        best = chain.best()
        assert best.makespan == chain.value <= start.makespan, seed
        assert check(problem, best.schedule().entries()).valid, seed


def test_tasks_without_length_count_wherever_they_stand() -> None:
    """They are on no slot, so the ends of the slots do not tell when the last of them ends."""
    problem = DagProblem(
        tasks=[Task(id="z", work=0, release=50), *(Task(id=name, work=1) for name in "abcdefgh")],
        nodes=[Node(id="x"), Node(id="y")],
    )
    graph = CommGraph.of(problem)
    start = Builder(graph).build("heft")
    assert start is not None
    chain = Chain(sites_of(graph), start, 0)
    chain.cool(Cooling(3.0, 0.1, 2000), 0, lambda: False)
    assert chain.value == chain.best().makespan == 50


def _digest(seed: int) -> str:
    """Return a digest of a run of annealing that is short also as plain Python."""
    graph = CommGraph.of(generate("layered", tasks=12, seed=2, node_kind="unrelated", nodes=3))
    start = Builder(graph).build("heft")
    assert start is not None
    chain = Chain(sites_of(graph, node_table(graph).tail), start, seed)
    chain.cool(Cooling(30.0, 1.0, 100), 0, lambda: False)
    state = chain.state
    parts = (state.order, state.node, state.end, state.best_order, state.random, state.field)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def test_compiled_and_plain_annealing_give_the_same_bytes(tmp_path: Path) -> None:
    """Order, nodes, ends and the generator agree, with the compiler and without."""
    script = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
    script += "import test_node_tables as own; print(own._digest(3))"
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


def test_seeds_lead_different_ways_and_repeat() -> None:
    """The same seed gives the same bytes, another one does not."""
    assert _digest(3) == _digest(3) != _digest(4)


def test_tails_do_not_change_what_is_accepted() -> None:
    """Cutting a decoding short by tails refuses only what would be refused anyway."""
    graph = CommGraph.of(generate("layered", tasks=25, seed=2, node_kind="unrelated", nodes=3))
    start = Builder(graph).build("heft")
    assert start is not None
    values = []
    for tail in (None, node_table(graph).tail):
        chain = Chain(sites_of(graph, tail), start, 5)
        chain.cool(Cooling(30.0, 1.0, 2000), 0, lambda: False)
        values.append((chain.value, chain.state.node.tolist(), chain.state.random.tolist()))
    assert values[0] == values[1]
