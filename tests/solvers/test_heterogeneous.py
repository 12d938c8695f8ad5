"""Methods for nodes that differ: right against brute force, honest about what they prove."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_hetero_cpsat import build
from allocsolve.models.dag.comm_tables import node_table
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.node_windows import NEVER, NodeWindow
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Control, Limits, Outcome, Proof, Token
from allocsolve.solvers.dag import area_lp
from allocsolve.solvers.dag.area_lp import area_bound
from allocsolve.solvers.dag.node_elimination import destructive_bound
from allocsolve.solvers.engines.cpsat import EngineStatus, run

Draw = Callable[[str, int], DagProblem]
Optimum = Callable[[DagProblem], int | None]
Solve = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge = Callable[[Schedule | None], None]

FAMILIES = ("related", "unrelated", "eligible", "linked", "packed")
DRAWN = 200


@pytest.mark.parametrize("family", FAMILIES)
def test_the_shared_work_never_exceeds_the_optimum(
    draw_cluster: Draw, optimum: Optimum, family: str
) -> None:
    """The program over windows, also after excluding lengths, is a bound on every instance."""
    for seed in range(100):
        problem = draw_cluster(family, seed)
        best = optimum(problem)
        table = node_table(CommGraph.of(problem))
        if best is None or table.value >= NEVER:
            assert best is None, seed
            continue
        shared = area_bound(table, table.value, lambda: 10.0).value
        assert shared <= best, seed
        assert shared <= destructive_bound(table, shared, best + 3, lambda: 10.0) <= best, seed


@pytest.mark.parametrize("family", FAMILIES)
def test_any_multipliers_give_a_bound(draw_cluster: Draw, optimum: Optimum, family: str) -> None:
    """The bound rests on no answer of the engine; wrong multipliers only make it low."""
    for seed in range(40):
        problem = draw_cluster(family, seed)
        best, table = optimum(problem), node_table(CommGraph.of(problem))
        if best is None:
            continue
        program = area_lp._Program(table, lambda: 10.0)
        draw = np.random.default_rng(seed)
        sizes = (table.graph.n, len(area_lp._limited_nodes(table)), len(program.windows))
        answer = area_lp._Answer(np.zeros_like(table.head, float), *map(draw.random, sizes))
        assert program.safe_bound(answer) <= best, seed


@pytest.mark.parametrize("family", FAMILIES)
def test_the_method_proves_the_optimum(
    draw_cluster: Draw, optimum: Optimum, solve: Solve, judge: Judge, family: str
) -> None:
    """It finds and proves what brute force finds, also that there is no schedule."""
    for seed in range(DRAWN):
        problem = draw_cluster(family, seed)
        rounds = "1" if seed % 20 == 0 else "0"
        outcome, control = solve(problem, "heterogeneous", seconds=None, options={"rounds": rounds})
        judge(control.answer)
        best = optimum(problem)
        if best is None:
            assert outcome.proof is Proof.INFEASIBLE, seed
        else:
            assert (outcome.proof, control.value) == (Proof.OPTIMAL, best), seed
            assert outcome.deterministic


@pytest.mark.parametrize("family", FAMILIES)
def test_the_model_decides_as_brute_force_does(
    draw_cluster: Draw, optimum: Optimum, family: str
) -> None:
    """One tick below the optimum there is no schedule, at the optimum there is one."""
    for seed in range(40):
        problem = draw_cluster(family, seed)
        best = optimum(problem)
        if not best:
            continue
        table = node_table(CommGraph.of(problem))
        for length, expected in ((best - 1, EngineStatus.INFEASIBLE), (best, EngineStatus.OPTIMAL)):
            model = build(table, length, minimise=False).model
            control: Control[object] = Control(Limits())
            assert run(model, control, lambda _: None, {}).status is expected, seed


def test_a_window_in_which_nothing_runs_costs_nothing() -> None:
    """Its ticks before and after may exceed the optimum, for no task has to run there."""
    problem = DagProblem(
        tasks=[Task(id="a", work=1, eligible=["x"]), Task(id="b", work=1)],
        edges=[Edge(source="a", target="b", data=10)],
        nodes=[Node(id="x"), Node(id="y")],
    )
    table = node_table(CommGraph.of(problem))
    formulation = build(table, 30, windows=[NodeWindow(node=1, head=11, tail=0)])
    control: Control[object] = Control(Limits())
    report = run(formulation.model, control, lambda _: None, {})
    assert (report.status, report.bound) == (EngineStatus.OPTIMAL, 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_annealing_is_right(
    draw_cluster: Draw, optimum: Optimum, solve: Solve, judge: Judge, family: str
) -> None:
    """Its schedules pass the checker, and it claims a proof only for an optimum."""
    for seed in range(20):
        problem = draw_cluster(family, seed)
        outcome, control = solve(problem, "annealing", seconds=None, options={"rounds": "1"})
        judge(control.answer)
        best = optimum(problem)
        assert (control.value is None) or best is not None
        if outcome.proof is Proof.OPTIMAL:
            assert control.value == best, seed
        if outcome.proof is Proof.INFEASIBLE:
            assert best is None, seed


def test_annealing_repeats_itself_over_threads(solve: Solve) -> None:
    """With rounds instead of a time limit, two chains give the same schedule again."""
    problem = generate("layered", tasks=20, seed=1, node_kind="unrelated", links="different")
    runs = [
        solve(problem, "annealing", seconds=None, threads=2, options={"rounds": "3"})
        for _ in range(2)
    ]
    assert all(outcome.deterministic for outcome, _ in runs)
    assert [outcome.solver.threads for outcome, _ in runs] == [2, 2]  # needed to repeat it
    answers = [control.answer for _, control in runs]
    assert answers[0] is not None
    assert answers[1] is not None
    assert answers[0].start.tolist() == answers[1].start.tolist()
    assert answers[0].mode.tolist() == answers[1].mode.tolist()


def test_annealing_improves_on_list_schedules(solve: Solve) -> None:
    """On forty tasks with dear data, list schedules leave much to gain."""
    problem = generate("layered", tasks=40, seed=1, node_kind="unrelated", ccr=3)
    _, lists = solve(problem, "portfolio")
    _, annealed = solve(problem, "annealing", seconds=None, options={"rounds": "2"})
    assert annealed.source == "annealing"
    assert lists.value is not None
    assert annealed.value is not None
    assert annealed.value < 0.97 * lists.value


def test_a_cancelled_run_keeps_its_answer(solve: Solve, judge: Judge) -> None:
    """A token that is set while annealing runs ends it at once, with the best schedule."""
    problem = generate("layered", tasks=200, seed=1, node_kind="unrelated")
    token = Token()

    def cancel(event: object) -> None:
        if getattr(event, "source", "") == "annealing":
            token.cancel()

    outcome, control = solve(problem, "heterogeneous", token=token, listener=cancel)
    assert outcome.termination is Termination.INTERRUPTED
    judge(control.answer)


def test_auto_proves_twenty_tasks_on_nodes_that_differ(solve: Solve, judge: Judge) -> None:
    """The default method takes this search, and says who proved the bound."""
    problem = generate("layered", tasks=15, seed=1, node_kind="unrelated", links="different", ccr=3)
    outcome, control = solve(problem, "auto", threads=2, seconds=60)
    judge(control.answer)
    assert outcome.proof is Proof.OPTIMAL
    assert control.bound is not None
    assert control.bound.source in {"cpsat", "node_table", "area_lp"}
