"""How heavy the tails of completion times are: a mean that is infinite is never estimated."""

from __future__ import annotations

import math

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.execution.fair_progress import Laws
from allocsolve.models.fair.answer import FairAnswer

__all__ = ["tail_indices"]


def tail_indices(answer: FairAnswer, laws: Laws, *, has_policy: bool) -> FloatArray:
    """Return the ``a`` of each job for which ``P(end > t)`` falls as ``t^-a``.

    A job on several types is slow only if all of them are, so that the indices of the tails
    of their laws add up; one with demands is slow if any of them is. In rounds a slow one ends
    with the round. A run also waits for runs before it on its type, which have the same law. Under
    a policy a job is taken to get every type that it can use.

    Returns
    -------
    float64 (n,)
        Infinite for light tails, and for jobs without work, or that work nowhere. The mean is
        infinite for ``a <= 1``, the variance for ``a <= 2``.
    """
    arrays = answer.problem.arrays
    n = len(arrays.jobs.remaining)
    if answer.rounds is not None and answer.runs is None and not has_policy:
        return np.full(n, math.inf)
    index = np.array([math.inf if law is None else law.tail_index() for law in laws])
    if answer.runs is not None and not has_policy:
        return _of_runs(answer, index)
    used = _used_types(answer, has_policy=has_policy)
    found = np.where(used, index, 0.0).sum(axis=1)
    found[~used.any(axis=1)] = math.inf
    if arrays.demand is not None:
        asked = np.where(arrays.demand > 0, index, math.inf).min(axis=1, initial=math.inf)
        found = np.where(arrays.exchanges, np.minimum(found, asked), asked)
    return np.where(arrays.jobs.remaining > 0, found, math.inf)


def _of_runs(answer: FairAnswer, index: FloatArray) -> FloatArray:
    """Return the index of the type on which each job runs, or waits though it has no work."""
    work = answer.problem.arrays.jobs.remaining
    found, seen = np.full(len(work), math.inf), set[int]()
    for run in sorted(answer.runs or (), key=lambda run: (run.start, run.job)):
        if work[run.job] > 0 or run.type in seen:
            found[run.job] = index[run.type]
            seen.add(run.type)
    return found


def _used_types(answer: FairAnswer, *, has_policy: bool) -> BoolArray:
    """Return on which types each job may work, bool (n, m)."""
    arrays = answer.problem.arrays
    if has_policy:
        return np.asarray(arrays.throughput > 0)
    used = np.asarray(arrays.throughput * answer.shares > 0)
    if answer.pair_shares is not None:
        for side in (0, 1):
            gains = arrays.pair_throughput[:, :, side] * answer.pair_shares > 0
            np.logical_or.at(used, arrays.pair_jobs[:, side], gains)
    return used
