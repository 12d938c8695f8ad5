"""Large neighbourhood search: parts hold what they should, and no answer gets worse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.arrays import BoolArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_hetero_cpsat import build
from allocsolve.models.dag.comm_tables import node_table
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_build import Builder, Placement
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.kernels import KernelSet
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Control, Limits, Outcome, Proof, Token
from allocsolve.solvers.dag import lns_search
from allocsolve.solvers.dag.lns_choice import OPERATORS, Choice, Chooser, critical_path
from allocsolve.solvers.dag.lns_part import chains, part_of
from allocsolve.solvers.engines.cpsat import EngineStatus, run

Draw = Callable[[str, int], DagProblem]
Optimum = Callable[[DagProblem], int | None]
Solve = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge = Callable[[Schedule | None], None]

FAMILIES = ("related", "unrelated", "eligible", "linked", "packed")


def _first(problem: DagProblem) -> Placement | None:
    return Builder(CommGraph.of(problem)).build("heft")


def _freed(placement: Placement, seed: int) -> BoolArray:
    """Free about half of the tasks, and all that share a node with one of them."""
    graph = placement.graph
    free = np.random.default_rng(seed).random(graph.n) < 0.5
    free |= np.isin(graph.group, np.unique(graph.group[free & (graph.group >= 0)]))
    return free


def _best(part: CommGraph, length: int) -> Placement | None:
    """Return the shortest schedule of a part, None if all are longer than ``length``."""
    formulation = build(node_table(part), length)
    found: list[Placement] = []
    control: Control[object] = Control(Limits())

    def accept(value_of: Callable[..., int]) -> None:
        found.append(Placement(part, *map(np.array, formulation.decode(value_of))))

    report = run(formulation.model, control, accept, {})
    assert report.status in (EngineStatus.OPTIMAL, EngineStatus.INFEASIBLE)
    return found[-1] if found else None


@pytest.mark.parametrize("family", FAMILIES)
def test_a_part_holds_its_schedule_and_keeps_what_is_not_freed(
    draw_cluster: Draw, optimum: Optimum, judge: Judge, family: str
) -> None:
    """Its best schedule is between the whole optimum and the start; kept tasks stay in order."""
    for seed in range(30):
        problem = draw_cluster(family, seed)
        start = _first(problem)
        if start is None:
            continue
        free = _freed(start, seed)
        best = _best(part_of(start, free), start.makespan)
        assert best is not None, seed
        assert (optimum(problem) or 0) <= best.makespan <= start.makespan, seed
        judge(start.graph.to_schedule(best.start, best.node))
        assert (best.node[~free] == start.node[~free]).all(), seed
        for before, after in chains(start, ~free):
            length = start.graph.duration[before, best.node[before]]
            assert best.start[after] >= best.start[before] + length, seed


@pytest.mark.parametrize("family", FAMILIES)
def test_a_part_without_kept_tasks_is_the_whole(
    draw_cluster: Draw, optimum: Optimum, family: str
) -> None:
    """Freeing everything leaves the optimum in it."""
    for seed in range(20):
        problem = draw_cluster(family, seed)
        start = _first(problem)
        if start is None:
            continue
        best = _best(part_of(start, np.ones(start.graph.n, np.bool_)), start.makespan)
        assert best is not None
        assert best.makespan == optimum(problem), seed


def test_the_order_of_kept_tasks_is_one_chain_for_each_slot() -> None:
    """Four tasks of one length on two slots are two chains of two, not one of four."""
    problem = DagProblem(
        tasks=[Task(id=name, work=2) for name in "abcd"],
        edges=[Edge(source="a", target="c", data=1)],
        nodes=[Node(id="x", slots=2)],
    )
    graph = CommGraph.of(problem)
    placement = Placement(graph, np.array([0, 0, 2, 2]), np.zeros(4, np.int64))
    pairs = sorted(chains(placement, np.ones(4, np.bool_)))
    assert sorted(before for before, _ in pairs) == [0, 1]
    assert sorted(after for _, after in pairs) == [2, 3]
    part = part_of(placement, np.zeros(4, np.bool_))
    ends = list(zip(part.edge_source.tolist(), part.edge_target.tolist(), strict=True))
    assert len(ends) == len(set(ends))  # an edge that is there already is not added again


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_free_as_many_tasks_as_they_are_asked_for(name: str) -> None:
    """Tasks twice, or more than the size, would make a round larger than what it learnt from."""
    import random

    problem = generate("layered", tasks=30, seed=2, node_kind="unrelated", ccr=1)
    placement = _first(problem)
    assert placement is not None
    for size in (6, 12, 30):
        tasks = OPERATORS[name](placement, size, random.Random(size)).tolist()
        assert 0 < len(tasks) <= size
        assert len(set(tasks)) == len(tasks)


def test_tasks_that_share_a_node_are_freed_together(draw_cluster: Draw) -> None:
    """One of them alone could not move, and the part would contradict itself."""
    for seed in range(20):
        placement = _first(draw_cluster("packed", seed))
        if placement is None:
            continue
        group = placement.graph.group
        chooser = Chooser(placement.graph, seed)
        for _ in range(5):
            _, free = chooser.draw(placement)
            for label in range(int(group.max(initial=-1)) + 1):
                assert len(set(free[group == label].tolist())) <= 1


def test_an_operator_learns_its_size_and_weight() -> None:
    """What was searched completely may be larger, what was not must be smaller."""
    choice = Choice("window", size=20.0)
    choice.learn(is_better=False, is_complete=True)
    grown, weight = choice.size, choice.weight
    assert grown > 20.0
    assert weight < 1.0
    choice.learn(is_better=False, is_complete=False)
    assert choice.size < grown
    weight = choice.weight
    choice.learn(is_better=True, is_complete=False)
    assert choice.weight > weight


def test_the_critical_path_fixes_the_makespan() -> None:
    """Each task of it starts when the one before it lets it, and the last one ends last."""
    problem = generate("layered", tasks=40, seed=1, node_kind="related", ccr=1, links="different")
    placement = _first(problem)
    assert placement is not None
    path = critical_path(placement)
    end = placement.start + placement.graph.duration[np.arange(40), placement.node]
    assert end[path[-1]] == placement.makespan
    assert placement.start[path[0]] == placement.graph.release[path[0]]
    assert (np.diff(placement.start[path]) >= 0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_the_method_is_right(
    draw_cluster: Draw, optimum: Optimum, solve: Solve, judge: Judge, family: str
) -> None:
    """Its schedules pass the checker, and it proves what brute force finds, where it proves."""
    for seed in range(15):
        problem = draw_cluster(family, seed)
        options = {"coolings": "0", "rounds": "3"}
        outcome, control = solve(problem, "lns", seconds=None, options=options)
        judge(control.answer)
        best = optimum(problem)
        assert (control.value is None) or best is not None
        if outcome.proof is Proof.OPTIMAL:
            assert control.value == best, seed
        if outcome.proof is Proof.INFEASIBLE:
            assert best is None, seed


def test_rounds_improve_on_annealing_and_repeat_themselves(solve: Solve, judge: Judge) -> None:
    """The same rounds give the same bytes, also with two threads, and a shorter schedule."""
    problem = generate("layered", tasks=40, seed=1, node_kind="unrelated", ccr=3)
    _, annealed = solve(problem, "lns", seconds=None, options={"coolings": "0", "rounds": "1"})
    options = {"coolings": "0", "rounds": "12"}
    runs = [solve(problem, "lns", seconds=None, threads=2, options=options) for _ in range(2)]
    assert all(outcome.deterministic for outcome, _ in runs)
    answers = [control.answer for _, control in runs]
    assert answers[0] is not None
    assert answers[1] is not None
    judge(answers[0])
    assert answers[0].start.tolist() == answers[1].start.tolist()
    assert answers[0].mode.tolist() == answers[1].mode.tolist()
    assert runs[0][1].source == "lns"
    assert annealed.value is not None
    assert answers[0].makespan < annealed.value


def test_a_warm_start_never_gets_worse(solve: Solve) -> None:
    """The search begins from the schedule that it is given."""
    problem = generate("layered", tasks=30, seed=3, node_kind="unrelated", ccr=3)
    options = {"coolings": "0", "rounds": "15"}
    _, first = solve(problem, "lns", seconds=None, options=options)
    options = {"coolings": "0", "rounds": "1"}
    _, again = solve(problem, "lns", seconds=None, options=options, warm_start=first.answer)
    assert first.value is not None
    assert again.value is not None
    assert again.value <= first.value


def test_a_cancelled_search_keeps_its_answer(solve: Solve, judge: Judge) -> None:
    """A token that is set at the first gain of a round ends the rounds at once."""
    problem = generate("layered", tasks=60, seed=1, node_kind="unrelated", ccr=3)
    token = Token()

    def cancel(event: object) -> None:
        if getattr(event, "source", "") == "lns":
            token.cancel()

    outcome, control = solve(
        problem, "lns", seconds=None, options={"coolings": "0"}, token=token, listener=cancel
    )
    assert outcome.termination is Termination.INTERRUPTED
    judge(control.answer)


def test_a_time_limit_is_kept(solve: Solve) -> None:
    """Annealing and rounds share the time, and the end is the end of the limit."""
    problem = generate("layered", tasks=60, seed=2, node_kind="unrelated", ccr=3)
    outcome, control = solve(problem, "lns", seconds=4, threads=2)
    assert outcome.termination is Termination.TIME_LIMIT
    assert not outcome.deterministic
    assert control.remaining() > -1.5


def test_the_arrays_of_a_part_are_closed() -> None:
    """Open arrays are another type to the compiler, which would begin anew in every run."""
    placement = _first(generate("layered", tasks=10, seed=1))
    assert placement is not None
    part = part_of(placement, np.arange(10) < 5)
    arrays = [value for value in vars(part).values() if isinstance(value, np.ndarray)]
    assert len(arrays) > 10
    assert not any(array.flags.writeable for array in arrays)


@pytest.mark.parametrize(
    ("tasks", "said"),
    [
        pytest.param(1500, "tasks and edges, and rounds are made for", id="too large"),
        pytest.param(30, "no time to load or compile the loops", id="not compiled"),
    ],
)
def test_lns_says_why_neighbourhoods_were_not_searched(
    monkeypatch: pytest.MonkeyPatch, tasks: int, said: str
) -> None:
    """One of the two can be mended by whoever reads it, so they must not be mixed up."""
    monkeypatch.setattr(lns_search, "_PLAIN_TABLE", -1.0)
    monkeypatch.setattr(KernelSet, "loads_within", lambda *_: False)
    monkeypatch.setattr(lns_search, "is_worth_compiling", lambda *_: False)
    graph = CommGraph.of(generate("layered", tasks=tasks, seed=1))
    excuse = lns_search.obstacle(graph, Control(Limits()))
    assert excuse is not None
    assert said in excuse
