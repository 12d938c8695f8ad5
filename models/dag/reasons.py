"""Explanations of infeasibility: find a short argument why an instance has no schedule."""

from __future__ import annotations

from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reason_types import (
    CriticalPath,
    DemandExceedsCapacity,
    NoEligibleNode,
    PositiveLagCycle,
    WindowOverload,
)
from allocsolve.models.result import Reason

__all__ = [
    "CriticalPath",
    "DemandExceedsCapacity",
    "NoEligibleNode",
    "PositiveLagCycle",
    "WindowOverload",
    "find_reason",
]


def find_reason(problem: DagProblem) -> Reason | None:
    """Return a proof that the instance has no schedule, None if no short one is found."""
    for i, task in enumerate(problem.tasks):
        if not problem.arrays.modes_of(i):
            return NoEligibleNode(task=task.id)
    return None
