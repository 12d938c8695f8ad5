"""Small instances with right schedules, for the tests of the checker."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule, ScheduledTask
from allocsolve.models.dag.data import Edge, Link, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem

__all__ = ["Drawn"]

Entries: TypeAlias = tuple[ScheduledTask, ...]
Drawn: TypeAlias = Callable[[str, int], tuple[DagProblem, Entries] | None]

SETTINGS: dict[str, tuple[int, dict[str, int | float | str]]] = {
    "rcpsp": (6, {"max_duration": 4, "resources": 2, "resource_factor": 1}),
    "multimode": (4, {"max_duration": 4, "modes": 2, "nonrenewable": 1, "resources": 1}),
    "lags": (6, {"max_duration": 4, "resources": 2, "slack": 0.8, "network_complexity": 1}),
    "jobshop": (6, {"max_duration": 4, "machines": 3}),
    "flexible": (5, {"max_duration": 4, "machines": 3, "operations": 2, "flexibility": 0.67}),
    "communication": (5, {"max_work": 4, "nodes": 2, "network_complexity": 1}),
}
"""Per family: number of tasks and settings that keep brute force fast."""


@pytest.fixture(scope="session")
def drawn(optimal_schedule: Callable[[DagProblem], Schedule | None]) -> Drawn:
    """Draw an instance of a family with an optimal schedule, None if it has none."""

    def draw(family: str, seed: int) -> tuple[DagProblem, Entries] | None:
        tasks, settings = SETTINGS[family]
        problem = generate(family, tasks=tasks, seed=seed, **settings)
        schedule = optimal_schedule(problem)
        return None if schedule is None else (problem, schedule.entries())

    return draw


def entry(task: str, start: str, end: str, node: str | None = None, mode: int = 0) -> ScheduledTask:
    """Return an entry; times are decimal text."""
    return ScheduledTask(task, Fraction(start), Fraction(end), node, mode)


@pytest.fixture
def project() -> DagProblem:
    """Return a project that uses every condition of the project form at its limit."""
    return DagProblem(
        tasks=[
            Task(
                id="a",
                release=1,
                deadline=20,
                modes=[
                    Mode(duration=3, demand={"R": 2, "N": 4}),
                    Mode(duration=5, demand={"R": 1, "N": 2}),
                ],
            ),
            Task(
                id="b",
                modes=[
                    Mode(duration=2, demand={"R": 2}),
                    Mode(duration=2, demand={"R": 1, "N": 0.5}),
                ],
            ),
            Task(id="c", deadline=9, modes=[Mode(duration=4, demand={"R": 3, "N": 5.5})]),
            Task(id="m", modes=[Mode(duration=0, demand={"R": 9})]),
        ],
        edges=[
            Edge(source="a", target="c", min_lag=1, max_lag=2),
            Edge(source="a", target="b", min_lag=0.5, max_lag=2.5, lag_from="start"),
            Edge(source="b", target="m"),
        ],
        resources=[
            Resource(id="R", capacity=4),
            Resource(id="N", capacity=9.5, renewable=False),
        ],
    )


@pytest.fixture
def project_entries() -> Entries:
    """Return a right schedule of ``project`` without any slack at most of its limits."""
    return (
        entry("a", "1", "4"),
        entry("b", "1.5", "3.5"),
        entry("c", "5", "9"),
        entry("m", "3.5", "3.5"),
    )


@pytest.fixture
def cluster() -> DagProblem:
    """Return tasks on nodes of all sorts: fast, with slots, dead, without links."""
    return DagProblem(
        tasks=[
            Task(id="a", work=4),
            Task(id="b", work=4, eligible=["gpu"]),
            Task(id="c", work=2, demand={"licence": 1}),
            Task(id="d", demand={"licence": 1}),
            Task(id="z", work=0),
        ],
        edges=[
            Edge(source="a", target="b", data=6),
            Edge(source="a", target="c", data=6, min_lag=1),
            Edge(source="b", target="d", data=1),
        ],
        nodes=[
            Node(id="cpu"),
            Node(id="fast", speed=2, slots=2, type="gpu"),
            Node(id="dead", speed=0),
            Node(id="far"),
        ],
        durations={"d": {"cpu": 3, "fast": 2.5, "dead": 1}},
        links=[
            Link(between=("cpu", "fast"), latency=1, bandwidth=2),
            Link(between=("fast", "far"), latency=0, bandwidth=0),
        ],
        resources=[Resource(id="licence", capacity=1)],
    )


@pytest.fixture
def cluster_entries() -> Entries:
    """Return a right schedule of ``cluster``."""
    return (
        entry("a", "0", "4", "cpu"),
        entry("b", "8", "10", "fast"),
        entry("c", "9", "10", "fast"),
        entry("d", "10", "12.5", "fast"),
        entry("z", "1", "1", "cpu"),
    )


@pytest.fixture
def machines() -> DagProblem:
    """Return tasks without precedence on a machine with one slot and one with two."""
    return DagProblem(
        tasks=[Task(id=str(i)) for i in range(1, 7)],
        nodes=[Node(id="one"), Node(id="two", slots=2)],
        durations={
            "1": {"one": 3},
            "2": {"one": 2, "two": 2},
            "3": {"two": 4},
            "4": {"two": 3},
            "5": {"two": Fraction(1, 3)},
            "6": {"one": 0},
        },
    )


@pytest.fixture
def machines_entries() -> Entries:
    """Return a right schedule of ``machines``: task 6 has no length and disturbs nobody."""
    return (
        entry("1", "0", "3", "one"),
        entry("2", "3", "5", "one"),
        entry("3", "0", "4", "two"),
        entry("4", "0", "3", "two"),
        entry("5", "3", "10/3", "two"),
        entry("6", "1", "1", "one"),
    )


@pytest.fixture
def models() -> DagProblem:
    """Return layers of two models whose weights fill the nodes; tied layers share one."""
    return DagProblem(
        tasks=[
            Task(id="p", work=2, memory=0.3, colocate="tied"),
            Task(id="q", work=2, memory=0.3, colocate="tied"),
            Task(id="r", work=1, memory=0.4),
            Task(id="s", work=1, memory=2.5),
            Task(id="table", work=0, memory=0.5),
            Task(id="free", work=1),
        ],
        nodes=[Node(id="small", memory=1), Node(id="large", memory=3), Node(id="any")],
    )


@pytest.fixture
def models_entries() -> Entries:
    """Return a right schedule of ``models`` that leaves no memory on ``small`` and ``large``."""
    return (
        entry("p", "0", "2", "small"),
        entry("q", "2", "4", "small"),
        entry("r", "4", "5", "small"),
        entry("s", "0", "1", "large"),
        entry("table", "0", "0", "large"),
        entry("free", "5", "6", "small"),
    )
