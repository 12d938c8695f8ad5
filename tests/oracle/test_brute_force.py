"""The oracle itself: optima known by hand, and a second, even simpler oracle."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.data import Edge, Link, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem

Optimum = Callable[[DagProblem], int | None]


def fixed(token: str, duration: int, release: int = 0, deadline: int | None = None) -> Task:
    """Return a task of one mode that holds one of resource R."""
    mode = Mode(duration=duration, demand={"R": 1})
    return Task(id=token, release=release, deadline=deadline, modes=[mode])


def shared(capacity: int, tasks: list[Task], edges: list[Edge] | None = None) -> DagProblem:
    """Return tasks that share the resource R."""
    resources = [Resource(id="R", capacity=capacity)]
    return DagProblem(tasks=tasks, edges=edges or [], resources=resources)


def two_by_two(durations: list[tuple[int, int]], crossed: bool) -> DagProblem:
    """Return two jobs on two machines, through them in the same or in opposite order."""
    orders = [("x", "y"), ("y", "x") if crossed else ("x", "y")]
    table = {f"{j}.{o}": {orders[j][o]: durations[j][o]} for j in range(2) for o in range(2)}
    return DagProblem(
        tasks=[Task(id=token) for token in table],
        nodes=[Node(id="x"), Node(id="y")],
        durations=table,
        edges=[Edge(source=f"{j}.0", target=f"{j}.1") for j in range(2)],
    )


def lags(max_lag: int) -> DagProblem:
    """Return a chain around a long task on one machine: a, then c, and b within max_lag of a."""
    return shared(
        1,
        [fixed("a", 1, deadline=1), fixed("b", 1), fixed("c", 3, release=1, deadline=4)],
        [Edge(source="a", target="b", min_lag=1, max_lag=max_lag)],
    )


def transfer(data: int, bandwidth: int | None) -> DagProblem:
    """Return a fork whose branches share a node or pay for the transfer."""
    return DagProblem(
        tasks=[Task(id="r", work=1), Task(id="p", work=4), Task(id="q", work=4)],
        nodes=[Node(id="x"), Node(id="y")],
        edges=[Edge(source="r", target=t, data=data) for t in "pq"],
        links=[Link(between=("x", "y"), latency=1, bandwidth=bandwidth)],
    )


def packed(*memory: int, size: int | None, together: bool = False) -> DagProblem:
    """Return tasks of one unit each on two nodes of a size, all of one label or free."""
    label = "all" if together else None
    return DagProblem(
        tasks=[
            Task(id=str(i), work=1, memory=need, colocate=label) for i, need in enumerate(memory)
        ],
        nodes=[Node(id="x", memory=size), Node(id="y", memory=size)],
    )


KNOWN: list[tuple[str, DagProblem, int | None]] = [
    ("nothing", DagProblem(tasks=[]), 0),
    ("one task after its release", shared(1, [fixed("a", 3, release=2)]), 5),
    ("one after the other", shared(1, [fixed("a", 3), fixed("b", 2)]), 5),
    ("side by side", shared(2, [fixed("a", 3), fixed("b", 2)]), 3),
    ("two machines, three equal tasks", shared(2, [fixed(i, 2) for i in "abc"]), 4),
    (
        "partition 3 3 2 2 2 on two",
        shared(2, [fixed(str(i), d) for i, d in enumerate([3, 3, 2, 2, 2])]),
        6,
    ),
    ("too late", shared(1, [fixed("a", 3, deadline=2)]), None),
    ("overloaded window", shared(1, [fixed("a", 2, deadline=3), fixed("b", 2, deadline=3)]), None),
    ("waiting pays", shared(1, [fixed("a", 5), fixed("b", 1, release=1, deadline=2)]), 7),
    ("no capacity", shared(0, [fixed("a", 1)]), None),
    ("length zero needs no capacity", shared(0, [fixed("a", 0)]), 0),
    ("same order, Johnson", two_by_two([(3, 2), (1, 4)], crossed=False), 7),
    ("opposite order", two_by_two([(3, 2), (1, 4)], crossed=True), 7),
    ("maximum lag that fits", lags(5), 5),
    ("maximum lag that cannot be kept", lags(2), None),
    ("transfer cheaper than waiting", transfer(2, 2), 7),
    ("transfer dearer than waiting", transfer(9, 1), 9),
    ("no link", transfer(1, 0), 9),
    ("infinite bandwidth", transfer(9, None), 6),
    ("memory without a limit", packed(5, 5, 5, 5, size=None), 2),
    ("one large and three small", packed(3, 1, 1, 1, size=3), 3),
    ("no packing of five into four", packed(2, 2, 1, size=2), None),
    ("all on one node", packed(1, 1, 1, size=3, together=True), 3),
    ("together too large", packed(1, 1, 1, size=2, together=True), None),
]


@pytest.mark.parametrize(
    ("problem", "value"), [row[1:] for row in KNOWN], ids=[row[0] for row in KNOWN]
)
def test_known_optima(optimum: Optimum, problem: DagProblem, value: int | None) -> None:
    """The oracle finds what a person finds on paper."""
    ticks = optimum(problem)
    assert (None if ticks is None else problem.units(ticks)) == value


def test_modes_trade_time_for_stock(optimum: Optimum) -> None:
    """Only one of two tasks can take its short mode: 2 and 5 at once, not 2 and 2."""
    modes = [Mode(duration=2, demand={"N": 3}), Mode(duration=5, demand={"N": 1})]
    problem = DagProblem(
        tasks=[Task(id="a", modes=modes), Task(id="b", modes=modes)],
        resources=[Resource(id="N", capacity=4, renewable=False)],
    )
    assert optimum(problem) == 5


def test_ticks_of_the_grid(optimum: Optimum) -> None:
    """The optimum counts ticks: 0.75 after 0.5 is 5 quarters."""
    problem = DagProblem(
        tasks=[Task(id="a", modes=[Mode(duration=0.5)]), Task(id="b", modes=[Mode(duration=0.75)])],
        edges=[Edge(source="a", target="b")],
    )
    assert problem.arrays.tick == Fraction(1, 4)
    assert optimum(problem) == 5


@pytest.mark.parametrize(
    ("family", "tasks", "options"),
    [
        ("rcpsp", 4, {"resources": 1, "resource_factor": 1}),
        ("lags", 4, {"resources": 1, "resource_factor": 1, "resource_strength": 0}),
        ("multimode", 3, {"modes": 2, "resources": 1, "nonrenewable": 1}),
        ("flexible", 4, {"machines": 2, "operations": 2, "flexibility": 1}),
        ("communication", 3, {"nodes": 2, "machine": "unrelated", "missing_links": 0.3}),
    ],
)
@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(seed=st.integers(0, 10**6))
def test_agrees_with_trying_every_start(
    oracle: ModuleType, family: str, tasks: int, options: dict[str, int | str], seed: int
) -> None:
    """Branching on pairs finds the same optimum as trying every start on the grid."""
    word = "work" if family == "communication" else "duration"
    problem = generate(family, tasks=tasks, seed=seed, **{f"max_{word}": 2}, **options)
    best = oracle.best_schedule(problem)
    horizon = min(problem.arrays.horizon, 9 if best is None else best.makespan)
    tried = oracle.grid_schedule(problem, horizon)
    assert (best is None) == (tried is None)
    assert best is None or best.makespan == tried.makespan
