"""The status is a total function of the facts and never says more than they do."""

from __future__ import annotations

import itertools

import pytest

from allocsolve.api.verdict import Facts, judge
from allocsolve.models.result import Bound, RealBound, Reason, SolverProof, Status, Termination
from allocsolve.solvers.control import Proof

SLACK = 1e-8
VALUES = (None, 0, 10)
BOUNDS = (None, Bound(0, "x"), Bound(9, "x"), Bound(10, "x"), Bound(11, "x"))
REASONS: tuple[Reason | None, ...] = (None, SolverProof())


def _all_facts() -> list[Facts]:
    return [
        Facts(value, broken, bound, proof, termination, exact, reason, "engine")
        for value, broken, bound, proof, termination, exact, reason in itertools.product(
            VALUES, (False, True), BOUNDS, Proof, Termination, (False, True), REASONS
        )
        if not (broken and value is not None)
    ]


@pytest.mark.parametrize("proof", list(Proof), ids=lambda proof: proof.value)
def test_every_combination_has_an_honest_status(proof: Proof) -> None:
    """No combination of facts may crash, or give more than it proves."""
    for facts in _all_facts():
        if facts.proof is not proof:
            continue
        verdict = judge(facts)
        has_answer = facts.value is not None
        assert (verdict.status in (Status.OPTIMAL, Status.FEASIBLE)) == has_answer
        if facts.broken:
            assert verdict.status is Status.ERROR
        if verdict.status is Status.OPTIMAL:
            assert verdict.bound is not None
            assert verdict.bound.value == facts.value
            assert verdict.termination is Termination.FINISHED
        if verdict.status is Status.INFEASIBLE:
            assert verdict.reason is facts.reason is not None
        if verdict.bound is not None and facts.value is not None:
            assert verdict.bound.value <= facts.value


@pytest.mark.parametrize(
    ("facts", "status", "termination"),
    [
        pytest.param(
            Facts(10, False, Bound(9, "x"), Proof.NOTHING, Termination.GAP_LIMIT, True, None, "e"),
            Status.FEASIBLE,
            Termination.GAP_LIMIT,
            id="a gap that is good enough is not a proof",
        ),
        pytest.param(
            Facts(
                10, False, Bound(10, "x"), Proof.NOTHING, Termination.TIME_LIMIT, True, None, "e"
            ),
            Status.OPTIMAL,
            Termination.FINISHED,
            id="value and bound meet at the last moment",
        ),
        pytest.param(
            Facts(10, False, Bound(9, "x"), Proof.OPTIMAL, Termination.FINISHED, True, None, "e"),
            Status.OPTIMAL,
            Termination.FINISHED,
            id="the word of an exact engine",
        ),
        pytest.param(
            Facts(10, False, Bound(9, "x"), Proof.OPTIMAL, Termination.FINISHED, False, None, "e"),
            Status.FEASIBLE,
            Termination.FINISHED,
            id="a heuristic cannot prove",
        ),
        pytest.param(
            Facts(10, False, Bound(11, "x"), Proof.OPTIMAL, Termination.FINISHED, True, None, "e"),
            Status.FEASIBLE,
            Termination.SOLVER_ERROR,
            id="a bound above a checked answer is wrong",
        ),
        pytest.param(
            Facts(
                10, False, None, Proof.INFEASIBLE, Termination.FINISHED, True, SolverProof(), "e"
            ),
            Status.FEASIBLE,
            Termination.SOLVER_ERROR,
            id="infeasible beside a checked answer",
        ),
        pytest.param(
            Facts(None, False, None, Proof.INFEASIBLE, Termination.FINISHED, False, None, "e"),
            Status.UNKNOWN,
            Termination.FINISHED,
            id="a heuristic cannot prove infeasibility",
        ),
        pytest.param(
            Facts(None, False, None, Proof.OPTIMAL, Termination.FINISHED, True, None, "e"),
            Status.ERROR,
            Termination.SOLVER_ERROR,
            id="an optimum without an answer",
        ),
        pytest.param(
            Facts(None, False, None, Proof.NOTHING, Termination.MEMORY_LIMIT, True, None, "e"),
            Status.UNKNOWN,
            Termination.MEMORY_LIMIT,
            id="out of memory",
        ),
    ],
)
def test_status_of(facts: Facts, status: Status, termination: Termination) -> None:
    """The cases that matter, one by one."""
    verdict = judge(facts)
    assert (verdict.status, verdict.termination) == (status, termination)


@pytest.mark.parametrize(
    ("bound", "status", "reported"),
    [
        pytest.param(1 + 2e-8, Status.FEASIBLE, None, id="above the slack"),
        pytest.param(1 + 5e-9, Status.OPTIMAL, 1, id="above within the slack"),
        pytest.param(1, Status.OPTIMAL, 1, id="equal"),
        pytest.param(1 - 5e-9, Status.OPTIMAL, 1 - 5e-9, id="below within the slack"),
        pytest.param(1 - 2e-8, Status.FEASIBLE, 1 - 2e-8, id="below the slack"),
    ],
)
def test_no_bound_beyond_the_value_is_reported(
    bound: float, status: Status, reported: float | None
) -> None:
    """Rounding may put a bound beyond the value; a document that says so contradicts itself."""
    facts = Facts(
        1, False, RealBound(bound, "x"), Proof.NOTHING, Termination.FINISHED, True, None, "e", SLACK
    )
    verdict = judge(facts)
    assert verdict.status is status
    assert (verdict.bound.value if verdict.bound else None) == reported
    assert verdict.bound is None or verdict.bound.source == "x"
