"""Each reason of infeasibility on an instance made for it, and silence on feasible ones."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from allocsolve.models.dag.check import verify_reason
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import (
    CriticalPath,
    DemandExceedsCapacity,
    NoEligibleNode,
    PositiveLagCycle,
    WindowOverload,
    find_reason,
)
from allocsolve.models.exact import Number
from allocsolve.models.result import Reason


def _step(
    name: str,
    *modes: tuple[float, dict[str, Number]],
    release: float = 0,
    deadline: float | None = None,
) -> Task:
    listed = [Mode(duration=duration, demand=demand) for duration, demand in modes]
    return Task(id=name, modes=listed, release=release, deadline=deadline)


def _after(*pairs: str) -> list[Edge]:
    return [Edge(source=pair[0], target=pair[1]) for pair in pairs]


ONE = Resource(id="R1", capacity=3)
STORE = Resource(id="N1", capacity=4.5, renewable=False)
TWO_NODES = [Node(id="x", slots=2), Node(id="y")]

INFEASIBLE: dict[str, tuple[DagProblem, Reason, str]] = {
    "no eligible node": (
        DagProblem(
            tasks=[Task(id="a", work=1), Task(id="b", work=1, eligible=["x"])],
            nodes=[Node(id="x", speed=0), Node(id="y")],
        ),
        NoEligibleNode(task="b"),
        "task 'b' can run on no node",
    ),
    "more memory than any node that may run it": (
        DagProblem(
            tasks=[Task(id="a", work=1, memory=2), Task(id="b", work=1, memory=2, eligible=["x"])],
            nodes=[Node(id="x", memory=1.5), Node(id="y")],
        ),
        NoEligibleNode(task="b"),
        "task 'b' can run on no node: none is eligible, alive and has enough memory",
    ),
    "tasks that share a node, but have none in common": (
        DagProblem(
            tasks=[
                Task(id="z", work=1),
                Task(id="a", work=1, colocate="c", eligible=["x"]),
                Task(id="b", work=1, colocate="c", eligible=["y"]),
            ],
            nodes=TWO_NODES,
        ),
        NoEligibleNode(task="a"),
        "task 'a' can run on no node: none is eligible, alive and has enough memory for it and all "
        "tasks that share its node",
    ),
    "tasks that share a node, and more memory than any": (
        DagProblem(
            tasks=[Task(id=i, work=1, memory=2, colocate="c") for i in "ab"],
            nodes=[Node(id="x", memory=3), Node(id="y", memory=2)],
        ),
        NoEligibleNode(task="a"),
        "task 'a' can run on no node",
    ),
    "one task above the capacity": (
        DagProblem(
            tasks=[_step("1", (0, {})), _step("2", (3, {"R1": 5})), _step("3", (4, {"R1": 2}))],
            resources=[ONE],
        ),
        DemandExceedsCapacity(task="2", resource="R1", demand=5, capacity=3),
        "task '2' needs 5 of resource 'R1', its capacity is 3, and no other mode of the task fits",
    ),
    "each mode above another capacity": (
        DagProblem(
            tasks=[_step("a", (3, {"R1": 4}), (2, {"N1": 5}), (1, {"N1": 4.75, "R1": 1}))],
            resources=[ONE, STORE],
        ),
        DemandExceedsCapacity(task="a", resource="N1", demand=4.75, capacity=4.5),
        "task 'a' needs 4.75 of resource 'N1', its capacity is 4.5",
    ),
    "all tasks together use up too much": (
        DagProblem(
            tasks=[_step(n, (3, {"N1": 2.5}), (1, {"N1": 2, "R1": 4})) for n in "ab"],
            resources=[ONE, STORE],
        ),
        DemandExceedsCapacity(task=None, resource="N1", demand=5, capacity=4.5),
        "the tasks together need at least 5 of the non-renewable resource 'N1'",
    ),
    "a cycle through two maximum lags": (
        DagProblem(
            tasks=[_step(n, (3, {})) for n in "zabc"],
            edges=[
                *_after("za"),
                Edge(source="a", target="b", min_lag=1, max_lag=5),
                Edge(source="b", target="c", min_lag=1, max_lag=6),
                Edge(source="a", target="c", min_lag=-3, max_lag=4.5),
            ],
        ),
        PositiveLagCycle(path=["a", "b", "c"], length=0.5),
        "the lags along a -> b -> c -> a add up to 0.5, so task 'a' would have to start 0.5",
    ),
    "a task that waits for itself": (
        DagProblem(
            tasks=[_step("a", (3, {}))],
            edges=[Edge(source="a", target="a", min_lag=2, lag_from="start")],
        ),
        PositiveLagCycle(path=["a"], length=2),
        "the lags along a -> a add up to 2",
    ),
    "a path beyond a deadline": (
        DagProblem(
            tasks=[
                _step("z", (1, {})),
                _step("a", (3, {}), (4, {}), release=2.5),
                _step("b", (3, {}), deadline=8),
            ],
            edges=_after("za", "ab"),
        ),
        CriticalPath(task="b", path=["a", "b"], length=8.5, deadline=8),
        "task 'b' has the deadline 8 but cannot end before 8.5 (critical path a -> b)",
    ),
    "a late target pulls its source beyond a deadline": (
        DagProblem(
            tasks=[_step("a", (2, {}), deadline=8), _step("b", (3, {}), release=10)],
            edges=[Edge(source="a", target="b", max_lag=1)],
        ),
        CriticalPath(task="a", path=["b", "a"], length=9, deadline=8),
        "task 'a' has the deadline 8 but cannot end before 9 (critical path b -> a)",
    ),
    "a window on a resource": (
        DagProblem(
            tasks=[
                *(_step(n, (2, {"R1": 2}), (3, {"R1": 1.5}), release=1.5) for n in "abc"),
                _step("d", (1, {}), deadline=6),
            ],
            edges=_after("ad", "bd", "cd"),
            resources=[ONE],
        ),
        WindowOverload(
            resource="R1", node=None, start=1.5, end=5, work=12, available=10.5, tasks=list("abc")
        ),
        "between 1.5 and 5 the tasks a, b, c need 12 on resource 'R1', which offers only 10.5",
    ),
    "a window for tasks that exclude each other": (
        DagProblem(
            tasks=[
                _step("a", (3, {"R1": 2.5}), (4, {"R1": 2}), deadline=6.5),
                _step("b", (2, {"R1": 2}), deadline=6.5),
                _step("c", (1, {"R1": 1}), deadline=6.5),
                _step("d", (2, {"R1": 1.5}), deadline=6.5),
            ],
            resources=[ONE],
        ),
        WindowOverload(
            resource="R1",
            start=0,
            end=6.5,
            work=21,
            available=19.5,
            tasks=list("abd"),
            exclusive=True,
        ),
        "between 0 and 6.5 the tasks a, b, d need 21 on resource 'R1', which offers only 19.5 "
        "(no two of them fit at once, so each counts as all of it)",
    ),
    "a window on a node": (
        DagProblem(
            tasks=[Task(id=n, work=3, eligible=["y"], deadline=5) for n in "ab"],
            nodes=TWO_NODES,
        ),
        WindowOverload(
            resource=None, node="y", start=0, end=5, work=6, available=5, tasks=["a", "b"]
        ),
        "between 0 and 5 the tasks a, b need 6 on node 'y', which offers only 5",
    ),
    "a window on all nodes": (
        DagProblem(tasks=[Task(id=n, work=3, deadline=3) for n in "abcd"], nodes=TWO_NODES),
        WindowOverload(
            resource=None, node=None, start=0, end=3, work=12, available=9, tasks=list("abcd")
        ),
        "between 0 and 3 the tasks a, b, c, d need 12 on the nodes, which offers only 9",
    ),
    "a window on the nodes that some tasks may use": (
        DagProblem(
            tasks=[
                *(Task(id=n, work=2, deadline=5, eligible=["y", "z"]) for n in "abcdef"),
                Task(id="g", work=1, deadline=5),
            ],
            nodes=[*TWO_NODES, Node(id="z")],
        ),
        WindowOverload(
            resource=None, node=None, start=0, end=5, work=12, available=10, tasks=list("abcdef")
        ),
        "between 0 and 5 the tasks a, b, c, d, e, f need 12 on the nodes",
    ),
}

FEASIBLE = {
    "nothing": DagProblem(tasks=[]),
    "a milestone inside a busy machine": DagProblem(
        tasks=[
            Task(id="A", work=5, deadline=5),
            Task(id="Z", work=0, release=2, deadline=2),
        ],
        nodes=[Node(id="a")],
    ),
    "a milestone above the capacity": DagProblem(
        tasks=[_step("m", (0, {"R1": 9}), deadline=0)], resources=[ONE]
    ),
    "tasks that exclude each other and just fit": DagProblem(
        tasks=[_step(n, (2, {"R1": 2}), deadline=6) for n in "abc"], resources=[ONE]
    ),
    "tasks of which two fit at once": DagProblem(
        tasks=[_step(n, (2, {"R1": 1.5}), deadline=4) for n in "abcd"], resources=[ONE]
    ),
    "a window that is just full": DagProblem(
        tasks=[_step(n, (2, {"R1": 1}), release=1, deadline=3) for n in "abc"], resources=[ONE]
    ),
    "a store that is just used up": DagProblem(
        tasks=[_step(n, (1, {"N1": 1.5})) for n in "abc"], resources=[STORE]
    ),
    "a cycle of length zero": DagProblem(
        tasks=[_step(n, (3, {})) for n in "ab"],
        edges=[Edge(source="a", target="b", min_lag=2, max_lag=2)],
    ),
    "a deadline that is just met": DagProblem(
        tasks=[_step("a", (2, {})), _step("b", (3, {}), deadline=5)], edges=_after("ab")
    ),
    "a second mode that fits": DagProblem(
        tasks=[_step("a", (1, {"R1": 4}), (7, {"R1": 3}))], resources=[ONE]
    ),
}


@pytest.mark.parametrize("problem", FEASIBLE.values(), ids=FEASIBLE)
def test_no_reason_where_everything_just_fits(problem: DagProblem) -> None:
    """Off by one here would refuse instances that have an answer."""
    assert find_reason(problem) is None


def test_the_simplest_reason_comes_first() -> None:
    """A task that fits nowhere explains more than the window that it would overload."""
    problem = DagProblem(
        tasks=[
            _step("a", (3, {"R1": 5}), deadline=2),
            _step("b", (3, {}), deadline=2),
            Task(id="c", work=1, eligible=["x"]),
        ],
        nodes=[Node(id="x", speed=0)],
        resources=[ONE],
    )
    assert isinstance(find_reason(problem), NoEligibleNode)
    without = problem.replace(tasks=problem.tasks[:2])
    assert isinstance(find_reason(without), DemandExceedsCapacity)
    assert isinstance(find_reason(without.replace(tasks=problem.tasks[1:2])), CriticalPath)


def test_a_long_path_is_cut_in_the_sentence_only() -> None:
    """A thousand ids help nobody; the object keeps all for the checker."""
    ids = [f"t{i}" for i in range(1000)]
    tasks = [_step(name, (1, {}), deadline=999 if name == "t999" else None) for name in ids]
    edges = [Edge(source=a, target=b) for a, b in itertools.pairwise(ids)]
    reason = find_reason(DagProblem(tasks=tasks, edges=edges))
    assert isinstance(reason, CriticalPath)
    assert reason.path == ids
    assert "t10 -> (988 more) -> t999" in reason.sentence()
    assert len(reason.sentence()) < 300


def _case(name: str) -> tuple[DagProblem, Reason, str]:
    return INFEASIBLE[name]


@pytest.mark.parametrize("name", INFEASIBLE)
def test_the_reason_is_found_and_said(name: str) -> None:
    """A person must see which ids and amounts contradict each other, and the checker agree."""
    problem, reason, sentence = _case(name)
    found = find_reason(problem)
    assert found == reason
    assert reason.sentence().startswith(sentence)
    assert verify_reason(problem, reason)


@pytest.mark.parametrize("name", INFEASIBLE)
def test_reasons_survive_json(name: str) -> None:
    """Documents carry reasons by their tag; what comes back is what was proved."""
    _, reason, _ = _case(name)
    assert msgspec.json.decode(msgspec.json.encode(reason), type=type(reason)) == reason
