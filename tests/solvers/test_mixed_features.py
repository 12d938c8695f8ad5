"""Random instances in which all features meet, against brute force.

The families of the generators have neither deadlines nor several slots, negative lags or lags
in projects with several modes; an error in how two features work together shows only here.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from msgspec.structs import replace

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.check import verify_reason
from allocsolve.models.dag.cpsat import build
from allocsolve.models.dag.data import DefaultLink, Edge, Link, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.dag.reasons import find_reason
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number
from allocsolve.solvers.control import Control, Limits, Outcome, Proof
from allocsolve.solvers.engines import cpsat
from allocsolve.solvers.engines.cpsat import EngineStatus
from allocsolve.solvers.routes import METHODS

Drawn: TypeAlias = list[tuple[DagProblem, int | None]]
Solve: TypeAlias = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge: TypeAlias = Callable[[Schedule | None], None]

SEEDS = 240


def _project(modes: dict[str, list[Mode]], **fields: Any) -> DagProblem:
    return DagProblem(tasks=[Task(id=name, modes=rows) for name, rows in modes.items()], **fields)


CORNERS = [
    # Three tasks on two slots of one node.
    DagProblem(tasks=[Task(id=i, work=2) for i in "abc"], nodes=[Node(id="n", slots=2)]),
    # The deadline of a leaves one mode, the stock that b needs leaves the other one.
    DagProblem(
        tasks=[
            Task(id="a", deadline=2, modes=[Mode(duration=1, demand={"N": 2}), Mode(duration=3)]),
            Task(id="b", modes=[Mode(duration=1, demand={"N": 1})]),
        ],
        resources=[Resource(id="N", capacity=2, renewable=False)],
    ),
    # Two small tasks exclude a large one, but not each other.
    _project(
        {
            "large": [Mode(duration=2, demand={"R": 3})],
            "small": [Mode(duration=5, demand={"R": 2})],
            "other": [Mode(duration=5, demand={"R": 2})],
        },
        resources=[Resource(id="R", capacity=4)],
    ),
    # Only the starts of a and b are bounded: in their long modes both fit.
    DagProblem(
        tasks=[
            *(
                Task(id=i, modes=[Mode(duration=d, demand={"R": 4 // d}) for d in (1, 4)])
                for i in "ab"
            ),
            Task(id="c", deadline=0, modes=[Mode(duration=0)]),
        ],
        edges=[Edge(source=i, target="c", lag_from="start") for i in "ab"],
        resources=[Resource(id="R", capacity=4)],
    ),
]
"""What random instances of this size hardly ever show."""


@pytest.fixture(scope="module")
def mixed(optimum: Callable[[DagProblem], int | None]) -> Drawn:
    """Instances with their optimum in ticks, None if they have no schedule."""
    drawn = [_problem(random.Random(seed)) for seed in range(SEEDS)]
    problems = [*CORNERS, *(problem for problem in drawn if problem is not None)]
    return [(problem, optimum(problem)) for problem in problems]


def _problem(source: random.Random) -> DagProblem | None:
    """Draw an instance of two to four tasks; None if its precedence has a cycle."""
    nodes = [
        Node(id=f"n{k}", slots=source.choice([1, 1, 2]), speed=source.choice([1, 1, 2]))
        for k in range(source.randint(1, 3))
    ]
    tasks, durations = [], {}
    for i in range(source.randint(2, 4)):
        task, row = _task(source, f"t{i}", nodes)
        tasks.append(task)
        durations.update(row)
    pairs = itertools.combinations(nodes, 2)
    if source.random() < 0.5:
        tasks, nodes = _with_memory(source, tasks, nodes)
    try:
        return DagProblem(
            tasks=tasks,
            edges=[
                _edge(source, a.id, b.id)
                for a, b in itertools.product(tasks, repeat=2)
                if source.random() < (0.05 if a is b else 0.35)
            ],
            nodes=nodes,
            durations=durations,
            links=[_link(source, a.id, b.id) for a, b in pairs if source.random() < 0.7],
            default_link=DefaultLink(latency=1, bandwidth=source.choice([0, 1, None])),
            resources=[
                Resource(id="R", capacity=source.randint(1, 3)),
                Resource(id="N", capacity=source.randint(1, 5), renewable=False),
            ],
        )
    except InputError:
        return None


def _with_memory(
    source: random.Random, tasks: list[Task], nodes: list[Node]
) -> tuple[list[Task], list[Node]]:
    """Let tasks that run on nodes need memory, and some of them share a node."""
    placed = [task.modes is None for task in tasks]
    return (
        [
            replace(task, memory=source.choice([0, 1, 2]), colocate=source.choice([None, "x"]))
            if on_node
            else task
            for task, on_node in zip(tasks, placed, strict=True)
        ],
        [replace(node, memory=source.choice([None, 2, 4])) for node in nodes],
    )


def _task(
    source: random.Random, name: str, nodes: list[Node]
) -> tuple[Task, dict[str, dict[str, int]]]:
    """Draw a task that takes its time from modes, from work, or from a row of durations."""
    release = source.choice([0, 0, 0, 1, 2])
    deadline = source.choice([None, None, None, source.randint(2, 9)])
    form = source.choice(["modes", "work", "durations"])
    if form == "modes":
        modes = [_mode(source) for _ in range(source.randint(1, 2))]
        return Task(id=name, release=release, deadline=deadline, modes=modes), {}
    demand: dict[str, Number] = {"R": source.choice([0, 0, 1]), "N": source.choice([0, 1])}
    work = source.choice([0, 2, 4]) if form == "work" else None
    row = {node.id: source.randint(0, 3) for node in nodes if source.random() < 0.8}
    task = Task(id=name, release=release, deadline=deadline, work=work, demand=demand)
    return task, {} if form == "work" else {name: row}


def _mode(source: random.Random) -> Mode:
    demand: dict[str, Number] = {"R": source.randint(0, 3), "N": source.randint(0, 2)}
    return Mode(duration=source.randint(0, 3), demand=demand)


def _edge(source: random.Random, before: str, after: str) -> Edge:
    least = source.choice([0, 1, 2, -2, -6])
    most = source.choice([None, None, least + source.randint(0, 2), source.randint(-5, 2)])
    return Edge(
        source=before,
        target=after,
        data=source.choice([0, 1, 2]),
        min_lag=least,
        max_lag=most,
        lag_from=source.choice(["start", "end"]),
    )


def _link(source: random.Random, a: str, b: str) -> Link:
    bandwidth = source.choice([None, 0, 1, 2])
    return Link(between=(a, b), latency=source.choice([0, 1]), bandwidth=bandwidth)


def test_the_draw_holds_what_it_is_for(mixed: Drawn) -> None:
    """Every feature must occur in many instances, and both answers must."""
    counts = {
        feature: sum(feature in problem.features for problem, _ in mixed)
        for feature in METHODS[0].honours
    }
    assert min(counts.values()) >= 20, counts
    solvable = sum(optimum is not None for _, optimum in mixed)
    assert 50 <= solvable <= len(mixed) - 50
    assert sum(bool((p.arrays.node_slots > 1).any()) for p, _ in mixed) >= 50
    assert Feature.CALENDARS not in counts


def test_an_optimal_schedule_ends_by_the_horizon(mixed: Drawn) -> None:
    """The formulation looks for nothing beyond it."""
    assert all(optimum is None or optimum <= p.arrays.horizon for p, optimum in mixed)


def test_bounds_are_never_above_the_optimum(mixed: Drawn) -> None:
    """A bound that is too high turns a schedule into a false optimum."""
    for problem, optimum in mixed:
        if optimum is not None:
            assert [b for b in lower_bounds(problem) if b.value > optimum] == []


def test_reasons_are_found_only_where_they_hold(mixed: Drawn) -> None:
    """And what is found, the checker proves again."""
    for problem, optimum in mixed:
        reason = find_reason(problem)
        assert reason is None or (optimum is None and verify_reason(problem, reason))


def test_the_formulation_alone_has_the_optimum(mixed: Drawn, judge: Judge) -> None:
    """No incumbent and no bound hides what the model forbids or allows too much."""
    for problem, optimum in mixed:
        formulation = build(problem, problem.arrays.horizon)
        control: Control[Schedule] = Control(Limits())
        found: list[Schedule] = []

        def accept(
            value_of: Callable[..., int],
            decode: Callable[..., Schedule] = formulation.decode,
            found: list[Schedule] = found,
        ) -> None:
            found.append(decode(value_of))

        report = cpsat.run(formulation.model, control, accept, {})
        best = found[-1] if found else None
        judge(best)
        assert (None if best is None else best.makespan) == optimum
        expected = EngineStatus.INFEASIBLE if optimum is None else EngineStatus.OPTIMAL
        assert (report.status, report.bound) == (expected, optimum)


@pytest.mark.parametrize("method", [row.name for row in METHODS if row.kind == "dag"])
def test_no_method_says_what_is_not_so(
    mixed: Drawn, solve: Solve, judge: Judge, method: str
) -> None:
    """Whatever a method proves is true; an exact one proves something every time."""
    row = next(row for row in METHODS if row.name == method)
    exact = row.exact
    honoured = [pair for pair in mixed if pair[0].features <= row.honours]
    assert honoured
    # Sampling where no bound is met takes a second for each instance.
    for problem, optimum in honoured if exact else honoured[::6]:
        outcome, control = solve(problem, method)
        judge(control.answer)
        if exact or outcome.proof is not Proof.NOTHING:
            expected = Proof.INFEASIBLE if optimum is None else Proof.OPTIMAL
            assert (outcome.proof, control.value) == (expected, optimum)
        assert control.value is None or (optimum is not None and control.value >= optimum)
