"""Schedules, results and errors: what they give back and what they refuse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allocsolve.models.dag.answer import DagResult, Schedule, ScheduledTask
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Mode, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import FeatureRefused, InputError, NoSolution, suggest
from allocsolve.models.exact import plain
from allocsolve.models.result import (
    Certificate,
    CheckReport,
    Objective,
    Sense,
    SolverInfo,
    Status,
    Termination,
    relative_gap,
)

Drawn = Callable[[str, int], tuple[DagProblem, Sequence[ScheduledTask]] | None]

FAMILIES = ["rcpsp", "multimode", "lags", "jobshop", "flexible", "communication"]


@pytest.fixture
def halves() -> DagProblem:
    """Return two tasks on a grid of halves, one of them on a node."""
    return DagProblem(
        tasks=[Task(id="a", modes=[Mode(duration=1), Mode(duration=0.5)]), Task(id="b", work=1)],
        nodes=[Node(id="x"), Node(id="y", speed=2)],
    )


@pytest.mark.parametrize("family", FAMILIES)
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 400))
def test_brute_force_passes_the_checker(drawn: Drawn, family: str, seed: int) -> None:
    """Schedules found from the arrays are right by the data: scaling and checker agree."""
    case = drawn(family, seed)
    if case is None:
        return
    problem, entries = case
    report = check(problem, entries)
    assert report.violations == ()
    schedule = Schedule.from_entries(problem, entries)
    assert report.value == plain(problem.units(schedule.makespan))
    assert schedule.entries() == entries


def test_entries_are_in_input_units(halves: DagProblem) -> None:
    """Ticks never leave the problem: ids and exact input units do."""
    schedule = Schedule.of(halves, [3, 0], [1, 3])
    assert schedule.entries() == (
        ScheduledTask("a", Fraction(3, 2), Fraction(2), None, 1),
        ScheduledTask("b", Fraction(0), Fraction(1, 2), "y", 0),
    )
    assert schedule.makespan == 4
    assert len(schedule) == 2
    assert list(schedule) == list(schedule.entries())


BAD = [
    ({"task": "c"}, "unknown task 'c'"),
    ({"start": Fraction(1, 3)}, "not on the time grid of 0.5"),
    ({"mode": 2}, "cannot run in mode 2"),
    ({"node": "x"}, "on node 'x'"),
    ({"end": Fraction(7)}, "end 7 does not follow"),
    ({"task": "b", "node": "y", "mode": 0, "end": Fraction(1, 2)}, "task 'b' is scheduled twice"),
]


@pytest.mark.parametrize(("fields", "message"), BAD, ids=[row[1] for row in BAD])
def test_wrong_entries(halves: DagProblem, fields: dict[str, object], message: str) -> None:
    """What is no schedule of the problem is refused with the id."""
    first, second = Schedule.of(halves, [0, 0], [0, 2]).entries()
    changed = replace(first, **fields)  # type: ignore[arg-type]  # any field
    with pytest.raises(InputError, match=message):
        Schedule.from_entries(halves, [changed, second])


def test_a_missing_entry(halves: DagProblem) -> None:
    """A schedule holds every task."""
    with pytest.raises(InputError, match="task 'a' is not scheduled"):
        Schedule.from_entries(halves, Schedule.of(halves, [0, 0], [0, 2]).entries()[1:])


def test_empty_schedule() -> None:
    """Without tasks the makespan is 0."""
    assert Schedule.of(DagProblem(tasks=[]), [], []).makespan == 0


def result(answer: Schedule | None) -> DagResult:
    """Return a result with or without an answer."""
    return DagResult(
        kind="dag",
        method="any",
        status=Status.UNKNOWN if answer is None else Status.FEASIBLE,
        termination=Termination.TIME_LIMIT,
        objective=Objective("makespan", Sense.MIN, None if answer is None else 4, 3),
        certificate=Certificate(),
        answer=answer,
        solver=SolverInfo("any", "1", 0, 1),
        deterministic=True,
    )


def test_reading_an_answer_that_is_not_there(halves: DagProblem) -> None:
    """Nothing found is an exception that says why, never a schedule of zeros."""
    nothing = result(None)
    with pytest.raises(NoSolution, match="UNKNOWN, ended by time_limit"):
        _ = nothing.schedule
    with pytest.raises(NoSolution, match="makespan"):
        _ = nothing.objective.value
    assert nothing.objective.gap is None
    schedule = Schedule.of(halves, [0, 0], [0, 2])
    found = result(schedule)
    assert found.schedule is schedule
    assert found.objective.value == 4
    assert found.objective.gap == 0.25
    assert found.replace(method="other").method == "other"


@pytest.mark.parametrize(
    ("value", "bound", "gap"), [(0, 0, 0.0), (4, 3, 0.25), (3, 4, 0.25), (5, 0, 1.0), (7, 7, 0.0)]
)
def test_relative_gap(value: float, bound: float, gap: float) -> None:
    """The gap is relative to the larger of the two, and 0 for 0/0."""
    assert relative_gap(value, bound) == gap


def test_reports() -> None:
    """A report without violations is valid and raises nothing."""
    report = CheckReport(())
    assert report.valid
    report.raise_if_violated()


def test_input_errors_say_where_and_how() -> None:
    """Place, fault, what is allowed and the remedy, on one line each."""
    error = InputError("token 'x'", allowed="a number", remedy="correct it", line=3, column=7)
    assert (
        str(error.located("f.sm"))
        == "f.sm:3:7: token 'x'\n  allowed: a number\n  remedy: correct it"
    )
    assert str(InputError("bad", path="$.tasks").located("f.json")) == "f.json:$.tasks: bad"
    assert error.located("f").located("g").source == "f"
    assert error.exit_code == 65


def test_refused_features_name_methods_that_can() -> None:
    """Who is refused learns where to go."""
    error = FeatureRefused("fast", ["nodes"], ["cpsat"])
    assert "does not honour: nodes (methods that do: cpsat)" in str(error)
    assert "none yet" in str(FeatureRefused("fast", ["nodes"], []))
    assert error.exit_code == 2


def test_suggest() -> None:
    """Only a close id is suggested."""
    assert suggest("taks1", ["task1", "other"]) == ", did you mean 'task1'?"
    assert suggest("zzz", ["task1"]) == ""
