"""What is said where no loads are complete by a deadline as likely as is asked for."""

from __future__ import annotations

import msgspec
import pytest

import allocsolve
from allocsolve.models.coded.data import MatVec, Node
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.reason_types import DeadlineOutOfReach
from allocsolve.models.nodes import Law
from allocsolve.models.result import SolverProof, Status

NODES = [
    Node(id=f"n{i}", runtime=Law(law="shifted_exponential", shift=0.25, rate=1), speed=1 + i)
    for i in range(3)
]
PROBLEM = CodedProblem(task=MatVec(rows=6), nodes=NODES)


@pytest.mark.parametrize("method", ["auto", "enumeration"])
def test_a_search_tells_the_best_probability(method: str) -> None:
    """The number is the one that a run with the other objective proves."""
    asked = {"deadline": "3", "confidence": "0.9"}
    result = allocsolve.solve(
        PROBLEM, method=method, objective="cost", options=asked, threads=1, time_limit=None
    )
    best = allocsolve.solve(
        PROBLEM, objective="deadline_probability", options={"deadline": "3"}, threads=1
    )
    assert (result.status, best.status) == (Status.INFEASIBLE, Status.OPTIMAL)
    reason = result.certificate.reason
    assert isinstance(reason, SolverProof)
    wanted = f"no loads reach P(T <= 3) >= 0.9; the best is {best.objective.known:.6g}"
    assert reason.sentence().endswith(wanted)
    assert allocsolve.check(PROBLEM, result).valid


@pytest.mark.parametrize("batches", [1, 3])
def test_a_deadline_that_no_rows_can_keep_needs_no_search(batches: int) -> None:
    """The reason is one that the checker proves, for batches too, which are not enumerated."""
    limits = msgspec.structs.replace(PROBLEM.limits, batches=batches)
    result = allocsolve.solve(
        PROBLEM.replace(limits=limits),
        objective="cost",
        options={"deadline": "1", "confidence": "0.9"},
        threads=1,
    )
    assert result.status is Status.INFEASIBLE
    reason = result.certificate.reason
    assert isinstance(reason, DeadlineOutOfReach)
    assert (reason.deadline, reason.confidence) == (1, 0.9)
    assert 0 < reason.probability < 0.9


def test_an_answer_at_the_edge_is_no_contradiction() -> None:
    """A confidence just below the best probability is reached; the reason must not be near it."""
    best = allocsolve.solve(
        PROBLEM, objective="deadline_probability", options={"deadline": "3"}, threads=1
    )
    assert best.objective.known is not None
    asked = {"deadline": "3", "confidence": repr(best.objective.known * (1 - 1e-9))}
    result = allocsolve.solve(PROBLEM, objective="cost", options=asked, threads=1)
    assert result.status is Status.OPTIMAL
