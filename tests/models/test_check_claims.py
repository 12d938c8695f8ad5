"""What a result claims beside its schedule is compared with what the checker found."""

from __future__ import annotations

import pytest

from allocsolve.models.claims import Claims
from allocsolve.models.dag.check import check_claims
from allocsolve.models.dag.data import Edge, Mode, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reason_types import CriticalPath, NoEligibleNode, PositiveLagCycle
from allocsolve.models.result import CheckReport, Reason, SolverProof, Status, Violation

RIGHT = CheckReport((), 10)
THIRD = CheckReport((), 1 / 3)
WRONG = CheckReport((Violation("deadline", "late"),), 10)
LATE = CriticalPath(task="a", path=["a"], length=5, deadline=4)


@pytest.fixture
def late() -> DagProblem:
    """Return an instance whose only task is longer than its deadline allows."""
    return DagProblem(tasks=[Task(id="a", deadline=4, modes=[Mode(duration=5)])])


GOOD = [
    # name, report, status, value, bound, reason
    ("proved", RIGHT, Status.OPTIMAL, 10, 10, None),
    ("optimal without a bound, as written by hand", RIGHT, Status.OPTIMAL, 10, None, None),
    ("feasible", RIGHT, Status.FEASIBLE, 10, 7, None),
    ("nothing claimed", RIGHT, None, None, None, None),
    ("float for an integer", RIGHT, Status.OPTIMAL, 10.0, 10.0, None),
    ("rounded third", THIRD, Status.OPTIMAL, 0.33333333333333, 0.33333333333333, None),
    ("nothing found", None, Status.UNKNOWN, None, 7, None),
    ("proved infeasible", None, Status.INFEASIBLE, None, None, LATE),
    ("infeasible by a solver", None, Status.INFEASIBLE, None, None, SolverProof(solver="x")),
    ("infeasible without a reason", None, Status.INFEASIBLE, None, None, None),
    ("wrong answer admitted", WRONG, Status.ERROR, 10, None, None),
]

BAD = [
    # name, report, status, value, bound, reason, broken rule
    ("value too good", RIGHT, Status.FEASIBLE, 9, 7, None, "objective_value"),
    ("value too bad", RIGHT, Status.FEASIBLE, 11, 7, None, "objective_value"),
    ("value off by a little", THIRD, Status.FEASIBLE, 0.333333, None, None, "objective_value"),
    ("value without an answer", None, Status.UNKNOWN, 9, None, None, "objective_value"),
    ("bound above the value", RIGHT, Status.FEASIBLE, 10, 11, None, "bound"),
    ("optimal with a gap", RIGHT, Status.OPTIMAL, 10, 9, None, "bound"),
    ("optimal with a bound above", RIGHT, Status.OPTIMAL, 10, 10.5, None, "bound"),
    ("infeasible with an answer", RIGHT, Status.INFEASIBLE, None, None, None, "infeasible_claim"),
    ("infeasible with a wrong answer", WRONG, Status.INFEASIBLE, 10, None, None, "status"),
    ("unknown with an answer", RIGHT, Status.UNKNOWN, 10, None, None, "status"),
    ("optimal without an answer", None, Status.OPTIMAL, None, 9, None, "status"),
    ("feasible without an answer", None, Status.FEASIBLE, None, 9, None, "status"),
    (
        "reason that does not hold",
        None,
        Status.INFEASIBLE,
        None,
        None,
        CriticalPath(task="a", path=["a"], length=6, deadline=4),
        "reason",
    ),
    ("reason beside an answer", RIGHT, Status.FEASIBLE, 10, 7, LATE, "reason"),
    ("other reason", None, Status.INFEASIBLE, None, None, NoEligibleNode(task="a"), "reason"),
]


@pytest.mark.parametrize(
    ("report", "status", "value", "bound", "reason"),
    [row[1:] for row in GOOD],
    ids=[row[0] for row in GOOD],
)
def test_right_claims_pass(
    late: DagProblem,
    report: CheckReport | None,
    status: Status | None,
    value: float | None,
    bound: float | None,
    reason: Reason | None,
) -> None:
    """Claims that agree with the answer, or are not made, break no rule."""
    found = check_claims(late, report, Claims(status, value, bound, reason))
    assert found == []


@pytest.mark.parametrize(
    ("report", "status", "value", "bound", "reason", "rule"),
    [row[1:] for row in BAD],
    ids=[row[0] for row in BAD],
)
def test_wrong_claims_are_named(
    late: DagProblem,
    report: CheckReport | None,
    status: Status | None,
    value: float | None,
    bound: float | None,
    reason: Reason | None,
    rule: str,
) -> None:
    """Each wrong claim breaks exactly the rule that it belongs to."""
    found = check_claims(late, report, Claims(status, value, bound, reason))
    assert {violation.rule for violation in found} == {rule}


def test_huge_values_are_compared_exactly(late: DagProblem) -> None:
    """Integers beyond the precision of a float are not rounded before they are compared."""
    report = CheckReport((), 2**60)
    found = check_claims(late, report, Claims(value=2**60 + 1))
    assert [violation.rule for violation in found] == ["objective_value"]


def test_reason_of_lags() -> None:
    """The message of a refused reason repeats the sentence, so a person sees what is wrong."""
    problem = DagProblem(
        tasks=[Task(id=i, modes=[Mode(duration=1)]) for i in "ab"],
        edges=[Edge(source="a", target="b", min_lag=1, max_lag=1)],
    )
    reason = PositiveLagCycle(path=["a", "b"], length=1)
    (violation,) = check_claims(problem, None, Claims(Status.INFEASIBLE, reason=reason))
    assert reason.sentence() in violation.message


@pytest.mark.parametrize(
    ("report", "value", "bound", "gap", "rules"),
    [
        pytest.param(RIGHT, 10, 8, 0.2, set(), id="right"),
        pytest.param(RIGHT, 10, 8, 0.20001, {"gap"}, id="off by a little"),
        pytest.param(RIGHT, 10, 8, 0.25, {"gap"}, id="relative to the bound"),
        pytest.param(RIGHT, None, 8, 0.2, set(), id="of the value that the checker found"),
        pytest.param(RIGHT, None, 8, 0.1, {"gap"}, id="not of the value that the checker found"),
        pytest.param(CheckReport((), None), 10, 8, 0.2, set(), id="of a value nobody can check"),
        pytest.param(CheckReport((), None), 10, 8, 0.1, {"gap"}, id="wrong by its own numbers"),
        pytest.param(CheckReport((), None), None, 8, 0.2, {"gap"}, id="no value"),
        pytest.param(RIGHT, 10, None, 0.2, {"gap"}, id="no bound"),
        pytest.param(None, None, 8, 0.2, {"gap"}, id="no answer"),
    ],
)
def test_gaps_are_those_of_value_and_bound(
    late: DagProblem,
    report: CheckReport | None,
    value: float | None,
    bound: float | None,
    gap: float,
    rules: set[str],
) -> None:
    """A gap is the distance of the claimed value, or else that of the answer, and the bound."""
    found = check_claims(late, report, Claims(Status.FEASIBLE, value, bound, gap=gap))
    assert {violation.rule for violation in found} - {"status"} == rules
