"""Method ``communication`` proves the optimum of communicating tasks on identical nodes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.comm_bounds import ClusterBounds
from allocsolve.models.dag.comm_cpsat import Decision, decide_fork, decide_schedule
from allocsolve.models.dag.comm_identical import Identical, identical_nodes
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.star import Fork, fork_of
from allocsolve.models.result import Status, Termination
from allocsolve.solvers.control import Control, Limits, Token
from allocsolve.solvers.dag import communication
from allocsolve.solvers.dag.questions import Questions
from allocsolve.solvers.dag.star import solve_fork
from allocsolve.solvers.engines.cpsat import EngineStatus, run

Draw: TypeAlias = Callable[..., DagProblem]
Optimum: TypeAlias = Callable[[DagProblem], int | None]

CLASSIC = [
    pytest.param("classic/Nodes_7_OutTree.dot", 2, 28, id="tree of 7 on 2"),
    pytest.param("classic/Nodes_7_OutTree.dot", 4, 22, id="tree of 7 on 4"),
    pytest.param("classic/Nodes_9_SeriesParallel.dot", 2, 55, id="series-parallel of 9 on 2"),
    pytest.param("classic/Nodes_9_SeriesParallel.dot", 4, 55, id="series-parallel of 9 on 4"),
    pytest.param("classic/Nodes_11_OutTree.dot", 2, 350, id="tree of 11 on 2"),
    pytest.param("classic/Nodes_11_OutTree.dot", 4, 227, id="tree of 11 on 4"),
]
WITHOUT_DATA = [
    pytest.param("robot.stg", 8, 569, id="robot on 8"),
    pytest.param("robot.stg", 16, 569, id="robot on 16"),
    pytest.param("fpppp.stg", 8, 1062, id="fpppp on 8"),
    pytest.param("fpppp.stg", 16, 1062, id="fpppp on 16"),
]


def _lists(problem: DagProblem) -> Identical:
    instance = identical_nodes(problem)
    assert instance is not None
    return instance


def _fork(problem: DagProblem) -> Fork:
    fork = fork_of(_lists(problem))
    assert fork is not None
    return fork


def _never() -> bool:
    return False


def _go_on() -> None:
    """Do nothing."""


def _decided(decision: Decision) -> tuple[list[int], list[int]] | None:
    """Return what a model finds, None if it proves that there is nothing."""
    found: list[tuple[list[int], list[int]]] = []
    control: Control[allocsolve.Schedule] = Control(Limits())
    report = run(
        decision.model,
        control,
        lambda value_of: found.append(decision.decode(value_of)),
        {"symmetry_level": 0},
    )
    assert report.status is (EngineStatus.OPTIMAL if found else EngineStatus.INFEASIBLE)
    return found[-1] if found else None


@pytest.mark.parametrize("seed", range(200))
def test_decisions_agree_with_brute_force(
    draw_identical: Draw, optimum: Optimum, seed: int
) -> None:
    """A schedule of the optimal length exists, and none that is one tick shorter."""
    problem = draw_identical(seed)
    best = optimum(problem)
    assert best is not None
    bounds = ClusterBounds(_lists(problem))
    shortest = _decided(decide_schedule(bounds, best, _go_on))
    assert shortest is not None
    schedule = bounds.instance.graph.to_schedule(*shortest)
    assert schedule.makespan == best
    assert allocsolve.check(problem, schedule).valid
    assert _decided(decide_schedule(bounds, best - 1, _go_on)) is None


@pytest.mark.parametrize("seed", range(120))
def test_the_method_proves_the_optimum(draw_identical: Draw, optimum: Optimum, seed: int) -> None:
    """All parts together: a checked schedule of the optimal length, with proof."""
    problem = draw_identical(1000 + seed)
    result = allocsolve.solve(problem, method="communication", threads=1, time_limit=None)
    assert result.status is Status.OPTIMAL
    assert result.schedule.makespan == optimum(problem)


@pytest.mark.parametrize("shape", ["fork", "join"])
@pytest.mark.parametrize("seed", range(60))
def test_forks_and_joins_by_loads(
    draw_identical: Draw, optimum: Optimum, seed: int, shape: str
) -> None:
    """The dynamic programme and the placement model both find the optimum."""
    problem = draw_identical(seed, shape)
    fork, best = _fork(problem), optimum(problem)
    assert best is not None
    answer = solve_fork(fork, best + 1, _never)
    assert answer.least == best
    assert answer.places is not None
    schedule = fork.instance.graph.to_schedule(*fork.schedule(answer.places))
    assert schedule.makespan == best
    assert allocsolve.check(problem, schedule).valid


@pytest.mark.parametrize("shape", ["fork", "join"])
@pytest.mark.parametrize("seed", range(30))
def test_placements_of_leaves_agree(draw_identical: Draw, seed: int, shape: str) -> None:
    """Where the states become too many, CP-SAT places the leaves: the same answers."""
    problem = draw_identical(seed, shape)
    fork = _fork(problem)
    best = solve_fork(fork, 10**6, _never).least
    places = _decided(decide_fork(fork, best))
    assert places is not None
    assert fork.instance.graph.to_schedule(*places).makespan == best
    assert _decided(decide_fork(fork, best - 1)) is None


def test_a_cutoff_ends_the_dynamic_programme() -> None:
    """Nothing shorter than a known schedule: that is all the method wants to know."""
    problem = generate("fork", tasks=12, seed=3, nodes=3)
    best = solve_fork(_fork(problem), 10**9, _never)
    again = solve_fork(_fork(problem), best.least, _never)
    assert (again.least, again.places) == (best.least, None)


def test_too_many_states_leave_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is proven before the table grows too large holds; CP-SAT finishes the fork."""
    problem = generate("fork", tasks=12, seed=3, nodes=3)
    least = solve_fork(_fork(problem), 10**9, _never).least
    monkeypatch.setattr("allocsolve.solvers.dag.star._MOST_STATES", 2)
    answer = solve_fork(_fork(problem), 10**9, _never)
    assert answer.places is None
    assert answer.least <= least
    result = allocsolve.solve(problem, method="communication", threads=1, time_limit=None)
    assert result.status is Status.OPTIMAL
    assert result.schedule.makespan == least


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"nodes": [Node(id="a", slots=2), Node(id="b", slots=2)]}, id="slots"),
        pytest.param({"edges": [Edge(source="c", target="x", min_lag=1)]}, id="lag"),
        pytest.param({"edges": [Edge(source="x", target="c")]}, id="chain"),
    ],
)
def test_what_is_no_plain_fork_is_not_taken_for_one(changes: dict[str, object]) -> None:
    """The knapsack argument needs one slot a node, no releases and no lags."""
    problem = DagProblem(
        tasks=[Task(id=name, work=2) for name in "cxy"],
        edges=[Edge(source="c", target="x"), Edge(source="c", target="y")],
        nodes=[Node(id="a"), Node(id="b")],
    )
    assert fork_of(_lists(problem)) is not None
    if "edges" in changes:
        changes = {"edges": [*changes["edges"], Edge(source="c", target="y")]}  # type: ignore[misc]  # a list in these rows
    assert fork_of(_lists(problem.replace(**changes))) is None


def test_questions_push_the_bound_when_time_runs_out() -> None:
    """A question left open must not be the end: shorter lengths are refuted meanwhile."""
    problem = generate("out_tree", tasks=40, seed=1, nodes=8, ccr=5.0)
    bounds = ClusterBounds(_lists(problem))
    control: Control[allocsolve.Schedule] = Control(Limits(time.monotonic() + 2.0))
    control.raise_bound(lower_bounds(problem)[0])
    first = control.bound
    serial = bounds.instance.graph.to_schedule(*_one_after_another(bounds.instance))
    control.offer(serial, serial.makespan, "test")
    Questions(bounds, None, control, {"symmetry_level": 0}).ask_all()
    assert first is not None
    assert control.bound is not None
    assert control.value is not None
    assert first.value <= control.bound.value <= control.value < serial.makespan


def _one_after_another(instance: Identical) -> tuple[list[int], list[int]]:
    start, now = [0] * instance.n, 0
    for task in instance.order:
        start[task] = now
        now += instance.work[task]
    return start, [0] * instance.n


def test_a_cancelled_run_keeps_its_answer() -> None:
    """The token ends the run wherever it is."""
    token = Token()
    problem = generate("out_tree", tasks=60, seed=1, nodes=8, ccr=5.0)
    begin = time.monotonic()
    result = allocsolve.solve(
        problem,
        method="communication",
        time_limit=60,
        token=token,
        on_incumbent=lambda _: token.cancel(),
    )
    assert result.termination is Termination.INTERRUPTED
    assert result.status is Status.FEASIBLE
    assert time.monotonic() - begin < 20


def test_the_same_seed_gives_the_same_schedule() -> None:
    """With one thread and no limit in the way nothing depends on the clock."""
    problem = generate("layered", tasks=15, seed=2, nodes=3)
    first, second = (
        allocsolve.solve(problem, method="communication", threads=1, time_limit=None, seed=5)
        for _ in range(2)
    )
    assert first.deterministic
    assert first.schedule.start.tolist() == second.schedule.start.tolist()
    assert first.schedule.mode.tolist() == second.schedule.mode.tolist()


def test_nodes_that_differ_are_solved_too() -> None:
    """The general search takes over, with the same promises."""
    problem = generate("layered", tasks=8, seed=1, nodes=2, node_kind="related")
    result = allocsolve.solve(problem, method="communication", threads=1, time_limit=None)
    assert result.status is Status.OPTIMAL


def test_auto_takes_this_method_for_identical_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever names no method gets the one that proves."""
    calls: list[str] = []
    whole = communication.search

    def noted(*arguments: object) -> object:
        calls.append("search")
        return whole(*arguments)  # type: ignore[arg-type]  # handed on as they came

    monkeypatch.setattr(communication, "search", noted)
    problem = generate("layered", tasks=12, seed=1, nodes=3)
    assert allocsolve.solve(problem, threads=1, time_limit=None).status is Status.OPTIMAL
    assert calls == ["search"]


def test_models_too_large_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Large instances go to the search that scales."""
    problem = generate("out_tree", tasks=40, seed=1, nodes=8, ccr=5.0)
    assert communication.suited(problem) is not None
    monkeypatch.setattr(communication, "_LARGEST_MODEL", 0)
    assert communication.suited(problem) is None
    result = allocsolve.solve(problem, method="communication", time_limit=1, threads=1)
    assert result.answer is not None


def test_an_open_run_ends_by_its_time_limit() -> None:
    """The method is exact: without a proof only a limit can have ended it."""
    problem = generate("out_tree", tasks=120, seed=1, nodes=8, ccr=5.0)
    result = allocsolve.solve(problem, method="communication", time_limit=1.5, threads=1)
    assert (result.status, result.termination) == (Status.FEASIBLE, Termination.TIME_LIMIT)
    assert not result.deterministic


@pytest.mark.parametrize(("name", "nodes", "expected"), CLASSIC)
def test_classic_graphs(benchmarks_dir: Path, name: str, nodes: int, expected: int) -> None:
    """Lengths of graphs used in courses, from the literature."""
    problem = allocsolve.read(benchmarks_dir / "dag/commdelay" / name, nodes=nodes, kind="dag")
    result = allocsolve.solve(problem, method="communication", threads=2, time_limit=None)
    assert (result.status, result.objective.value) == (Status.OPTIMAL, expected)


@pytest.mark.parametrize(("name", "nodes", "expected"), WITHOUT_DATA)
def test_graphs_without_data(benchmarks_dir: Path, name: str, nodes: int, expected: int) -> None:
    """Known lengths of large graphs without communication, which the critical path fixes."""
    problem = allocsolve.read(benchmarks_dir / "dag/stg" / name, nodes=nodes, kind="dag")
    result = allocsolve.solve(problem, method="communication", threads=2, time_limit=None)
    assert (result.status, result.objective.value) == (Status.OPTIMAL, expected)
