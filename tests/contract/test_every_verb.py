"""Every verb of the command line explains itself, and its example works as it stands."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import allocsolve
from allocsolve.cli.app import command
from allocsolve.instances.catalogue import bundled
from allocsolve.instances.registry import FORMATS
from allocsolve.solvers.routes import METHODS

Command = Callable[..., CompletedProcess[str]]

VERBS = sorted(command([]).commands)
PROMISED = {"solve", "check", "bound", "convert", "export", "generate", "plot"}
PROMISED |= {"formats", "methods", "schema", "doctor", "simulate", "fit"}
NEEDS_EXTRA = {"plot": "matplotlib"}


def _example(help_text: str, verb: str) -> list[str]:
    """Return the arguments of the example in a help text."""
    match = re.search(rf"Example:\s+allocsolve ({verb}\b.*?)(?:\n\s*\n|\Z)", help_text, re.DOTALL)
    assert match is not None, help_text
    return shlex.split(match[1])


def test_the_promised_verbs_are_there() -> None:
    """A verb that disappears breaks the scripts of whoever calls it."""
    assert set(VERBS) >= PROMISED


@pytest.mark.parametrize("verb", VERBS)
def test_the_example_in_the_help_works(
    allocsolve_command: Command, tmp_path: Path, verb: str
) -> None:
    """The first thing that a reader of --help does is to try the example."""
    if verb in NEEDS_EXTRA:
        pytest.importorskip(NEEDS_EXTRA[verb])
    project = next(path for path in bundled().values() if path.suffix == ".sm")
    shutil.copy(project, tmp_path / "j301_1.sm")
    trace = "node,duration\na,2.5\nb,3\na,4.25\nb,2\n"
    (tmp_path / "trace.csv").write_text(trace, encoding="utf-8")
    problem = allocsolve.read(tmp_path / "j301_1.sm", kind="dag")
    if verb != "solve":
        allocsolve.write(allocsolve.solve(problem, threads=1), tmp_path / "plan.json")
    shown = allocsolve_command(verb, "--help")
    assert shown.returncode == 0
    done = allocsolve_command(*_example(shown.stdout, verb))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_wrong_options_are_usage_errors(allocsolve_command: Command, verb: str) -> None:
    """A misspelt option exits with 2, says so on stderr, and prints nothing to stdout."""
    done = allocsolve_command(verb, "--no-such-option")
    assert (done.returncode, done.stdout) == (2, "")
    assert "--no-such-option" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("verb", "rows"),
    [
        pytest.param("formats", [row.name for row in FORMATS], id="formats"),
        pytest.param("methods", [row.name for row in METHODS], id="methods"),
    ],
)
def test_tables_list_every_row(allocsolve_command: Command, verb: str, rows: list[str]) -> None:
    """`formats` lists what the registry holds, `methods` what the routes hold."""
    done = allocsolve_command(verb)
    assert [line.split()[0] for line in done.stdout.splitlines()[1:]] == rows


@pytest.mark.parametrize(
    ("name", "method", "feature"),
    [
        pytest.param("house", "heft", "renewable resources", id="resources"),
        pytest.param("transformer", "communication", "memory", id="memory"),
    ],
)
def test_a_refusal_names_feature_and_methods(
    allocsolve_command: Command, name: str, method: str, feature: str
) -> None:
    """Who asked for the wrong method reads which feature is too much, and which methods can."""
    path = bundled()[name]
    done = allocsolve_command("solve", path, "--method", method)
    assert (done.returncode, done.stdout) == (2, "")
    wanted = allocsolve.read(path, kind="dag").features
    able = ", ".join(row.name for row in METHODS if wanted <= row.honours)
    assert feature in done.stderr
    assert f"methods that do: {able})" in done.stderr


@pytest.mark.parametrize("formulation", ["auto", "disjunctive", "time_indexed"])
@pytest.mark.parametrize("form", ["mps", "lp"])
def test_programs_are_exported_by_name(
    allocsolve_command: Command, tmp_path: Path, form: str, formulation: str
) -> None:
    """Every program in every form, of an instance with memory and tasks that share a node."""
    target = tmp_path / f"model.{form}"
    done = allocsolve_command(
        "export", bundled()["transformer"], "-o", target, "--formulation", formulation
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    end = "ENDATA" if form == "mps" else "end"
    assert target.read_text(encoding="utf-8").split()[-1] == end
