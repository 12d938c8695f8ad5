"""Time limits, gaps, cancellation, warm starts, settings and determinism of the methods."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.data import Mode, Resource, Task
from allocsolve.models.dag.dispatch import serial_schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import SolverCrash, UsageError
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Control, Event, Outcome, Proof, Token
from allocsolve.solvers.dag import cpsat
from allocsolve.solvers.engines.cpsat import EngineRun, EngineStatus

Solve: TypeAlias = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge: TypeAlias = Callable[[Schedule | None], None]

METHODS = ("auto", "cpsat", "list")


@pytest.fixture(scope="module")
def hard() -> DagProblem:
    """Draw a project that no method proves within the time of a test."""
    return generate("rcpsp", tasks=90, seed=5, resource_factor=1, resource_strength=0.1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("family", ["rcpsp", "jobshop", "flexible", "communication"])
def test_an_answer_exists_even_when_the_limit_is_over(
    solve: Solve, judge: Judge, method: str, family: str
) -> None:
    """Reading may have used up the limit; an answer is promised all the same."""
    problem = generate(family, tasks=1000, seed=1)
    begin = time.monotonic()
    outcome, control = solve(problem, method, seconds=-1)
    assert time.monotonic() - begin < 1.5  # a tenth of that on an idle machine
    judge(control.answer)
    assert control.answer is not None
    assert outcome.termination in (Termination.TIME_LIMIT, Termination.FINISHED)


@pytest.mark.parametrize("seconds", [0.1, 1.0])
@pytest.mark.parametrize("method", METHODS)
def test_methods_end_at_their_limit(
    solve: Solve, judge: Judge, hard: DagProblem, method: str, seconds: float
) -> None:
    """Limits are promises, and the document must say that a limit ended the run."""
    begin = time.monotonic()
    options = {"samples": "1000000"} if method == "list" else {}
    outcome, control = solve(hard, method, seconds=seconds, options=options)
    assert time.monotonic() - begin < seconds + 0.8
    judge(control.answer)
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.proof is Proof.NOTHING
    assert not outcome.deterministic


@pytest.mark.parametrize("method", METHODS)
def test_cancelling_keeps_the_best_answer(
    solve: Solve, judge: Judge, hard: DagProblem, method: str
) -> None:
    """Ctrl-C sets the token; the best answer so far comes back within a second."""
    token = Token()
    threading.Timer(0.5, token.cancel).start()
    begin = time.monotonic()
    options = {"samples": "1000000"} if method == "list" else {}
    outcome, control = solve(hard, method, seconds=None, token=token, options=options)
    assert time.monotonic() - begin < 1.5
    judge(control.answer)
    assert control.answer is not None
    assert outcome.termination is Termination.INTERRUPTED
    assert not outcome.deterministic


@pytest.fixture(scope="module", params=["rcpsp", "communication"])
def huge(request: pytest.FixtureRequest) -> DagProblem:
    """Draw twenty thousand tasks, two hundred million pairs of them."""
    return generate(request.param, tasks=20_000, seed=1)


@pytest.mark.parametrize("method", ["auto", "list"])
def test_limits_hold_for_twenty_thousand_tasks(
    solve: Solve, judge: Judge, huge: DagProblem, method: str
) -> None:
    """Rules and samples of so many tasks take seconds each, and must look at the clock."""
    begin = time.monotonic()
    outcome, control = solve(huge, method, seconds=1.0)
    assert time.monotonic() - begin < 8.0  # 1.0 on an idle machine, 16 without a clock
    assert control.answer is not None
    judge(control.answer)
    assert outcome.termination in (Termination.TIME_LIMIT, Termination.FINISHED)


@pytest.mark.parametrize("method", ["auto", "list"])
@pytest.mark.parametrize("wait", [0.0, 0.3, 1.5])
def test_cancelling_holds_for_twenty_thousand_tasks(
    solve: Solve, judge: Judge, huge: DagProblem, method: str, wait: float
) -> None:
    """An interrupt may come before the first schedule, or while rules look at all pairs."""
    token = Token()
    timer = threading.Timer(wait, token.cancel)
    timer.start()
    _, control = solve(huge, method, seconds=None, token=token)
    timer.cancel()
    assert token.age() < 6.0  # half a second on an idle machine
    assert control.answer is not None
    judge(control.answer)


def test_cancelling_while_the_model_is_built(solve: Solve, hard: DagProblem) -> None:
    """A large model takes long to build; nobody wants to wait for it after Ctrl-C."""
    token = Token()

    def listener(event: Event) -> None:
        if event.source == "building the CP-SAT model":
            token.cancel()

    outcome, control = solve(hard, "cpsat", seconds=None, token=token, listener=listener)
    assert outcome.termination is Termination.INTERRUPTED
    assert control.answer is not None
    assert control.source == "list"


@pytest.mark.parametrize("method", METHODS)
def test_a_gap_ends_the_run(solve: Solve, hard: DagProblem, method: str) -> None:
    """Good enough is feasible, not optimal, and says which limit was met."""
    outcome, control = solve(hard, method, gap=0.9)
    assert outcome.termination is Termination.GAP_LIMIT
    assert outcome.proof is Proof.NOTHING
    assert control.value is not None
    assert control.bound is not None
    assert control.bound.value < control.value


def test_the_engine_calls_nothing_within_the_gap_optimal(solve: Solve) -> None:
    """CP-SAT says OPTIMAL as soon as the gap is met; that must not come through."""
    for seed in range(30):
        problem = generate("rcpsp", tasks=14, seed=seed, resource_strength=0.1)
        outcome, control = solve(problem, "cpsat", gap=0.2)
        assert control.value is not None
        assert control.bound is not None
        met = control.value == control.bound.value
        assert (outcome.proof is Proof.OPTIMAL) == met
        assert outcome.termination is (Termination.FINISHED if met else Termination.GAP_LIMIT)


@pytest.mark.parametrize("method", METHODS)
def test_a_warm_start_is_the_first_incumbent(solve: Solve, hard: DagProblem, method: str) -> None:
    """The answer is never worse than what was given."""
    best = solve(hard, "list", options={"samples": "100"})[1].answer
    assert best is not None
    events: list[Event] = []
    _, control = solve(hard, method, seconds=-1, warm_start=best, listener=events.append)
    first = next(event for event in events if event.type == "incumbent")
    assert (first.source, first.value) == ("warm_start", best.makespan)
    assert control.value == best.makespan


def test_a_warm_start_of_the_engine_is_complete(solve: Solve) -> None:
    """Given the optimum, the engine only has the proof left to do."""
    problem = generate("flexible", tasks=12, seed=3)
    optimum = solve(problem, "cpsat")[1].answer
    assert optimum is not None
    events: list[Event] = []
    outcome, control = solve(problem, "cpsat", warm_start=optimum, listener=events.append)
    assert outcome.proof is Proof.OPTIMAL
    assert control.source == "warm_start"


@pytest.mark.parametrize("method", METHODS)
def test_events_get_better_and_never_contradict(
    solve: Solve, hard: DagProblem, method: str
) -> None:
    """Incumbents fall, bounds rise, and no bound passes a value."""
    events: list[Event] = []
    solve(hard, method, seconds=2, listener=events.append)
    values = [event.value for event in events if event.type == "incumbent"]
    bounds = [event.bound for event in events if event.type == "bound"]
    assert values == sorted(set(values), key=lambda value: -(value or 0))
    assert bounds == sorted(set(bounds), key=lambda bound: bound or 0)
    assert all(
        event.bound <= event.value
        for event in events
        if event.value is not None and event.bound is not None
    )


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        pytest.param("list", {"sample": "3"}, "did you mean 'samples'", id="misspelt"),
        pytest.param("list", {"samples": "many"}, "integer from 0", id="no number"),
        pytest.param("list", {"samples": "-1"}, "integer from 0", id="out of range"),
        pytest.param("cpsat", {"samples": "1"}, "linearization_level", id="of another method"),
        pytest.param("auto", {"depth": "1"}, "allowed", id="of no method"),
    ],
)
def test_settings_are_checked(
    solve: Solve, hard: DagProblem, method: str, options: dict[str, str], message: str
) -> None:
    """A setting that nobody reads would be a silent lie."""
    with pytest.raises(UsageError, match=message):
        solve(hard, method, seconds=-1, options=options)


def test_settings_are_reported(solve: Solve) -> None:
    """Whoever wants to run it again needs them."""
    problem = generate("rcpsp", tasks=5, seed=0)
    outcome, _ = solve(problem, "cpsat", options={"linearization_level": "2"})
    assert outcome.solver.options == {"linearization_level": 2}


def _too_large() -> DagProblem:
    """Five tasks, two at a time, with amounts and times whose product leaves 64 bits."""
    tasks = [
        Task(id=str(i), modes=[Mode(duration=2**48 + i, demand={"R": 2**20 + i})]) for i in range(5)
    ]
    return DagProblem(tasks=tasks, resources=[Resource(id="R", capacity=2**21 + 9)])


def test_the_engine_refuses_numbers_beyond_64_bits(solve: Solve) -> None:
    """Overflow inside the engine gives wrong answers, so it must not start."""
    with pytest.raises(UsageError, match="64-bit"):
        solve(_too_large(), "cpsat")


def test_auto_answers_without_the_engine_then(solve: Solve, judge: Judge) -> None:
    """Schedule generation counts in Python integers, which do not overflow."""
    outcome, control = solve(_too_large(), "auto", seconds=None)
    judge(control.answer)
    assert control.answer is not None
    assert outcome.solver.name == "allocsolve"
    assert "64-bit" in outcome.warnings[0]


def test_no_engine_is_loaded_for_a_short_run(
    solve: Solve, hard: DagProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Importing the engine alone would break a short limit."""
    monkeypatch.delitem(sys.modules, "ortools.sat.python.cp_model", raising=False)

    def refuse(*_: object) -> Outcome:
        raise AssertionError("the engine was started")

    monkeypatch.setattr(cpsat, "run_engine", refuse)
    outcome, control = solve(hard, "auto", seconds=0.3)
    assert control.answer is not None
    assert outcome.solver.name == "allocsolve"


def test_a_contradiction_of_the_engine_is_a_crash(
    solve: Solve, hard: DagProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Infeasible beside a schedule that exists: never INFEASIBLE, never quiet."""

    def run(*_: object) -> EngineRun:
        return EngineRun(EngineStatus.INFEASIBLE, None)

    monkeypatch.setattr(cpsat, "run", run)
    with pytest.raises(SolverCrash):
        solve(hard, "cpsat")


def test_an_engine_left_behind_is_reported(
    solve: Solve, hard: DagProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command line has to leave the process by force then."""

    def run(*_: object) -> EngineRun:
        return EngineRun(EngineStatus.UNKNOWN, None, abandoned=True)

    monkeypatch.setattr(cpsat, "run", run)
    outcome, control = solve(hard, "cpsat")
    assert outcome.abandoned
    assert control.answer is not None


PRINT_ANSWERS = """
import time
from allocsolve.instances.generators.dag import generate
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.routes import method_named
for family, tasks in (("rcpsp", 16), ("flexible", 8), ("communication", 7), ("multimode", 8)):
    for method in ("auto", "cpsat", "list"):
        problem = generate(family, tasks=tasks, seed=4)
        options = {"samples": "20"} if method == "list" else {}
        control = Control(Limits(time.monotonic() + 60, 0.0, 1, 0, options))
        outcome = method_named("dag", method).load()(problem, control)
        answer = control.answer
        print(family, method, outcome.proof.name, outcome.deterministic, control.bound)
        print(answer and (answer.start.tolist(), answer.mode.tolist()))
"""


def test_one_thread_gives_the_same_bytes_for_any_hash_seed(tmp_path: Path) -> None:
    """Sets and dictionaries of strings must not decide anything."""
    printed = set()
    for seed in ("0", "1", "77"):
        done = subprocess.run(
            [sys.executable, "-c", PRINT_ANSWERS],
            cwd=tmp_path,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert "False" not in done.stdout
        printed.add(done.stdout)
    assert len(printed) == 1


def test_seeds_lead_to_different_samples(solve: Solve, hard: DagProblem) -> None:
    """The seed is an option of every method, so it has to do something."""
    starts = set()
    for seed in range(4):
        answer = solve(hard, "list", seed=seed, options={"samples": "40"})[1].answer
        assert answer is not None
        starts.add(tuple(answer.start.tolist()))
    assert len(starts) > 1


def test_list_scheduling_is_better_than_one_pass(solve: Solve, hard: DagProblem) -> None:
    """Rules, samples and justification must be worth their time."""
    one = serial_schedule(hard)
    many = solve(hard, "list", options={"samples": "100"})[1]
    assert one is not None
    assert many.value is not None
    assert many.value < one.makespan
