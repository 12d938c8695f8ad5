"""Tables of links: what they hold, and that like links take little memory."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from allocsolve.models.arrays import is_uniform, uniform_table
from allocsolve.models.dag.data import DefaultLink, Edge, Link, Node, Task
from allocsolve.models.dag.problem import DagProblem


def _problem(size: int, links: list[Link], default: DefaultLink | None = None) -> DagProblem:
    return DagProblem(
        tasks=[Task(id=i, work=1) for i in "ab"],
        edges=[Edge(source="a", target="b", data=6)],
        nodes=[Node(id=f"n{k}") for k in range(size)],
        links=links,
        default_link=default,
    )


@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_a_uniform_table_is_the_table_that_it_stands_for(size: int) -> None:
    """Everybody reads it as a plain table, so each element must be there."""
    table = uniform_table(size, np.array([7]), 3)
    assert table.tolist() == [[3 if i == j else 7 for j in range(size)] for i in range(size)]
    assert is_uniform(table)
    assert not table.flags.writeable


def test_a_plain_table_is_not_taken_for_a_uniform_one() -> None:
    """Nodes behind unlike links must not be exchanged for each other."""
    assert not is_uniform(np.zeros((3, 3), np.int64))


def test_listed_links_stand_beside_the_default() -> None:
    """A link holds both ways, and within a node nothing is paid."""
    listed = [Link(between=("n0", "n2"), latency=5, bandwidth=None)]
    arrays = _problem(3, listed, DefaultLink(latency=1, bandwidth=2)).arrays
    assert arrays.latency.tolist() == [[0, 1, 5], [1, 0, 1], [5, 1, 0]]
    assert [arrays.delay(0, 0, k) for k in range(3)] == [0, 4, 5]
    assert arrays.linked.all()


def test_a_missing_link_is_missing_both_ways() -> None:
    """Bandwidth 0 is no link, whatever the default."""
    arrays = _problem(2, [Link(between=("n0", "n1"), bandwidth=0)]).arrays
    assert arrays.linked.tolist() == [[True, False], [False, True]]


def test_ten_thousand_like_nodes_take_megabytes() -> None:
    """Dense tables of all pairs would take gigabytes and seconds."""
    tracemalloc.start()
    try:
        problem = _problem(10_000, [])
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert problem.arrays.communicates
    assert peak < 30e6
