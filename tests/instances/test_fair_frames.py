"""Fair divisions from frames, dicts and arrays are one and the same."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np
import pytest

import allocsolve
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.fair.data import Entity
from allocsolve.models.fair.problem import FairProblem

NAN = float("nan")
THROUGHPUT: dict[str, list[object]] = {
    "job": ["a", "b", "c"],
    "v100": [10.0, 6, 0.5],
    "k80": [1, 3, None],
}
TYPES = {"id": ["v100", "k80"], "count": [1, 2.5], "cost": [3, None]}
JOBS = {
    "job": ["c", "a"],
    "weight": [2, 1.5],
    "gang": [1, 2],
    "remaining": [None, 40],
    "deadline": [None, 9],
    "entity": ["team", None],
    "demand.k80": [0.25, None],
}
ENTITIES = [{"id": "team", "weight": 3, "policy": "fifo"}]
LONG: dict[str, list[object]] = {
    "job": ["a", "a", "b", "b", "c"],
    "type": ["v100", "k80", "v100", "k80", "v100"],
    "throughput": [10, 1, 6, 3, 0.5],
}


def _by_arrays() -> FairProblem:
    return FairProblem.from_arrays(
        [[10, 1], [6, 3], [0.5, 0]],
        [1, 2.5],
        types=["v100", "k80"],
        ids=["a", "b", "c"],
        cost=[3, 0],
        entities=[Entity(id="team", weight=3, policy="fifo")],
        columns={
            "weight": [1.5, 1, 2],
            "gang": [2, 1, 1],
            "remaining": [40, NAN, NAN],
            "deadline": [9, np.inf, np.inf],
            "entity": [-1, -1, 0],
            "demand": [[0, 0], [0, 0], [0, 0.25]],
        },
    )


def _by_dict() -> FairProblem:
    return allocsolve.from_dict(
        {
            "types": [{"id": "v100", "count": 1, "cost": 3}, {"id": "k80", "count": 2.5}],
            "jobs": [
                {
                    "id": "a",
                    "throughput": {"v100": 10, "k80": 1},
                    "weight": 1.5,
                    "gang": 2,
                    "remaining": 40,
                    "deadline": 9,
                },
                {"id": "b", "throughput": {"v100": 6, "k80": 3}},
                {
                    "id": "c",
                    "throughput": {"v100": 0.5},
                    "demand": {"k80": 0.25},
                    "weight": 2,
                    "entity": "team",
                },
            ],
            "entities": ENTITIES,
        },
        kind="fair",
    )


def _same(first: FairProblem, second: FairProblem) -> None:
    """Compare ids and every array."""
    assert list(first.job_ids) == list(second.job_ids)
    assert first.type_ids == second.type_ids
    for name in ("capacity", "cost", "entity_weight", "entity_is_fifo"):
        assert np.array_equal(getattr(first.arrays, name), getattr(second.arrays, name)), name
    for name in first.arrays.jobs.__dataclass_fields__:
        one, other = (getattr(problem.arrays.jobs, name) for problem in (first, second))
        np.testing.assert_array_equal(one, other, err_msg=name)


def _plain(columns: object) -> object:
    return columns


def _rows(columns: dict[str, list[object]]) -> object:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _library(name: str) -> Callable[[object], object]:
    def frame(columns: object) -> object:
        pytest.importorskip(name)
        # Columns of integers and decimals are one column to pandas, not to a strict polars.
        more = {"strict": False} if name == "polars" else {}
        return importlib.import_module(name).DataFrame(columns, **more)

    return frame


MAKERS = [
    pytest.param(_plain, id="columns"),
    pytest.param(_rows, id="rows"),
    pytest.param(_library("pandas"), id="pandas"),
    pytest.param(_library("polars"), id="polars"),
]


@pytest.mark.parametrize("table", [THROUGHPUT, LONG], ids=["wide", "long"])
@pytest.mark.parametrize("make", MAKERS)
def test_every_way_leads_to_the_same_problem(make: Callable[..., object], table: object) -> None:
    """Frames of every library, dicts and arrays are only clothes of one instance."""
    problem = allocsolve.from_frames(
        throughput=make(table), types=make(TYPES), jobs=make(JOBS), entities=ENTITIES, name="x"
    )
    _same(problem, _by_arrays())
    _same(problem, _by_dict())
    assert problem.name == problem.origin.name == "x"


def test_types_may_be_a_mapping_of_counts() -> None:
    """Most stocks are nothing but a number for each type."""
    problem = allocsolve.from_frames(
        throughput={"id": [1, 2], "v100": [10, NAN], "k80": [0, 3]}, types={"v100": 4, "k80": 0.5}
    )
    assert list(problem.job_ids) == ["1", "2"]
    assert problem.arrays.capacity.tolist() == [4, 0.5]
    assert problem.arrays.throughput.tolist() == [[10, 0], [0, 3]]


def test_fields_of_the_document_come_along() -> None:
    """Objective, cap, pairs and rounds are no tables, but part of the instance."""
    problem = allocsolve.from_frames(
        throughput={"job": ["a", "b"], "v100": [10, 6]},
        types={"v100": 1},
        time_cap=False,
        objective={"name": "alpha_fair", "alpha": 0.5},
        pairs=[{"jobs": ["a", "b"], "throughput": {"v100": [5, 4]}}],
    )
    assert problem.objective is not None
    assert (problem.objective.name, problem.settings.alpha) == ("alpha_fair", 0.5)
    assert problem.arrays.pair_throughput.tolist() == [[[5, 4]]]
    assert not problem.time_cap


def test_a_frame_of_shares_comes_back() -> None:
    """What went in as a frame is read as one: a row for each job, a column for each type."""
    pytest.importorskip("pandas")
    problem = allocsolve.from_frames(
        throughput={"job": ["a", "b"], "v100": [10, 6], "k80": [1, 3]}, types={"v100": 1, "k80": 2}
    )
    frame = allocsolve.solve(problem, objective="nash", threads=1).allocation.to_frame()
    assert list(frame["job"]) == ["a", "b"]
    assert list(frame.columns) == ["job", "v100", "k80", "utility", "time_price"]
    assert frame["utility"].tolist() == pytest.approx([19 / 2, 19 / 6], rel=1e-6)


def _frames(**changes: object) -> FairProblem:
    given = {"throughput": THROUGHPUT, "types": TYPES, "jobs": JOBS, "entities": ENTITIES}
    return allocsolve.from_frames(**{**given, **changes})  # type: ignore[no-any-return,call-overload]  # wrong on purpose


BASE: dict[str, list[object]] = {"job": ["a", "b"], "v100": [1, 2], "k80": [1, 2]}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"throughput": {**BASE, "k90": [1, 1]}}, "'k90' is no type", id="type"),
        pytest.param({"throughput": {"job": ["a"], "v100": [1]}}, "type 'k80'", id="no column"),
        pytest.param({"throughput": {"v100": [1], "k80": [1]}}, "no column 'job'", id="no jobs"),
        pytest.param({"throughput": {**BASE, "job": ["a", "a"]}}, "two rows, 0 and 1", id="twice"),
        pytest.param({"throughput": {**BASE, "job": ["a", None]}}, "row 1 has no job", id="no id"),
        pytest.param(
            {"throughput": {**BASE, "k80": [1, "x"]}, "jobs": None},
            "job 'b': throughput on 'k80' 'x' is not a number",
            id="text",
        ),
        pytest.param(
            {"throughput": {**BASE, "k80": [1, -4.5]}, "jobs": None},
            "job 'b': throughput on type 'k80' is -4.5",
            id="negative",
        ),
        pytest.param(
            {"throughput": {**BASE, "k80": [1, float("inf")]}, "jobs": None},
            "job 'b': throughput on type 'k80' is inf",
            id="infinite",
        ),
        pytest.param(
            {"throughput": {k: [*v, v[0]] for k, v in LONG.items()}}, "two rows for type", id="long"
        ),
        pytest.param({"types": {"id": ["v100", "k80"]}}, "count", id="no count"),
        pytest.param({"types": {"count": [1, 2]}}, "row 0 has no id", id="type without id"),
        pytest.param({"types": {"v100": -1, "k80": 2}}, "count is -1", id="negative count"),
        pytest.param({"jobs": {"job": ["d"]}}, "job 'd' has no throughputs", id="unknown job"),
        pytest.param({"jobs": {"job": ["a", "a"]}}, "jobs: job 'a' has two rows", id="job twice"),
        pytest.param({"jobs": {"job": ["a"], "wieght": [1]}}, "did you mean 'weight'", id="column"),
        pytest.param({"jobs": {"job": ["a"], "gang": [1.5]}}, "job 'a': gang is 1.5", id="gang"),
        pytest.param({"jobs": {"job": ["a"], "weight": [True]}}, "not a number", id="truth"),
        pytest.param({"jobs": {"job": ["a"], "entity": ["tame"]}}, "unknown entity", id="entity"),
        pytest.param({"rounds": {"cuont": 2}}, "cuont", id="field of the document"),
    ],
)
def test_what_is_wrong_is_named(changes: dict[str, object], words: str) -> None:
    """Job, column and value, never a stack of some array library."""
    with pytest.raises(InputError) as caught:
        _frames(**changes)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({}, "either tasks or throughput", id="nothing"),
        pytest.param({"throughput": THROUGHPUT}, "types", id="no types"),
        pytest.param(
            {"throughput": THROUGHPUT, "types": TYPES, "tasks": {"id": []}}, "either", id="both"
        ),
        pytest.param(
            {"throughput": THROUGHPUT, "types": TYPES, "nodes": 2}, "no nodes", id="nodes"
        ),
        pytest.param({"tasks": {"id": []}, "jobs": JOBS}, "no jobs beside tasks", id="jobs"),
        pytest.param({"throughput": 3, "types": TYPES}, "a table is needed", id="no table"),
        pytest.param(
            {"throughput": {"job": ["a"], "v": []}, "types": TYPES}, "length", id="ragged"
        ),
        pytest.param({"throughput": {"job": 3}, "types": TYPES}, "a table is needed", id="scalar"),
    ],
)
def test_misuse_is_an_error_of_use(arguments: dict[str, object], words: str) -> None:
    """Tables of two kinds in one call would lose one of them in silence."""
    with pytest.raises(UsageError, match=words):
        allocsolve.from_frames(**arguments)  # type: ignore[call-overload]  # wrong on purpose
