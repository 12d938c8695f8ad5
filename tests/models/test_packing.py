"""Memory and colocation in schedule generation and in the constraint program."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.dispatch import serial_schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.exact import Number

Optimum = Callable[[DagProblem], int | None]


def drawn(seed: int, *, eligible: bool = False) -> DagProblem:
    """Return five tasks that send data, with weights that barely fit into three nodes."""
    source = random.Random(seed)
    tasks = [
        Task(
            id=str(i),
            work=source.randint(0, 4),
            memory=source.choice([None, 0.5, 1, 1.5]),
            colocate=source.choice([None, None, None, "p", "q"]),
            eligible=source.choice([None, ["x", "y"], ["z", "y"]]) if eligible else None,
        )
        for i in range(5)
    ]
    edges = [
        Edge(source=str(i), target=str(j), data=source.randint(0, 2))
        for j in range(5)
        for i in range(j)
        if source.random() < 0.3
    ]
    sizes: list[Number | None] = [source.choice([None, 1.5, 2]), source.choice([1, 1.5, 2]), 1]
    nodes = [Node(id=name, memory=size) for name, size in zip("xyz", sizes, strict=True)]
    return DagProblem(tasks=tasks, edges=edges, nodes=nodes)


@pytest.mark.parametrize("seed", range(40))
def test_generation_packs(optimum: Optimum, seed: int) -> None:
    """On these instances generation finds a right schedule whenever there is one."""
    problem = drawn(seed)
    schedule, best = serial_schedule(problem), optimum(problem)
    assert (schedule is None) == (best is None)
    assert schedule is None or check(problem, schedule.entries()).valid


def test_first_fit_is_not_the_end() -> None:
    """Tasks taken in order of time fill x and y with small weights; packing begins again."""
    problem = DagProblem(
        tasks=[
            Task(id="a", work=1, memory=1),
            Task(id="b", work=1, memory=1),
            Task(id="c", work=1, memory=2),
        ],
        edges=[Edge(source="a", target="c"), Edge(source="b", target="c")],
        nodes=[Node(id="x", memory=2), Node(id="y", memory=2)],
    )
    schedule = serial_schedule(problem)
    assert schedule is not None
    assert check(problem, schedule.entries()).valid


@pytest.mark.parametrize("seed", range(40))
def test_the_constraint_program_finds_the_optimum(optimum: Optimum, seed: int) -> None:
    """Weights, ties and eligibility together, with brute force as judge."""
    from ortools.sat.python import cp_model

    from allocsolve.models.dag.cpsat import build

    problem = drawn(seed, eligible=True)
    formulation = build(problem, problem.arrays.horizon)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(formulation.model)
    best = optimum(problem)
    assert (status == cp_model.INFEASIBLE) == (best is None)
    if best is not None:
        schedule = formulation.decode(solver.value)
        assert schedule.makespan == best
        assert check(problem, schedule.entries()).valid


@pytest.mark.parametrize("field", [{"memory": 1}, {"colocate": "p"}])
def test_projects_have_no_memory(field: dict[str, object]) -> None:
    """Tasks with modes run on no node: a field that could not mean anything is refused."""
    from allocsolve.models.dag.data import Mode
    from allocsolve.models.errors import InputError

    task = Task(id="a", modes=[Mode(duration=1)], **field)  # type: ignore[arg-type]  # one of two fields
    with pytest.raises(InputError, match="no meaning beside modes"):
        DagProblem(tasks=[task])
