"""Pictures of fair shares: jobs, classes or the largest, with utilities and prices."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from allocsolve.models.errors import UsageError
from allocsolve.models.fair.answer import FairAnswer, Run
from allocsolve.models.fair.data import Job, Pair, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.plots import shares
from allocsolve.plots.share_groups import rows_of, times_together

pytest.importorskip("matplotlib")

TYPES = [ResourceType(id="v", count=1), ResourceType(id="k", count=2)]


def _comments(image: bytes) -> list[str]:
    assert ElementTree.fromstring(image).tag == "{http://www.w3.org/2000/svg}svg"
    return re.findall(r"<!-- (.*?) -->", image.decode())


@pytest.fixture(scope="module")
def proved() -> FairAnswer:
    """Two jobs on two types, the shares of largest Nash welfare with their prices."""
    problem = FairProblem(
        name="cluster",
        types=TYPES,
        jobs=[
            Job(id="one", throughput={"v": 10, "k": 1}),
            Job(id="two", throughput={"v": 6, "k": 3}),
        ],
    )
    table = np.array([[17 / 18, 1 / 18], [1 / 18, 17 / 18]])
    return FairAnswer(problem, table, prices=np.array([18 / 19, 1e-14]))


def test_shares_come_with_utilities_and_prices(proved: FairAnswer) -> None:
    """Who gets what, what that is worth to each, and what a unit would be worth."""
    image = shares(proved)
    told = _comments(image)
    assert {"cluster: shares of 2 jobs", "v (1)", "k (2)", "9.5", "3.167", "0.9474", "0"} <= set(
        told
    )
    assert {"utility / equal split (least 0.704)", "in numbers: utility"} <= set(told)
    assert shares(proved) == image
    assert shares(proved, form="png").startswith(b"\x89PNG")


def test_no_prices_are_no_zeros(proved: FairAnswer) -> None:
    """An answer written by hand holds none; a picture must not claim that units are free."""
    bare = FairAnswer(proved.problem, proved.shares)
    assert "the answer holds no prices" in _comments(shares(bare))


def _many(count: int, kinds: int) -> FairAnswer:
    problem = FairProblem(
        name="cluster",
        types=TYPES,
        jobs=[Job(id=f"j{i}", throughput={"v": 10, "k": 1 + i % kinds}) for i in range(count)],
    )
    table = np.full((count, 2), 1 / count)
    table[7] *= 0.5  # a job of its class that has less than the others
    return FairAnswer(problem, table)


def test_jobs_alike_share_a_row() -> None:
    """A row tells the mean of its class, and how many there are."""
    rows, told = rows_of(_many(90, 3), np.arange(90.0), 40)
    assert told == "in 3 classes of jobs alike"
    assert [row.label for row in rows] == [f"j{k} and 29 alike" for k in range(3)]
    assert rows[0].shares == pytest.approx([1 / 90] * 2)
    assert rows[1].shares == pytest.approx([(29 + 0.5) / 30 / 90] * 2)
    assert [row.ratio for row in rows] == [43.5, 44.5, 45.5]
    assert "cluster: shares of 90 jobs, in 3 classes of jobs alike" in _comments(
        shares(_many(90, 3))
    )


def test_the_largest_are_drawn_where_there_are_too_many_classes() -> None:
    """Those that hold most are drawn, all others are one row that adds up."""
    answer = _many(90, 90)
    rows, told = rows_of(answer, np.ones(90), 40)
    assert told == "the 39 that hold most, and the others"
    assert [row.label for row in rows][:8] == [f"j{k}" for k in (0, 1, 2, 3, 4, 5, 6, 8)]
    assert rows[-1].label == "51 others, on average"
    total = sum(row.shares for row in rows[:-1]) + 51 * rows[-1].shares
    assert total == pytest.approx(answer.shares.sum(axis=0))


def test_time_beside_another_job_counts_for_both() -> None:
    """A job that shares every unit would look as if it had nothing."""
    problem = FairProblem(
        types=TYPES,
        jobs=[Job(id=name, throughput={"v": 10, "k": 1}) for name in ("a", "b")],
        pairs=[Pair(jobs=("a", "b"), throughput={"v": (6, 4)})],
    )
    answer = FairAnswer(problem, np.zeros((2, 2)), pair_shares=np.array([[0.5, 0.0]]))
    assert times_together(answer).tolist() == [[0.5, 0.0], [0.5, 0.0]]
    assert "3" in _comments(shares(answer))


def test_what_cannot_be_drawn_says_so(proved: FairAnswer) -> None:
    """Runs without shares are no division of time."""
    runs = FairAnswer(proved.problem, np.zeros((2, 2)), runs=(Run(0, 0, 0.0, 1.0),))
    with pytest.raises(UsageError, match="runs from start to end"):
        shares(runs)
    with pytest.raises(UsageError, match="FairAnswer or a FairResult"):
        shares(np.zeros((2, 2)))  # type: ignore[arg-type]  # what a careless caller hands in
