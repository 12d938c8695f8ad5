"""Progress of jobs when somebody decides the shares at every arrival and end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.errors import CheckFailed
from allocsolve.models.execution.fair_progress import Draws, JobEnds
from allocsolve.models.fair.arrays import FairArrays
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.utility import loads, time_used
from allocsolve.models.ports import SharePolicy

__all__ = ["ends_under_policy"]

_ROUNDING = 1e-9
_BLOCK = 256
"""Replications whose slowdowns are drawn at once."""


def ends_under_policy(
    problem: FairProblem, policy: SharePolicy, draws: Draws, stop: Callable[[], bool]
) -> Iterator[JobEnds]:
    """Yield what each job does if the policy is asked whenever a job arrives or ends.

    Raises
    ------
    CheckFailed
        If the policy hands out more than there is.
    """
    arrays, count = problem.arrays, draws.count
    n, m = arrays.throughput.shape
    ends, held = np.full((n, count), np.inf), np.zeros((m, count))
    for begin in range(0, count, _BLOCK):
        size = min(_BLOCK, count - begin)
        slow = _slowdowns(arrays, replace(draws, first=draws.first + begin, count=size))
        for k in range(size):
            if stop():
                return
            ends[:, begin + k], held[:, begin + k] = _play(arrays, policy, slow[:, :, k])
    nothing = np.zeros(count)
    for i in range(n):
        yield JobEnds(i, ends[i], dict(enumerate(held)) if i == 0 else {}, nothing)


def _slowdowns(arrays: FairArrays, draws: Draws) -> FloatArray:
    """Return the factor of each job and type, float64 (n, m, replications)."""
    n, m = arrays.throughput.shape
    slow = np.ones((n, m, draws.count))
    for j in range(m):
        for i in range(n) if draws.laws[j] is not None else ():
            slow[i, j] = draws.of_share(i, j)
    return slow


def _play(
    arrays: FairArrays, policy: SharePolicy, slow: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Go from event to event until nothing moves any more.

    Returns
    -------
    tuple of float64 (n,) and (m,)
        When each job ends, infinite for never, and the unit-time held of each type.
    """
    jobs = arrays.jobs
    left, time = jobs.remaining.copy(), 0.0
    done = left <= 0
    ends, held = np.where(done, jobs.arrival, np.inf), np.zeros(len(arrays.capacity))
    while not done.all():
        active = np.flatnonzero(~done & (jobs.arrival <= time))
        later = jobs.arrival[~done & (jobs.arrival > time)]
        shares, pace = _decide(arrays, policy, time, active, left, slow)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(pace > 0, left[active] / pace, np.inf)
        step = min(float(needed.min(initial=np.inf)), float(later.min(initial=np.inf)) - time)
        if not np.isfinite(step):
            break
        held += arrays.gang[active] @ shares * step
        left[active] = np.maximum(left[active] - pace * step, 0.0)
        time += step
        ended = active[needed <= step * (1 + 1e-12)]
        ends[ended], done[ended] = time, True
    return ends, held


def _decide(
    arrays: FairArrays,
    policy: SharePolicy,
    time: float,
    active: IntArray,
    left: FloatArray,
    slow: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the shares of the active jobs and their progress per unit of time."""
    if not len(active):
        return np.zeros((0, len(arrays.capacity))), np.zeros(0)
    shares = np.asarray(policy.shares(time, active, left[active]), dtype=np.float64)
    _refuse(arrays, policy, active, shares)
    return shares, _pace(arrays, active, shares, slow)


def _refuse(arrays: FairArrays, policy: SharePolicy, active: IntArray, shares: FloatArray) -> None:
    """Refuse shares that are negative or more than there is."""
    table = np.zeros(arrays.throughput.shape)
    if shares.shape != table[active].shape:
        raise CheckFailed(f"policy '{policy.name}' gives shares of shape {shares.shape}")
    table[active] = shares
    full = arrays.capacity * (1 + _ROUNDING)
    over = arrays.time_cap and bool((time_used(arrays, table) > 1 + _ROUNDING).any())
    if over or not (table >= 0).all() or (loads(arrays, table) > full).any():
        raise CheckFailed(f"policy '{policy.name}' hands out more than there is")


def _pace(arrays: FairArrays, active: IntArray, shares: FloatArray, slow: FloatArray) -> FloatArray:
    """Return the progress per unit of time of the active jobs."""
    factors = slow[active]
    with np.errstate(divide="ignore", invalid="ignore"):
        paces = arrays.throughput[active] * shares / factors
        gained: FloatArray = np.where(shares > 0, paces, 0.0).sum(axis=1)
        if arrays.demand is None:
            return gained
        demand = arrays.demand[active]
        rates = np.where(demand > 0, shares / demand / factors, np.inf).min(axis=1)
    exchanges = arrays.exchanges[active]
    pace: FloatArray = np.minimum(np.where(exchanges, gained, np.inf), rates)
    return pace
