"""Reasons of infeasibility are proved again from the data; what is not proved is refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allocsolve.models.dag.answer import ScheduledTask
from allocsolve.models.dag.check import verify_reason
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reason_types import (
    CriticalPath,
    DemandExceedsCapacity,
    NoEligibleNode,
    PositiveLagCycle,
    WindowOverload,
)
from allocsolve.models.result import Reason, SolverProof

Drawn = Callable[[str, int], tuple[DagProblem, Sequence[ScheduledTask]] | None]


class Excuse(Reason, frozen=True, tag="excuse", kw_only=True):
    """A reason of a type that nobody knows."""

    def sentence(self) -> str:
        return "because"


def modes(*durations: int | float, **demand: int) -> list[Mode]:
    """Return modes of the given durations with the same demand."""
    return [Mode(duration=d, demand=dict(demand)) for d in durations]


LAGS = DagProblem(
    tasks=[
        Task(id="a", release=1, modes=modes(3, 5)),
        Task(id="b", modes=modes(2)),
        Task(id="c", modes=modes(4), deadline=9),
    ],
    edges=[
        Edge(source="a", target="b", min_lag=0.5),
        Edge(source="b", target="c", min_lag=1),
        Edge(source="a", target="c", max_lag=1, lag_from="end"),
        Edge(source="a", target="c", max_lag=6, lag_from="start"),
    ],
)
"""Longest path a-b-c: 3.5 + 3 = 6.5 from start to start; c must start 6 after a at the latest."""

STOCK = DagProblem(
    tasks=[
        Task(id="a", modes=[*modes(3, R=5), Mode(duration=2, demand={"R": 1, "N": 9})]),
        Task(id="b", modes=[*modes(1, N=3), *modes(1, N=4)]),
        Task(id="c", modes=modes(1, N=6)),
        Task(id="m", modes=modes(0, R=99)),
    ],
    resources=[Resource(id="R", capacity=4), Resource(id="N", capacity=8, renewable=False)],
)
"""Each mode of a exceeds one resource; b and c use up 9 of 8; m holds nothing."""

NODES = DagProblem(
    tasks=[Task(id="a"), Task(id="b"), Task(id="c", modes=modes(1))],
    nodes=[Node(id="dead", speed=0), Node(id="n")],
    durations={"a": {"dead": 1}, "b": {"n": 1}},
)

WINDOW = DagProblem(
    tasks=[
        Task(id="h", modes=modes(2)),
        Task(id="a", modes=modes(3, R=2), deadline=7),
        Task(id="b", modes=modes(4, R=2)),
        Task(id="t", modes=modes(1), deadline=8),
    ],
    edges=[
        Edge(source="h", target="a"),
        Edge(source="h", target="b"),
        Edge(source="b", target="t"),
    ],
    resources=[Resource(id="R", capacity=2)],
)
"""a and b lie within 2 and 7 and need 14 of R, which offers 10."""

MACHINES = DagProblem(
    tasks=[Task(id=i, release=1, deadline=4) for i in "abc"],
    nodes=[Node(id="m"), Node(id="n"), Node(id="o")],
    durations={"a": {"m": 2}, "b": {"m": 2}, "c": {"n": 3, "m": 3}},
)
"""a and b need 4 on m in a window of 3; all three need 7 of 6 on m and n."""

STARTS = DagProblem(
    tasks=[
        Task(id="a", modes=[*modes(1, R=4), *modes(4, R=1)]),
        Task(id="b", modes=[*modes(1, R=4), *modes(4, R=1)]),
        Task(id="c", modes=modes(0), deadline=0),
    ],
    edges=[Edge(source=task, target="c", lag_from="start") for task in "ab"],
    resources=[Resource(id="R", capacity=4)],
)
"""a and b must start at 0, but nothing bounds their ends: both fit in their second mode."""

EXCLUSIVE = DagProblem(
    tasks=[
        Task(id="a", modes=[*modes(3, R=3), *modes(4, R=2)], deadline=5),
        Task(id="b", modes=modes(3, R=3), deadline=5),
        Task(id="c", modes=modes(3, R=1), deadline=5),
        Task(id="z", modes=[*modes(0, R=9), *modes(3, R=3)], deadline=5),
        Task(id="free", modes=[*modes(3, R=4), *modes(3)], deadline=5),
    ],
    resources=[Resource(id="R", capacity=4)],
)
"""a and b exclude each other, c and b do not, z may take no time, free may leave R alone."""

SHARED = DagProblem(
    tasks=[
        Task(id="a", work=1, colocate="apart", eligible=["x"]),
        Task(id="b", work=1, colocate="apart", eligible=["y"]),
        Task(id="c", work=1, colocate="large", memory=3),
        Task(id="d", work=1, colocate="large", memory=2),
        Task(id="e", work=1, colocate="fine", memory=2),
        Task(id="f", work=1, colocate="fine", memory=2, eligible=["y"]),
        Task(id="g", work=1, memory=4),
    ],
    nodes=[Node(id="x", memory=3), Node(id="y", memory=4)],
)
"""No node takes both a and b, none has room for c and d; y takes e and f, or g."""

HOLDS: list[tuple[str, DagProblem, Reason]] = [
    ("cycle", LAGS, PositiveLagCycle(path=["a", "b", "c"], length=0.5)),
    ("cycle turned", LAGS, PositiveLagCycle(path=["c", "a", "b"], length=0.5)),
    ("path", LAGS, CriticalPath(task="c", path=["a", "b", "c"], length=11.5, deadline=9)),
    ("every mode", STOCK, DemandExceedsCapacity(task="a", resource="R", demand=5, capacity=4)),
    ("other mode", STOCK, DemandExceedsCapacity(task="a", resource="N", demand=9, capacity=8)),
    ("total", STOCK, DemandExceedsCapacity(task=None, resource="N", demand=9, capacity=8)),
    ("dead node", NODES, NoEligibleNode(task="a")),
    ("shared node", SHARED, NoEligibleNode(task="b")),
    ("shared memory", SHARED, NoEligibleNode(task="c")),
    (
        "resource window",
        WINDOW,
        WindowOverload(
            resource="R", node=None, start=2, end=7, work=14, available=10, tasks=["a", "b"]
        ),
    ),
    (
        "tasks that exclude each other",
        EXCLUSIVE,
        WindowOverload(
            resource="R", start=0, end=5, work=24, available=20, tasks=["a", "b"], exclusive=True
        ),
    ),
    (
        "one machine",
        MACHINES,
        WindowOverload(
            resource=None, node="m", start=1, end=4, work=4, available=3, tasks=["a", "b"]
        ),
    ),
    (
        "two machines",
        MACHINES,
        WindowOverload(
            resource=None, node=None, start=1, end=4, work=7, available=6, tasks=["a", "b", "c"]
        ),
    ),
    ("solver", WINDOW, SolverProof(solver="any")),
]

FAILS: list[tuple[str, DagProblem, Reason]] = [
    (
        "window of the shortest modes",
        STARTS,
        WindowOverload(resource="R", start=0, end=1, work=8, available=4, tasks=["a", "b"]),
    ),
    ("longer cycle", LAGS, PositiveLagCycle(path=["a", "b", "c"], length=1)),
    ("cycle without length", LAGS, PositiveLagCycle(path=["a", "b", "c"], length=0)),
    ("other direction", LAGS, PositiveLagCycle(path=["c", "b", "a"], length=0.5)),
    ("no lag back", LAGS, PositiveLagCycle(path=["a", "b"], length=0.5)),
    ("negative cycle", LAGS, PositiveLagCycle(path=["a", "c"], length=0.5)),
    ("unknown task in cycle", LAGS, PositiveLagCycle(path=["a", "x"], length=0.5)),
    ("empty cycle", LAGS, PositiveLagCycle(path=[], length=1)),
    ("longer path", LAGS, CriticalPath(task="c", path=["a", "b", "c"], length=12, deadline=9)),
    ("path in time", LAGS, CriticalPath(task="c", path=["b", "c"], length=7, deadline=9)),
    ("other deadline", LAGS, CriticalPath(task="c", path=["a", "b", "c"], length=11, deadline=8)),
    ("no deadline", LAGS, CriticalPath(task="b", path=["a", "b"], length=6.5, deadline=5)),
    ("other end", LAGS, CriticalPath(task="c", path=["a", "b"], length=11.5, deadline=9)),
    ("gap in path", LAGS, CriticalPath(task="c", path=["b", "a", "c"], length=9.5, deadline=9)),
    ("empty path", LAGS, CriticalPath(task="c", path=[], length=10, deadline=9)),
    ("unknown task", LAGS, CriticalPath(task="x", path=["x"], length=10, deadline=9)),
    ("fitting task", STOCK, DemandExceedsCapacity(task="b", resource="N", demand=9, capacity=8)),
    ("milestone", STOCK, DemandExceedsCapacity(task="m", resource="R", demand=99, capacity=4)),
    ("other demand", STOCK, DemandExceedsCapacity(task="a", resource="R", demand=6, capacity=4)),
    ("other capacity", STOCK, DemandExceedsCapacity(task="a", resource="R", demand=5, capacity=3)),
    ("unknown stock", STOCK, DemandExceedsCapacity(task="a", resource="X", demand=5, capacity=4)),
    ("unknown user", STOCK, DemandExceedsCapacity(task="x", resource="R", demand=5, capacity=4)),
    ("larger total", STOCK, DemandExceedsCapacity(task=None, resource="N", demand=10, capacity=8)),
    ("renewable", STOCK, DemandExceedsCapacity(task=None, resource="R", demand=5, capacity=4)),
    ("shared node that fits", SHARED, NoEligibleNode(task="e")),
    ("memory that just fits", SHARED, NoEligibleNode(task="g")),
    ("living node", NODES, NoEligibleNode(task="b")),
    ("project task", NODES, NoEligibleNode(task="c")),
    ("unknown node task", NODES, NoEligibleNode(task="x")),
    ("unknown type", NODES, Excuse()),
]


@pytest.mark.parametrize(
    ("problem", "reason"), [row[1:] for row in HOLDS], ids=[row[0] for row in HOLDS]
)
def test_true_reasons_are_proved(problem: DagProblem, reason: Reason) -> None:
    """A reason that holds is accepted."""
    assert verify_reason(problem, reason)


@pytest.mark.parametrize(
    ("problem", "reason"), [row[1:] for row in FAILS], ids=[row[0] for row in FAILS]
)
def test_false_reasons_are_refused(problem: DagProblem, reason: Reason) -> None:
    """A reason that claims more than the data implies is refused."""
    assert not verify_reason(problem, reason)


WINDOW_CHANGES: list[dict[str, object]] = [
    {"work": 15},
    {"work": 10},
    {"available": 9},
    {"start": 3, "available": 8},
    {"end": 6, "available": 8},
    {"tasks": ["a"]},
    {"tasks": ["a", "a"]},
    {"tasks": ["a", "t"]},
    {"tasks": ["a", "x"]},
    {"tasks": []},
    {"resource": "X"},
    {"resource": None, "node": None},
    {"node": "m"},
]


@pytest.mark.parametrize("change", WINDOW_CHANGES, ids=str)
def test_changed_windows_are_refused(change: dict[str, object]) -> None:
    """Every field of an overloaded window matters."""
    reason = next(reason for name, _, reason in HOLDS if name == "resource window")
    assert not verify_reason(WINDOW, msgspec.structs.replace(reason, **change))


@pytest.mark.parametrize(
    "change",
    [
        {"exclusive": False},
        {"work": 25},
        {"tasks": ["b", "c"]},
        {"tasks": ["a", "b", "c"], "work": 36},
        {"tasks": ["b", "z"]},
        {"tasks": ["b", "free"]},
        {"tasks": ["a"]},
        {"resource": None},
        {"resource": "X"},
    ],
    ids=str,
)
def test_tasks_exclude_each_other_only_if_no_two_fit(change: dict[str, object]) -> None:
    """Whoever counts with the whole capacity must show that nobody can run beside another one."""
    reason = next(reason for name, _, reason in HOLDS if name == "tasks that exclude each other")
    assert not verify_reason(EXCLUSIVE, msgspec.structs.replace(reason, **change))


def test_tasks_that_may_run_elsewhere_do_not_overload_a_node() -> None:
    """A task that has another node need not be on the named one."""
    reason = WindowOverload(
        resource=None, node="m", start=1, end=4, work=5, available=3, tasks=["a", "c"]
    )
    assert not verify_reason(MACHINES, reason)


def test_a_larger_window_that_is_not_overloaded_is_refused() -> None:
    """The claimed window itself must be overloaded, not only a part of it."""
    reason = WindowOverload(
        resource="R", node=None, start=0, end=7, work=14, available=14, tasks=["a", "b"]
    )
    assert not verify_reason(WINDOW, reason)


def test_thirds_are_proved_in_spite_of_rounding() -> None:
    """Numbers of a reason are the nearest floats of exact ones; the proof uses the exact ones."""
    third = Fraction(1, 3)
    problem = DagProblem(
        tasks=[
            Task(id=i, release=third, deadline=2 * third, modes=modes(1, R=1)) for i in ("a", "b")
        ],
        resources=[Resource(id="R", capacity=1)],
    )
    path = CriticalPath(task="a", path=["a"], length=float(third + 1), deadline=float(2 * third))
    window = WindowOverload(
        resource="R",
        node=None,
        start=float(third),
        end=float(2 * third),
        work=2,
        available=float(third),
        tasks=["a", "b"],
    )
    assert verify_reason(problem, path)
    assert verify_reason(problem, window)


numbers = st.integers(-2, 40)
ids = st.sampled_from([str(i) for i in range(1, 7)])
paths = st.lists(ids, min_size=1, max_size=4, unique=True)
reasons: st.SearchStrategy[Reason] = st.one_of(
    st.builds(PositiveLagCycle, path=paths, length=st.integers(1, 2)),
    st.builds(
        lambda path, d: CriticalPath(task=path[-1], path=path, length=d, deadline=d), paths, numbers
    ),
    st.builds(
        DemandExceedsCapacity,
        task=st.none() | ids,
        resource=st.sampled_from(["R1", "R2", "N1"]),
        demand=numbers,
        capacity=numbers,
    ),
    st.builds(NoEligibleNode, task=ids),
    st.builds(
        lambda tasks, start, end, work, capacity, resource, exclusive: WindowOverload(
            resource=resource,
            node=None,
            start=start,
            end=end,
            work=work,
            available=capacity * (end - start),
            tasks=tasks,
            exclusive=exclusive,
        ),
        paths,
        numbers,
        numbers,
        numbers,
        st.integers(1, 20),
        st.sampled_from(["R1", "R2", "N1", None]),
        st.booleans(),
    ),
)


@pytest.mark.parametrize("family", ["rcpsp", "lags", "multimode"])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 9), reason=reasons, deadline=st.booleans())
def test_no_reason_holds_for_a_feasible_instance(
    drawn: Drawn, family: str, seed: int, reason: Reason, deadline: bool
) -> None:
    """Whatever is claimed, an instance that has a schedule is never proved to have none."""
    case = drawn(family, seed)
    if case is None:
        return
    problem, entries = case
    if deadline:
        end = {entry.task: entry.end for entry in entries}
        tasks = [msgspec.structs.replace(t, deadline=end[t.id]) for t in problem.tasks]
        problem = problem.replace(tasks=tasks)
    assert not verify_reason(problem, reason)
