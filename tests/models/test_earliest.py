"""The earliest schedule of modes and an order: exact, and honest where there is none."""

from __future__ import annotations

import pytest

from allocsolve.models.dag.data import Edge, Link, Mode, Node, Task
from allocsolve.models.dag.earliest import earliest_schedule
from allocsolve.models.dag.problem import DagProblem


def chain(max_lag: int | None = None, deadline: int | None = None) -> DagProblem:
    """Return a, then b at least 1 after it, and c, which is free."""
    return DagProblem(
        tasks=[
            Task(id="a", release=2, modes=[Mode(duration=3), Mode(duration=1)]),
            Task(id="b", modes=[Mode(duration=2)], deadline=deadline),
            Task(id="c", modes=[Mode(duration=4)]),
        ],
        edges=[Edge(source="a", target="b", min_lag=1, max_lag=max_lag)],
    )


@pytest.mark.parametrize(
    ("modes", "order", "starts"),
    [
        pytest.param([0, 2, 3], [], [2, 6, 0], id="no order: lags and releases only"),
        pytest.param([1, 2, 3], [], [2, 4, 0], id="another mode is shorter"),
        pytest.param([0, 2, 3], [(2, 0)], [4, 8, 0], id="c before a moves both"),
        pytest.param([1, 2, 3], [(1, 2)], [2, 4, 6], id="c after b"),
        pytest.param([1, 2, 3], [(2, 1)], [2, 4, 0], id="an order that costs nothing"),
    ],
)
def test_longest_paths(modes: list[int], order: list[tuple[int, int]], starts: list[int]) -> None:
    """Every start is the longest path to it."""
    schedule = earliest_schedule(chain(), modes, order)
    assert schedule is not None
    assert schedule.start.tolist() == starts
    assert schedule.mode.tolist() == modes


def test_a_maximum_lag_pulls_its_source_along() -> None:
    """If b has to wait for c, then a starts later to stay within its maximum lag."""
    schedule = earliest_schedule(chain(max_lag=1), [1, 2, 3], [(2, 1)])
    assert schedule is not None
    assert schedule.start.tolist() == [2, 4, 0]
    later = earliest_schedule(chain(max_lag=1), [1, 2, 3], [(2, 0)])
    assert later is not None
    assert later.start.tolist() == [4, 6, 0]


def test_contradictions_have_no_schedule() -> None:
    """Orders against each other or against precedence, and deadlines, cannot be repaired."""
    assert earliest_schedule(chain(), [0, 2, 3], [(1, 2), (2, 1)]) is None
    assert earliest_schedule(chain(), [0, 2, 3], [(1, 2), (2, 0)]) is None
    assert earliest_schedule(chain(deadline=7), [0, 2, 3], []) is None


@pytest.mark.parametrize(("bandwidth", "start"), [(2, 7), (None, 4), (0, None)])
def test_transfers(bandwidth: int | None, start: int | None) -> None:
    """Data needs latency + data / bandwidth between nodes, and a link."""
    problem = DagProblem(
        tasks=[Task(id="a", work=3), Task(id="b", work=1)],
        edges=[Edge(source="a", target="b", data=6)],
        nodes=[Node(id="x"), Node(id="y")],
        links=[Link(between=("x", "y"), latency=1, bandwidth=bandwidth)],
    )
    apart = earliest_schedule(problem, [0, 3], [])
    assert (apart is None) == (start is None)
    if apart is not None:
        assert problem.units(apart.start.tolist()[1]) == start
    together = earliest_schedule(problem, [0, 2], [])
    assert together is not None
    assert problem.units(together.start.tolist()[1]) == 3
