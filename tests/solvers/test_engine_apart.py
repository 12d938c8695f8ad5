"""What cannot be interrupted runs in a thread that the caller can leave behind."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_tables import node_table
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Control, Limits, Token
from allocsolve.solvers.dag import area_lp, getf_lp
from allocsolve.solvers.engines import apart, cpsat
from allocsolve.solvers.engines.apart import never, run_apart
from allocsolve.solvers.routes import method_named


def test_the_result_comes_back() -> None:
    """Work that ends is as if it had been called directly."""
    assert run_apart(lambda: 7, never, "seven") == 7


def test_errors_come_back() -> None:
    """An engine that fails in its thread must not look like one that was left behind."""

    def fail() -> int:
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        run_apart(fail, never, "failure")


def test_work_that_does_not_stop_is_left_behind() -> None:
    """An interrupt is answered within a second, whatever the engine does meanwhile."""
    end = threading.Event()
    began = time.monotonic()
    assert run_apart(lambda: end.wait(20), lambda: True, "deaf", grace=0.1) is None
    assert time.monotonic() - began < 5
    end.set()


def test_threads_that_ended_are_forgotten() -> None:
    """A program that is interrupted a thousand times must not keep a thousand threads."""
    end, kept = threading.Event(), threading.Event()
    run_apart(lambda: end.wait(20), lambda: True, "first", grace=0.01)
    run_apart(lambda: kept.wait(20), lambda: True, "second", grace=0.01)
    first = next(thread for thread in apart._left if thread.name == "first")
    end.set()
    first.join(5)
    last = threading.Thread(target=kept.wait, args=(20,), name="third", daemon=True)
    last.start()
    apart.leave_behind(last)
    names = [thread.name for thread in apart._left]
    kept.set()
    assert "first" not in names
    assert {"second", "third"} <= set(names)


def test_work_that_stops_in_time_still_counts() -> None:
    """An engine that looks at the token hands over what it has."""
    end = threading.Event()

    def stop() -> bool:
        end.set()
        return True

    assert run_apart(lambda: end.wait(20), stop, "obedient", grace=10.0) is True


def test_an_import_is_left_behind_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Importing an engine takes a second on a busy machine, and nothing interrupts it."""
    end = threading.Event()
    monkeypatch.setattr(importlib, "import_module", lambda _: end.wait(20))
    assert not cpsat.load(lambda: True)
    end.set()
    monkeypatch.undo()
    assert cpsat.load()


def test_presolve_that_looks_at_no_clock_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """HiGHS presolves large programs for seconds without a callback."""
    end = threading.Event()
    monkeypatch.setattr(getf_lp, "_solve", lambda *_: end.wait(20))
    graph = CommGraph.of(generate("layered", tasks=9, seed=0))
    assert getf_lp.solve_lp(graph, 60.0, lambda: True) is None
    end.set()


def test_sharing_work_is_left_behind_with_the_bound_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound that was proven before the engine went deaf still holds."""
    end = threading.Event()
    monkeypatch.setattr(area_lp, "_rounds", lambda *_: end.wait(20))
    graph = CommGraph.of(generate("layered", tasks=9, seed=0))
    assert area_lp.area_bound(node_table(graph), 5, lambda: 0.0) == area_lp.AreaBound(5, ())
    end.set()


METHODS = ("auto", "cpsat", "getf", "portfolio", "annealing", "heterogeneous", "list")

SLACK = 2.0
"""Seconds that a busy machine may take; a second is what is promised on an idle one."""


@pytest.fixture(scope="module")
def large() -> DagProblem:
    """A graph that keeps every part of every method busy for a while."""
    return generate("layered", tasks=2500, seed=1, nodes=6, node_kind="unrelated")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("moment", [0.3, 1.0, 2.0], ids=lambda moment: f"after {moment} s")
def test_a_token_ends_large_runs_at_any_moment(
    large: DagProblem, method: str, moment: float
) -> None:
    """Building a model, a presolve, an import or a compiler must not hold the answer back."""
    token, came = Token(), [0.0]

    def cancel() -> None:
        came[0] = time.monotonic()
        token.cancel()

    control: Control[Schedule] = Control(Limits(threads=2), token)
    timer = threading.Timer(moment, cancel)
    timer.start()
    outcome = method_named("dag", method).load()(large, control)
    timer.cancel()
    if came[0]:
        assert time.monotonic() - came[0] < SLACK
        assert control.answer is None or control.value is not None
        assert outcome.termination in (Termination.INTERRUPTED, Termination.FINISHED)


LEAVE_BEHIND = """
import sys, threading
from allocsolve.cli import main
from allocsolve.solvers.dag import getf_lp
getf_lp._solve = lambda *_: threading.Event().wait()
sys.exit(main())
"""


def test_the_process_ends_although_an_engine_goes_on(tmp_path: Path) -> None:
    """A thread that was left behind must not keep the process, nor change its exit code."""
    problem = generate("layered", tasks=60, seed=0)
    allocsolve.write(problem, tmp_path / "graph.json")
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            LEAVE_BEHIND,
            "solve",
            "graph.json",
            "--method",
            "getf",
            "--progress",
            "plain",
        ],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    while "linear program" not in process.stderr.readline():
        pass
    os.kill(process.pid, signal.SIGINT)
    document, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert json.loads(document)["termination"] == "interrupted"


def test_the_end_of_a_process_waits_for_what_was_left_behind(tmp_path: Path) -> None:
    """An engine that works on while Python is taken down would end the process with an error."""
    code = (
        "import time\n"
        "from allocsolve.solvers.engines.apart import run_apart\n"
        "def work():\n"
        "    time.sleep(1)\n"
        "    print('done', flush=True)\n"
        "run_apart(work, lambda: True, 'work', grace=0.01)\n"
        "print('left', flush=True)\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["left", "done"]
