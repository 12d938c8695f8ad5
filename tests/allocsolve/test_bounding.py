"""Bounds without a search, for every kind, and what is said where nothing searches."""

from __future__ import annotations

from pathlib import Path

import pytest

import allocsolve
from allocsolve.cli import main
from allocsolve.instances.kinds import Problem
from allocsolve.models.coded.data import Gradient, MatVec, Node
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.dag.data import Mode, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.fair.data import Job, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.nodes import Law
from allocsolve.report.bounds import decode_bounds, encode_bounds
from allocsolve.solvers import routes

CODED = CodedProblem(
    task=MatVec(rows=7), nodes=[Node(id="n", runtime=Law(law="deterministic", value=1))]
)
FAIR = FairProblem.from_arrays([[2.0, 1], [1, 3]], [1, 1])


@pytest.mark.parametrize(
    ("objective", "sense", "value"),
    [
        pytest.param("max_min", "max", 2.0, id="maximised"),
        pytest.param("total_throughput", "max", 5.0, id="sum"),
        pytest.param("makespan", "min", 4.0, id="minimised"),
    ],
)
def test_bounds_of_fair_problems(objective: str, sense: str, value: float) -> None:
    """Each of two jobs has its best type in the best allocation; no bound may deny that."""
    jobs = [
        Job(id="0", throughput={"a": 2, "b": 1}, remaining=8),
        Job(id="1", throughput={"a": 1, "b": 3}, remaining=3),
    ]
    problem = FairProblem(
        types=[ResourceType(id="a", count=1), ResourceType(id="b", count=1)], jobs=jobs
    )
    report = allocsolve.bound(problem, objective, options={"normalise": "none"})
    assert (report.kind, report.objective, report.sense) == ("fair", objective, sense)
    numbers = [float(entry.value) for entry in report.bounds]
    assert numbers == sorted(numbers, reverse=sense == "min")
    assert all(n >= value - 1e-9 if sense == "max" else n <= value + 1e-9 for n in numbers)
    assert report.best == report.bounds[0].value
    assert decode_bounds(encode_bounds(report)).sense == sense


def test_a_bound_that_takes_time_is_left_out_without_time() -> None:
    """A reader has to see that no bound was looked for, not that there is none."""
    report = allocsolve.bound(CODED, time_limit=0)
    assert (report.kind, report.objective, report.bounds, report.best) == (
        "coded",
        "mean",
        [],
        None,
    )
    assert "time limit is 0" in (report.explanation or "")
    assert allocsolve.bound(CODED).best == pytest.approx(7)


def test_settings_of_objectives_are_taken_and_others_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The verb takes what ``solve`` takes; a word that is misspelt must not be ignored."""
    path, target = tmp_path / "coded.json", tmp_path / "bounds.json"
    allocsolve.write(CODED, path)
    asked = ["bound", str(path), "--objective", "deadline_probability", "-o", str(target)]
    assert main([*asked, "--set", "deadline=6.9"]) == 0
    assert decode_bounds(target.read_bytes()).best == 0
    assert main([*asked, "--set", "deadline=6.9", "--set", "dedline=6"]) == 2
    assert "no setting 'dedline'" in capsys.readouterr().err


def test_why_there_is_no_bound_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty list with exit code 0 and nothing else looks like a fault of the program."""
    path = tmp_path / "gradient.json"
    nodes = [Node(id=str(i), runtime=Law(law="exponential", rate=1)) for i in range(3)]
    allocsolve.write(CodedProblem(task=Gradient(partitions=3, stragglers=1), nodes=nodes), path)
    assert main(["bound", str(path), "--objective", "mean"]) == 0
    assert "no bound on objective 'mean' of gradients is known" in capsys.readouterr().err


def test_times_between_whole_numbers_stay_exact(thirds: DagProblem) -> None:
    """A bound of 1 in units of a third is 1, as a fraction."""
    report = allocsolve.bound(thirds, time_limit=0)
    assert (report.best, report.sense) == (1, "min")


def test_other_objectives_of_schedules_have_no_bound() -> None:
    """A bound on the makespan must not pass for one on the cost."""
    problem = DagProblem(tasks=[Task(id="a", modes=[Mode(duration=1)])])
    with pytest.raises(UsageError, match="no bound is known for objective 'cost'"):
        allocsolve.bound(problem, "cost")


def test_the_verb_takes_every_kind(tmp_path: Path) -> None:
    """The command line bounds what the library does."""
    path, target = tmp_path / "fair.json", tmp_path / "bounds.json"
    allocsolve.write(FAIR, path)
    assert main(["bound", str(path), "--objective", "max_min", "-o", str(target)]) == 0
    assert decode_bounds(target.read_bytes()).kind == "fair"


@pytest.mark.parametrize("problem", [CODED, FAIR], ids=["coded", "fair"])
def test_a_kind_without_methods_is_named(monkeypatch: pytest.MonkeyPatch, problem: Problem) -> None:
    """'unknown method auto' would blame a word that nobody wrote."""
    rows = tuple(row for row in routes.METHODS if row.kind == "dag")
    monkeypatch.setattr(routes, "METHODS", rows)
    with pytest.raises(
        UsageError, match=f"no method solves problems of kind '{problem.kind}'"
    ) as caught:
        allocsolve.solve(problem)
    assert "check" in str(caught.value)
    assert "auto" not in str(caught.value)
