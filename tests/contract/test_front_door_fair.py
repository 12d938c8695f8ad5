"""Small divisions on which others fail, through the command line and from Python."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allocsolve
from allocsolve.models.errors import InputError
from allocsolve.models.fair.convex import PROGRAMS
from allocsolve.models.fair.data import Entity, Job, Pair, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reason_types import SloConflict
from allocsolve.models.fair.verify import verify_reason

Case = dict[str, Any]
Command = Callable[..., Any]


@pytest.fixture(scope="module")
def cases(cases_dir: Path) -> dict[str, Case]:
    document = json.loads((cases_dir / "front_door.json").read_text(encoding="utf-8"))
    return {case["id"]: case for case in document["cases"]}


@pytest.mark.parametrize("method", ["auto", "interior_point", "price_box", "cvxpy"])
@pytest.mark.parametrize("name", ["H14", "H15", "H16", "H18"])
def test_nash_where_others_fail(cases: dict[str, Case], name: str, method: str) -> None:
    """Worthless jobs, empty types, spreads of 1e12, and the sign of prices."""
    case = cases[name]
    problem = allocsolve.from_dict(case["input"]["document"], kind="fair")
    right = case["right"]
    result = allocsolve.solve(problem, objective="nash", method=method, threads=1)
    assert result.status == "OPTIMAL", result.warnings
    if "utilities" in right:
        answer = result.allocation.utilities
        assert answer == pytest.approx(right["utilities"], rel=1e-6, abs=1e-12)
    if "log_nash" in right:
        assert result.objective.value == pytest.approx(right["log_nash"], rel=1e-6)
    if "prices" in right:
        assert result.allocation.prices == pytest.approx(right["prices"], rel=1e-5)
    if "warning_names" in right:
        token = right["warning_names"].split()[0]
        assert any(token in warning for warning in result.warnings)


def test_every_case_is_tested(cases: dict[str, Case]) -> None:
    """A case of fair division that is added to the file needs a test here."""
    kinds = {name for name, case in cases.items() if _kind(case) == "fair"}
    assert kinds == {"H14", "H15", "H16", "H17", "H18"}


def _kind(case: Case) -> str | None:
    document = case["input"].get("document")
    return document.get("kind") if isinstance(document, dict) else None


@pytest.mark.parametrize("method", ["auto", "cvxpy"])
def test_prices_of_linear_programs_have_one_sign(cases: dict[str, Case], method: str) -> None:
    """Max 3x with x <= 4, and min 3x with x == 4: a unit is worth 3 in both."""
    known = cases["H18"]["right"]["lp_duals"]
    most = FairProblem.from_arrays([[3.0]], [4.0], time_cap=False)
    result = allocsolve.solve(most, objective="total_throughput", method=method, threads=1)
    assert result.allocation.prices == pytest.approx([known[0]])
    # Four units of progress are needed, one for each unit of g, which costs 3; there is enough.
    columns = {"remaining": [4.0], "deadline": [1.0]}
    least = FairProblem.from_arrays([[1.0]], [9.0], cost=[3.0], columns=columns, time_cap=False)
    result = allocsolve.solve(least, objective="cost", method=method, threads=1)
    assert result.objective.value == pytest.approx(known[1] * 4)
    assert result.allocation.prices == pytest.approx([0.0])
    _, decode = solved = PROGRAMS["cost"](least.aiming_at("cost", least.settings))
    solved[0].solve(solver="HIGHS")
    assert decode().job_prices == pytest.approx([known[1]])


def test_infinite_stock_is_an_input_error(cases: dict[str, Case]) -> None:
    """Infinity must not go down to a solver."""
    case = cases["H17"]
    with pytest.raises(InputError) as error:
        allocsolve.from_dict(case["input"]["document"], kind="fair")
    for token in case["right"]["mentions"]:
        assert token in str(error.value)


@pytest.mark.parametrize("name", ["H14", "H15", "H16", "H18"])
def test_solve_and_check_on_the_command_line(
    cases: dict[str, Case], allocsolve_command: Command, tmp_path: Path, name: str
) -> None:
    """One document comes out, right in every number, and the checker accepts it."""
    right = cases[name]["right"]
    (tmp_path / "case.json").write_text(json.dumps(cases[name]["input"]["document"]))
    arguments = ("case.json", "--objective", "nash", "--threads", "1")
    done = allocsolve_command("solve", *arguments, "-o", "answer.json")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    document = json.loads((tmp_path / "answer.json").read_text())
    assert (document["kind"], document["status"]) == ("fair", "OPTIMAL")
    allocation = document["allocation"]
    assert min(allocation["prices"].values()) >= 0
    if "prices" in right:
        assert list(allocation["prices"].values()) == pytest.approx(right["prices"], rel=1e-5)
    if "utilities" in right:
        utilities = [job["utility"] for job in allocation["jobs"]]
        assert utilities == pytest.approx(right["utilities"], rel=1e-6, abs=1e-12)
    if "warning_names" in right:
        token = right["warning_names"].split()[0]
        assert any(token in warning for warning in document["warnings"])
        assert token in done.stderr
    assert allocsolve_command("check", "case.json", "answer.json").returncode == 0


def test_infinite_stock_on_the_command_line(
    cases: dict[str, Case], allocsolve_command: Command, tmp_path: Path
) -> None:
    """The message stands at the number in the file, nothing on stdout (H17)."""
    (tmp_path / "case.json").write_text(json.dumps(cases["H17"]["input"]["document"]))
    done = allocsolve_command("solve", "case.json")
    assert (done.returncode, done.stdout) == (65, "")
    assert "case.json:$.types[0].count: " in done.stderr
    assert [word for word in cases["H17"]["right"]["mentions"] if word not in done.stderr] == []
    assert len(done.stderr.splitlines()) <= 5


@pytest.mark.parametrize(
    ("objective", "words"),
    [
        pytest.param("cost", "costs nothing", id="free types"),
        pytest.param("makespan", "no remaining", id="no remaining work"),
    ],
)
def test_what_an_objective_lacks_is_said(objective: str, words: str) -> None:
    """An objective without its data is an error of use, not of the method."""
    problem = allocsolve.from_dict(
        {
            "types": [{"id": "g", "count": 1}],
            "jobs": [{"id": "a", "throughput": {"g": 1}}],
        },
        kind="fair",
    )
    with pytest.raises(allocsolve.AllocsolveError, match=words):
        allocsolve.solve(problem, objective=objective)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("method", ["auto", "cvxpy"])
def test_deadlines_of_waiting_jobs_are_kept(method: str, paired: bool) -> None:
    """A job that waits in its entity has no weight now, but what was promised to it stays."""
    problem = FairProblem(
        types=[ResourceType(id="g", count=1, cost=2.0)],
        entities=[Entity(id="queue", policy="fifo")],
        jobs=[
            Job(id="a", throughput={"g": 1}, entity="queue", arrival=0),
            Job(id="b", throughput={"g": 1}, entity="queue", arrival=1, remaining=2, deadline=8),
        ],
        pairs=[Pair(jobs=("a", "b"), throughput={"g": (0.1, 0.1)})] if paired else [],
    )
    result = allocsolve.solve(problem, objective="cost", method=method, threads=1)
    assert result.status == "OPTIMAL", result.warnings
    assert result.objective.value == pytest.approx(0.5)
    assert result.certificate.kkt_residual == pytest.approx(0.0, abs=1e-8)
    assert allocsolve.check(problem, result).violations == ()


@pytest.mark.parametrize("paired", [False, True])
def test_a_deadline_without_any_utility_is_a_conflict(paired: bool) -> None:
    """A job that no unit in stock serves can keep no deadline, whatever pairs others share."""
    table = {"remaining": [1.0, 1, 1], "deadline": [4.0, 4, 4]}
    problem = FairProblem.from_arrays(
        [[1.0, 0], [1, 0], [0, 1]], [2, 0], cost=[1, 1], columns=table
    )
    if paired:
        problem = problem.with_pairs([[0, 1]], np.full((1, 2, 2), 0.5), [0])
    result = allocsolve.solve(problem, objective="cost", threads=1)
    assert result.status == "INFEASIBLE"
    assert result.certificate.reason == SloConflict(jobs=["2"])
    assert verify_reason(problem, SloConflict(jobs=["0", "2"]))
    assert verify_reason(problem, SloConflict(jobs=["0"])) is False
