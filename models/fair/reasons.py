"""Reasons why a fair division has no answer that need no engine."""

from __future__ import annotations

import numpy as np

from allocsolve.models.fair.certificates import ceilings
from allocsolve.models.fair.objectives import required
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reason_types import SloConflict
from allocsolve.models.result import Reason

__all__ = ["find_reason"]


def find_reason(problem: FairProblem, name: str) -> Reason | None:
    """Return why an objective has no answer if one job alone shows it, else None.

    ``cost`` with deadlines can be infeasible, and so can floors of a proportional split, which
    no single job shows; every other objective has the allocation that gives nothing, or the
    equal split.
    """
    if name != "cost":
        return None
    needed = required(problem)
    if len(problem.arrays.pair_jobs):  # ceilings know nothing of what pairs bring
        late = np.flatnonzero((needed > 0) & ~problem.arrays.reachable).tolist()
    else:
        late = np.flatnonzero(needed > ceilings(problem) * (1 + 1e-9)).tolist()
    return SloConflict(jobs=[problem.job_ids[late[0]]]) if late else None
