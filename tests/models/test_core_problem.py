"""Problems: exact scaling, refusal of what cannot be scaled, features, replacement."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocsolve.models.dag.arrays import NO_LIMIT
from allocsolve.models.dag.data import (
    DefaultLink,
    Edge,
    Link,
    Mode,
    Node,
    Resource,
    Setup,
    Task,
)
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number, exact

decimals = st.decimals(0, 1000, places=3, allow_nan=False, allow_infinity=False)
rationals = st.fractions(0, 100, max_denominator=60)
numbers = st.one_of(st.integers(0, 1000), decimals, rationals)

ONE = Task(id="a", modes=[Mode(duration=1)])
TWO = Task(id="b", modes=[Mode(duration=1)])
WORK = Task(id="w", work=1)
NODE = Node(id="n")


def test_cycles_print_their_path() -> None:
    """A cycle of plain precedence is a mistake, and the path shows where."""
    tasks = [Task(id=i, modes=[Mode(duration=1)]) for i in "abcd"]
    arcs = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]
    edges = [Edge(source=i, target=j) for i, j in arcs]
    with pytest.raises(InputError, match="b -> c -> d -> b"):
        DagProblem(tasks=tasks, edges=edges)
    lag = Edge(source="d", target="b", min_lag=-9)
    assert Feature.MAX_LAGS in DagProblem(tasks=tasks, edges=[*edges[:3], lag]).features


def test_long_chains_do_not_recurse() -> None:
    """A chain longer than Python's stack is read like any other."""
    tasks = [Task(id=str(i), modes=[Mode(duration=1)]) for i in range(3000)]
    edges = [Edge(source=str(i), target=str(i + 1)) for i in range(2999)]
    assert DagProblem(tasks=tasks, edges=edges).arrays.order is not None


@settings(deadline=None)
@given(
    durations=st.lists(numbers, min_size=1, max_size=6),
    releases=st.lists(numbers, min_size=6, max_size=6),
    lag=numbers,
    demands=st.lists(numbers, min_size=6, max_size=6),
    capacity=numbers,
)
def test_scaling_is_exact(
    durations: list[Number],
    releases: list[Number],
    lag: Number,
    demands: list[Number],
    capacity: Number,
) -> None:
    """Integers times the unit are the data, digit for digit."""
    problem = DagProblem(
        tasks=[
            Task(id=str(i), release=r, deadline=r, modes=[Mode(duration=d, demand={"R": q})])
            for i, (d, r, q) in enumerate(zip(durations, releases, demands, strict=False))
        ],
        edges=[Edge(source="0", target="0", min_lag=-exact(lag), max_lag=lag, lag_from="start")],
        resources=[Resource(id="R", capacity=capacity)],
    )
    arrays, units = problem.arrays, problem.units
    (unit,) = arrays.resource_unit
    for i in range(len(durations)):
        assert units(int(arrays.mode_duration[i])) == exact(durations[i])
        assert units(int(arrays.release[i])) == units(int(arrays.deadline[i])) == exact(releases[i])
        assert int(arrays.mode_demand[i, 0]) * unit == exact(demands[i])
    assert int(arrays.capacity[0]) * unit == exact(capacity)
    assert units(int(arrays.edge_min_lag[0])) == -exact(lag)
    assert units(int(arrays.edge_max_lag[0])) == exact(lag)


@settings(deadline=None)
@given(
    work=numbers,
    speed=st.one_of(st.integers(1, 12), st.fractions(Fraction(1, 7), 7, max_denominator=12)),
    data=st.integers(1, 50),
    latency=rationals,
    bandwidth=st.one_of(st.none(), st.integers(0, 12)),
)
def test_speeds_and_links_are_exact(
    work: Number, speed: Number, data: int, latency: Fraction, bandwidth: int | None
) -> None:
    """Quotients are exact too: work / speed and latency + data / bandwidth."""
    problem = DagProblem(
        tasks=[Task(id="a", work=work), Task(id="b", work=1)],
        nodes=[Node(id="x", speed=speed), Node(id="y")],
        edges=[Edge(source="a", target="b", data=data)],
        links=[Link(between=("x", "y"), latency=latency, bandwidth=bandwidth)],
    )
    arrays = problem.arrays
    assert problem.units(int(arrays.mode_duration[0])) == exact(work) / exact(speed)
    delay = arrays.delay(0, 1, 0)
    assert delay == arrays.delay(0, 0, 1)
    if bandwidth == 0:
        assert delay is None
    else:
        assert delay is not None
        assert problem.units(delay) == latency + (Fraction(data, bandwidth) if bandwidth else 0)
    assert arrays.delay(0, 1, 1) == arrays.delay(0, -1, 1) == 0


@pytest.mark.parametrize(
    "durations",
    [
        [Fraction(1, p) for p in (101, 103, 107, 109, 113, 127, 131, 137, 139)],
        [2**53 + 1, 1],
        [10**15, Fraction(1, 1000)],
        [2**52 + 1, 2**52, 2**52],
    ],
    ids=["many denominators", "one too long", "too fine beside too long", "sum too long"],
)
def test_what_does_not_fit_is_refused(durations: list[Number]) -> None:
    """No rounding in silence: beyond 2^53 the message says so and what to do."""
    tasks = [Task(id=str(i), modes=[Mode(duration=d)]) for i, d in enumerate(durations)]
    with pytest.raises(InputError, match=r"integers within 2\^53") as caught:
        DagProblem(tasks=tasks)
    assert "fewer digits" in str(caught.value)


def test_amounts_that_do_not_fit_are_refused() -> None:
    """The same holds for a resource, which is named."""
    modes = [Mode(duration=1, demand={"R": 10**17}), Mode(duration=1, demand={"R": 0.001})]
    with pytest.raises(InputError, match="resource 'R'"):
        DagProblem(tasks=[Task(id="a", modes=modes)], resources=[Resource(id="R", capacity=1)])


def test_large_but_legal() -> None:
    """Numbers near the limit are kept, not cut."""
    problem = DagProblem(
        tasks=[
            Task(id="a", modes=[Mode(duration=2**52 + 1)]),
            Task(id="b", modes=[Mode(duration=2)]),
        ]
    )
    assert problem.units(int(problem.arrays.mode_duration[0])) == 2**52 + 1


def test_modes_and_nodes() -> None:
    """Modes are the modes of the project form and the eligible, living nodes of the others."""
    problem = DagProblem(
        tasks=[
            Task(id="p", modes=[Mode(duration=1), Mode(duration=2)]),
            Task(id="w", work=6, eligible=["gpu", "x"]),
            Task(id="d"),
        ],
        nodes=[
            Node(id="x", speed=2),
            Node(id="y", speed=3, type="gpu"),
            Node(id="z", speed=1),
            Node(id="off", speed=0, type="gpu"),
        ],
        durations={"d": {"z": 5, "off": 1}},
    )
    arrays = problem.arrays
    assert arrays.mode_task.tolist() == [0, 0, 1, 1, 2]
    assert arrays.mode_node.tolist() == [-1, -1, 0, 1, 2]
    assert arrays.mode_index.tolist() == [0, 1, 0, 0, 0]
    assert arrays.mode_duration.tolist() == [1, 2, 3, 2, 5]
    assert arrays.min_duration.tolist() == [1, 2, 5]
    assert arrays.max_duration.tolist() == [2, 3, 5]
    assert [list(arrays.modes_of(i)) for i in range(3)] == [[0, 1], [2, 3], [4]]
    assert problem.warnings == ("nodes with speed 0 are left out: off",)


def test_repeated_edges_are_merged() -> None:
    """The tightest of each value holds, with one warning; lags from starts stay apart."""
    edges = [
        Edge(source="a", target="b", min_lag=1, max_lag=9),
        Edge(source="a", target="b", min_lag=3, max_lag=7, data=2),
        Edge(source="a", target="b", min_lag=4, lag_from="start"),
    ]
    problem = DagProblem(tasks=[ONE, TWO], edges=edges)
    arrays = problem.arrays
    assert arrays.edge_min_lag.tolist() == [3, 4]
    assert arrays.edge_max_lag.tolist() == [7, NO_LIMIT]
    assert arrays.edge_from_start.tolist() == [False, True]
    assert arrays.start_lag.tolist() == [4, 4]
    assert len(problem.warnings) == 1
    assert "'a' -> 'b'" in problem.warnings[0]


FEATURES: list[tuple[str, dict[str, object]]] = [
    (Feature.MODES, {"tasks": [Task(id="a", modes=[Mode(duration=1), Mode(duration=2)])]}),
    (Feature.NODES, {"tasks": [WORK], "nodes": [NODE]}),
    (Feature.RENEWABLE, {"resources": [Resource(id="R", capacity=1)]}),
    (Feature.NONRENEWABLE, {"resources": [Resource(id="R", capacity=1, renewable=False)]}),
    (Feature.RELEASES, {"tasks": [Task(id="a", release=1, modes=[Mode(duration=1)])]}),
    (Feature.DEADLINES, {"tasks": [Task(id="a", deadline=1, modes=[Mode(duration=1)])]}),
    (Feature.LAGS, {"tasks": [ONE, TWO], "edges": [Edge(source="a", target="b", min_lag=1)]}),
    (Feature.MAX_LAGS, {"tasks": [ONE, TWO], "edges": [Edge(source="a", target="b", max_lag=1)]}),
    (Feature.SETUPS, {"setups": [Setup(before="p", after="q", time=1)]}),
]


@pytest.mark.parametrize(("feature", "fields"), FEATURES, ids=[row[0] for row in FEATURES])
def test_features(feature: str, fields: dict[str, object]) -> None:
    """A plain task only asks to run without a node; each field asks for exactly its feature."""
    plain = DagProblem(tasks=[ONE])
    assert plain.features == {Feature.PROJECT}
    without_nodes = set() if feature == Feature.NODES else {Feature.PROJECT}
    assert plain.replace(**fields).features == {feature} | without_nodes


def test_lags_from_a_start_are_a_feature_of_their_own() -> None:
    """Methods that count lags from ends only must be able to refuse the others by name."""
    for edge in (
        Edge(source="a", target="b", min_lag=1, lag_from="start"),
        Edge(source="a", target="b", min_lag=-1),
    ):
        assert Feature.START_LAGS in DagProblem(tasks=[ONE, TWO], edges=[edge]).features
    after_end = DagProblem(tasks=[ONE, TWO], edges=[Edge(source="a", target="b", min_lag=1)])
    assert Feature.START_LAGS not in after_end.features


def test_communication_is_a_feature_only_if_it_costs() -> None:
    """Data over infinitely fast links, or between tasks of one node, needs no special method."""
    problem = DagProblem(
        tasks=[WORK, Task(id="v", work=1)],
        nodes=[NODE, Node(id="m")],
        edges=[Edge(source="w", target="v", data=1)],
    )
    assert Feature.COMMUNICATION in problem.features
    free = problem.replace(default_link=DefaultLink(bandwidth=None))
    assert Feature.COMMUNICATION not in free.features
    assert Feature.COMMUNICATION not in problem.replace(nodes=[NODE]).features


def test_replace_makes_a_new_problem() -> None:
    """Problems are values: replace changes a copy, which is scaled again; round trips are exact."""
    problem = DagProblem(tasks=[ONE], name="old")
    halved = problem.replace(tasks=[Task(id="a", modes=[Mode(duration=0.5)])], name="new")
    assert (problem.name, halved.name) == ("old", "new")
    assert problem.arrays.tick == 1
    assert halved.arrays.tick == Fraction(1, 2)
    with pytest.raises(FrozenInstanceError):
        problem.name = "other"  # type: ignore[misc]  # frozen, which is the point
    with pytest.raises(ValueError, match="read-only"):
        problem.arrays.release[0] = 1
    again = DagProblem.from_document(halved.to_document())
    assert again.to_document() == halved.to_document()
    assert np.array_equal(again.arrays.mode_duration, halved.arrays.mode_duration)


def test_a_problem_is_shown_in_one_line() -> None:
    """Whoever prints a result does not want a hundred thousand tasks."""
    problem = DagProblem(tasks=[Task(id="a", work=1)], nodes=[Node(id="x")], name="tiny")
    assert repr(problem) == "<DagProblem 'tiny': 1 tasks, 0 edges, 1 nodes, 0 resources>"


def test_a_finer_grid_holds_a_time_and_changes_no_data() -> None:
    """A plan may lie between the times of the instance, whatever deadlines its tasks have."""
    problem = DagProblem(
        name="p",
        tasks=[Task(id="a", work=2, release=4, deadline=8)],
        nodes=[Node(id="n")],
    )
    fine = problem.on_grid(Fraction(1, 3))
    assert [problem.arrays.tick, fine.arrays.tick] == [Fraction(2), Fraction(1, 3)]
    assert fine.arrays.release.tolist() == [12]
    assert fine.arrays.deadline.tolist() == [24]
    assert fine.to_document() == problem.to_document()
    assert fine.units(6) == 2
    assert problem.on_grid(Fraction(6)) is problem
    assert problem.on_grid(Fraction(0)) is problem


def test_a_grid_that_is_too_fine_is_refused() -> None:
    """Ticks must stay exact as floating-point numbers."""
    problem = DagProblem(tasks=[Task(id="a", work=1)], nodes=[Node(id="n")])
    with pytest.raises(InputError, match="cannot be scaled"):
        problem.on_grid(Fraction(1, 2**60))
