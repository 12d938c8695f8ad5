"""`allocsolve simulate` and `allocsolve fit` as others call them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import allocsolve
from allocsolve.cli.progress_bar import ProgressBar, json_line
from allocsolve.cli.simulate import named
from allocsolve.models.nodes import Lognormal

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]

INSTANCE = {
    "schema": "allocsolve.instance/1",
    "kind": "dag",
    "name": "chain",
    "tasks": [{"id": "a", "work": 2}, {"id": "b", "work": 3}],
    "edges": [{"from": "a", "to": "b"}],
    "nodes": [{"id": "n"}],
}
ENTRIES: list[dict[str, Any]] = [
    {"task": "a", "start": 0, "end": 2, "node": "n"},
    {"task": "b", "start": 2, "end": 5, "node": "n"},
]
PLAN = {"schema": "allocsolve.solution/1", "kind": "dag", "schedule": ENTRIES}


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with an instance, two plans, a wrong plan and a trace."""
    first, second = ENTRIES
    wrong = dict(second, start=1, end=4)
    late = [dict(first, start=1, end=3), dict(second, start=3, end=6)]
    documents = {
        "chain.json": INSTANCE,
        "plan.json": PLAN,
        "late.json": dict(PLAN, schedule=late),
        "wrong.json": dict(PLAN, schedule=[first, wrong]),
        "empty.json": {"schema": "allocsolve.solution/1", "kind": "dag"},
    }
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "trace.csv").write_text("node,duration\nn,1\nn,3\nm,0.5\n", encoding="utf-8")
    return tmp_path


def _simulated(command: Run, *words: str) -> dict[str, Any]:
    done = command("simulate", "chain.json", *words)
    assert done.returncode == 0, done.stderr
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.mark.usefixtures("files")
def test_options_reach_the_document(allocsolve_command: Run) -> None:
    """Law, quantiles, deadline, replications and seed are what was asked for."""
    words = ["--law", "exponential:rate=1", "--quantile", "0.25", "--quantile", "95%"]
    words += ["--deadline", "7.5", "--replications", "300", "--seed", "9", "--threads", "2"]
    document = _simulated(allocsolve_command, "plan.json", *words)
    assert list(document["quantiles"]) == ["0.25", "0.95"]
    assert (document["deadline"], document["replications"], document["seed"]) == (7.5, 300, 9)
    assert document["extra"]["asked"]["law"] == {"law": "exponential", "rate": 1.0}
    again = _simulated(allocsolve_command, "plan.json", *words[:-1], "1")
    assert again == document


@pytest.mark.usefixtures("files")
def test_planned_starts_wait_for_the_plan(allocsolve_command: Run) -> None:
    """Faster nodes help an eager start only."""
    words = ("plan.json", "--law", "deterministic:value=0.5")
    assert _simulated(allocsolve_command, *words)["mean"] == 2.5
    assert _simulated(allocsolve_command, *words, "--starts", "planned")["mean"] == 3.5


@pytest.mark.usefixtures("files")
def test_a_trace_is_the_law_as_it_is(allocsolve_command: Run) -> None:
    """Measured durations are not normalised; with two columns the right one is taken."""
    words = ("plan.json", "--samples", "--replications", "500")
    for trace in ("trace.csv", "trace.csv:duration"):
        document = _simulated(allocsolve_command, *words, "--law-file", trace)
        assert set(document["samples"]) <= {2 * x + 3 * y for x in (0.5, 1, 3) for y in (0.5, 1, 3)}
        assert document["extra"]["asked"]["law"]["samples"] == [1.0, 3.0, 0.5]


@pytest.mark.usefixtures("files")
def test_solutions_and_policies_are_compared(allocsolve_command: Run) -> None:
    """Files name the plans; policies name what was done with them."""
    law = ("--law", "exponential:rate=1", "--replications", "50")
    document = _simulated(allocsolve_command, "plan.json", "late.json", *law, "--starts", "planned")
    (pair,) = document["comparison"]
    assert (pair["first"], pair["second"], pair["mean_difference"] <= 0) == ("plan", "late", True)
    document = _simulated(
        allocsolve_command, "plan.json", *law, "--policy", "static", "--policy", "redispatch"
    )
    assert document["name"] == "plan (static)"
    assert document["others"][0]["name"] == "plan (list dispatch)"


@pytest.mark.usefixtures("files")
def test_a_rejected_solution_exits_with_6(allocsolve_command: Run) -> None:
    """The broken rules are told, and nothing is written."""
    done = allocsolve_command("simulate", "chain.json", "plan.json", "wrong.json", "-o", "out.json")
    assert (done.returncode, done.stdout) == (6, "")
    assert "rejects wrong" in done.stderr
    assert "precedence: " in done.stderr
    assert not Path("out.json").exists()


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param(("plan.json", "--law", "gama:shape=1"), 2, "did you mean 'gamma'", id="law"),
        pytest.param(("plan.json", "--law", "gamma:shape=0,scale=1"), 2, "shape", id="parameter"),
        pytest.param(("plan.json", "--law", "gamma:shape=1"), 2, "scale is missing", id="missing"),
        pytest.param(("plan.json", "--law", "gamma:form=1"), 2, "form", id="unknown key"),
        pytest.param(
            ("plan.json", "--law", "exponential:rate=1", "--law-file", "trace.csv"),
            2,
            "exclude",
            id="two laws",
        ),
        pytest.param(("plan.json", "--law-file", "trace.csv:time"), 2, "'time'", id="column"),
        pytest.param(("plan.json", "--law-file", "no.csv"), 65, "no.csv", id="no trace"),
        pytest.param(("plan.json", "--quantile", "1"), 2, "below 1", id="quantile"),
        pytest.param(("plan.json", "--deadline", "soon"), 2, "number", id="deadline"),
        pytest.param(("plan.json", "--replications", "1"), 2, "2 ..", id="replications"),
        pytest.param(("plan.json", "--precision", "x"), 2, "1%", id="precision"),
        pytest.param(("plan.json", "--starts", "late"), 2, "eager, planned", id="starts"),
        pytest.param(("plan.json", "--policy", "magic"), 2, "redispatch", id="policy"),
        pytest.param(("plan.json", "--progress", "bar"), 2, "plain", id="progress"),
        pytest.param(("plan.json", "--dtype", "float16"), 2, "float32", id="dtype"),
        pytest.param(("empty.json",), 65, "empty.json: the document holds no answer", id="empty"),
        pytest.param(("chain.json",), 65, "chain.json:$.schema", id="no solution"),
        pytest.param(("nowhere.json",), 65, "nowhere.json", id="no file"),
        pytest.param(("-", "-"), 2, "one argument only", id="stdin twice"),
        pytest.param(("plan.json", "-o", "plan.json"), 2, "overwritten", id="onto itself"),
    ],
)
@pytest.mark.usefixtures("files")
def test_wrong_calls_are_explained(
    allocsolve_command: Run, words: tuple[str, ...], code: int, message: str
) -> None:
    """At most five lines, no traceback, nothing on stdout."""
    done = allocsolve_command("simulate", "chain.json", *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 5


TRACES = [
    pytest.param("duration\n1\n-2\n", "3: ", "-2 is negative", id="negative"),
    pytest.param("duration\n1\n2\nx\n", "4: ", "'x' is not a number", id="text"),
    pytest.param("a,duration\nq,1\nq,\n", "3: ", "empty", id="missing"),
    pytest.param("duration\n1\nnan\n", "3: ", "'nan' is not a number", id="not a number"),
    pytest.param("duration\n1e999\n", "2: ", "not finite", id="infinite"),
    pytest.param("duration\n", "", "no duration", id="nothing"),
]


@pytest.mark.parametrize(("text", "line", "what"), TRACES)
@pytest.mark.parametrize(
    "words",
    [("fit", "bad.csv"), ("simulate", "chain.json", "plan.json", "--law-file", "bad.csv")],
    ids=["fit", "simulate"],
)
def test_a_wrong_cell_is_named(
    allocsolve_command: Run, files: Path, words: tuple[str, ...], text: str, line: str, what: str
) -> None:
    """File and line of the cell, what is wrong with it, and how to mend it."""
    (files / "bad.csv").write_text(text, encoding="utf-8")
    done = allocsolve_command(*words)
    assert (done.returncode, done.stdout) == (65, "")
    assert f"bad.csv:{line}" in done.stderr
    assert what in done.stderr
    assert "remedy:" in done.stderr


def test_wrong_laws_of_an_instance_are_named(allocsolve_command: Run, files: Path) -> None:
    """The JSON path leads to the node and the field."""
    law = {"law": "gamma", "shape": -1, "scale": 1}
    broken = dict(INSTANCE, nodes=[{"id": "n", "runtime": law}])
    (files / "broken.json").write_text(json.dumps(broken), encoding="utf-8")
    done = allocsolve_command("simulate", "broken.json", "plan.json")
    assert (done.returncode, done.stdout) == (65, "")
    assert "broken.json:$.nodes[0].runtime.shape" in done.stderr


@pytest.mark.usefixtures("files")
def test_progress_in_both_forms(allocsolve_command: Run) -> None:
    """Programs read JSON lines, people plain ones; stdout stays one document."""
    words = ("simulate", "chain.json", "plan.json", "--law", "exponential:rate=1", "--progress")
    done = allocsolve_command(*words, "json")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert {event["type"] for event in events} == {"progress"}
    assert events[-1]["share"] == 1.0
    assert json.loads(done.stdout)["schema"] == "allocsolve.simulation/1"
    assert "100.0%" in allocsolve_command(*words, "plain").stderr
    assert allocsolve_command(*words, "none").stderr == ""


def test_the_bar_of_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """On a terminal a bar moves and goes away; an error of the stream ends it only."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    bar = ProgressBar("auto", "drawing", quiet=False)
    bar(0.5)
    bar(1.0)
    bar.close()
    assert "drawing" in capsys.readouterr().err
    assert not ProgressBar("auto", "drawing", quiet=True).active
    assert json.loads(json_line(0.25, 1.5)) == {"type": "progress", "time": 1.5, "share": 0.25}


def test_names_of_plans_differ() -> None:
    """Comparisons name plans by their files, as short as they can be told apart."""
    assert named(["x/a.json", "y/b.tar.json", "-"]) == ["a", "b", "stdin"]
    assert named(["x/a.json", "y/a.json"]) == ["x/a.json", "y/a.json"]
    assert named(["a.json", "a.json"]) == ["a #1", "a #2"]


@pytest.mark.usefixtures("files")
def test_a_plan_from_standard_input(allocsolve_command: Run) -> None:
    """`solve ... | simulate chain.json -` is a pipe."""
    done = allocsolve_command("simulate", "chain.json", "-", "-v", stdin=json.dumps(PLAN))
    assert json.loads(done.stdout)["name"] == "stdin"
    assert "stdin: mean 5, q0.5 5" in done.stderr
    assert "(exact)" in done.stderr


MANY = 8 * 10**9


def _hear_interrupts() -> None:
    """Undo what a background shell without job control does to its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals of POSIX")
def test_an_interrupt_keeps_the_estimate(files: Path) -> None:
    """Ctrl-C after an hour of draws must not throw them away."""
    problem = allocsolve.generate("layered", tasks=40, seed=1)
    allocsolve.write(problem, files / "large.json")
    plan = allocsolve.solve(problem, method="heft", threads=1)
    allocsolve.write(plan, files / "large-plan.json")
    words = ["simulate", "large.json", "large-plan.json", "--law", "exponential:rate=1"]
    words += ["--replications", str(MANY), "--progress", "json", "--threads", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "allocsolve", *words],
        cwd=files,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_hear_interrupts,  # noqa: PLW1509  # no threads here
    )
    assert process.stderr is not None
    for line in process.stderr:
        if json.loads(line)["share"] * MANY > 2000:
            break
    process.send_signal(signal.SIGINT)
    output, error = process.communicate(timeout=60)
    assert process.returncode == 130
    document = json.loads(output)
    assert 1024 <= document["replications"] < MANY
    assert any("interrupted" in warning for warning in document["warnings"])
    assert b"interrupted" in error


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    """A trace of lognormal durations."""
    import numpy as np

    drawn = Lognormal(0.1, 0.5).sample(np.random.default_rng(2).random(300))
    path = tmp_path / "measured.csv"
    path.write_text("duration\n" + "\n".join(map(str, drawn.tolist())), encoding="utf-8")
    return path


def test_fit_ranks_and_draws(allocsolve_command: Run, measured: Path) -> None:
    """One document with the best law first, and a picture beside it."""
    pytest.importorskip("matplotlib")
    done = allocsolve_command("fit", measured, "--resamples", "40", "--plot", "fit.svg", "-v")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    best = document["fits"][0]
    assert (document["schema"], best["law"]["law"]) == ("allocsolve.fit/1", "lognormal")
    assert best["kolmogorov_smirnov"]["p_value"] > 0.05
    assert (measured.parent / "fit.svg").read_bytes().startswith(b"<?xml")
    assert "lognormal: BIC" in done.stderr
    again = allocsolve_command("fit", measured, "--resamples", "40")
    assert again.stdout == done.stdout


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param(("--family", "gama"), 2, "did you mean 'gamma'", id="family"),
        pytest.param(("--column", "time"), 2, "no column 'time'", id="column"),
        pytest.param(("--where", "node"), 2, "--where 'node'", id="where"),
        pytest.param(("--resamples", "many"), 2, "whole number", id="resamples"),
        pytest.param(("--plot", "fit.gif"), 2, ".svg", id="picture"),
        pytest.param(("--family", "deterministic"), 0, "", id="law of atoms"),
    ],
)
def test_wrong_calls_of_fit_are_explained(
    allocsolve_command: Run, measured: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    """The message says what would have been allowed."""
    done = allocsolve_command("fit", measured, "--resamples", "0", *words)
    assert done.returncode == code
    assert message in done.stderr
    assert bool(done.stdout) == (code == 0)


@pytest.mark.usefixtures("files")
def test_a_comparison_says_what_is_subtracted(allocsolve_command: Run) -> None:
    """A sign without a direction means nothing: it is the first plan minus the second."""
    words = ["chain.json", "late.json", "plan.json", "--starts", "planned", "-v"]
    done = allocsolve_command("simulate", *words)
    assert "allocsolve: late - plan: mean +1" in done.stderr
    (pair,) = json.loads(done.stdout)["comparison"]
    assert (pair["first"], pair["second"], pair["mean_difference"]) == ("late", "plan", 1.0)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("value", ["0", "100%", "1.5"])
def test_an_impossible_precision_says_what_is_allowed(allocsolve_command: Run, value: str) -> None:
    """Zero would never be reached, and one is reached at once."""
    done = allocsolve_command("simulate", "chain.json", "plan.json", "--precision", value)
    assert done.returncode == 2
    assert "precision" in done.stderr
    assert "\n  allowed: " in done.stderr


@pytest.mark.usefixtures("files")
def test_a_robust_choice_says_what_it_gains_and_costs(allocsolve_command: Run) -> None:
    """The summary is about the makespan, which is not what the schedule was chosen by."""
    words = ["chain.json", "--robust", "q=0.9", "--law", "exponential:rate=1", "-v", "-o", "x.json"]
    done = allocsolve_command("solve", *words)
    assert done.returncode == 0, done.stderr
    line = next(line for line in done.stderr.splitlines() if "robust: " in line)
    assert line.startswith("allocsolve: robust: q0.9 ")
    assert line.endswith("gain 0.00%, price 0.00%")
