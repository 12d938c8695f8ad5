"""What a document claims beside its answer: refuted, verified, or neither."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import allocsolve
from allocsolve.instances.kinds import Problem
from allocsolve.models.coded import check as coded_check
from allocsolve.models.coded.data import MatVec
from allocsolve.models.coded.data import Node as CodedNode
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.dag import check as dag_check
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.fair import check as fair_check
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.nodes import Law

RULES = {"dag": dag_check.RULES, "coded": coded_check.RULES, "fair": fair_check.RULES}
OBJECTIVE = {"dag": "makespan", "coded": "mean", "fair": "max_min"}

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


@dataclass(frozen=True)
class Solved:
    """A problem with a right answer of value 7; ``loose`` is 2/7 of the larger away from it."""

    problem: Problem
    fields: dict[str, Any]
    sense: str
    loose: float
    wrong: float

    def judge(self, *, answered: bool = True, **fields: Any) -> allocsolve.ClaimReport:
        """Check a document that makes the claims, with the answer or without it."""
        answer = self.fields if answered else {}
        document = {"schema": "allocsolve.solution/1", "kind": self.problem.kind}
        return allocsolve.check(self.problem, json.dumps(document | answer | fields).encode())


def _solved_dag() -> Solved:
    tasks = [Task(id=name, work=work) for name, work in (("a", 3), ("b", 4), ("c", 2))]
    problem = DagProblem(
        tasks=tasks,
        edges=[Edge(source="a", target="b"), Edge(source="a", target="c")],
        nodes=[Node(id="n", slots=2)],
    )
    schedule = [entry | {"node": "n"} for entry in RIGHT]
    return Solved(problem, {"schedule": schedule}, "min", loose=5, wrong=8)


def _solved_coded() -> Solved:
    node = CodedNode(id="n", runtime=Law(law="deterministic", value=1))
    problem = CodedProblem(task=MatVec(rows=7), nodes=[node])
    return Solved(problem, {"assignment": {"loads": [7]}}, "min", loose=5, wrong=8)


def _solved_fair() -> Solved:
    problem = FairProblem.from_arrays([[7.0]], [1])
    allocation = {"jobs": [{"id": "0", "shares": {"0": 1}}]}
    run = {"options": {"normalise": "none"}}
    return Solved(problem, {"allocation": allocation, "solver": run}, "max", loose=9.8, wrong=6.5)


@pytest.fixture(
    params=[
        pytest.param(_solved_dag, id="dag"),
        pytest.param(_solved_coded, id="coded"),
        pytest.param(_solved_fair, id="fair"),
    ]
)
def solved(request: pytest.FixtureRequest) -> Solved:
    """A solved problem of each kind."""
    build: Callable[[], Solved] = request.param
    return build()


@pytest.mark.parametrize(
    ("status", "bound", "holds"),
    [
        pytest.param("FEASIBLE", "loose", {"status": True, "bound": None}, id="feasible"),
        pytest.param("OPTIMAL", "value", {"status": None, "bound": None}, id="optimal"),
        pytest.param("OPTIMAL", "loose", {"status": None, "bound": False}, id="a gap"),
        pytest.param("FEASIBLE", "wrong", {"status": True, "bound": False}, id="wrong side"),
    ],
)
def test_claims_about_a_right_answer(
    solved: Solved, status: str, bound: str, holds: dict[str, bool | None]
) -> None:
    """An answer shows its value; that nothing is better, no answer can show."""
    number = {"value": 7, "loose": solved.loose, "wrong": solved.wrong}[bound]
    objective = {"name": OBJECTIVE[solved.problem.kind], "value": 7, "bound": number}
    report = solved.judge(status=status, objective=objective)
    assert {claim.name: claim.holds for claim in report.claims} == holds | {"value": True}
    assert report.valid == (False not in holds.values())


@pytest.mark.parametrize(
    ("claims", "broken"),
    [
        pytest.param(
            {"sense": "right", "value": 7, "bound": "loose", "gap": 2 / 7}, [], id="right"
        ),
        pytest.param({"value": 7, "bound": "loose", "gap": 0.2857143}, [], id="rounded"),
        pytest.param({"bound": "loose", "gap": 2 / 7}, [], id="value of the answer"),
        pytest.param({"value": 7, "bound": 7, "gap": 0}, [], id="closed"),
        pytest.param({"sense": "other", "value": 7}, ["sense"], id="other sense"),
        pytest.param({"value": 7, "bound": "loose", "gap": 0}, ["gap"], id="gap denied"),
        pytest.param({"bound": "loose", "gap": 0}, ["gap"], id="gap denied without a value"),
        pytest.param({"value": 7, "bound": "loose", "gap": 0.4}, ["gap"], id="by the smaller"),
        pytest.param({"value": 7, "bound": "loose", "gap": 0.286}, ["gap"], id="rounded too far"),
        pytest.param({"value": 7, "bound": "loose", "gap": -2 / 7}, ["gap"], id="negative"),
        pytest.param({"value": 7, "bound": 7, "gap": 0.1}, ["gap"], id="gap where none is"),
        pytest.param({"value": 7, "gap": 0.1}, ["gap"], id="without a bound"),
        pytest.param({"gap": 0}, ["gap"], id="without anything"),
    ],
)
def test_sense_and_gap_fit_value_and_bound(
    solved: Solved, claims: dict[str, object], broken: list[str]
) -> None:
    """A document that shrinks its gap, or turns its objective round, must not pass."""
    words = {
        "loose": solved.loose,
        "right": solved.sense,
        "other": "max" if solved.sense == "min" else "min",
    }
    objective = {key: words.get(str(value), value) for key, value in claims.items()}
    report = solved.judge(objective={"name": OBJECTIVE[solved.problem.kind], **objective})
    assert _rules(report) == broken
    assert set(broken) <= set(RULES[solved.problem.kind])
    named = {claim.name: claim.holds for claim in report.claims if claim.name in ("sense", "gap")}
    assert named == {name: name not in broken for name in ("sense", "gap") if name in claims}


def test_a_gap_without_an_answer_is_refused(solved: Solved) -> None:
    """Nothing is known of which a bound could be so far away."""
    report = solved.judge(answered=False, status="UNKNOWN", objective={"bound": 5, "gap": 0.5})
    assert _rules(report) == ["gap"]
