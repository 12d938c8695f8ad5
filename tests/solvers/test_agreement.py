"""Three formulations and brute force agree on small instances of every family of nodes.

Each family has 200 random instances with everything that an instance may ask: several slots,
releases, deadlines, lags of both signs, memory, colocation, data on links of all sorts.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from types import ModuleType

import pytest

from allocsolve.models.dag import cpsat, milp_disjunctive, milp_time_indexed
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Edge, Link, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.exact import Number
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.engines.milp import EngineStatus, Numerics, run

Optimum = Callable[[DagProblem], int | None]

DRAWN = 200
TASKS = 5


def _nodes(source: random.Random, family: str) -> list[Node]:
    count = source.choice([2, 3])
    alike = family == "identical"
    memory: Number | None = source.choice([None, None, 4])
    return [
        Node(
            id=name,
            speed=source.choice([1, 2]) if family == "related" else 1,
            slots=1 if alike else source.choice([1, 1, 2]),
            memory=memory if alike else source.choice([None, None, 4]),
        )
        for name in "xyz"[:count]
    ]


def _task(source: random.Random, family: str, name: str, nodes: list[Node]) -> Task:
    ids = [node.id for node in nodes]
    some = sorted(source.sample(ids, source.randint(1, len(ids))))
    deadline: Number | None = source.choice([None, None, None, 9])
    return Task(
        id=name,
        work=None if family == "unrelated" else source.randint(0, 5),
        release=source.choice([0, 0, 2]),
        deadline=deadline,
        memory=source.choice([None, 1, 2]),
        colocate=source.choice([None] * 5 + ["p"]),
        eligible=some if family == "eligible" else None,
    )


def _edge(source: random.Random, pair: tuple[str, str], sends: float) -> Edge:
    most: Number | None = source.choice([None, None, None, None, 6])
    return Edge(
        source=pair[0],
        target=pair[1],
        data=source.randint(0, 3) if source.random() < sends else 0,
        min_lag=source.choice([0, 0, 1, -1]),
        max_lag=most,
        lag_from=source.choice(["end", "end", "start"]),
    )


def _link(source: random.Random, pair: tuple[str, str]) -> Link:
    bandwidth: Number | None = source.choice([1, 2, None, 0])
    return Link(between=pair, latency=source.randint(0, 2), bandwidth=bandwidth)


def on_nodes(family: str, seed: int) -> DagProblem:
    """Draw tasks on identical, related, unrelated, partly eligible or communicating nodes."""
    source = random.Random(f"{family} {seed}")
    nodes = _nodes(source, family)
    names = [str(i) for i in range(TASKS)]
    table: dict[str, dict[str, Number]] = {}
    if family == "unrelated":
        table = {name: {node.id: source.randint(0, 5) for node in nodes} for name in names}
    tasks = [_task(source, family, name, nodes) for name in names]
    sends = 1 if family == "communication" else 0.5
    pairs = [(i, j) for j in names for i in names if i < j and source.random() < 0.35]
    edges = [_edge(source, pair, sends) for pair in pairs]
    links: list[Link] = []
    if family == "communication":
        ends = itertools.combinations([node.id for node in nodes], 2)
        links = [_link(source, pair) for pair in ends]
    return DagProblem(tasks=tasks, edges=edges, nodes=nodes, durations=table, links=links)


def project(seed: int) -> DagProblem:
    """Draw a project with two renewable resources, a non-renewable one, and several modes."""
    source = random.Random(seed)
    tasks = [
        Task(id=str(i), modes=[_mode(source) for _ in range(source.choice([1, 2]))])
        for i in range(TASKS)
    ]
    edges = [
        Edge(source=str(i), target=str(j), min_lag=source.choice([0, 0, 1]))
        for j in range(TASKS)
        for i in range(j)
        if source.random() < 0.3
    ]
    resources = [
        Resource(id="R", capacity=source.choice([3, 4])),
        Resource(id="S", capacity=2),
        Resource(id="N", capacity=source.choice([5, 8]), renewable=False),
    ]
    return DagProblem(tasks=tasks, edges=edges, resources=resources)


def _mode(source: random.Random) -> Mode:
    demand: dict[str, Number] = {name: source.randint(0, most) for name, most in _MOST.items()}
    return Mode(duration=source.randint(0, 4), demand=demand)


_MOST = {"R": 3, "S": 2, "N": 3}


def by_milp(problem: DagProblem, module: ModuleType) -> int | None:
    """Solve a formulation from nothing: no list schedule, no bound."""
    control: Control[Schedule] = Control(Limits())
    program = module.build(problem, problem.arrays.horizon)

    def accept(value_of: Callable[[object], float]) -> None:
        schedule = program.decode(value_of)
        assert schedule is not None
        control.offer(schedule, schedule.makespan, "milp")

    report = run(program.model, control, accept, Numerics())
    if report.status is EngineStatus.INFEASIBLE:
        return None
    assert control.answer is not None
    assert check(problem, control.answer.entries()).valid
    assert report.bound == control.value
    return control.value


def by_cpsat(problem: DagProblem) -> int | None:
    """Solve the constraint program from nothing."""
    from ortools.sat.python import cp_model

    formulation = cpsat.build(problem, problem.arrays.horizon)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    if solver.solve(formulation.model) == cp_model.INFEASIBLE:
        return None
    schedule = formulation.decode(solver.value)
    assert check(problem, schedule.entries()).valid
    assert solver.best_objective_bound == schedule.makespan
    return schedule.makespan


def _disagreements(problems: list[DagProblem], optimum: Optimum) -> list[tuple[int, object]]:
    wrong: list[tuple[int, object]] = []
    for k, problem in enumerate(problems):
        values = [optimum(problem), by_cpsat(problem), by_milp(problem, milp_disjunctive)]
        if k % 8 == 0:
            values.append(by_milp(problem, milp_time_indexed))
        if len(set(values)) > 1:
            wrong.append((k, values))
    return wrong


@pytest.mark.parametrize(
    "family", ["identical", "related", "unrelated", "eligible", "communication"]
)
def test_all_formulations_agree(optimum: Optimum, family: str) -> None:
    """Two hundred instances for each family: the same optimum, and a right schedule for it."""
    problems = [on_nodes(family, seed) for seed in range(DRAWN)]
    assert _disagreements(problems, optimum) == []


def test_all_formulations_agree_on_projects(optimum: Optimum) -> None:
    """Resources as flows, as time-indexed capacities and as cumulative constraints."""
    assert _disagreements([project(seed) for seed in range(DRAWN // 2)], optimum) == []
