"""Genetic search on projects: right schedules, the optimum of small ones, the same bytes."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.network import build_network
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.project_data import Project, excuse, project_of
from allocsolve.models.dag.project_genetic import evolve
from allocsolve.models.dag.project_island import Island
from allocsolve.models.dag.project_lists import bench_of, justified
from allocsolve.models.dag.project_population import BEST, child_of, population_of
from allocsolve.models.exact import Number
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Control, Outcome, Proof

Optimum = Callable[[DagProblem], int | None]
Solve = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge = Callable[[Schedule | None], None]

AMOUNT = {"narrow": 1, "wide": 20_000, "widest": 10**9}
"""Unit of the demands: capacities that need 16, 32 and 64 bits."""


def _project(seed: int, lane: str = "narrow", lines: int = 2) -> DagProblem:
    """Draw a project with modes, both sorts of resources, releases, lags and empty tasks."""
    source, unit = random.Random(seed), AMOUNT[lane]
    names = [f"r{k}" for k in range(lines)]
    used_up = source.random() < 0.4

    def mode() -> Mode:
        demand: dict[str, Number] = {
            name: unit * source.randint(0, 3) for name in names if source.random() < 0.8
        }
        if used_up:
            demand["u"] = source.randint(0, 2)
        return Mode(duration=source.randint(0, 4), demand=demand)

    tasks = [
        Task(
            id=f"t{i}",
            modes=[mode() for _ in range(source.choice([1, 1, 2]))],
            release=source.choice([0, 0, 0, 2]),
        )
        for i in range(5)
    ]
    edges = [
        Edge(source=f"t{i}", target=f"t{j}", min_lag=source.choice([0, 0, 0, 2]))
        for i in range(5)
        for j in range(i + 1, 5)
        if source.random() < 0.25
    ]
    resources = [Resource(id=name, capacity=unit * source.randint(3, 4)) for name in names]
    if used_up:
        resources.append(Resource(id="u", capacity=source.randint(4, 8), renewable=False))
    return DagProblem(tasks=tasks, edges=edges, resources=resources)


def _arrays(problem: DagProblem) -> Project:
    return project_of(problem, build_network(problem))


@pytest.mark.parametrize("seed", range(40))
def test_small_projects_are_solved_to_the_optimum(
    seed: int, solve: Solve, judge: Judge, optimum: Optimum
) -> None:
    """Lists hold an optimal schedule of every project, so a long search must come across it."""
    problem = _project(seed, lane=["narrow", "wide", "widest"][seed % 3], lines=1 + seed % 7)
    best = optimum(problem)
    outcome, control = solve(problem, "genetic", options={"children": "400"})
    judge(control.answer)
    assert control.value == best
    assert outcome.proof is not Proof.OPTIMAL or control.is_proven()


@pytest.mark.parametrize("seed", range(12))
def test_deadlines_are_met_or_nothing_is_answered(
    seed: int, solve: Solve, judge: Judge, optimum: Optimum
) -> None:
    """A schedule that is late is no answer, however short it is."""
    loose = _project(seed + 100)
    source = random.Random(seed)
    problem = loose.replace(
        tasks=[
            Task(
                id=task.id,
                modes=task.modes,
                release=task.release,
                deadline=source.choice([None, 8]),
            )
            for task in loose.tasks
        ]
    )
    _, control = solve(problem, "genetic", options={"children": "400"})
    judge(control.answer)
    best = optimum(problem)
    assert control.value is None or (best is not None and control.value >= best)


def test_nodes_are_lines_of_a_project(solve: Solve, judge: Judge, optimum: Optimum) -> None:
    """Slots of nodes and a resource bind together, with a node to choose for each task."""
    problem = DagProblem(
        tasks=[
            Task(id=name, work=work, demand={"crew": 1})
            for name, work in (("a", 3), ("b", 2), ("c", 2), ("d", 4))
        ],
        nodes=[Node(id="x", slots=2), Node(id="y", speed=2)],
        resources=[Resource(id="crew", capacity=2)],
    )
    _, control = solve(problem, "genetic", options={"children": "300"})
    judge(control.answer)
    assert control.value == optimum(problem)


@pytest.mark.parametrize("seed", range(10))
def test_justification_never_makes_a_schedule_longer(seed: int) -> None:
    """Shifting right and left again keeps or shortens the schedule of any list."""
    problem = generate("rcpsp", tasks=30, seed=seed, resource_factor=1, resource_strength=0.1)
    project = _arrays(problem)
    bench, order = bench_of(project), np.arange(30)
    known = justified(project, bench, order)
    for _ in range(5):
        again = justified(project, bench, bench.order.copy())
        assert again <= known
        known = again
        assert sorted(bench.order.tolist()) == list(range(30))
        assert bool((np.diff(bench.start[bench.order]) >= 0).all())


def test_plain_loops_give_the_same_bytes() -> None:
    """Where a kernel runs is a question of time only."""
    plain = getattr(evolve, "plain", lambda: evolve)()
    found = []
    for loop in (evolve, plain):
        project = _arrays(_project(3, lines=5))
        population = population_of(project, 10, 7)
        loop(project, bench_of(project), population, child_of(project), 60, 0)
        found.append(tuple(array.tobytes() for array in population))
    assert found[0] == found[1]


def test_a_number_of_children_repeats_itself(solve: Solve) -> None:
    """The same seed gives the same schedule, another one may give another."""
    problem = generate("rcpsp", tasks=40, seed=1, resource_factor=1, resource_strength=0.2)
    runs = [solve(problem, "genetic", options={"children": "500"}, seed=seed) for seed in (1, 1, 2)]
    starts = [run[1].answer.start.tolist() for run in runs if run[1].answer is not None]
    assert starts[0] == starts[1]
    assert all(outcome.deterministic for outcome, _ in runs)
    assert all(outcome.termination is Termination.FINISHED for outcome, _ in runs)


def test_islands_exchange_members() -> None:
    """A guest takes the place of the worst member once the island is full, and only once."""
    project = _arrays(generate("rcpsp", tasks=30, seed=2, resource_strength=0.1))
    host, home = Island(project, 4, 1), Island(project, 60, 2)
    home.run(3000, 0)
    guest = home.emissary()
    host.receive(guest)
    assert host.emissary().value != guest.value  # nobody is there yet
    host.run(4, 0)
    host.receive(guest)
    assert host.emissary().value == guest.value
    worst = host._population.value.max()
    host.receive(guest)
    assert host._population.value.max() == worst


def test_a_schedule_that_exceeds_a_budget_is_not_kept() -> None:
    """Only ways that use up too much are there, so there is no best schedule."""
    project = _arrays(
        DagProblem(
            tasks=[
                Task(id=name, modes=[Mode(duration=1, demand={"u": 1, "r": 1})]) for name in "ab"
            ],
            resources=[
                Resource(id="u", capacity=1, renewable=False),
                Resource(id="r", capacity=1),
            ],
        )
    )
    population = population_of(project, 2, 0)
    evolve(project, bench_of(project), population, child_of(project), 20, 0)
    assert population.field[BEST] > project.horizon


@pytest.mark.parametrize(
    ("edges", "what"),
    [
        pytest.param([Edge(source="a", target="b", max_lag=3)], "maximum", id="maximum lag"),
        pytest.param(
            [Edge(source="a", target="b", lag_from="start")], "from a start", id="start lag"
        ),
    ],
)
def test_what_the_search_does_not_know_is_refused(edges: list[Edge], what: str) -> None:
    """A schedule that breaks such a rule would be worthless."""
    problem = DagProblem(
        tasks=[Task(id=name, modes=[Mode(duration=1)]) for name in "ab"], edges=edges
    )
    assert what in (excuse(problem) or "")


def test_long_horizons_are_sampled(solve: Solve, judge: Judge) -> None:
    """A profile over a thousand million points of time does not fit into memory."""
    problem = DagProblem(
        tasks=[
            Task(id="a", modes=[Mode(duration=10**9, demand={"r": 1})]),
            Task(id="b", modes=[Mode(duration=10**9 - 1, demand={"r": 1})]),
        ],
        resources=[Resource(id="r", capacity=1)],
    )
    outcome, control = solve(problem, "genetic")
    judge(control.answer)
    assert control.value == 2 * 10**9 - 1
    assert any("profile over time" in said for said in outcome.warnings)
