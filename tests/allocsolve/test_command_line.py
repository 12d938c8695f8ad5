"""The command line as others use it: one document on stdout, exit codes, plain errors."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

import allocsolve
from allocsolve.cli.app import _HOMES, command
from allocsolve.models.dag.problem import DagProblem
from allocsolve.solvers.routes import METHODS, kernel_sets

Run: TypeAlias = Callable[..., "subprocess.CompletedProcess[str]"]

INFEASIBLE = {
    "schema": "allocsolve.instance/1",
    "kind": "dag",
    "tasks": [{"id": "a", "modes": [{"duration": 3}], "deadline": 2}],
}


def _document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the one JSON document on stdout; fails on anything before or after it."""
    document: dict[str, Any] = json.loads(done.stdout)
    return document


@pytest.fixture
def plan(allocsolve_command: Run, ft06: Path, tmp_path: Path) -> Path:
    """A solution document of ft06."""
    path = tmp_path / "plan.json"
    done = allocsolve_command("solve", ft06, "--method", "list", "--time-limit", "5", "-o", path)
    assert done.returncode == 0
    return path


MODULES = {row.target.partition(":")[0]: row.name for row in METHODS if row.kind == "dag"}
"""One method of each module: those of one module load and print the same."""


CHATTY = [(method, ("-v", "--progress", "plain")) for method in MODULES.values()]
"""Engines print more if they are asked to, and only through their own method."""


@pytest.mark.parametrize(
    ("method", "extra"),
    [*CHATTY, ("auto", ()), ("auto", ("-q",)), ("auto", ("--progress", "json"))],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_stdout_is_one_document(
    allocsolve_command: Run, ft06: Path, method: str, extra: tuple[str, ...]
) -> None:
    """A pipe must be able to read the result, however chatty the run is."""
    done = allocsolve_command("solve", ft06, "--method", method, "--time-limit", "5", *extra)
    assert done.returncode == 0
    assert _document(done)["schema"] == "allocsolve.solution/1"


@pytest.mark.parametrize(
    ("family", "method"),
    [("cluster", "auto"), ("cluster", "cvxpy"), ("two_types", "auto"), ("two_types", "milp")],
)
def test_stdout_is_one_document_for_every_kind(
    allocsolve_command: Run, tmp_path: Path, family: str, method: str
) -> None:
    """Conic solvers and mixed-integer programs of the other kinds are as silent."""
    path = tmp_path / "drawn.json"
    assert allocsolve_command("generate", family, "--tasks", "4", "-o", path).returncode == 0
    objective = ("--objective", "quantile", "--set", "q=0.9") if method == "milp" else ()
    words = ("solve", path, "--method", method, "--time-limit", "5", "-v", *objective)
    done = allocsolve_command(*words, "--progress", "plain")
    assert done.returncode == 0, done.stderr
    assert _document(done)["schema"] == "allocsolve.solution/1"


def test_other_verbs_write_one_document_too(
    allocsolve_command: Run, ft06: Path, plan: Path
) -> None:
    """Every verb that gives a document gives nothing else."""
    assert _document(allocsolve_command("bound", ft06))["best"] == 55
    assert _document(allocsolve_command("check", ft06, plan, "-v"))["valid"]
    assert _document(allocsolve_command("convert", ft06, "-"))["kind"] == "dag"
    assert _document(allocsolve_command("export", ft06, plan, "--to", "chrome"))["traceEvents"]
    assert _document(allocsolve_command("generate", "lags", "--tasks", "5"))["kind"] == "dag"
    for verb in ("formats", "methods", "doctor"):
        assert _document_list(allocsolve_command(verb, "--json"))


def _document_list(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def test_the_banner_of_an_engine_stays_off_stdout(tmp_path: Path) -> None:
    """Code below Python writes to descriptor 1; that must not end up in the document."""
    code = (
        "import sys, os; from allocsolve.cli import main; from allocsolve.api import solving\n"
        "original = solving.run\n"
        "def noisy(*args, **kwargs):\n"
        "    os.write(1, b'a banner'); print('a print'); import highspy; highspy.Highs()\n"
        "    os.system('echo a child')\n"
        "    return original(*args, **kwargs)\n"
        "solving.run = noisy\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    path = tmp_path / "a.json"
    path.write_text(json.dumps(INFEASIBLE), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", code, "solve", path],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert _document(done)["status"] == "INFEASIBLE"
    assert all(word in done.stderr for word in ("a banner", "a print", "a child"))


def test_the_document_can_go_to_a_file(allocsolve_command: Run, plan: Path, ft06: Path) -> None:
    """With -o stdout stays empty and the file is complete."""
    done = allocsolve_command("solve", ft06, "--time-limit", "0", "-o", plan)
    assert (done.stdout, done.returncode) == ("", 5)
    assert json.loads(plan.read_text(encoding="utf-8"))["status"] == "UNKNOWN"
    assert [path.name for path in plan.parent.iterdir()] == ["plan.json"]


def test_an_infeasible_instance_exits_with_3(allocsolve_command: Run, tmp_path: Path) -> None:
    """Classic solvers exit 0 here, and scripts go on with nothing."""
    path = tmp_path / "late.json"
    path.write_text(json.dumps(INFEASIBLE), encoding="utf-8")
    done = allocsolve_command("solve", path)
    document = _document(done)
    assert done.returncode == 3
    assert document["certificate"]["reason"]["type"] == "critical_path"
    assert "deadline" in document["certificate"]["explanation"]
    assert allocsolve_command("bound", path).returncode == 3
    (tmp_path / "claim.json").write_text(done.stdout, encoding="utf-8")
    assert allocsolve_command("check", path, tmp_path / "claim.json").returncode == 0


def test_nothing_found_exits_with_5(allocsolve_command: Run, ft06: Path) -> None:
    """A limit of zero gives a bound and no answer."""
    done = allocsolve_command("solve", ft06, "--time-limit", "0")
    document = _document(done)
    assert (done.returncode, document["status"]) == (5, "UNKNOWN")
    assert (document["objective"]["value"], document["schedule"]) == (None, None)


def test_a_wrong_solution_exits_with_6(allocsolve_command: Run, ft06: Path, plan: Path) -> None:
    """Each broken rule is named with amounts, for a person and for a program."""
    document = json.loads(plan.read_text(encoding="utf-8"))
    document["schedule"][0]["start"] = 40
    plan.write_text(json.dumps(document), encoding="utf-8")
    done = allocsolve_command("check", ft06, plan)
    assert done.returncode == 6
    rules = {violation["rule"] for violation in _document(done)["violations"]}
    assert "duration" in rules
    assert "duration:" in done.stderr


@pytest.mark.parametrize(
    ("content", "mentions"),
    [
        pytest.param("{", "bad.json:1:2", id="syntax"),
        pytest.param('{"schema": "allocsolve.instance/1", "kind": "dag"}', "tasks", id="no tasks"),
        pytest.param("", "bad.json", id="empty"),
    ],
)
def test_bad_data_exits_with_65(
    allocsolve_command: Run, tmp_path: Path, content: str, mentions: str
) -> None:
    """The file and the place are named, in a few lines and without a traceback."""
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    done = allocsolve_command("solve", path)
    assert done.returncode == 65
    assert done.stdout == ""
    assert mentions in done.stderr
    assert len(done.stderr.splitlines()) <= 5
    assert "Traceback" not in done.stderr


def test_missing_files_exit_with_65(allocsolve_command: Run, ft06: Path) -> None:
    """A file that cannot be opened is bad input, whichever argument it is."""
    assert allocsolve_command("solve", "nowhere.sm").returncode == 65
    assert allocsolve_command("check", ft06, "nowhere.json").returncode == 65
    done = allocsolve_command("solve", ft06, "--warm-start", "nowhere.json")
    assert (done.returncode, "nowhere.json" in done.stderr) == (65, True)


@pytest.mark.parametrize(
    ("option", "value", "allowed"),
    [
        pytest.param("--time-limit", "soon", "500ms", id="no duration"),
        pytest.param("--time-limit", "-1", "none", id="negative duration"),
        pytest.param("--time-limit", "1e999", "finite", id="endless duration"),
        pytest.param("--gap", "x%", "1%", id="no ratio"),
        pytest.param("--threads", "0", "1 ..", id="no thread"),
        pytest.param("--threads", "two", "whole number", id="threads in letters"),
        pytest.param("--seed", "1.5", "whole number", id="half a seed"),
        pytest.param("--progress", "jsn", "'json'", id="unknown progress"),
        pytest.param("--method", "cpst", "'cpsat'", id="unknown method"),
        pytest.param("--objective", "cost", "none yet", id="objective without a method"),
        pytest.param("--objective", "makspan", "'makespan'", id="unknown objective"),
        pytest.param("--set", "a", "key=value", id="no value"),
        pytest.param("--set", "zzz=1", "zzz", id="unknown setting"),
        pytest.param("--format", "psplb", "'psplib'", id="unknown format"),
        pytest.param("--index-base", "2", "0 or 1", id="impossible base"),
        pytest.param("--robust", "q=0.95", "something random", id="robust without a law"),
        pytest.param("--robust", "0.95", "q=0.95", id="robust without a name"),
        pytest.param("--law", "gamma:shape=1,scale=1", "robust", id="law without robust"),
        pytest.param("--robst", "q=0.95", "--robst", id="an option that does not exist"),
    ],
)
def test_wrong_options_exit_with_2(
    allocsolve_command: Run, ft06: Path, option: str, value: str, allowed: str
) -> None:
    """The message says what would have been allowed."""
    done = allocsolve_command("solve", ft06, option, value)
    assert (done.returncode, done.stdout) == (2, "")
    assert allowed in done.stderr
    assert done.stderr.startswith("allocsolve: ")
    assert len(done.stderr.splitlines()) <= 5


def test_wrong_calls_exit_with_2(allocsolve_command: Run, ft06: Path) -> None:
    """Unknown verbs, missing arguments and two readers of stdin are usage errors."""
    assert "did you mean 'solve'" in allocsolve_command("slove").stderr.lower()
    for words in ((), ("slove",), ("solve",), ("check", "-", "-"), ("schema", "solutoin")):
        assert allocsolve_command(*words).returncode == 2
    assert allocsolve_command("export", ft06, "x.json", "-o", "a.xyz").returncode == 2
    assert allocsolve_command("convert", ft06, "a.xyz").returncode == 2
    assert allocsolve_command("plot", ft06, "x.json", "-o", "a.gif").returncode == 2


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        ("30s", 30.0),
        ("500ms", 0.5),
        ("2m", 120.0),
        ("1h", 3600.0),
        ("7", 7.0),
        (".5", 0.5),
        ("1e-2s", 0.01),
        ("none", None),
        ("0", 0.0),
    ],
)
def test_durations(limit: str, seconds: float | None) -> None:
    """Each way to write a duration means the same number of seconds everywhere."""
    from allocsolve.cli.values import duration

    assert duration("--time-limit", limit) == seconds


def test_ratios() -> None:
    """1% and 0.01 are the same gap."""
    from allocsolve.cli.values import ratio

    assert ratio("--gap", "1%") == ratio("--gap", "0.01") == 0.01


def test_an_instance_may_come_from_stdin(allocsolve_command: Run, ft06: Path, plan: Path) -> None:
    """Either argument may be -, so that verbs can be chained."""
    text = ft06.read_text(encoding="utf-8")
    done = allocsolve_command("bound", "-", "--format", "jobshop", stdin=text)
    assert _document(done)["best"] == 55
    done = allocsolve_command("check", ft06, "-", stdin=plan.read_text(encoding="utf-8"))
    assert done.returncode == 0


def test_a_gap_that_is_good_enough_ends_the_run(allocsolve_command: Run, ft06: Path) -> None:
    """Then the status is FEASIBLE with the gap, not OPTIMAL."""
    document = _document(
        allocsolve_command("solve", ft06, "--gap", "90%", "--time-limit", "20", "--threads", "1")
    )
    assert document["objective"]["gap"] <= 0.9
    assert (document["status"], document["termination"]) in (
        ("FEASIBLE", "gap_limit"),
        ("OPTIMAL", "finished"),
    )


def test_progress_json_is_an_object_a_line(allocsolve_command: Run, ft06: Path) -> None:
    """Another program can follow the run on stderr."""
    done = allocsolve_command("solve", ft06, "--progress", "json", "--time-limit", "20")
    events = [json.loads(line) for line in done.stderr.splitlines()]
    assert {"incumbent", "bound"} <= {event["type"] for event in events}
    assert set(events[0]) == {"type", "time", "value", "bound", "gap", "source"}


def test_progress_is_silent_without_a_terminal(allocsolve_command: Run, ft06: Path) -> None:
    """Logs of batch jobs must not fill with control characters."""
    assert allocsolve_command("solve", ft06, "--time-limit", "20").stderr == ""


def test_the_log_tells_how_the_run_went(
    allocsolve_command: Run, ft06: Path, tmp_path: Path
) -> None:
    """The log is kept beside the document, also when nobody watched."""
    done = allocsolve_command("solve", ft06, "--log", "run.log", "--time-limit", "20")
    assert done.stderr == ""
    lines = (tmp_path / "run.log").read_text(encoding="utf-8").splitlines()
    assert any("incumbent" in line for line in lines)
    assert "makespan" in lines[-1]


def test_a_warm_start_from_a_file(allocsolve_command: Run, ft06: Path, plan: Path) -> None:
    """The answer is never worse than the one that was handed in."""
    before = json.loads(plan.read_text(encoding="utf-8"))["objective"]["value"]
    done = allocsolve_command("solve", ft06, "--warm-start", plan, "--time-limit", "1ms")
    assert _document(done)["objective"]["value"] <= before


def test_the_same_bytes_for_every_hash_seed(
    ft06: Path, tmp_path: Path, project: DagProblem
) -> None:
    """With one thread a document is reproducible, except for its timing."""
    allocsolve.write(project, tmp_path / "project.json")
    for path in (ft06, tmp_path / "project.json"):
        seen = set()
        for seed in range(4):
            done = subprocess.run(
                [sys.executable, "-m", "allocsolve", "solve", path, "--threads", "1"],
                cwd=tmp_path,
                env=os.environ | {"PYTHONHASHSEED": str(seed)},
                capture_output=True,
                text=True,
                check=True,
            )
            lines = [line for line in done.stdout.splitlines() if '"timing"' not in line]
            seen.add("\n".join(lines))
        assert len(seen) == 1
        assert '"deterministic": true' in seen.pop()


@pytest.mark.parametrize("limit", ["50ms", "1"])
def test_the_time_limit_is_kept(allocsolve_command: Run, crowded_file: Path, limit: str) -> None:
    """The clock counts everything; the margin is wide because test machines are busy."""
    document = _document(allocsolve_command("solve", crowded_file, "--time-limit", limit))
    assert document["status"] == "FEASIBLE"
    assert document["termination"] == "time_limit"
    assert document["timing"]["total"] < 8
    assert not document["deterministic"]


def test_an_internal_error_is_one_message(tmp_path: Path) -> None:
    """A bug asks to be reported, and shows where it is only if asked."""
    code = (
        "import sys; from allocsolve.cli import main; from allocsolve.api import solving\n"
        "def broken(*args, **kwargs): raise ZeroDivisionError('oops')\n"
        "solving.run = broken\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    path = tmp_path / "a.json"
    path.write_text(json.dumps(INFEASIBLE), encoding="utf-8")
    for extra, traceback in (((), False), (("-v",), True)):
        done = subprocess.run(
            [sys.executable, "-c", code, "solve", path, *extra],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, "")
        assert "oops" in done.stderr
        assert "report" in done.stderr
        assert ("Traceback" in done.stderr) is traceback


def test_help_and_completion_reach_stdout(allocsolve_command: Run, tmp_path: Path) -> None:
    """Help is what was asked for, so it is output."""
    assert "solve" in allocsolve_command("--help").stdout
    assert "Example: allocsolve check" in allocsolve_command("check", "--help").stdout
    done = subprocess.run(
        [sys.executable, "-m", "allocsolve"],
        cwd=tmp_path,
        env=os.environ
        | {
            "_ALLOCSOLVE_COMPLETE": "complete_bash",
            "COMP_WORDS": "allocsolve solve --thr",
            "COMP_CWORD": "2",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split() == ["--threads"]


def test_the_list_of_verbs_says_what_the_verbs_say() -> None:
    """The list is written apart from the verbs so that it loads quickly; it must not differ."""
    import importlib

    for verb, (module, line) in _HOMES.items():
        function = getattr(importlib.import_module(f"allocsolve.cli.{module}"), verb)
        first = (function.__doc__ or "").splitlines()[0]
        assert first.startswith(line.removesuffix("."))
    assert set(command().commands) == set(_HOMES)


def test_doctor_looks_at_everything(allocsolve_command: Run) -> None:
    """Versions, the pair that cannot be loaded together, and engines that really solve."""
    done = allocsolve_command("doctor", "--compile", timeout=600)
    assert done.returncode == 0
    for word in ("ortools", "highspy", "known-bad pair", "cpsat solves", "highs solves", "cache"):
        assert word in done.stdout
    for kernels in kernel_sets():
        assert f"kernels: {kernels.name}" in done.stdout


def test_doctor_names_the_bad_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where it was forced in, the pair is named together with the fix."""
    from allocsolve.cli import doctor

    versions = {"highspy": "1.15.1", "ortools": "9.15"}
    monkeypatch.setattr(doctor, "_version", versions.get)
    finding = doctor._known_bad_pair()
    assert finding.ok is False
    assert "1.15.1" in finding.detail
    assert "!=1.15" in finding.remedy


@pytest.mark.parametrize(
    ("tree_can_be_written", "user_can", "said"),
    [
        pytest.param(True, True, "beside the sources", id="checkout"),
        pytest.param(False, True, "the cache of this user", id="read-only install"),
        pytest.param(False, False, "--compile changes nothing", id="nowhere"),
    ],
)
def test_doctor_says_where_compiled_loops_are_kept(
    monkeypatch: pytest.MonkeyPatch, tree_can_be_written: bool, user_can: bool, said: str
) -> None:
    """In a read-only install numba falls back to the user's folder; only then nothing helps."""
    from numba.core import caching, config

    from allocsolve.cli import doctor
    from allocsolve.models.dag import list_kernels
    from allocsolve.models.kernels import kernel

    def refuse(*_: object) -> None:
        return None

    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    if not tree_can_be_written:
        monkeypatch.setattr(caching.InTreeCacheLocator, "from_function", refuse)
    if not user_can:
        monkeypatch.setattr(caching.UserWideCacheLocator, "from_function", refuse)
    fresh = kernel(getattr(list_kernels.place_in_order, "function", list_kernels.place_in_order))
    monkeypatch.setattr(list_kernels, "place_in_order", fresh)
    finding = doctor._cache()
    assert said in finding.detail
    assert ("NUMBA_CACHE_DIR" in finding.remedy) == (not user_can)


def test_the_version_is_told(allocsolve_command: Run) -> None:
    """A report of a bug begins with the version."""
    assert allocsolve_command("--version").stdout == f"allocsolve {allocsolve.__version__}\n"
