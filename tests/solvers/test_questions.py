"""Questions to CP-SAT come to an end whatever the engine answers."""

from __future__ import annotations

import time

import pytest

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.comm_bounds import ClusterBounds
from allocsolve.models.dag.comm_identical import Identical, identical_nodes
from allocsolve.models.dag.sequential import sequential_schedule
from allocsolve.models.result import Status, Termination
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.dag import questions
from allocsolve.solvers.dag.questions import Questions
from allocsolve.solvers.engines.cpsat import EngineRun, EngineStatus

PROBLEM = generate("out_tree", tasks=25, seed=1, nodes=4, ccr=5.0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let CP-SAT answer nothing, and count how often it is asked."""
    calls: list[str] = []

    def run(*_: object) -> EngineRun:
        calls.append("asked")
        return EngineRun(EngineStatus.UNKNOWN, None)

    monkeypatch.setattr(questions, "run", run)
    return calls


def started(seconds: float | None) -> tuple[Questions, Control[Schedule]]:
    """Return questions about an instance that is open, with so many seconds left."""
    instance = _lists()
    limits = Limits(None if seconds is None else time.monotonic() + seconds)
    control: Control[Schedule] = Control(limits)
    control.raise_bound(lower_bounds(PROBLEM)[0])
    schedule = sequential_schedule(instance.graph)
    assert schedule is not None
    control.offer(schedule, schedule.makespan, "test")
    return Questions(ClusterBounds(instance), None, control, {"symmetry_level": 0}), control


def _lists() -> Identical:
    instance = identical_nodes(PROBLEM)
    assert instance is not None
    return instance


def test_an_engine_that_gives_up_is_not_asked_for_ever(asked: list[str]) -> None:
    """Without a time limit the same question would be left open again and again."""
    asking, control = started(None)
    asking.ask_all()
    assert 1 < len(asked) < 40
    assert asking.is_open
    assert not control.is_proven()


def test_a_run_that_ends_so_claims_nothing(asked: list[str]) -> None:
    """Neither a proof nor an end by itself: the engine failed to answer."""
    result = allocsolve.solve(PROBLEM, method="communication", time_limit=None, threads=1)
    assert asked
    assert result.status is Status.FEASIBLE
    assert result.termination is Termination.SOLVER_ERROR
    assert not result.deterministic


def test_questions_end_after_their_share_of_the_time() -> None:
    """A first try before annealing must leave time for what comes after it."""
    asking, control = started(60.0)
    began = time.monotonic()
    asking.ask_all(0.5)
    assert time.monotonic() - began < 10
    assert control.remaining() > 45
