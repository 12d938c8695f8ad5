"""Reasons of infeasibility of coded jobs are found, said, and proved again by the checker."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from allocsolve.models.coded.data import (
    Elastic,
    Gradient,
    Limits,
    MatMul,
    MatVec,
    Node,
    ObjectiveSpec,
    Scenarios,
    Task,
)
from allocsolve.models.coded.deadlines import most_likely
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.reason_types import (
    BudgetBelowNeed,
    DeadlineOutOfReach,
    LoadLimitBelowNeed,
    PartitionOutOfReach,
    StorageBelowNeed,
    TooManyStragglers,
)
from allocsolve.models.coded.reasons import find_reason
from allocsolve.models.coded.verify import verify_reason
from allocsolve.models.nodes import Law
from allocsolve.models.result import Reason, SolverProof


def problem(task: Task, nodes: Sequence[dict[str, Any]], **limits: Any) -> CodedProblem:
    law = Law(law="exponential", rate=1)
    made = [Node(id=f"w{i}", runtime=law, **fields) for i, fields in enumerate(nodes)]
    return CodedProblem(task=task, nodes=made, limits=Limits(**limits))


GRADIENT = Gradient(partitions=4, stragglers=2)
CASES: list[Any] = [
    pytest.param(
        problem(Gradient(partitions=4, stragglers=3), [{}] * 3),
        TooManyStragglers(stragglers=3, needed=4, nodes=3),
        id="as many stragglers as nodes",
    ),
    pytest.param(
        problem(Gradient(partitions=4, stragglers=1, messages=2), [{}, {}]),
        TooManyStragglers(stragglers=1, needed=3, nodes=2),
        id="parts of messages",
    ),
    pytest.param(
        problem(Elastic(recovery_threshold=2, stragglers=1), [{}, {}, {"speed": 0}]),
        TooManyStragglers(stragglers=1, needed=3, nodes=2),
        id="dead node",
    ),
    pytest.param(
        problem(GRADIENT, [{}, {}, {"holds": [0, 1, 2]}]),
        PartitionOutOfReach(partition=3, holders=2, needed=3),
        id="locality",
    ),
    pytest.param(
        problem(MatVec(rows=10), [{"storage": 4}, {"storage": 5.75}]),
        StorageBelowNeed(storage=9, need=10),
        id="storage",
    ),
    pytest.param(
        problem(GRADIENT, [{}, {}, {"storage": 3}]),
        StorageBelowNeed(storage=11, need=12),
        id="storage of partitions",
    ),
    pytest.param(
        problem(Elastic(recovery_threshold=2), [{}, {"storage": 0.25}, {"storage": 0.5}]),
        StorageBelowNeed(storage=1.75, need=2),
        id="storage of shares",
    ),
    pytest.param(
        problem(MatMul(rows=4, inner=4, columns=4, split=(2, 2, 2)), [{"storage": 2}] * 4),
        StorageBelowNeed(storage=8, need=9),
        id="storage of products",
    ),
    pytest.param(
        problem(MatVec(rows=10), [{}, {}], total_load=9),
        LoadLimitBelowNeed(total_load=9, need=10),
        id="limit",
    ),
    pytest.param(
        problem(
            MatVec(rows=10), [{"storage": 4, "cost": 1}, {"cost": Fraction(7, 3)}], budget=17.5
        ),
        BudgetBelowNeed(budget=17.5, need=10, cost=18),
        id="budget",
    ),
]


@pytest.mark.parametrize(("instance", "expected"), CASES)
def test_reasons_are_found_and_hold(instance: CodedProblem, expected: Reason) -> None:
    """An impossible wish is explained by numbers that the checker recomputes."""
    reason = find_reason(instance)
    assert reason == expected
    assert reason.sentence()
    assert verify_reason(instance, reason)


@pytest.mark.parametrize(
    "instance",
    [
        pytest.param(problem(GRADIENT, [{}] * 3), id="just enough nodes"),
        pytest.param(problem(MatVec(rows=10), [{"storage": 4}, {"storage": 6}]), id="storage"),
        pytest.param(problem(MatVec(rows=10), [{"storage": 4}, {}], total_load=10), id="limit"),
        pytest.param(problem(MatVec(rows=10), [{"cost": 2}], budget=20), id="budget"),
    ],
)
def test_possible_wishes_have_no_reason(instance: CodedProblem) -> None:
    """At equality nothing is impossible, and no other reason holds either."""
    assert find_reason(instance) is None
    for reason in (
        TooManyStragglers(stragglers=2, needed=3, nodes=2),
        StorageBelowNeed(storage=9, need=10),
        LoadLimitBelowNeed(total_load=9, need=10),
        BudgetBelowNeed(budget=20, need=10, cost=21),
        PartitionOutOfReach(partition=0, holders=2, needed=3),
        TooManyStragglers(stragglers=2, needed=3, nodes=3),
        StorageBelowNeed(storage=10, need=10),
        LoadLimitBelowNeed(total_load=10, need=10),
        BudgetBelowNeed(budget=20, need=10, cost=20 * (1 + 5e-13)),
        PartitionOutOfReach(partition=0, holders=3, needed=3),
    ):
        assert not verify_reason(instance, reason)


@pytest.mark.parametrize(("instance", "expected"), CASES)
def test_exaggerated_reasons_do_not_hold(instance: CodedProblem, expected: Reason) -> None:
    """A reason may say less than what is true, never more."""
    for field in ("nodes", "storage", "total_load", "holders"):
        if hasattr(expected, field):
            worse = msgspec.structs.replace(expected, **{field: getattr(expected, field) - 1})
            assert not verify_reason(instance, worse)
    for field in ("needed", "need", "cost"):
        if hasattr(expected, field):
            more = msgspec.structs.replace(expected, **{field: getattr(expected, field) + 1})
            assert not verify_reason(instance, more)


def test_proofs_of_solvers_are_claims() -> None:
    """A search that was exhausted has no short argument; an unknown reason is not accepted."""

    class Other(Reason, frozen=True, tag="other", kw_only=True):
        pass

    instance = problem(MatVec(rows=1), [{}])
    assert verify_reason(instance, SolverProof(solver="x"))
    assert not verify_reason(instance, Other())


def _late(task: Task = MatVec(rows=5), **fields: Any) -> CodedProblem:  # noqa: B008 - immutable
    """Return two nodes that are asked to be done by the time 2 with a probability of 0.9."""
    made = problem(task, [{}, {"speed": 2}])
    goal = ObjectiveSpec(name="cost", deadline=2, confidence=0.9)
    return made.replace(objective=goal, **fields)


def _by_hand() -> float:
    """Return P(floor(2 / X) + floor(4 / Y) >= 5) for exponential X and Y, cut off at 5 rows."""
    slow = [1 - math.exp(-2 / rows) for rows in range(1, 6)]
    fast = [1 - math.exp(-4 / rows) for rows in range(1, 6)]
    tails = [1.0, *slow, 0.0]
    return sum((tails[rows] - tails[rows + 1]) * ([1.0, *fast][5 - rows]) for rows in range(6))


def test_what_is_most_likely_counts_every_row() -> None:
    """The number in the reason is the probability that enough rows can be done at all."""
    assert most_likely(_late(), 2) == pytest.approx(_by_hand(), abs=1e-11)
    assert most_likely(_late(GRADIENT), 2) is None
    draws = Scenarios(samples=[[1, 4], [1, 2], [2, 2], [3, 5]])
    nodes = [Node(id="a"), Node(id="b", speed=2)]
    listed = CodedProblem(task=MatVec(rows=3), nodes=nodes, scenarios=draws)
    assert most_likely(listed, 2) == 0.75


@pytest.mark.parametrize(
    ("fields", "holds"),
    [
        pytest.param({}, True, id="as it is"),
        pytest.param({"probability": 0.89}, True, id="said less"),
        pytest.param({"deadline": 2.05}, False, id="a later deadline is more likely"),
        pytest.param({"deadline": 1.9}, False, id="not the deadline"),
        pytest.param({"confidence": 0.95}, False, id="not the confidence"),
        pytest.param({"probability": 0.5}, False, id="more than is true"),
        pytest.param({"probability": 0.9}, False, id="no contradiction"),
    ],
)
def test_deadlines_out_of_reach_are_proved_again(fields: dict[str, float], holds: bool) -> None:
    """The checker computes the probability from the laws and takes no other deadline."""
    reason = DeadlineOutOfReach(deadline=2, confidence=0.9, probability=_by_hand() + 1e-10)
    instance = _late()
    assert verify_reason(instance, msgspec.structs.replace(reason, **fields)) == holds
    assert not verify_reason(instance.replace(objective=ObjectiveSpec(name="mean")), reason)
    assert "P(T <= 2) >= 0.9" in reason.sentence()
