"""Verification of the reasons why an instance has no answer.

Part of the independent checker: each reason is proved again from the data of the instance in
exact arithmetic. A reason may say less than what can be proved, never more.
"""

from __future__ import annotations

from fractions import Fraction

from allocsolve.models.coded.data import CodedData
from allocsolve.models.coded.deadlines import most_likely
from allocsolve.models.coded.facts import Facts
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.reason_types import (
    BudgetBelowNeed,
    DeadlineOutOfReach,
    LoadLimitBelowNeed,
    PartitionOutOfReach,
    StorageBelowNeed,
    TooManyStragglers,
)
from allocsolve.models.exact import exact
from allocsolve.models.result import Reason, SolverProof

__all__ = ["verify_reason"]


_ROUNDED = 1 + Fraction(1, 10**12)
"""Rounding of an exact number that a document holds as a decimal."""


def verify_reason(problem: CodedData, reason: Reason) -> bool:
    """Tell whether a reason proves that the instance has no answer.

    A :class:`SolverProof` has no argument that could be checked: it is accepted as the
    claim that it is. A reason of an unknown type is not accepted.
    """
    if isinstance(reason, SolverProof):
        return True
    facts = Facts(problem)
    if isinstance(reason, TooManyStragglers):
        return _too_many(facts, reason)
    if isinstance(reason, StorageBelowNeed):
        storage = facts.storage()
        below = exact(reason.storage) < exact(reason.need) <= facts.need
        return storage is not None and below and storage <= exact(reason.storage) * _ROUNDED
    if isinstance(reason, LoadLimitBelowNeed):
        limit = problem.limits.total_load
        below = exact(reason.total_load) < exact(reason.need) <= facts.need
        return limit is not None and below and exact(limit) <= exact(reason.total_load)
    if isinstance(reason, BudgetBelowNeed):
        return _over_budget(facts, reason)
    if isinstance(reason, DeadlineOutOfReach):
        return _too_late(problem, reason)
    return isinstance(reason, PartitionOutOfReach) and _out_of_reach(facts, reason)


def _too_many(facts: Facts, reason: TooManyStragglers) -> bool:
    if facts.copies is None or getattr(facts.data.task, "stragglers", None) != reason.stragglers:
        return False
    return facts.workers() <= reason.nodes < reason.needed <= facts.copies


def _over_budget(facts: Facts, reason: BudgetBelowNeed) -> bool:
    budget, cost = facts.data.limits.budget, facts.least_cost()
    if budget is None or cost is None or exact(reason.need) > facts.need:
        return False
    claimed = exact(budget) <= exact(reason.budget) < exact(reason.cost)
    return claimed and exact(budget) < cost and exact(reason.cost) <= cost * _ROUNDED


def _too_late(problem: CodedData, reason: DeadlineOutOfReach) -> bool:
    goal = problem.objective
    if not isinstance(problem, CodedProblem) or goal.name != "cost":
        return False
    if goal.deadline is None or goal.confidence is None:
        return False
    asked = float(goal.deadline), float(goal.confidence)
    claimed = asked[0] <= float(reason.deadline) and float(reason.confidence) <= asked[1]
    if not claimed or not reason.probability < float(reason.confidence) - 1e-9:
        return False
    reached = most_likely(problem, float(reason.deadline))
    return reached is not None and reached <= reason.probability + 1e-9


def _out_of_reach(facts: Facts, reason: PartitionOutOfReach) -> bool:
    task = facts.data.task
    parts = getattr(task, "partitions", None)
    if parts is None or facts.copies is None or not 0 <= reason.partition < parts:
        return False
    return facts.holders(reason.partition) <= reason.holders < reason.needed <= facts.copies
