"""Running CP-SAT models: statuses, callbacks, limits and interruption."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable

import pytest
from ortools.sat.python import cp_model

from allocsolve.models.errors import SolverCrash, UsageError
from allocsolve.solvers.control import Control, Event, Limits, Token
from allocsolve.solvers.engines import cpsat
from allocsolve.solvers.engines.cpsat import EngineStatus


def _control(
    seconds: float | None = 20,
    *,
    gap: float = 0.0,
    threads: int = 1,
    token: Token | None = None,
    listener: Callable[[Event], None] | None = None,
) -> Control[int]:
    deadline = None if seconds is None else time.monotonic() + seconds
    return Control(Limits(deadline, gap, threads), token, listener)


def _small() -> tuple[cp_model.CpModel, cp_model.IntVar]:
    """Minimise x over 3 <= x <= 9, x not 3."""
    model = cp_model.CpModel()
    x = model.new_int_var(3, 9, "x")
    model.add(x != 3)
    model.minimize(x)
    return model, x


def _endless(size: int = 11) -> cp_model.CpModel:
    """Build a model that no search finishes in the time of a test: Golomb rulers."""
    model = cp_model.CpModel()
    marks = [model.new_int_var(0, size * size * 2, f"m{i}") for i in range(size)]
    model.add(marks[0] == 0)
    for a, b in itertools.pairwise(marks):
        model.add(a < b)
    differences = []
    for j in range(size):
        for i in range(j):
            d = model.new_int_var(1, size * size * 2, f"d{i}_{j}")
            model.add(d == marks[j] - marks[i])
            differences.append(d)
    model.add_all_different(differences)
    model.minimize(marks[-1])
    return model


def _ignore(_value_of: Callable[[cp_model.IntVar], int]) -> None:
    """Take no notice of a solution."""


def test_solutions_and_bounds_reach_the_control() -> None:
    """The caller sees what the engine finds while it runs, and both meet at the optimum."""
    model, x = _small()
    control = _control()

    def accept(value_of: Callable[[cp_model.IntVar], int]) -> None:
        control.offer(value_of(x), value_of(x), "cpsat")

    report = cpsat.run(model, control, accept, {})
    assert report == cpsat.EngineRun(EngineStatus.OPTIMAL, 4)
    assert (control.answer, control.is_proven()) == (4, True)
    assert control.bound is not None
    assert control.bound.source == "cpsat"


def test_infeasible_is_said() -> None:
    """A model without solutions gives a proof and no values."""
    model, x = _small()
    model.add(x == 3)
    assert cpsat.run(model, _control(), _ignore, {}).status is EngineStatus.INFEASIBLE


def test_an_invalid_model_is_a_crash() -> None:
    """MODEL_INVALID must never read as "infeasible" or "time limit"."""
    model = cp_model.CpModel()
    big = model.new_int_var(-(2**62), 2**62, "x")
    model.add(8 * big >= 1)
    with pytest.raises(SolverCrash):
        cpsat.run(model, _control(), _ignore, {})


@pytest.mark.parametrize("status", [1, 5, -1, 99])
def test_unknown_statuses_are_crashes(status: int) -> None:
    """A status of a later version of the engine must not fall into a default branch."""
    with pytest.raises(SolverCrash, match=str(status)):
        cpsat.map_status(status)


def test_every_status_of_the_engine_is_mapped() -> None:
    """All statuses that this version knows have a meaning, invalid models an error."""
    for status in cp_model.CpSolverStatus.__members__.values():
        if status == cp_model.MODEL_INVALID:
            continue
        assert cpsat.map_status(int(status)).name == status.name


def test_an_error_in_a_callback_comes_out() -> None:
    """An exception must not get lost in the engine's thread, or end the process."""

    def accept(_value_of: Callable[[cp_model.IntVar], int]) -> None:
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError):
        cpsat.run(_small()[0], _control(), accept, {})


def test_an_error_in_the_listener_comes_out() -> None:
    """Bounds reach listeners in the engine's thread too."""

    def listener(event: Event) -> None:
        raise LookupError(event.type)

    with pytest.raises(LookupError):
        cpsat.run(_small()[0], _control(listener=listener), _ignore, {})


def test_the_time_limit_holds() -> None:
    """The run ends at its limit with what it has."""
    begin = time.monotonic()
    report = cpsat.run(_endless(), _control(0.5), _ignore, {})
    assert time.monotonic() - begin < 1.5
    assert report.status in (EngineStatus.FEASIBLE, EngineStatus.UNKNOWN)


def test_cancelling_ends_the_run_within_a_second() -> None:
    """Ctrl-C sets the token; without a limit nothing else would end this run."""
    token = Token()
    timer = threading.Timer(0.4, token.cancel)
    timer.start()
    begin = time.monotonic()
    report = cpsat.run(_endless(), _control(None, token=token), _ignore, {})
    assert time.monotonic() - begin < 1.4
    assert report.status in (EngineStatus.FEASIBLE, EngineStatus.UNKNOWN)


def test_a_token_set_before_the_start_ends_the_run() -> None:
    """A stop that comes before the engine has begun must not be lost."""
    token = Token()
    token.cancel()
    begin = time.monotonic()
    cpsat.run(_endless(), _control(None, token=token), _ignore, {})
    assert time.monotonic() - begin < 1


def test_a_deaf_engine_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Presolve may not look at the clock; the caller's limit holds all the same."""
    release = threading.Event()

    def solve(*_: object) -> int:
        release.wait(10)
        return int(cp_model.UNKNOWN)

    monkeypatch.setattr(cp_model.CpSolver, "solve", solve)
    begin = time.monotonic()
    report = cpsat.run(_small()[0], _control(0.1), _ignore, {})
    seconds = time.monotonic() - begin
    release.set()
    assert report.abandoned
    assert report.status is EngineStatus.UNKNOWN
    assert seconds < 0.1 + 0.25 + 0.25


def test_an_engine_left_behind_changes_nothing_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes after the result was taken must not reach the control."""
    model, _ = _small()
    release, ended = threading.Event(), threading.Event()
    seen: list[int] = []

    def solve(self: cp_model.CpSolver, _model: object, callback: object) -> int:
        release.wait(10)
        callback.on_solution_callback()  # type: ignore[attr-defined]  # a class of the engine
        assert self.best_bound_callback is not None
        self.best_bound_callback(3.0)
        ended.set()
        return int(cp_model.UNKNOWN)

    monkeypatch.setattr(cp_model.CpSolver, "solve", solve)
    control = _control(0.05)
    cpsat.run(model, control, lambda _: seen.append(1), {})
    release.set()
    assert ended.wait(5)
    assert (seen, control.bound) == ([], None)


@pytest.mark.parametrize(
    ("name", "value"),
    [pytest.param("no_such_field", 1, id="unknown"), pytest.param("num_workers", "x", id="type")],
)
def test_wrong_parameters_are_refused(name: str, value: str | int) -> None:
    """A misspelt parameter must not be dropped in silence."""
    with pytest.raises(UsageError, match=name):
        cpsat.run(_small()[0], _control(), _ignore, {name: value})
