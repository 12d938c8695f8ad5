"""Data of a fair division: what is refused and how, what is warned of, how fast it is built."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest

from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.fair.classes import classes_of
from allocsolve.models.fair.columns import JobTable
from allocsolve.models.fair.data import Entity, Goal, Job, Pair, ResourceType, Rounds
from allocsolve.models.fair.problem import FairFeature, FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.models.nodes import Law

TYPES = (ResourceType(id="a", count=2, cost=1.5), ResourceType(id="b", count=Decimal("0.5")))
JOBS = (
    Job(id="x", throughput={"a": 2, "b": Fraction(1, 3)}, remaining=5),
    Job(id="y", throughput={"b": 4.0}, gang=2, weight=3, deadline=9, remaining=1),
)


def fair(**changes: Any) -> FairProblem:
    """Build the small instance with some fields changed."""
    fields: dict[str, Any] = {"types": TYPES, "jobs": JOBS}
    return FairProblem(**(fields | changes))


def job(**fields: Any) -> list[Job]:
    """Return one job with some fields changed."""
    return [Job(**({"id": "x", "throughput": {"a": 1}} | fields))]


BAD = [
    (
        {"types": [ResourceType(id="a", count=float("inf"))]},
        ["type 'a'", "count", "finite"],
        "$.types[0].count",
    ),
    ({"types": [ResourceType(id="a", count=-1)]}, ["count is -1"], "$.types[0].count"),
    ({"types": [ResourceType(id="a", count=10**400)]}, ["count"], "$.types[0].count"),
    ({"types": [ResourceType(id="a", count="3")]}, ["count is 3"], "$.types[0].count"),  # type: ignore[arg-type]  # deliberately wrong
    ({"types": [ResourceType(id="a", count=1, cost=float("nan"))]}, ["cost"], "$.types[0].cost"),
    ({"types": [*TYPES, TYPES[0]]}, ["duplicate type id 'a'"], "$.types[2].id"),
    (
        {"types": [ResourceType(id="a", count=1, runtime=Law(law="expo"))]},
        ["expo"],
        "$.types[0].runtime",
    ),
    ({"jobs": [*JOBS, JOBS[0]]}, ["duplicate job id 'x'"], "$.jobs[2].id"),
    (
        {"jobs": job(throughput={"aa": 1})},
        ["unknown type 'aa'", "did you mean 'a'"],
        "$.jobs[0].throughput",
    ),
    ({"jobs": job(throughput={"a": -1})}, ["job 'x'", "'a'", "-1"], "$.jobs[0].throughput.a"),
    ({"jobs": job(throughput={"a": float("nan")})}, ["nan"], "$.jobs[0].throughput.a"),
    ({"jobs": job(throughput={"a": "fast"})}, ["'fast' is not a number"], "$.jobs[0].throughput.a"),
    ({"jobs": job(throughput={"a": True})}, ["True is not a number"], "$.jobs[0].throughput.a"),
    ({"jobs": job(throughput={"a": 10**400})}, ["float can hold"], "$.jobs[0].throughput.a"),
    ({"jobs": job(throughput={"a": 1e-310})}, ["1e-310", "1e-150"], "$.jobs[0].throughput.a"),
    ({"jobs": job(throughput={"a": 1e300})}, ["1e+300", "1e+150"], "$.jobs[0].throughput.a"),
    ({"jobs": job(remaining=1e151)}, ["1e+151", "to 1e+150"], "$.jobs[0].remaining"),
    (
        {"types": [ResourceType(id="a", count=1e-200)]},
        ["1e-200", "from 1e-150"],
        "$.types[0].count",
    ),
    ({"jobs": job(demand={"a": 1})}, ["throughput and in demand"], "$.jobs[0].demand.a"),
    ({"jobs": job(demand={"c": 1})}, ["unknown type 'c'"], "$.jobs[0].demand"),
    ({"jobs": job(weight=0)}, ["weight is 0", "above 0"], "$.jobs[0].weight"),
    ({"jobs": job(weight=float("nan"))}, ["weight"], "$.jobs[0].weight"),
    ({"jobs": job(gang=0)}, ["gang", "whole number"], "$.jobs[0].gang"),
    ({"jobs": job(gang=1.5)}, ["gang is 1.5"], "$.jobs[0].gang"),
    ({"jobs": job(remaining=-1)}, ["remaining is -1"], "$.jobs[0].remaining"),
    ({"jobs": job(remaining="much")}, ["'much'"], "$.jobs[0].remaining"),
    ({"jobs": job(isolated=0)}, ["isolated"], "$.jobs[0].isolated"),
    ({"jobs": job(deadline=0)}, ["deadline"], "$.jobs[0].deadline"),
    ({"jobs": job(elapsed=-3)}, ["elapsed"], "$.jobs[0].elapsed"),
    ({"jobs": job(arrival=float("inf"))}, ["arrival"], "$.jobs[0].arrival"),
    (
        {"jobs": job(entity="team")},
        ["job 'x'", "unknown entity 'team'", "id of an entity"],
        "$.jobs[0].entity",
    ),
    ({"entities": [Entity(id="t", weight=0)]}, ["weight is 0"], "$.entities[0].weight"),
    ({"entities": [Entity(id="t", policy="lifo")]}, ["lifo"], "$.entities[0].policy"),  # type: ignore[arg-type]  # deliberately wrong
    ({"pairs": [Pair(jobs=("x", "z"), throughput={})]}, ["unknown job 'z'"], "$.pairs[0].jobs"),
    ({"pairs": [Pair(jobs=("x", "x"), throughput={})]}, ["one job twice"], "$.pairs[0].jobs"),
    ({"pairs": [Pair(jobs=("x", "y"), throughput={})]}, ["gangs"], "$.pairs[0].jobs"),
    ({"rounds": Rounds(count=0)}, ["rounds"], "$.rounds.count"),
    ({"rounds": Rounds(count=2, restart=400)}, ["restart"], "$.rounds.restart"),
    ({"objective": Goal(name="nsh")}, ["unknown objective 'nsh'", "'nash'"], "$.objective.name"),
    ({"objective": Goal(alpha=-1)}, ["alpha"], "$.objective.alpha"),
    ({"objective": Goal(split="half")}, ["split"], "$.objective.split"),  # type: ignore[arg-type]  # deliberately wrong
]


@pytest.mark.parametrize(
    ("changes", "words", "path"), BAD, ids=lambda v: v if isinstance(v, str) else ""
)
def test_bad_data_is_refused_by_name(changes: Any, words: list[str], path: str) -> None:
    """The message names the record, the field and the value, the path leads to it."""
    with pytest.raises(InputError) as caught:
        fair(**changes)
    assert caught.value.path is not None
    assert caught.value.path.startswith(path)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"types": [*TYPES]}, id="a fractional count"),
        pytest.param(
            {"types": [TYPES[0], ResourceType(id="b", count=1)], "time_cap": False}, id="no cap"
        ),
    ],
)
def test_rounds_need_whole_counts_and_the_time_cap(changes: Any) -> None:
    """Half a unit cannot be handed out for a round: a refused request, not bad data."""
    with pytest.raises(UsageError, match="whole"):
        fair(rounds=Rounds(count=2), **changes)


def test_arrays_hold_the_numbers_of_the_records() -> None:
    """Every sort of number becomes the nearest float; what is left out has its default."""
    arrays = fair().arrays
    assert arrays.throughput.tolist() == [[2.0, 1 / 3], [0.0, 4.0]]
    assert arrays.capacity.tolist() == [2.0, 0.5]
    assert arrays.cost.tolist() == [1.5, 0.0]
    assert arrays.gang.tolist() == [1.0, 2.0]
    assert arrays.weight.tolist() == [1.0, 3.0]
    assert arrays.jobs.deadline.tolist() == [np.inf, 9.0]
    assert np.isnan(arrays.jobs.isolated).all()
    assert arrays.demand is None
    for array in (arrays.throughput, arrays.capacity, arrays.weight):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


def test_what_is_odd_is_warned_of() -> None:
    """Jobs without value, types without stock and gangs above the stock are legal."""
    jobs = [*JOBS, Job(id="zero", throughput={"a": 0}), *[Job(id=f"n{i}") for i in range(6)]]
    notes = fair(jobs=jobs, types=[*TYPES, ResourceType(id="none", count=0)]).warnings
    assert "none has no stock: nothing of it can be allocated" in notes
    assert any(
        text.startswith("zero, n0, n1, n2, n3 and 2 more cannot get positive") for text in notes
    )
    assert any("y needs more units at once than the 0.5 of type b" in text for text in notes)
    assert fair(jobs=[JOBS[0]]).warnings == ()


def test_gangs_above_several_stocks_are_one_warning() -> None:
    """The same jobs are named once, however many types are too small for them."""
    types = [ResourceType(id=token, count=k + 1) for k, token in enumerate("abc")]
    notes = fair(
        types=types, jobs=[Job(id="x", throughput={"a": 1, "b": 1, "c": 1}, gang=3)]
    ).warnings
    (note,) = notes
    assert note.startswith("x needs more units at once than the 1 of type a, the 2 of type b:")


def test_entities_divide_their_weight() -> None:
    """A fair entity in proportion, a fifo one all to the job that came first."""
    entities = [Entity(id="f", weight=6), Entity(id="q", weight=2, policy="fifo")]
    jobs = [
        Job(id="1", throughput={"a": 1}, entity="f", weight=1),
        Job(id="2", throughput={"a": 1}, entity="f", weight=2),
        Job(id="3", throughput={"a": 1}, entity="q", arrival=5),
        Job(id="4", throughput={"a": 1}, entity="q", arrival=4),
        Job(id="5", throughput={"a": 1}, weight=7),
    ]
    problem = fair(jobs=jobs, entities=entities)
    assert problem.arrays.weight.tolist() == [2.0, 4.0, 0.0, 2.0, 7.0]
    assert FairFeature.ENTITIES in problem.features


def test_documents_round_trip() -> None:
    """A problem, its document as JSON, and the problem of that document are the same."""
    problem = fair(
        pairs=[Pair(jobs=("x", "z"), throughput={"a": (1, 2)})],
        jobs=[*JOBS, Job(id="z", throughput={"a": 1})],
        objective=Goal(name="alpha_fair", alpha=3),
        name="cluster",
    )
    twin = FairProblem.from_document(problem.to_document())
    assert twin.to_document() == problem.to_document()
    assert np.array_equal(twin.arrays.pair_throughput, problem.arrays.pair_throughput)
    assert twin.settings == Settings(alpha=3.0)
    assert problem.kind == "fair"
    assert problem.features == {FairFeature.GANGS, FairFeature.PAIRS, FairFeature.DEADLINES}
    assert repr(problem) == "<FairProblem 'cluster': 3 jobs, 2 types>"


def test_arrays_and_records_build_the_same_problem() -> None:
    """The way without records must not mean anything else."""
    table = [[2, 1 / 3], [0, 4]]
    columns = {
        "gang": [1, 2],
        "weight": [1, 3],
        "deadline": [np.inf, 9],
        "remaining": [5, 1],
        "entity": [-1, -1],
    }
    built = FairProblem.from_arrays(
        table, [2, 0.5], types=["a", "b"], ids=["x", "y"], cost=[1.5, 0], columns=columns
    )
    records = [
        msgspec.to_builtins(entry, enc_hook=float) for entry in (built.jobs[0], *built.jobs[1:])
    ]
    assert FairProblem(types=built.types, jobs=list(built.jobs)).arrays.weight.tolist() == [1, 3]
    assert [entry["id"] for entry in records] == ["x", "y"]
    assert built.jobs[1] == Job(
        id="y", throughput={"b": 4.0}, gang=2, weight=3, deadline=9, remaining=1
    )
    assert np.array_equal(built.arrays.throughput, fair().arrays.throughput)
    assert list(FairProblem.from_arrays(table, [1, 1]).job_ids) == ["0", "1"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        pytest.param({"throughput": [[1, -1]]}, "job '0'", id="negative"),
        pytest.param({"throughput": [1, 2]}, "axes", id="a vector"),
        pytest.param({"throughput": [[1, 2], [3]]}, "differ in length", id="ragged"),
        pytest.param({"throughput": [[1, 2j]]}, "complex", id="complex"),
        pytest.param({"types": ["a"]}, r"types has 1 entries.*\n.*2 ids", id="too few types"),
        pytest.param({"capacity": [1]}, "shape", id="too few counts"),
        pytest.param({"capacity": [1, np.inf]}, "count", id="infinite count"),
        pytest.param({"ids": ["a", "b"]}, "ids", id="too many ids"),
        pytest.param({"columns": {"weigth": [1]}}, "did you mean 'weight'", id="unknown column"),
        pytest.param({"columns": {"entity": [0]}}, "entity", id="unknown entity"),
        pytest.param({"columns": {"weight": ["a"]}}, "not an array of numbers", id="text"),
    ],
)
def test_bad_arrays_are_refused(arguments: Any, word: str) -> None:
    """Arrays are checked like records."""
    fields: dict[str, Any] = {"throughput": [[1, 2]], "capacity": [1, 1]}
    with pytest.raises(InputError, match=word):
        FairProblem.from_arrays(**(fields | arguments))


def test_a_million_jobs_build_without_work_for_each() -> None:
    """Building from arrays is a few passes over them; a record is made when it is read."""
    table = np.random.default_rng(0).random((1_000_000, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(JobTable, "_record", None)
        problem = FairProblem.from_arrays(table, np.full(3, 1e5))
    assert problem.jobs[999_999].id == "999999"
    assert problem.jobs[-1].throughput["2"] == table[-1, 2]


def test_classes_of_identical_jobs() -> None:
    """Equal rows share a class, in the order of their first job; -0.0 is 0."""
    found = classes_of(
        np.array([[1.0, 0], [2, 3], [1, -0.0], [2, 3], [2, 4]]), np.array([1.0, 1, 1, 1, 1])
    )
    assert found.member.tolist() == [0, 1, 0, 1, 2]
    assert found.first.tolist() == [0, 1, 4]
    assert found.count.tolist() == [2, 2, 1]
    rng = np.random.default_rng(1)
    kinds = rng.random((400, 3))
    member = rng.integers(400, size=20_000)
    assert len(classes_of(kinds[member]).first) == len(np.unique(member))


def test_settings_of_the_command_line() -> None:
    """Settings are refused by name, with what is allowed."""
    chosen = Settings().with_options({"alpha": "0.5", "split": "weighted"})
    assert chosen == Settings(alpha=0.5, split="weighted")
    for options in ({"alpha": "-1"}, {"alpha": "x"}, {"split": "half"}, {"beta": "1"}):
        with pytest.raises(UsageError, match="allowed"):
            Settings().with_options(options)


def test_a_problem_under_another_name() -> None:
    """Renaming validates nothing again and changes nothing else."""
    problem = fair()
    assert problem.named("n").name == "n"
    assert problem.named("n").arrays is problem.arrays
    assert problem.replace(time_cap=False).features == {
        FairFeature.GANGS,
        FairFeature.DEADLINES,
        FairFeature.NO_TIME_CAP,
    }


def test_only_the_job_that_gains_by_sharing_is_reached() -> None:
    """Of two jobs that share units one may make no progress: it is named, not the other."""
    problem = FairProblem(
        types=[ResourceType(id="g", count=1)],
        jobs=[Job(id="fed"), Job(id="starved")],
        pairs=[Pair(jobs=("fed", "starved"), throughput={"g": (2, 0)})],
    )
    assert problem.arrays.reachable.tolist() == [True, False]
    assert any(warning.startswith("starved cannot") for warning in problem.warnings)
