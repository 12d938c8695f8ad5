"""Pairs that share units: as arrays, and as classes of what is alike."""

from __future__ import annotations

import numpy as np
import pytest

from allocsolve.models.errors import InputError
from allocsolve.models.fair.data import Job, Pair, ResourceType
from allocsolve.models.fair.pair_prices import pair_margin
from allocsolve.models.fair.pairs import PairTable
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.sharing import sharing_classes

U = np.array([[2.0, 1.0], [2.0, 1.0], [2.0, 1.0], [1.0, 3.0]])


def _shared(ends: list[list[int]], rates: object, kind: object = None) -> FairProblem:
    return FairProblem.from_arrays(U, [1.0, 1.0]).with_pairs(ends, rates, kind)


def test_a_table_of_pairs_is_what_its_records_are() -> None:
    """The same instance from records and from arrays, both ways."""
    rates = [[[1.0, 0.5], [0.0, 0.25]]]
    table = _shared([[0, 3], [1, 3]], rates, [0, 0])
    records = FairProblem(
        types=[ResourceType(id="0", count=1), ResourceType(id="1", count=1)],
        jobs=[Job(id=str(i), throughput={"0": row[0], "1": row[1]}) for i, row in enumerate(U)],
        pairs=[
            Pair(jobs=("0", "3"), throughput={"0": (1.0, 0.5), "1": (0.0, 0.25)}),
            Pair(jobs=("1", "3"), throughput={"0": (1.0, 0.5), "1": (0.0, 0.25)}),
        ],
    )
    assert isinstance(table.pairs, PairTable)
    assert table.pairs[:] == list(records.pairs)
    assert (table.arrays.pair_throughput == records.arrays.pair_throughput).all()
    assert (table.arrays.pair_jobs == records.arrays.pair_jobs).all()
    assert table.features == records.features


@pytest.mark.parametrize(
    ("ends", "rates", "kind", "words"),
    [
        pytest.param([[0, 0]], np.ones((1, 2, 2)), None, "one job twice", id="with itself"),
        pytest.param([[0, 4]], np.ones((1, 2, 2)), None, "not there", id="no such job"),
        pytest.param([[0, 1], [1, 0]], np.ones((2, 2, 2)), None, "comes twice", id="twice"),
        pytest.param([[0, 1]], -np.ones((1, 2, 2)), None, "out of range", id="negative"),
        pytest.param([[0, 1]], np.full((1, 2, 2), np.inf), None, "out of range", id="infinite"),
        pytest.param([[0, 1]], np.ones((1, 3, 2)), None, "shape", id="types"),
        pytest.param([[0, 1]], np.ones((1, 2, 2)), [1], "not there", id="no such kind"),
        pytest.param([[0, 1]], np.ones((1, 2, 2)), [0, 0], "as many kinds", id="kinds"),
        pytest.param([[0.5, 1]], np.ones((1, 2, 2)), None, "whole numbers", id="half a job"),
    ],
)
def test_wrong_tables_are_refused(
    ends: list[list[int]], rates: object, kind: object, words: str
) -> None:
    """Each rule of a pair holds for tables too, with the pair named."""
    with pytest.raises(InputError, match=words):
        _shared(ends, rates, kind)


def test_gangs_of_a_pair_are_equal() -> None:
    """Units are shared by two gangs of one size only."""
    with pytest.raises(InputError, match="gangs"):
        FairProblem.from_arrays(U, [1.0, 1.0], columns={"gang": [1.0, 2.0, 1.0, 1.0]}).with_pairs(
            [[0, 1]], np.ones((1, 2, 2))
        )


def test_partners_tell_equal_jobs_apart() -> None:
    """Jobs 0 and 1 share with job 3 in opposite order, job 2 with nobody: two classes."""
    rates = np.array([[[1.0, 0.5], [0.0, 0.2]], [[0.5, 1.0], [0.2, 0.0]]])
    found = sharing_classes(_shared([[0, 3], [3, 1]], rates))
    assert found.jobs.member.tolist() == [0, 0, 1, 2]
    assert found.pair_member.tolist() == [0, 0]
    assert found.pair_count.tolist() == [2]
    first, second = found.ends[0].tolist()
    each = dict(zip((first, second), found.each[0].tolist(), strict=True))
    assert each == {0: 1.0, 2: 2.0}


def test_losses_tell_pairs_apart() -> None:
    """What the other end keeps matters as much as what the own end keeps."""
    rates = np.array([[[1.0, 0.5], [0.0, 0.2]], [[1.0, 0.4], [0.0, 0.2]]])
    found = sharing_classes(_shared([[0, 3], [1, 3]], rates))
    assert len(found.jobs.first) == 4
    assert len(found.pair_first) == 2


def test_partners_of_partners_count() -> None:
    """A path of four equal jobs has two classes: its ends and its middle."""
    same = np.ones((4, 2))
    problem = FairProblem.from_arrays(same, [1.0, 1.0]).with_pairs(
        [[0, 1], [1, 2], [2, 3]], np.full((1, 2, 2), 0.7), [0, 0, 0]
    )
    found = sharing_classes(problem)
    assert found.jobs.member.tolist() == [0, 1, 1, 0]
    assert sorted(found.pair_count.tolist()) == [1, 2]


def test_the_margin_is_that_of_the_cheapest_pair() -> None:
    """Of all pairs and types the least ratio of price to worth, by hand."""
    rates = np.array([[[1.0, 0.5], [0.0, 0.25]]])
    arrays = _shared([[0, 3], [1, 3]], rates, [0, 0]).arrays
    unit, times = np.array([1.0, 2.0, 1.0, 4.0]), np.array([0.5, 0.25, 0.0, 0.25])
    ratios = [(3 + 0.75) / (1 + 2), (4 + 0.75) / 1, (3 + 0.5) / (2 + 2), (4 + 0.5) / 1]
    margin = pair_margin(arrays, unit, np.array([3.0, 4.0]), times)
    assert margin == pytest.approx(min(ratios))
