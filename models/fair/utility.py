"""What a job gains from its shares."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.arrays import FairArrays

__all__ = ["loads", "sharing_pairs", "time_used", "utilities"]


def utilities(
    arrays: FairArrays, shares: FloatArray, pair_shares: FloatArray | None = None
) -> FloatArray:
    """Return the utility of each job, float64 (n,).

    ``sum_j throughput[i, j] x[i, j]``, and what the job gains from shared units. A job with
    demands gets the least of that (if it has throughput) and ``x[i, r] / demand[i, r]`` over
    the resources that it demands (Leontief; Ghodsi et al., "Dominant Resource Fairness",
    NSDI 2011).

    Parameters
    ----------
    shares
        float64 (n, m).
    pair_shares
        float64 (q, m), None for none.
    """
    gained: FloatArray = np.einsum("ij,ij->i", arrays.throughput, shares)
    if pair_shares is not None and len(pair_shares):
        used = sharing_pairs(pair_shares)
        rates = arrays.pair_rates[arrays.pair_kind[used]]
        shared = np.einsum("qms,qm->qs", rates, pair_shares[used])
        gained += _by_job(arrays, used, shared)
    if arrays.demand is None:
        return gained
    gained[~arrays.exchanges] = np.inf
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(arrays.demand > 0, shares / arrays.demand, np.inf)
    least: FloatArray = np.minimum(gained, rates.min(axis=1, initial=np.inf))
    return least


def loads(
    arrays: FairArrays, shares: FloatArray, pair_shares: FloatArray | None = None
) -> FloatArray:
    """Return how many units of each type are held on average, float64 (m,)."""
    held: FloatArray = arrays.gang @ shares
    if pair_shares is not None and len(pair_shares):
        held = held + arrays.gang[arrays.pair_jobs[:, 0]] @ pair_shares
    return held


def time_used(
    arrays: FairArrays, shares: FloatArray, pair_shares: FloatArray | None = None
) -> FloatArray:
    """Return the sum of the time shares of each job, float64 (n,).

    Amounts of a resource that a job demands are no shares of its time.
    """
    counted = shares if arrays.demand is None else np.where(arrays.demand > 0, 0.0, shares)
    used: FloatArray = counted.sum(axis=1)
    if arrays.demand is not None:
        used[~arrays.exchanges] = 0.0
    if pair_shares is not None and len(pair_shares):
        sharing = sharing_pairs(pair_shares)
        each = pair_shares[sharing].sum(axis=1)
        used += _by_job(arrays, sharing, np.column_stack([each, each]))
    return used


def sharing_pairs(pair_shares: FloatArray) -> IntArray:
    """Return the positions of the pairs that share anything."""
    some = np.zeros(len(pair_shares), dtype=np.bool_)
    for j in range(pair_shares.shape[1]):  # by column: rows are short, and there are millions
        some |= pair_shares[:, j] != 0
    return np.flatnonzero(some)


def _by_job(arrays: FairArrays, pairs: IntArray, values: FloatArray) -> FloatArray:
    """Return the sums over both ends of some pairs, float64 (n,)."""
    ends, n = arrays.pair_jobs[pairs], len(arrays.gang)
    total = np.zeros(n)
    for side in (0, 1):
        total += np.bincount(ends[:, side], values[:, side], n)
    return total
