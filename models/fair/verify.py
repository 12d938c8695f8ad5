"""Verification of the reasons why a fair division has no answer.

Part of the independent checker: a reason is proved again from the data, whoever found it.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.fair.certificates import ceilings
from allocsolve.models.fair.objectives import required
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reason_types import SloConflict
from allocsolve.models.fair.responses import least_cost, offers_of
from allocsolve.models.result import Reason, SolverProof

__all__ = ["verify_reason"]

_MARGIN = 1e-9
"""Relative amount by which a need must exceed the stock, so that rounding proves nothing."""


def verify_reason(problem: FairProblem, reason: Reason) -> bool:
    """Tell whether a reason proves that the instance has no answer.

    A :class:`SolverProof` has no argument that could be checked: it is accepted as the claim
    that it is. With pairs that share units a conflict is accepted only if one of its jobs can
    have no utility at all.
    """
    if isinstance(reason, SolverProof):
        return True
    if not isinstance(reason, SloConflict):
        return False
    known = set(reason.jobs) <= set(problem.job_index)
    return known and set(reason.prices) <= set(problem.type_index) and _conflicts(problem, reason)


def _conflicts(problem: FairProblem, reason: SloConflict) -> bool:
    rows = np.array(sorted({problem.job_index[job] for job in reason.jobs}), dtype=np.int64)
    needed = required(problem)[rows]
    if bool(((needed > 0) & ~problem.arrays.reachable[rows]).any()):
        return True
    if len(problem.arrays.pair_jobs):
        return False
    if bool((needed > ceilings(problem)[rows] * (1 + _MARGIN)).any()):
        return True
    prices = np.array([reason.prices.get(token, 0.0) for token in problem.type_ids])
    if not (np.isfinite(prices).all() and (prices >= 0).all()):
        return False
    total = 0.0
    for offers in offers_of(problem.arrays, prices, rows):
        total += float(least_cost(offers, needed[offers.part])[0].sum())
    return bool(np.isfinite(total)) and total > float(prices @ problem.arrays.capacity) * (
        1 + _MARGIN
    )
