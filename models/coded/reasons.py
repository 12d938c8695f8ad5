"""Explanations of infeasibility: find a short argument why an instance has no answer."""

from __future__ import annotations

from allocsolve.models.coded.data import Elastic, Gradient
from allocsolve.models.coded.facts import Facts
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.reason_types import (
    BudgetBelowNeed,
    LoadLimitBelowNeed,
    PartitionOutOfReach,
    StorageBelowNeed,
    TooManyStragglers,
)
from allocsolve.models.exact import exact, plain
from allocsolve.models.result import Reason

__all__ = ["find_reason"]


def find_reason(problem: CodedProblem) -> Reason | None:
    """Return a proof that the instance has no answer, None if no short one is found.

    The simplest explanation comes first: too few nodes, a partition that too few may hold,
    too little storage, a limit of the load, a budget.
    """
    facts = Facts(problem)
    return (
        _too_many(problem, facts)
        or _out_of_reach(problem, facts)
        or _below_need(problem, facts)
        or _over_budget(problem, facts)
    )


def _too_many(problem: CodedProblem, facts: Facts) -> Reason | None:
    task = problem.task
    if not isinstance(task, Gradient | Elastic) or facts.copies is None:
        return None
    if facts.workers() >= facts.copies:
        return None
    return TooManyStragglers(stragglers=task.stragglers, needed=facts.copies, nodes=facts.workers())


def _out_of_reach(problem: CodedProblem, facts: Facts) -> Reason | None:
    holds = problem.arrays.holds
    if holds is None or facts.copies is None:
        return None
    counts = holds[problem.arrays.capacity > 0].sum(axis=0)
    scarce = int(counts.argmin())
    if counts[scarce] >= facts.copies:
        return None
    return PartitionOutOfReach(partition=scarce, holders=int(counts[scarce]), needed=facts.copies)


def _below_need(problem: CodedProblem, facts: Facts) -> Reason | None:
    storage, limit = facts.storage(), problem.limits.total_load
    if storage is not None and storage < facts.need:
        return StorageBelowNeed(storage=plain(storage), need=facts.need)
    if limit is not None and exact(limit) < facts.need:
        return LoadLimitBelowNeed(total_load=plain(exact(limit)), need=facts.need)
    return None


def _over_budget(problem: CodedProblem, facts: Facts) -> Reason | None:
    budget, cost = problem.limits.budget, facts.least_cost()
    if budget is None or cost is None or exact(budget) >= cost:
        return None
    return BudgetBelowNeed(budget=plain(exact(budget)), need=facts.need, cost=plain(cost))
