"""Programs as MPS and LP files: complete, readable by another program, honest about limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import allocsolve
from allocsolve.instances.catalogue import bundled
from allocsolve.models.dag.data import Link, Node, Task

Command = Callable[..., CompletedProcess[str]]

OPTIMA = {"workshop": 10, "stock": 21, "curing": 17, "pipeline": 24, "transformer": 117}
"""Optima, in ticks, of small instances with resources, modes, lags, nodes and memory."""


def minimum(path: Path) -> float:
    """Return the optimum of a file as HiGHS reads it, without any of our model code."""
    from allocsolve.solvers.engines.highs import highs

    solver = highs()
    solver.readModel(str(path))
    solver.setOptionValue("mip_rel_gap", 0.0)
    solver.setOptionValue("mip_abs_gap", 0.9)
    solver.run()
    assert solver.modelStatusToString(solver.getModelStatus()) == "Optimal"
    return float(solver.getInfo().objective_function_value)


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize("formulation", ["disjunctive", "time_indexed"])
@pytest.mark.parametrize("name", OPTIMA)
def test_files_keep_the_optimum(tmp_path: Path, name: str, formulation: str, suffix: str) -> None:
    """What another solver reads is the same problem, constants and integrality included."""
    problem = allocsolve.read(bundled()[name], kind="dag")
    target = tmp_path / f"model{suffix}"
    allocsolve.export(problem, target, formulation=formulation)
    assert minimum(target) == pytest.approx(OPTIMA[name], abs=1e-4)


def test_files_repeat(tmp_path: Path) -> None:
    """The same instance gives the same bytes."""
    problem = allocsolve.read(bundled()["workshop"], kind="dag")
    texts = []
    for k in range(2):
        allocsolve.export(problem, tmp_path / f"{k}.mps")
        texts.append((tmp_path / f"{k}.mps").read_bytes())
    assert texts[0] == texts[1]


def test_the_command_line_writes_programs(allocsolve_command: Command, tmp_path: Path) -> None:
    """``export INSTANCE -o model.mps`` needs no solution and prints nothing."""
    path = bundled()["workshop"]
    done = allocsolve_command("export", path, "-o", "m.mps", "--formulation", "disjunctive")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert minimum(tmp_path / "m.mps") == pytest.approx(10)
    piped = allocsolve_command("export", path, "--to", "lp")
    assert piped.returncode == 0
    assert piped.stdout.rstrip().endswith("end")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["-o", "m.csv"], "needs SOLUTION", id="schedule without solution"),
        pytest.param(["-o", "m.xyz"], ".mps, .lp", id="unknown suffix"),
        pytest.param(["-o", "m.lp", "--formulation", "disj"], "time_indexed", id="formulation"),
        pytest.param(["plan.json", "--formulation", "disjunctive"], "leave one out", id="both"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    allocsolve_command: Command, tmp_path: Path, arguments: list[str], message: str
) -> None:
    """Each misuse exits with 2, names what is allowed, and leaves no file behind."""
    done = allocsolve_command("export", bundled()["workshop"], *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_features_without_a_program_are_refused(tmp_path: Path) -> None:
    """A program that leaves a condition out would be another problem."""
    problem = allocsolve.DagProblem(tasks=[Task(id="a", work=1, width=2)], nodes=[Node(id="x")])
    with pytest.raises(allocsolve.FeatureRefused, match="gangs"):
        allocsolve.export(problem, tmp_path / "m.lp")


def test_ids_need_no_care(tmp_path: Path) -> None:
    """Ids with spaces and signs would break the formats: programs count tasks and nodes."""
    tasks = [Task(id="a b;", work=2), Task(id="+3 x1", work=2)]
    nodes = [Node(id="n 1"), Node(id="n 2")]
    links = [Link(between=("n 1", "n 2"))]
    problem = allocsolve.DagProblem(tasks=tasks, nodes=nodes, links=links, name="x\ny: z")
    for suffix in (".mps", ".lp"):
        allocsolve.export(problem, tmp_path / f"m{suffix}", formulation="disjunctive")
        assert minimum(tmp_path / f"m{suffix}") == pytest.approx(float(2 / problem.arrays.tick))


def test_the_banner_of_the_engine_stays_away_from_stdout(allocsolve_command: Command) -> None:
    """With the real HiGHS at work, stdout holds one JSON document and nothing else."""
    done = allocsolve_command("solve", bundled()["workshop"], "--method", "milp", "-q")
    assert (done.returncode, done.stderr) == (0, "")
    document = json.loads(done.stdout)
    assert document["status"] == "OPTIMAL"
    assert document["objective"]["value"] == 10
    assert document["solver"]["name"] == "highs"
