"""The list-scheduling methods under limits, and GETF with its bound and certificate."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag import list_build
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Edge, Link, Node, Task
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_board import KERNELS
from allocsolve.models.dag.list_groups import speed_groups
from allocsolve.models.dag.list_plain import plain_schedule
from allocsolve.models.dag.list_rules import RULES
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.kernels import KernelSet
from allocsolve.models.result import Status, Termination
from allocsolve.solvers import control as control_module
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.dag import getf_lp, list_methods
from allocsolve.solvers.dag.getf_lp import solve_lp
from allocsolve.solvers.routes import METHODS, kernel_sets, method_named

GETF_RUNS = 200


def related_problem(seed: int, most: int = 24) -> DagProblem:
    """Draw tasks with releases, lags and data on related nodes, all linked."""
    draw = random.Random(seed)
    n, count = draw.randint(1, most), draw.choice([1, 2, 3, 6])
    return DagProblem(
        tasks=[
            Task(id=f"t{i}", work=draw.randint(1, 60), release=draw.choice([0, 0, 0, 30]))
            for i in range(n)
        ],
        edges=[
            Edge(
                source=f"t{i}",
                target=f"t{j}",
                data=draw.choice([0, draw.randint(1, 30)]),
                min_lag=draw.choice([0, 0, 0, 5]),
            )
            for i, j in itertools.combinations(range(n), 2)
            if draw.random() < 3 / n
        ],
        nodes=[
            Node(id=f"n{k}", speed=draw.choice([1, 2, 4, 16]), slots=draw.choice([1, 1, 2]))
            for k in range(count)
        ],
        links=[
            Link(
                between=(f"n{a}", f"n{b}"),
                latency=draw.choice([0, 1, 9]),
                bandwidth=draw.choice([1, 2, None]),
            )
            for a, b in itertools.combinations(range(count), 2)
        ],
    )


def test_the_portfolio_is_every_rule() -> None:
    """A rule that is a method but not in the portfolio would be forgotten silently."""
    methods = {method.name for method in METHODS}
    assert set(RULES) <= methods
    problem = related_problem(3)
    best = allocsolve.solve(problem, method="portfolio").objective.value
    values = [allocsolve.solve(problem, method=rule).objective.value for rule in RULES]
    assert best == min(values)


def test_placement_is_a_setting_with_words() -> None:
    """A misspelt word must not fall back to a default in silence."""
    problem = related_problem(5)
    result = allocsolve.solve(problem, method="heft", options={"placement": "append"})
    assert result.solver.options == {"placement": "append"}
    with pytest.raises(UsageError, match="did you mean 'append'"):
        allocsolve.solve(problem, method="heft", options={"placement": "apend"})
    with pytest.raises(UsageError, match="no setting 'samples'"):
        allocsolve.solve(problem, method="heft", options={"samples": "3"})


def test_all_ranks_are_the_best_of_each() -> None:
    """Zhao and Sakellariou found no rank that is always best, so all of them can be tried."""
    differ = 0
    for seed in range(30):
        problem = related_problem(seed)
        values = {
            ranks: allocsolve.solve(problem, method="heft", options={"ranks": ranks})
            for ranks in ("mean", "median", "best", "worst", "all")
        }
        lengths = {ranks: result.objective.value for ranks, result in values.items()}
        assert lengths["mean"] == allocsolve.solve(problem, method="heft").objective.value
        assert lengths.pop("all") == min(lengths.values())
        differ += len(set(lengths.values())) > 1
        assert values["worst"].solver.options == {"ranks": "worst"}
    assert differ > 2
    with pytest.raises(UsageError, match="no setting 'ranks'"):
        allocsolve.solve(problem, method="etf", options={"ranks": "all"})


class _Clock:
    """A clock that a fake rule moves on."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


def test_no_rule_starves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that never ends is stopped after its share; what others leave over is passed on."""
    clock = _Clock()
    monkeypatch.setattr(control_module, "time", clock)
    graph = CommGraph.of(related_problem(1))
    control: Control[Schedule] = Control(Limits(deadline=100.0))
    control.offer(serial(graph), 10**9, "first")
    used: dict[str, float] = {}

    def build(self: list_build.Builder, rule: str, **_: object) -> None:
        began = clock.now
        while clock.now < began + (1000 if rule == "endless" else 1) and not self._stop():
            clock.now += 0.25
        used[rule] = clock.now - began

    monkeypatch.setattr(list_build.Builder, "build", build)
    ended_by = list_methods.offer_rules(graph, control, ("short", "endless", "other", "last"))
    assert used == {"short": 1.0, "endless": 33.0, "other": 1.0, "last": 1.0}
    assert ended_by is Termination.TIME_LIMIT


def serial(graph: CommGraph) -> Schedule:
    schedule = plain_schedule(graph, lambda: False)
    assert schedule is not None
    return schedule


@pytest.mark.parametrize("method", ["portfolio", "getf"])
def test_uncompiled_kernels_are_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """Within a short limit the plain list schedule beats none, and the run says so once."""
    monkeypatch.setattr(KernelSet, "fits", lambda *_: False)
    monkeypatch.setattr(KernelSet, "is_loaded", lambda _: False)
    monkeypatch.setattr(KernelSet, "is_ready", lambda _: False)
    monkeypatch.setattr(list_build, "_PER_NODE", 100.0)
    monkeypatch.setattr(list_build, "_PER_NODE_OF_ALL", 100.0)
    problem = DagProblem(
        tasks=[Task(id="a", work=1, memory=2, colocate="x"), Task(id="b", work=1, colocate="x")],
        nodes=[Node(id="p", memory=1), Node(id="q", memory=2)],
    )
    result = allocsolve.solve(problem, method=method, time_limit=5)
    assert [entry.node for entry in result.schedule] == ["q", "q"]
    assert ["doctor --compile" in warning for warning in result.warnings] == [True]
    assert not result.deterministic


def test_getf_does_without_a_program_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presolving looks at no clock, so a large program is not begun; ETF needs none."""
    monkeypatch.setattr(getf_lp, "_PACE", 0)
    problem = related_problem(3)
    result = allocsolve.solve(problem, method="getf")
    etf = allocsolve.solve(problem, method="etf")
    assert result.objective.value == etf.objective.value
    assert ["linear program" in warning for warning in result.warnings] == [True]
    assert not result.deterministic


def test_a_token_ends_the_linear_program() -> None:
    """An interrupt is answered within a second, so the engine must ask while it iterates."""
    graph = CommGraph.of(_broad_problem())
    assert solve_lp(graph, 60.0) is not None
    assert solve_lp(graph, 60.0, lambda: True) is None


def _broad_problem() -> DagProblem:
    """Return unrelated tasks on unrelated nodes, which presolving leaves to the simplex method."""
    draw = random.Random(1)
    nodes = [f"n{k}" for k in range(6)]
    tasks = [f"t{i}" for i in range(60)]
    return DagProblem(
        tasks=[Task(id=task) for task in tasks],
        nodes=[Node(id=node) for node in nodes],
        durations={task: {node: draw.randint(1, 100) for node in nodes} for task in tasks},
    )


def test_impossible_placements_end_without_an_answer() -> None:
    """Memory that no choice of nodes respects must not give a wrong schedule."""
    problem = DagProblem(
        tasks=[Task(id=name, work=1, memory=2) for name in "abc"],
        nodes=[Node(id="p", memory=3), Node(id="q", memory=3)],
    )
    for method in ("heft", "portfolio", "getf"):
        result = allocsolve.solve(problem, method=method)
        assert result.status in (Status.UNKNOWN, Status.INFEASIBLE)
        assert result.answer is None


def test_every_set_of_kernels_can_be_built() -> None:
    """`doctor --compile` walks this table; a wrong name would only show there."""
    names = [kernels.name for kernels in kernel_sets()]
    assert len(names) == len(set(names))
    assert KERNELS in kernel_sets()


def test_getf_keeps_its_certificate() -> None:
    """The theorem bounds every schedule by chain + area + waiting; one excess breaks it."""
    for seed in range(GETF_RUNS):
        result = allocsolve.solve(related_problem(seed), method="getf")
        options = result.solver.options
        total = options["certificate"]
        parts = [options[f"certificate_{part}"] for part in ("chain", "area", "waiting")]
        assert isinstance(total, float)
        assert total == pytest.approx(sum(float(part) for part in parts))
        assert result.objective.value <= total * (1 + 1e-9), seed


def test_the_bound_of_the_program_is_never_above_the_optimum(
    optimum: Callable[[DagProblem], int | None],
) -> None:
    """Brute force is the judge; the bound must also be the program's value, not a weak one."""
    tight = 0
    for seed in range(60):
        problem = related_problem(seed, most=5)
        graph = CommGraph.of(problem)
        answer = solve_lp(graph, 10.0)
        best = optimum(problem)
        assert answer is not None
        assert best is not None
        assert answer.bound <= best, seed
        assert answer.value * (1 - 1e-6) - 1 <= answer.bound <= answer.value + 1
        tight += answer.bound == best
    assert tight > 10


def test_the_bound_holds_for_any_multipliers(optimum: Callable[[DagProblem], int | None]) -> None:
    """Those of the engine balance almost exactly; others show that they are mended."""
    for seed in range(60):
        problem = related_problem(seed, most=5)
        graph = CommGraph.of(problem)
        classes = getf_lp._classes(graph)
        rows = 3 * graph.n + len(graph.edge_lag) + len(classes.slots)
        best = optimum(problem)
        assert best is not None
        for draw in range(5):
            dual = np.random.default_rng([seed, draw]).uniform(-0.2, 1.0, rows)
            assert getf_lp._safe_bound(graph, classes, dual) <= best, (seed, draw)


def test_speeds_are_grouped_by_a_growing_ratio() -> None:
    """Nodes slower than the fastest over the number of machines are in no group."""
    speeds = [1, 20, 30, 100, 100, 100]
    problem = DagProblem(
        tasks=[Task(id="a", work=1)],
        nodes=[Node(id=f"n{k}", speed=speed) for k, speed in enumerate(speeds)],
    )
    groups = speed_groups(CommGraph.of(problem))
    assert groups is not None
    # Slower than 100 / 6 is dropped; the ratio is log 6 / log log 6 = 3.07.
    assert [group.tolist() for group in groups.members] == [[1, 2], [3, 4, 5]]
    assert groups.total.tolist() == pytest.approx([50.0, 300.0])


def test_methods_may_run_in_threads() -> None:
    """The library has no state of its own: parallel calls give what single calls give."""
    problems = [related_problem(seed) for seed in range(4)]
    alone = [allocsolve.solve(p, method="portfolio").objective.value for p in problems]
    found: dict[int, float] = {}

    def run(k: int) -> None:
        found[k] = allocsolve.solve(problems[k], method="portfolio").objective.value

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[k] for k in range(4)] == alone


@pytest.mark.parametrize("method", ["heft", "portfolio", "getf", "annealing", "lns"])
@pytest.mark.parametrize("tasks", [40, 2500])
def test_an_interrupt_is_no_missing_cache(
    monkeypatch: pytest.MonkeyPatch, method: str, tasks: int
) -> None:
    """Whoever presses Ctrl-C while loops are loaded must not be told to compile them."""
    monkeypatch.setattr(KernelSet, "is_loaded", lambda _: False)
    monkeypatch.setattr(list_build, "_PER_NODE", 100.0)
    monkeypatch.setattr(list_build, "_PER_NODE_OF_ALL", 100.0)
    problem = generate("layered", tasks=tasks, seed=1, node_kind="related")
    control: Control[Schedule] = Control(Limits(time.monotonic() + 60))
    control.token.cancel()
    outcome = method_named("dag", method).load()(problem, control)
    assert control.answer is not None
    assert not check(problem, control.answer.entries()).violations
    assert outcome.warnings == ()
    assert outcome.termination is Termination.INTERRUPTED
    assert not outcome.deterministic
