"""The checker accepts right schedules and judges them by the data, exactly and alone."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allocsolve.models.dag.answer import ScheduledTask
from allocsolve.models.dag.check import RULES, check
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Setup, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import FeatureRefused

Entries: TypeAlias = Sequence[ScheduledTask]


def rules(problem: DagProblem, entries: Entries) -> set[str]:
    """Return the names of the broken rules."""
    return {violation.rule for violation in check(problem, entries).violations}


@pytest.mark.parametrize(
    ("base", "makespan"), [("project", 9), ("cluster", 12.5), ("machines", 5), ("models", 6)]
)
def test_right_schedules_pass(request: pytest.FixtureRequest, base: str, makespan: float) -> None:
    """A schedule at the limit of its conditions is right, and its makespan is recomputed."""
    report = check(request.getfixturevalue(base), request.getfixturevalue(f"{base}_entries"))
    assert report.violations == ()
    assert report.value == makespan
    report.raise_if_violated()


def test_every_edge_counts() -> None:
    """Of repeated edges the tightest minimum, maximum and data hold, in any order."""
    problem = DagProblem(
        tasks=[Task(id="a", work=1), Task(id="b", work=1)],
        nodes=[Node(id="x"), Node(id="y")],
        edges=[
            Edge(source="a", target="b", min_lag=2, max_lag=9),
            Edge(source="a", target="b", data=3),
            Edge(source="a", target="b", max_lag=7),
        ],
    )

    def at(start: int) -> set[str]:
        first = ScheduledTask("a", Fraction(0), Fraction(1), "x")
        return rules(
            problem, [first, ScheduledTask("b", Fraction(start), Fraction(start + 1), "y")]
        )

    assert at(2) == {"precedence", "communication"}
    assert at(5) == {"communication"}
    assert at(6) == set()
    assert at(8) == set()
    assert at(9) == {"max_lag"}


def test_data_is_judged_not_arrays(project: DagProblem, project_entries: Entries) -> None:
    """An error in the scaled arrays cannot hide: the checker does not read them."""
    arrays = replace(project.arrays, mode_duration=project.arrays.mode_duration * 7)
    object.__setattr__(project, "arrays", arrays)
    assert rules(project, project_entries) == set()


def test_times_off_the_grid_are_legal() -> None:
    """A start by hand may be finer than the numbers of the instance."""
    problem = DagProblem(tasks=[Task(id="a", modes=[Mode(duration=2)])])
    report = check(problem, [ScheduledTask("a", Fraction("0.5"), Fraction("2.5"))])
    assert report.valid
    assert report.value == 2.5


def test_nothing_to_do() -> None:
    """An instance without tasks has the empty schedule of makespan 0."""
    report = check(DagProblem(tasks=[]), [])
    assert report.valid
    assert report.value == 0


def test_incomplete_schedules_have_no_value(project: DagProblem) -> None:
    """The makespan of a part of the tasks would look like a good value."""
    assert check(project, []).value is None


def test_large_numbers_stay_exact() -> None:
    """One unit too many among 2e15 is seen."""
    problem = DagProblem(
        tasks=[Task(id="a", modes=[Mode(duration=2 * 10**15)])],
    )
    end = Fraction(2 * 10**15)
    assert rules(problem, [ScheduledTask("a", Fraction(0), end)]) == set()
    assert rules(problem, [ScheduledTask("a", Fraction(0), end + 1)]) == {"duration"}


def test_demands_stay_exact() -> None:
    """Ten demands of 0.1 fit a capacity of 1, although their floating-point sum differs."""
    problem = DagProblem(
        tasks=[Task(id=str(i), modes=[Mode(duration=1, demand={"R": 0.1})]) for i in range(11)],
        resources=[Resource(id="R", capacity=1)],
    )
    at_once = [ScheduledTask(str(i), Fraction(0), Fraction(1)) for i in range(11)]
    assert (
        rules(problem, [*at_once[:10], replace(at_once[10], start=Fraction(1), end=Fraction(2))])
        == set()
    )
    report = check(problem, at_once)
    (violation,) = report.violations
    assert violation.message == (
        "resource 'R' needs 1.1 of 1 at time 0 (tasks 0, 1, 2, 3, 4, 5, 6, 7 and 3 more)"
    )


def test_zero_length_uses_up() -> None:
    """A task without length holds nothing, but what it uses up is gone."""
    resource = Resource(id="N", capacity=1, renewable=False)
    problem = DagProblem(
        tasks=[Task(id="a", modes=[Mode(duration=0, demand={"N": 2})])], resources=[resource]
    )
    assert rules(problem, [ScheduledTask("a", Fraction(0), Fraction(0))]) == {"resource_total"}


UNJUDGED = [
    ("calendars", {"nodes": [Node(id="x", unavailable=[(Fraction(1), Fraction(2))])]}),
    ("setup times", {"setups": [Setup(before="p", after="q", time=1)]}),
    ("gangs", {"tasks": [Task(id="a", work=1, width=2)]}),
    ("moldable tasks", {"tasks": [Task(id="a", work=1, speedup={"1": 1})]}),
]


@pytest.mark.parametrize(("feature", "fields"), UNJUDGED, ids=[u[0] for u in UNJUDGED])
def test_features_without_a_rule_are_refused(feature: str, fields: dict[str, object]) -> None:
    """A condition that no rule judges is refused by name, never silently ignored."""
    plain = DagProblem(tasks=[Task(id="a", work=1)], nodes=[Node(id="x")])
    with pytest.raises(FeatureRefused, match=feature):
        check(plain.replace(**fields), [])


def test_no_solver_is_needed() -> None:
    """The checker stays independent of what it judges: no engine, bound or search is loaded."""
    code = (
        "import sys, allocsolve.models.dag.check\n"
        "names = ('ortools', 'highspy', 'scipy', 'numba', 'cvxpy', 'pyomo')\n"
        "ours = ('solvers', 'models.dag.bounds', 'models.dag.dispatch', 'models.dag.cpsat',"
        " 'models.dag.reasons')\n"
        "print([n for n in (*names, *('allocsolve.' + o for o in ours)) if n in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_thousand_tasks_take_no_time() -> None:
    """Checking is far cheaper than solving (generous limit for slow machines)."""
    tasks = [Task(id=str(i), modes=[Mode(duration=1, demand={"R": 1})]) for i in range(1000)]
    problem = DagProblem(
        tasks=tasks,
        edges=[Edge(source=str(i), target=str(i + 1)) for i in range(999)],
        resources=[Resource(id="R", capacity=1)],
    )
    entries = [ScheduledTask(str(i), Fraction(i), Fraction(i + 1)) for i in range(1000)]
    begin = time.process_time()
    assert check(problem, entries).valid
    assert time.process_time() - begin < 0.5


times = st.fractions(-3, 30, max_denominator=7)
anything = st.builds(
    ScheduledTask,
    task=st.sampled_from(["a", "b", "c", "d", "m", "z", "x", ""]),
    start=times,
    end=times,
    node=st.sampled_from([None, "cpu", "fast", "dead", "far", "x"]),
    mode=st.integers(-2, 3),
)


@pytest.mark.parametrize("base", ["project", "cluster"])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(anything, max_size=8))
def test_nonsense_is_judged_not_crashed_on(
    request: pytest.FixtureRequest, base: str, entries: list[ScheduledTask]
) -> None:
    """Whatever the entries are, the report names known rules and says something of each."""
    report = check(request.getfixturevalue(base), entries)
    assert all(violation.rule in RULES and violation.message for violation in report.violations)
    if report.valid:
        assert report.value == max(entry.end for entry in entries)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=st.lists(st.fractions(0, 2, max_denominator=4), min_size=4, max_size=4))
def test_agrees_with_the_definition(project: DagProblem, moves: list[Fraction]) -> None:
    """A schedule of the project is right exactly if the conditions hold as written down."""
    first = [Fraction(1), Fraction(3, 2), Fraction(5), Fraction(7, 2)]
    a, b, c, m = (start + move for start, move in zip(first, moves, strict=True))
    spans = [(a, a + 3), (b, b + 2), (c, c + 4), (m, m)]
    entries = [ScheduledTask(i, s, e) for i, (s, e) in zip("abcm", spans, strict=True)]
    right = (
        1 <= c - (a + 3) <= 2
        and Fraction(1, 2) <= b - a <= Fraction(5, 2)
        and m >= b + 2
        and c + 4 <= 9
        and not (b < c + 4 and c < b + 2)  # together 2 + 3 of 4
        and not (a < c + 4 and c < a + 3)
    )
    assert check(project, entries).valid == right
