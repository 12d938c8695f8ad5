"""The order of tasks along arcs, with and without cycles."""

from __future__ import annotations

import pytest

from allocsolve.models.dag.ordering import order_along


@pytest.mark.parametrize(
    ("successors", "order"),
    [
        pytest.param([], [], id="no tasks"),
        pytest.param([[], [], []], [0, 1, 2], id="no arcs: by index"),
        pytest.param([[], [0], [1]], [2, 1, 0], id="a chain against the index"),
        pytest.param([[2], [2], [3], []], [0, 1, 2, 3], id="two predecessors"),
        pytest.param([[1], [0], []], [2, 0, 1], id="a cycle is cut at its least task"),
        pytest.param([[0], []], [1, 0], id="the first task waits for itself"),
        pytest.param([[1], [1, 2], []], [0, 1, 2], id="a task in the middle waits for itself"),
        pytest.param([[], [2], [1, 0]], [0, 1, 2], id="the least task waits for a cycle"),
    ],
)
def test_every_task_comes_once_and_arcs_are_followed(
    successors: list[list[int]], order: list[int]
) -> None:
    """A task that were left out would have no rank, and longest paths would miss it."""
    assert order_along(successors) == order
