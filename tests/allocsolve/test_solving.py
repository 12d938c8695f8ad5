"""What `allocsolve.solve` promises, whatever the method does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import pytest

import allocsolve
from allocsolve.api import solving
from allocsolve.models.dag.answer import Schedule, ScheduledTask
from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reason_types import NoEligibleNode
from allocsolve.models.errors import FeatureRefused, NoSolution, UsageError
from allocsolve.models.result import Bound, SolverInfo, SolverProof, Status, Termination
from allocsolve.report.results import result_to_document
from allocsolve.report.solution import encode_solution
from allocsolve.solvers.control import Control, Outcome, Proof, Token

Method = Callable[[DagProblem, Control[Schedule]], Outcome]
ENGINE = SolverInfo("engine", "1", 0, 1)


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Put a function in the place of every method."""

    def replace(function: Method, *, exact: bool = True) -> None:
        method = SimpleNamespace(name="pretended", exact=exact, load=lambda: function)
        monkeypatch.setattr(solving, "method_named", lambda *_: method)
        monkeypatch.setattr(solving, "refuse_unsupported", lambda *_: None)

    return replace


def _good(problem: DagProblem) -> Schedule:
    return Schedule.of(problem, [0, 3, 3], [0, 1, 2])


def _bad(problem: DagProblem) -> Schedule:
    return Schedule.of(problem, [0, 0, 0], [0, 1, 2])


def test_a_proven_optimum(project: DagProblem) -> None:
    """The main job: a value, a bound that meets it, a checked schedule, provenance."""
    result = allocsolve.solve(project, time_limit=20, threads=1)
    assert result.status is Status.OPTIMAL
    assert result.objective.value == result.objective.bound == 7
    assert result.objective.gap == 0
    assert result.certificate.checked
    assert result.deterministic
    assert allocsolve.check(project, result).valid
    assert result.timing["total"] >= result.timing["solve"]


def test_exact_fractions_come_back_in_input_units(thirds: DagProblem) -> None:
    """2/3 + 1/3 is 1 exactly, not 0.9999999."""
    result = allocsolve.solve(thirds, time_limit=20, threads=1)
    assert result.objective.value == 1
    assert result.schedule.entries()[1].start == Fraction(2, 3)


def test_a_limit_of_zero_only_bounds(project: DagProblem) -> None:
    """Asking for nothing must give a bound and no answer, even with a warm start."""
    result = allocsolve.solve(project, time_limit=0, warm_start=_good(project))
    assert result.status is Status.UNKNOWN
    assert result.termination is Termination.TIME_LIMIT
    assert result.objective.known is None
    assert result.objective.bound == 7
    with pytest.raises(NoSolution):
        _ = result.schedule


def test_a_limit_of_zero_may_still_explain(project: DagProblem) -> None:
    """A reason needs no search, so it is given at once."""
    late = project.replace(tasks=[Task(id="x", modes=project.tasks[0].modes, deadline=1)], edges=[])
    result = allocsolve.solve(late, time_limit=0)
    assert result.status is Status.INFEASIBLE
    assert result.certificate.reason is not None


def test_a_wrong_answer_is_an_error(project: DagProblem, pretend: Callable[..., None]) -> None:
    """Nobody marks their own work: what the checker refuses is never reported."""

    def wrong(problem: DagProblem, control: Control[Schedule]) -> Outcome:
        control.offer(_bad(problem), 4, "engine")
        return Outcome(Proof.OPTIMAL, Termination.FINISHED, ENGINE)

    pretend(wrong)
    result = allocsolve.solve(project)
    assert result.status is Status.ERROR
    assert result.objective.known is None
    assert result.answer is None
    assert any("resource_capacity" in warning for warning in result.warnings)


def test_infeasibility_is_refused_beside_an_answer(
    project: DagProblem, pretend: Callable[..., None]
) -> None:
    """A checked answer outweighs every claim that there is none."""

    def contradictory(problem: DagProblem, control: Control[Schedule]) -> Outcome:
        control.offer(_good(problem), 7, "engine")
        return Outcome(Proof.INFEASIBLE, Termination.FINISHED, ENGINE)

    pretend(contradictory)
    result = allocsolve.solve(project)
    assert result.status is Status.FEASIBLE
    assert result.objective.value == 7
    assert result.warnings


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "heuristic"])
def test_a_false_reason_is_not_reported(
    project: DagProblem, pretend: Callable[..., None], exact: bool
) -> None:
    """Whoever gives a reason that does not hold has proved nothing, exact or not."""

    def liar(_: DagProblem, __: Control[Schedule]) -> Outcome:
        reason = NoEligibleNode(task="a")
        return Outcome(Proof.INFEASIBLE, Termination.FINISHED, ENGINE, reason=reason)

    pretend(liar, exact=exact)
    result = allocsolve.solve(project)
    assert result.status is Status.UNKNOWN
    assert result.certificate.reason is None
    assert any("cannot prove" in warning for warning in result.warnings)


@pytest.mark.parametrize("exact", [True, False], ids=["exact", "heuristic"])
def test_infeasibility_without_a_reason_is_the_word_of_an_exact_solver(
    project: DagProblem, pretend: Callable[..., None], exact: bool
) -> None:
    """The document says so, instead of a reason that nobody has."""

    def exhausted(_: DagProblem, __: Control[Schedule]) -> Outcome:
        return Outcome(Proof.INFEASIBLE, Termination.FINISHED, ENGINE)

    pretend(exhausted, exact=exact)
    result = allocsolve.solve(project)
    assert result.status is (Status.INFEASIBLE if exact else Status.UNKNOWN)
    assert result.certificate.reason == (SolverProof(solver="engine") if exact else None)


def test_a_bound_above_the_answer_is_dropped(
    project: DagProblem, pretend: Callable[..., None]
) -> None:
    """A wrong bound would otherwise turn into a wrong OPTIMAL later."""

    def boaster(problem: DagProblem, control: Control[Schedule]) -> Outcome:
        control.offer(_good(problem), 7, "engine")
        control.raise_bound(Bound(8, "engine"))
        return Outcome(Proof.OPTIMAL, Termination.FINISHED, ENGINE)

    pretend(boaster)
    result = allocsolve.solve(project)
    assert result.status is Status.FEASIBLE
    assert result.objective.bound is None


def test_an_answer_survives_the_crash_of_its_method(
    project: DagProblem, pretend: Callable[..., None]
) -> None:
    """What was found and checked is worth more than how the run ended."""

    def crash(problem: DagProblem, control: Control[Schedule]) -> Outcome:
        control.offer(Schedule.of(problem, [1, 4, 4], [0, 1, 2]), 8, "engine")
        raise RuntimeError("out of luck")

    pretend(crash)
    result = allocsolve.solve(project)
    assert (result.status, result.termination) == (Status.FEASIBLE, Termination.SOLVER_ERROR)
    assert "out of luck" in " ".join(result.warnings)


def test_memory_limit_is_told(project: DagProblem, pretend: Callable[..., None]) -> None:
    """Running out of memory is no reason to lose the process."""

    def greedy(_: DagProblem, __: Control[Schedule]) -> Outcome:
        raise MemoryError

    pretend(greedy)
    assert allocsolve.solve(project).termination is Termination.MEMORY_LIMIT


@pytest.mark.parametrize(
    ("termination", "threads", "expected"),
    [
        pytest.param(Termination.FINISHED, 1, True, id="finished with one thread"),
        pytest.param(Termination.FINISHED, 2, False, id="two threads"),
        pytest.param(Termination.TIME_LIMIT, 1, False, id="a time limit"),
        pytest.param(Termination.INTERRUPTED, 1, False, id="an interrupt"),
    ],
)
def test_deterministic_is_not_promised_lightly(
    project: DagProblem,
    pretend: Callable[..., None],
    termination: Termination,
    threads: int,
    expected: bool,
) -> None:
    """Whoever compares documents relies on this field."""

    def method(problem: DagProblem, control: Control[Schedule]) -> Outcome:
        control.offer(Schedule.of(problem, [1, 4, 4], [0, 1, 2]), 8, "engine")
        return Outcome(Proof.NOTHING, termination, SolverInfo("engine", "1", 0, threads))

    pretend(method)
    assert allocsolve.solve(project).deterministic is expected


def test_time_is_left_for_checking_and_writing(pretend: Callable[..., None]) -> None:
    """Twenty thousand entries take most of a second to check and to write: after the limit."""
    left: list[float] = []

    def method(_: DagProblem, control: Control[Schedule]) -> Outcome:
        left.append(control.remaining())
        return Outcome(Proof.NOTHING, Termination.TIME_LIMIT, SolverInfo("engine", "1", 0, 1))

    pretend(method)
    for tasks in (10, 20_000):
        problem = DagProblem(
            tasks=[Task(id=str(i), work=1) for i in range(tasks)], nodes=[Node(id="n")]
        )
        begin = time.monotonic()
        allocsolve.solve(problem, time_limit=600)
        left[-1] += time.monotonic() - begin
    assert left[0] > 599.9
    assert left[1] < left[0] - 0.5


def _warm_starts(problem: DagProblem) -> dict[str, object]:
    good = _good(problem)
    result = allocsolve.solve(problem, time_limit=20, threads=1)
    return {
        "schedule": good,
        "entries": good.entries(),
        "result": result,
        "document": encode_solution(result_to_document(result)),
    }


@pytest.mark.parametrize("form", ["schedule", "entries", "result", "document"])
def test_a_warm_start_is_the_first_incumbent(
    project: DagProblem, pretend: Callable[..., None], form: str
) -> None:
    """A right answer that is handed in must never be lost, in whatever form it comes."""
    start = _warm_starts(project)[form]
    seen: list[Schedule | None] = []

    def idle(_: DagProblem, control: Control[Schedule]) -> Outcome:
        seen.append(control.warm_start)
        return Outcome(Proof.NOTHING, Termination.TIME_LIMIT, ENGINE)

    pretend(idle)
    result = allocsolve.solve(project, warm_start=start)
    assert result.objective.value == 7
    assert seen[0] is not None
    assert not result.warnings


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([ScheduledTask("c", Fraction(0), Fraction(2))], id="tasks are missing"),
        pytest.param(
            [
                ScheduledTask("a", Fraction(1, 3), Fraction(10, 3)),
                ScheduledTask("b", Fraction(10, 3), Fraction(22, 3)),
                ScheduledTask("c", Fraction(10, 3), Fraction(16, 3)),
            ],
            id="right but off the grid",
        ),
        pytest.param(
            [
                ScheduledTask("a", Fraction(5), Fraction(8)),
                ScheduledTask("b", Fraction(0), Fraction(4)),
                ScheduledTask("c", Fraction(0), Fraction(2)),
            ],
            id="precedence is broken",
        ),
    ],
)
def test_a_wrong_warm_start_lends_its_order(
    project: DagProblem, entries: list[ScheduledTask]
) -> None:
    """The order is the valuable part of a schedule; the times can be made anew."""
    result = allocsolve.solve(project, warm_start=entries, time_limit=20, threads=1)
    assert result.objective.value == 7
    assert any("only the order" in warning for warning in result.warnings)


def test_an_empty_warm_start_is_dropped_with_a_warning(project: DagProblem) -> None:
    """A document without a schedule is no reason to fail."""
    empty = allocsolve.solve(project, time_limit=0)
    result = allocsolve.solve(project, warm_start=empty, time_limit=20, threads=1)
    assert result.status is Status.OPTIMAL
    assert any("not used" in warning for warning in result.warnings)


def test_incumbents_are_checked_schedules(project: DagProblem) -> None:
    """A caller may use each incumbent at once."""
    seen: list[allocsolve.Incumbent] = []
    result = allocsolve.solve(project, on_incumbent=seen.append, time_limit=20, threads=1)
    assert seen[-1].value == result.objective.value
    assert all(allocsolve.check(project, incumbent.schedule).valid for incumbent in seen)
    assert [i.value for i in seen] == sorted((i.value for i in seen), reverse=True)


def test_events_tell_bounds_and_incumbents(project: DagProblem) -> None:
    """Progress shows what is known at every moment."""
    seen: list[allocsolve.Progress] = []
    allocsolve.solve(project, on_event=seen.append, time_limit=20, threads=1)
    assert {"bound", "incumbent"} <= {event.type for event in seen}
    assert seen[-1].time >= seen[0].time >= 0


def test_the_time_to_build_is_told(ft06: Path) -> None:
    """A person who waits wants to know whether the model or the search takes the time."""
    timing = allocsolve.solve(
        allocsolve.read(ft06, kind="dag"), method="cpsat", time_limit=20
    ).timing
    assert 0 <= timing["build"] <= timing["solve"] <= timing["total"]


def test_a_thread_left_behind_is_not_heard(
    project: DagProblem, pretend: Callable[..., None]
) -> None:
    """After the result no callback may come: the caller has gone on."""
    seen: list[allocsolve.Progress] = []
    kept: list[Control[Schedule]] = []

    def leaving(_: DagProblem, control: Control[Schedule]) -> Outcome:
        kept.append(control)
        return Outcome(Proof.NOTHING, Termination.TIME_LIMIT, ENGINE, abandoned=True)

    pretend(leaving)
    allocsolve.solve(project, on_event=seen.append)
    before = len(seen)
    kept[0].offer(_good(project), 7, "late")
    assert len(seen) == before


def test_an_error_of_a_callback_reaches_the_caller(project: DagProblem) -> None:
    """An exception in the caller's code must not vanish in a solver's thread."""

    def failing(_: allocsolve.Incumbent) -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        allocsolve.solve(project, on_incumbent=failing, time_limit=20)


def test_a_cancelled_run_keeps_its_answer(crowded: DagProblem) -> None:
    """Cancelling means: give me what you have, now."""
    token = Token()
    timer = threading.Timer(1.5, token.cancel)
    timer.start()
    began = time.monotonic()
    result = allocsolve.solve(crowded, token=token, time_limit=None, threads=1)
    assert time.monotonic() - began < 20
    assert result.termination is Termination.INTERRUPTED
    assert result.status is Status.FEASIBLE
    assert not result.deterministic


def test_two_runs_at_once_do_not_meet(project: DagProblem, thirds: DagProblem) -> None:
    """There is no state between runs, so threads may solve side by side."""
    results: dict[str, allocsolve.DagResult] = {}

    def work(problem: DagProblem) -> None:
        results[problem.name] = allocsolve.solve(problem, time_limit=20, threads=1)

    threads = [threading.Thread(target=work, args=(p,)) for p in (project, thirds)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (results["project"].objective.value, results["thirds"].objective.value) == (7, 1)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"time_limit": -1.0}, id="negative limit"),
        pytest.param({"time_limit": float("nan")}, id="limit is not a number"),
        pytest.param({"gap": -0.1}, id="negative gap"),
        pytest.param({"threads": 0}, id="no thread"),
        pytest.param({"seed": -1}, id="negative seed"),
        pytest.param({"method": "magic"}, id="unknown method"),
        pytest.param({"objective": "beauty"}, id="unknown objective"),
        pytest.param({"options": {"magic": "1"}}, id="unknown setting"),
    ],
)
def test_wrong_arguments_are_usage_errors(project: DagProblem, wrong: dict[str, object]) -> None:
    """A mistake in the call is told before any work is done."""
    with pytest.raises(UsageError):
        allocsolve.solve(project, **wrong)  # type: ignore[call-overload]  # wrong on purpose


def test_an_objective_that_no_method_has_is_refused_by_name(project: DagProblem) -> None:
    """A known objective must not silently become another one."""
    with pytest.raises(FeatureRefused, match="total_tardiness"):
        allocsolve.solve(project, objective="total_tardiness")


def test_nothing_to_do_is_optimal() -> None:
    """An instance without tasks has the empty schedule as its optimum."""
    result = allocsolve.solve(DagProblem(tasks=[], nodes=[Node(id="n")]), threads=1)
    assert (result.status, result.objective.value) == (Status.OPTIMAL, 0)
    assert result.schedule.entries() == ()


def test_a_claim_is_judged_with_its_answer(project: DagProblem) -> None:
    """A right schedule with a wrong value is a wrong document."""
    result = allocsolve.solve(project, time_limit=20, threads=1)
    document = encode_solution(result_to_document(result))
    wrong = document.replace(b'"value": 7', b'"value": 6')
    report = allocsolve.check(project, wrong)
    assert [violation.rule for violation in report.violations] == ["objective_value", "gap"]
    assert {claim.name: claim.holds for claim in report.claims}["value"] is False


def test_a_document_without_an_answer_proves_nothing(project: DagProblem) -> None:
    """`check` must not say yes when there was nothing to check."""
    unknown = allocsolve.solve(project, time_limit=0)
    assert not allocsolve.check(project, unknown).valid


def test_a_document_of_another_instance_is_noticed(
    project: DagProblem, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The same ids do not mean the same instance."""
    path = tmp_path_factory.mktemp("other") / "project.json"
    allocsolve.write(project, path)
    first = allocsolve.read(path, kind="dag")
    allocsolve.write(project.replace(name="other"), path)
    second = allocsolve.read(path, kind="dag")
    result = allocsolve.solve(first, time_limit=20, threads=1)
    assert not allocsolve.check(first, result).warnings
    assert "another instance" in allocsolve.check(second, result).warnings[0]
