"""What a document claims beside its answer: refuted, verified, or neither."""

from __future__ import annotations

import json
from typing import Any

import pytest

import allocsolve
from allocsolve.models.dag.data import Mode, Resource, Task
from allocsolve.models.dag.problem import DagProblem

RIGHT = [
    {"task": "a", "start": 0, "end": 3},
    {"task": "b", "start": 3, "end": 7},
    {"task": "c", "start": 3, "end": 5},
]


@pytest.fixture
def greedy() -> DagProblem:
    """A task that needs more than there is."""
    return DagProblem(
        tasks=[Task(id="a", modes=[Mode(duration=1, demand={"R": 5})])],
        resources=[Resource(id="R", capacity=3)],
    )


def _document(**fields: Any) -> bytes:
    return json.dumps({"schema": "allocsolve.solution/1", "kind": "dag", **fields}).encode()


def _rules(report: allocsolve.ClaimReport) -> list[str]:
    return [violation.rule for violation in report.violations]


def test_infeasibility_without_a_reason_is_refused(project: DagProblem) -> None:
    """Else everybody could pass the check by claiming that there is nothing to find."""
    report = allocsolve.check(project, _document(status="INFEASIBLE", schedule=None))
    assert _rules(report) == ["reason"]
    assert [(claim.name, claim.holds) for claim in report.claims] == [("status", False)]


def test_infeasibility_that_the_checker_proves_itself_needs_no_reason(greedy: DagProblem) -> None:
    """A document written by hand may leave the reason out."""
    report = allocsolve.check(greedy, _document(status="INFEASIBLE", schedule=None))
    assert report.valid
    assert [(claim.name, claim.holds) for claim in report.claims] == [("status", True)]


def test_a_false_reason_refutes_the_status_too(project: DagProblem) -> None:
    """Without its reason the claim of infeasibility stands on nothing."""
    certificate = {"reason": {"type": "no_eligible_node", "task": "a"}}
    report = allocsolve.check(project, _document(status="INFEASIBLE", certificate=certificate))
    assert not report.valid
    assert [(claim.name, claim.holds) for claim in report.claims] == [
        ("status", False),
        ("reason", False),
    ]


def test_the_value_of_half_a_schedule_is_not_verified(project: DagProblem) -> None:
    """A schedule that leaves a task out has no makespan that a claim could equal."""
    document = _document(objective={"value": 7}, schedule=RIGHT[:2])
    report = allocsolve.check(project, document)
    assert _rules(report) == ["missing_task"]
    assert [(claim.name, claim.holds) for claim in report.claims] == [("value", None)]


def test_the_word_of_a_solver_is_neither_refuted_nor_verified(project: DagProblem) -> None:
    """The report must not lend its own authority to a proof that it has not seen."""
    certificate = {"reason": {"type": "solver_proof", "solver": "any"}}
    report = allocsolve.check(project, _document(status="INFEASIBLE", certificate=certificate))
    assert report.valid
    assert [claim.holds for claim in report.claims] == [None, None]


def test_a_document_without_schedule_or_claim_is_refused(project: DagProblem) -> None:
    """There is nothing in it that could be right."""
    assert _rules(allocsolve.check(project, _document(status="UNKNOWN"))) == ["missing_task"]


@pytest.mark.parametrize(
    ("status", "bound", "holds"),
    [
        pytest.param("FEASIBLE", 5, {"status": True, "value": True, "bound": None}, id="feasible"),
        pytest.param("OPTIMAL", 7, {"status": None, "value": True, "bound": None}, id="optimal"),
        pytest.param("OPTIMAL", 6, {"status": None, "value": True, "bound": False}, id="a gap"),
        pytest.param("FEASIBLE", 8, {"status": True, "value": True, "bound": False}, id="above"),
    ],
)
def test_claims_about_a_right_schedule(
    project: DagProblem, status: str, bound: int, holds: dict[str, bool | None]
) -> None:
    """A schedule shows its value; that nothing is better, no schedule can show."""
    objective = {"name": "makespan", "value": 7, "bound": bound}
    document = _document(status=status, objective=objective, schedule=RIGHT)
    report = allocsolve.check(project, document)
    assert {claim.name: claim.holds for claim in report.claims} == holds
    assert report.valid == (False not in holds.values())


@pytest.mark.parametrize(
    ("claims", "broken"),
    [
        pytest.param({"sense": "min", "value": 7, "bound": 5, "gap": 2 / 7}, [], id="right"),
        pytest.param({"value": 7, "bound": 5, "gap": 0.2857143}, [], id="rounded"),
        pytest.param({"bound": 5, "gap": 2 / 7}, [], id="value of the schedule"),
        pytest.param({"value": 7, "bound": 7, "gap": 0}, [], id="closed"),
        pytest.param({"sense": "max", "value": 7}, ["sense"], id="other sense"),
        pytest.param({"value": 7, "bound": 5, "gap": 0}, ["gap"], id="gap denied"),
        pytest.param({"value": 7, "bound": 5, "gap": 0.4}, ["gap"], id="divided by the bound"),
        pytest.param({"value": 7, "bound": 5, "gap": 0.286}, ["gap"], id="rounded too far"),
        pytest.param({"value": 7, "bound": 5, "gap": -2 / 7}, ["gap"], id="negative"),
        pytest.param({"value": 7, "bound": 7, "gap": 0.1}, ["gap"], id="gap where none is"),
        pytest.param({"value": 7, "gap": 0.1}, ["gap"], id="without a bound"),
    ],
)
def test_sense_and_gap_fit_value_and_bound(
    project: DagProblem, claims: dict[str, object], broken: list[str]
) -> None:
    """A document that shrinks its gap, or turns its objective round, must not pass."""
    report = allocsolve.check(project, _document(objective=claims, schedule=RIGHT))
    assert _rules(report) == broken
    named = {claim.name: claim.holds for claim in report.claims if claim.name in ("sense", "gap")}
    assert named == {name: name not in broken for name in ("sense", "gap") if name in claims}


def test_a_gap_without_an_answer_is_refused(project: DagProblem) -> None:
    """Nothing is known of which a bound could be so far away."""
    document = _document(status="UNKNOWN", objective={"bound": 5, "gap": 0.5})
    assert _rules(allocsolve.check(project, document)) == ["gap"]
