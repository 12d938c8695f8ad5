"""Every method starts from a schedule that any list scheduler finds."""

from __future__ import annotations

import random
import time

import pytest

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Edge, Link, Node, Task
from allocsolve.models.dag.dispatch import serial_schedule
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_plain import plain_schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.routes import method_named


def _crowded(seed: int) -> DagProblem:
    """Draw ten tasks with memory, shared nodes, few eligible ones and missing links."""
    source = random.Random(seed)
    count = source.choice([2, 3, 4])
    names = [f"n{k}" for k in range(count)]
    nodes = [Node(id=name, memory=source.choice([None, source.randint(4, 9)])) for name in names]
    tasks = [
        Task(
            id=f"t{i}",
            work=source.randint(1, 9),
            memory=source.choice([0, source.randint(1, 4)]),
            colocate=source.choice([None, None, "x", "y"]),
            eligible=source.choice([None, None, source.sample(names, source.randint(1, count))]),
        )
        for i in range(10)
    ]
    edges = [
        Edge(source=f"t{i}", target=f"t{j}", data=source.choice([0, 1, 2]))
        for i in range(10)
        for j in range(i + 1, 10)
        if source.random() < 0.2
    ]
    links = [
        Link(between=(names[a], names[b]), bandwidth=source.choice([0, 1, 1]))
        for a in range(count)
        for b in range(a)
    ]
    return DagProblem(tasks=tasks, edges=edges, nodes=nodes, links=links)


@pytest.fixture(scope="module")
def stuck() -> list[DagProblem]:
    """Draw instances on which placing task after task gets stuck, but a schedule is near."""
    drawn = [_crowded(seed) for seed in range(120)]
    found = [
        problem
        for problem in drawn
        if serial_schedule(problem) is None
        and plain_schedule(CommGraph.of(problem), lambda: False) is not None
    ]
    assert len(found) >= 4
    return found


@pytest.mark.parametrize("method", ["auto", "cpsat", "milp", "list", "heft", "lns"])
def test_a_schedule_that_is_near_is_always_offered(stuck: list[DagProblem], method: str) -> None:
    """An engine that finds nothing in time must not hide what a list scheduler finds at once."""
    for problem in stuck:
        control: Control[Schedule] = Control(Limits(time.monotonic() - 1))
        method_named("dag", method).load()(problem, control)
        assert control.answer is not None
        assert not check(problem, control.answer.entries()).violations
