"""`allocsolve.simulate` where nothing is compiled: plain Python, or an announced compiler."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import allocsolve
from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.execution.rounds import Cancelled
from allocsolve.models.kernels import KernelSet

PROBLEM = DagProblem(tasks=[Task(id=name, work=1) for name in "abcdef"], nodes=[Node(id="n")])
LAW = "exponential:rate=1"


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Loops that are neither loaded nor cached; the list fills when a compiler is started."""
    started: list[str] = []
    monkeypatch.setattr(KernelSet, "is_loaded", lambda _: False)
    monkeypatch.setattr(KernelSet, "is_ready", lambda _: False)
    monkeypatch.setattr(KernelSet, "build", lambda kernels: started.append(kernels.name))
    return started


def test_a_small_instance_waits_for_no_compiler(cold: list[str]) -> None:
    """Ten thousand replications of six tasks take seconds in plain Python, a compiler a minute."""
    plan = allocsolve.solve(PROBLEM, method="heft", threads=1)
    phases: list[str] = []
    found = allocsolve.simulate(PROBLEM, plan, law=LAW, on_phase=phases.append)
    assert found.replications == 10_000
    assert (cold, phases) == ([], [])


@pytest.mark.parametrize(
    "asked", [{"replications": 400_000}, {"precision": 0.0005}], ids=["many", "precise"]
)
def test_a_compiler_is_announced(cold: list[str], asked: dict[str, float]) -> None:
    """A minute without a word looks like a program that hangs."""
    plan = allocsolve.solve(PROBLEM, method="heft", threads=1)
    phases: list[str] = []

    def hear(what: str) -> None:
        phases.append(what)
        token.cancel()

    token = allocsolve.Token()
    with pytest.raises(Cancelled):
        allocsolve.simulate(PROBLEM, plan, law=LAW, on_phase=hear, token=token, **asked)  # type: ignore[call-overload]  # numbers of either sort
    assert cold == ["the replay of schedules"]
    assert "compiling the replay of schedules, which takes about 60 s" in phases[0]
    assert "doctor --compile" in phases[0]


def test_the_document_says_that_loops_ran_uncompiled() -> None:
    """Whoever compares speeds, or looks for a difference, needs to know what ran."""
    code = (
        "import allocsolve\n"
        "from allocsolve.models.dag.data import Node, Task\n"
        "problem = allocsolve.DagProblem(tasks=[Task(id='a', work=1)], nodes=[Node(id='n')])\n"
        "plan = allocsolve.solve(problem, method='heft', threads=1)\n"
        "found = allocsolve.simulate(problem, plan, law='exponential:rate=1', replications=9)\n"
        "import json; print(json.dumps([found.path, found.quantiles[0.5]]))\n"
    )
    answers = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled}
        words = [sys.executable, "-c", code]
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
        answers.append(json.loads(done.stdout))
    assert answers[1][0] == "plain"
    assert answers[0][1] == answers[1][1]
