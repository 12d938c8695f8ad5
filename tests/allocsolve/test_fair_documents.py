"""The allocation of a solution document: both ways, exactly, and by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from allocsolve.models.errors import InputError
from allocsolve.models.fair.allocation import place
from allocsolve.models.fair.answer import FairAnswer, Run
from allocsolve.models.fair.check import check
from allocsolve.models.fair.data import Job, Pair, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.report.codec import builtins, decode, encode
from allocsolve.report.fair import (
    AllocationEntry,
    allocation_entry,
    read_allocation,
)

PROBLEM = FairProblem(
    types=[ResourceType(id="v100", count=1), ResourceType(id="k80", count=2)],
    jobs=[
        Job(id="1", throughput={"v100": 10, "k80": 1}),
        Job(id="2", throughput={"v100": 6, "k80": 3}),
    ],
    pairs=[Pair(jobs=("1", "2"), throughput={"k80": (1, 2)})],
)
FULL = FairAnswer(
    PROBLEM,
    np.array([[17 / 18, 1 / 18], [1 / 18, 17 / 18]]) / 2,
    prices=np.array([18 / 19, 0]),
    time_prices=np.array([2 / 19, 18 / 19]),
    job_prices=np.array([2 / 19, 6 / 19]),
    levels=np.array([19 / 27, 19 / 11]),
    rounds=np.array([[0, 1], [-1, 0]]),
    pair_shares=np.array([[0.0, 0.1]]),
    runs=(Run(0, 0, 0.0, 1.5),),
)


def test_answers_round_trip_to_the_last_bit() -> None:
    """A document written and read again is the same answer."""
    text = encode(builtins(allocation_entry(FULL)))
    twin = place(PROBLEM, read_allocation(decode(text, AllocationEntry))).require()
    for field in (
        "shares",
        "prices",
        "time_prices",
        "job_prices",
        "levels",
        "rounds",
        "pair_shares",
    ):
        assert np.array_equal(getattr(twin, field), getattr(FULL, field)), field
    assert twin.runs == FULL.runs
    assert encode(builtins(allocation_entry(twin))) == text


def test_the_document_looks_as_agreed() -> None:
    """Field names are fixed; types of share 0 are left out."""
    answer = FairAnswer(PROBLEM, np.array([[1, 0], [0, 1.0]]), prices=np.array([1.0, 0]))
    values = json.loads(encode(builtins(allocation_entry(answer))))
    assert values == {
        "types": ["v100", "k80"],
        "jobs": [
            {"id": "1", "shares": {"v100": 1.0}, "utility": 10.0},
            {"id": "2", "shares": {"k80": 1.0}, "utility": 3.0},
        ],
        "prices": {"v100": 1.0, "k80": 0.0},
    }


def test_an_allocation_by_hand_needs_only_shares() -> None:
    """Everything else may be absent or null."""
    jobs = '[{"id": "1", "shares": {"v100": 1}}, {"id": "2", "utility": null}]'
    text = f'{{"jobs": {jobs}, "prices": null}}'.encode()
    entry = decode(text, AllocationEntry)
    report = check(PROBLEM, read_allocation(entry), name="total_throughput")
    assert report.valid
    assert report.value == 10.0


def test_what_does_not_fit_is_a_violation_or_an_error() -> None:
    """The checker lists what is wrong; reading it as an answer refuses it."""
    entry = decode(b'{"jobs": [{"id": "1", "shares": {"h100": 1}}]}', AllocationEntry)
    rules = {v.rule for v in check(PROBLEM, read_allocation(entry), name="max_min").violations}
    assert rules == {"unknown_type", "missing_job"}
    with pytest.raises(InputError, match="'h100'"):
        place(PROBLEM, read_allocation(entry)).require()


@pytest.mark.parametrize(
    "text",
    [
        b'{"jobs": [{"shares": {}}]}',
        b'{"jobs": [{"id": "1", "shares": {"v100": "much"}}]}',
        b'{"jobs": [{"id": "1", "share": {}}]}',
        b'{"prices": {}}',
    ],
)
def test_broken_documents_are_refused_with_their_path(text: bytes) -> None:
    """A field of another type or an unknown one is an input error."""
    with pytest.raises(InputError) as caught:
        decode(text, AllocationEntry)
    assert caught.value.path is not None
