"""Generated task graphs have the shape, the machines and the ratio that were asked for."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from graphlib import TopologicalSorter

import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.instances.generators.task_graphs import TASK_GRAPHS
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.exact import exact

NAMES = [row.name for row in TASK_GRAPHS]
KINDS = ["identical", "related", "unrelated"]
families = pytest.mark.parametrize("family", NAMES)
kinds = pytest.mark.parametrize("kind", KINDS)


def mean(values: list[Fraction]) -> Fraction:
    """Return the mean."""
    return sum(values, Fraction(0)) / len(values)


def measured_ratio(problem: DagProblem) -> float:
    """Return mean data / bandwidth over mean duration, from the data in input units."""
    durations = [
        exact(problem.durations[task.id][node.id])
        if task.id in problem.durations
        else exact(task.work or 0) / exact(node.speed)
        for task in problem.tasks
        for node in problem.nodes
    ]
    per_unit = [1 / exact(link.bandwidth or 1) for link in problem.links] or [Fraction(1)]
    transfers = mean([exact(edge.data) for edge in problem.edges]) * mean(per_unit)
    return float(transfers / mean(durations))


def degrees(problem: DagProblem) -> tuple[Counter[int], Counter[int]]:
    """Return the numbers of successors and of predecessors."""
    arrays = problem.arrays
    return Counter(arrays.edge_source.tolist()), Counter(arrays.edge_target.tolist())


@families
@kinds
@pytest.mark.parametrize("ccr", [0.1, 1.0, 10.0])
def test_ratio_is_met(family: str, kind: str, ccr: float) -> None:
    """The measure of the literature, within the rounding of data."""
    problem = generate(
        family, tasks=60, seed=4, ccr=ccr, node_kind=kind, links="different", nodes=5
    )
    assert measured_ratio(problem) == pytest.approx(ccr, rel=0.04)


@families
@kinds
def test_grid_stays_coarse(family: str, kind: str) -> None:
    """Durations are integers and data few decimals, so that exact solvers get small numbers."""
    problem = generate(family, tasks=40, seed=1, node_kind=kind, links="different")
    assert problem.arrays.tick.numerator == 1
    assert problem.arrays.tick.denominator in (1, 2, 5, 10)
    assert (problem.arrays.mode_duration * problem.arrays.tick.numerator > 0).all()


@families
@pytest.mark.parametrize("tasks", [0, 1, 2, 3, 4, 5, 17, 100])
def test_arcs_lead_upward_once(family: str, tasks: int) -> None:
    """Acyclic, without repetition, at every size."""
    problem = generate(family, tasks=tasks, seed=2)
    pairs = list(
        zip(problem.arrays.edge_source.tolist(), problem.arrays.edge_target.tolist(), strict=True)
    )
    assert all(i < j for i, j in pairs)
    assert len(pairs) == len(problem.edges) == len(set(pairs))


def test_no_communication() -> None:
    """A ratio of nought leaves plain precedence."""
    assert not generate("layered", tasks=20, seed=1, ccr=0).arrays.communicates


@kinds
def test_kinds_of_nodes(kind: str) -> None:
    """Identical nodes have one speed, related ones several, unrelated ones a table."""
    problem = generate("stencil", tasks=30, seed=3, node_kind=kind, nodes=8)
    assert (len({node.speed for node in problem.nodes}) > 1) == (kind == "related")
    assert (len(problem.durations) == 30) == (kind == "unrelated")
    assert all(exact(task.work or 0).denominator == 1 for task in problem.tasks)


def test_links_of_their_own() -> None:
    """Every pair of nodes has a latency within its range and one of three bandwidths."""
    problem = generate("lu", tasks=10, seed=3, nodes=6, links="different", max_latency=4)
    assert len(problem.links) == 15
    assert {exact(link.latency) for link in problem.links} <= set(range(1, 5))
    assert {exact(link.bandwidth or 0) for link in problem.links} == {Fraction(1, 2), 1, 2}
    assert generate("lu", tasks=10, seed=3).links == ()


@kinds
def test_eligibility(kind: str) -> None:
    """About the stated share of the pairs is allowed, and every task may run somewhere."""
    problem = generate("fork", tasks=200, seed=3, nodes=10, node_kind=kind, eligible=0.3)
    modes = problem.arrays.mode_offset
    allowed = modes[1:] - modes[:-1]
    assert allowed.min() >= 1
    assert 0.25 < allowed.mean() / 10 < 0.35


def test_slots() -> None:
    """Nodes run as many tasks at once as asked."""
    assert generate("fork", tasks=5, seed=0, slots=3).arrays.node_slots.tolist() == [3] * 4


def test_simple_shapes() -> None:
    """Forks, joins and both."""
    out, into = degrees(generate("fork", tasks=9, seed=0))
    assert (out, max(into.values())) == ({0: 8}, 1)
    out, into = degrees(generate("join", tasks=9, seed=0))
    assert (into, max(out.values())) == ({8: 8}, 1)
    out, into = degrees(generate("fork_join", tasks=9, seed=0))
    assert (out[0], into[8], sum(out.values())) == (7, 7, 14)


@pytest.mark.parametrize("degree", [1, 2, 5])
def test_trees(degree: int) -> None:
    """n - 1 arcs, one parent each, no more children than allowed; in-trees the other way."""
    out, into = degrees(generate("out_tree", tasks=50, seed=5, degree=degree))
    assert sorted(into) == list(range(1, 50))
    assert set(into.values()) == {1}
    assert max(out.values()) <= degree
    out, into = degrees(generate("in_tree", tasks=50, seed=5, degree=degree))
    assert set(out.values()) == {1}
    assert max(into.values()) <= degree


def reduced(problem: DagProblem) -> set[tuple[int, int]]:
    """Shrink a two-terminal graph by series and parallel steps; one arc is left if it can be."""
    arcs = set(
        zip(problem.arrays.edge_source.tolist(), problem.arrays.edge_target.tolist(), strict=True)
    )
    for task in range(1, len(problem.tasks) - 1):
        before = [i for i, j in arcs if j == task]
        after = [j for i, j in arcs if i == task]
        if len(before) == len(after) == 1:
            arcs -= {(before[0], task), (task, after[0])}
            arcs.add((before[0], after[0]))
            return reduced_arcs(arcs)
    return arcs


def reduced_arcs(arcs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Contract inner tasks with one arc in and one arc out until there is none."""
    while True:
        ins, outs = Counter(j for _, j in arcs), Counter(i for i, _ in arcs)
        task = next((t for t in ins if ins[t] == outs[t] == 1), None)
        if task is None:
            return arcs
        before = next(i for i, j in arcs if j == task)
        after = next(j for i, j in arcs if i == task)
        arcs = (arcs - {(before, task), (task, after)}) | {(before, after)}


@pytest.mark.parametrize("seed", range(5))
def test_series_parallel_graphs_reduce_to_one_arc(seed: int) -> None:
    """The characterization of Valdes, Tarjan and Lawler (1982)."""
    assert len(reduced(generate("series_parallel", tasks=30, seed=seed))) == 1


def test_layers() -> None:
    """Tasks have at most ``degree`` predecessors; only the first layer has none."""
    problem = generate("layered", tasks=400, seed=1, degree=4)
    _, into = degrees(problem)
    assert max(into.values()) <= 4
    assert 1 < 400 - len(into) < 60
    depth: dict[int, int] = {}
    graph: dict[int, set[int]] = {i: set() for i in range(400)}
    for i, j in zip(problem.arrays.edge_source, problem.arrays.edge_target, strict=True):
        graph[int(j)].add(int(i))
    for task in TopologicalSorter(graph).static_order():
        depth[task] = 1 + max((depth[i] for i in graph[task]), default=0)
    assert 10 <= max(depth.values()) <= 20


@pytest.mark.parametrize(("family", "tasks"), [("lu", 55), ("cholesky", 35)])
def test_factorizations(family: str, tasks: int) -> None:
    """5 x 5 tiles: known numbers of tasks and edges, one task first and one last."""
    problem = generate(family, tasks=tasks, seed=1)
    out, into = degrees(problem)
    assert [i for i in range(tasks) if not into[i]] == [0]
    assert [i for i in range(tasks) if not out[i]] == [tasks - 1]
    assert len(problem.edges) == {"lu": 110, "cholesky": 60}[family]
    works = Counter(exact(task.work or 0) for task in problem.tasks)
    unit = min(works) / {"lu": 2, "cholesky": 1}[family]
    assert {int(work / unit): count for work, count in works.items()} == {
        "lu": {2: 5, 3: 20, 6: 30},
        "cholesky": {1: 5, 3: 20, 6: 10},
    }[family]


def test_stencil() -> None:
    """A cell in the middle has three neighbours, at the rim two."""
    problem = generate("stencil", tasks=25, seed=0)
    _, into = degrees(problem)
    assert [into[j] for j in range(25)] == [0] * 5 + [2, 3, 3, 3, 2] * 4


def test_mapreduce() -> None:
    """Every reducer needs every map."""
    out, into = degrees(generate("mapreduce", tasks=20, seed=0, reducers=5))
    assert out[0] == 13
    assert [into[j] for j in range(14, 19)] == [13] * 5
    assert into[19] == 5


def test_pipeline() -> None:
    """A micro-batch goes forward through all layers and back, twice as slowly."""
    problem = generate("pipeline", tasks=12, seed=0, layers=3)
    pairs = set(
        zip(problem.arrays.edge_source.tolist(), problem.arrays.edge_target.tolist(), strict=True)
    )
    batch = {(0, 1), (1, 2), (2, 3), (3, 4), (1, 4), (4, 5), (0, 5)}
    assert pairs == batch | {(i + 6, j + 6) for i, j in batch}
    works = [exact(task.work or 0) for task in problem.tasks]
    assert [work / works[0] for work in works] == [1, 1, 1, 2, 2, 2] * 2


def test_cut_graphs_keep_their_beginning() -> None:
    """A smaller factorization of the same tiles is the beginning of the larger one."""
    small, large = (generate("lu", tasks=n, seed=1) for n in (40, 50))
    arcs = [
        set(zip(p.arrays.edge_source.tolist(), p.arrays.edge_target.tolist(), strict=True))
        for p in (small, large)
    ]
    assert arcs[0] == {(i, j) for i, j in arcs[1] if j < 40}


def test_settings_of_the_family_are_checked() -> None:
    """Own and common settings are refused alike."""
    for family, wrong in itertools.product(("fork", "lu"), ("degree", "layers")):
        with pytest.raises(UsageError, match="no setting"):
            generate(family, tasks=3, seed=0, **{wrong: 2})
    with pytest.raises(UsageError, match="node_kind"):
        generate("fork", tasks=3, seed=0, node_kind="alike")
