"""The equal split: what each job could do alone with its part of every type."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.arrays import FairArrays
from allocsolve.models.fair.settings import Settings

__all__ = ["equal_split", "split_shares"]

_BLOCK = 65_536
"""Jobs that are worked on at once, so that a million jobs need no more memory than these."""


def equal_split(arrays: FairArrays, settings: Settings | None = None) -> FloatArray:
    """Return the equal-split utility E_i of each job, float64 (n,).

    ``best``: ``max u_i.y`` subject to ``gang_i y_j <= c_j / n`` and, under the time cap,
    ``sum_j y_j <= 1``; a fractional knapsack, filled greedily by throughput (Dantzig,
    "Discrete-Variable Extremum Problems", Operations Research 5, 1957).
    ``proportional``: ``y_j = c_j / n``, scaled to ``sum_j y_j = 1`` and divided by the gang
    (the normaliser of Narayanan et al., OSDI 2020).
    With ``split="weighted"`` the part of a job is ``c_j w_i / sum w`` instead of ``c_j / n``.
    A job with demands is limited by its part of each of them too; n counts all jobs.
    """
    chosen = settings or Settings()
    n = len(arrays.gang)
    part = _parts(arrays, chosen)
    value = np.empty(n)
    for begin in range(0, n, _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        if chosen.equal_split == "proportional":
            value[rows] = _proportional(arrays, rows)
        else:
            value[rows] = _best(arrays, rows, part[rows])
        if arrays.demand is not None:
            value[rows] = np.minimum(
                np.where(arrays.exchanges[rows], value[rows], np.inf),
                _leontief(arrays, rows, part[rows]),
            )
    return value


def split_shares(arrays: FairArrays, settings: Settings | None = None) -> FloatArray:
    """Return the shares of the equal split ``best``, float64 (n, m); jobs may have no demands."""
    part = _parts(arrays, settings or Settings())
    shares = part[:, None] * arrays.capacity / arrays.gang[:, None]
    if not arrays.time_cap:
        return np.where(arrays.throughput > 0, shares, 0.0)
    order = np.argsort(-arrays.throughput, axis=1, kind="stable")
    filled = np.minimum(np.cumsum(np.take_along_axis(shares, order, axis=1), axis=1), 1.0)
    np.put_along_axis(shares, order, np.diff(filled, axis=1, prepend=0.0), axis=1)
    return np.where(arrays.throughput > 0, shares, 0.0)


def _parts(arrays: FairArrays, settings: Settings) -> FloatArray:
    n = len(arrays.gang)
    if settings.split == "weighted" and n:
        weighted: FloatArray = arrays.weight / arrays.weight.sum()
        return weighted
    return np.full(n, 1.0 / n) if n else np.zeros(0)


def _best(arrays: FairArrays, rows: slice, part: FloatArray) -> FloatArray:
    throughput = arrays.throughput[rows]
    limit = part[:, None] * arrays.capacity / arrays.gang[rows, None]
    if not arrays.time_cap:
        uncapped: FloatArray = np.einsum("ij,ij->i", throughput, limit)
        return uncapped
    order = np.argsort(-throughput, axis=1, kind="stable")
    ordered = np.take_along_axis(throughput, order, axis=1)
    filled = np.minimum(np.cumsum(np.take_along_axis(limit, order, axis=1), axis=1), 1.0)
    taken = np.diff(filled, axis=1, prepend=0.0)
    value: FloatArray = np.einsum("ij,ij->i", ordered, taken)
    return value


def _proportional(arrays: FairArrays, rows: slice) -> FloatArray:
    total = arrays.capacity.sum()
    share = arrays.capacity / total if total > 0 else arrays.capacity
    value: FloatArray = arrays.throughput[rows] @ share / arrays.gang[rows]
    return value


def _leontief(arrays: FairArrays, rows: slice, part: FloatArray) -> FloatArray:
    assert arrays.demand is not None
    held = part[:, None] * arrays.capacity / arrays.gang[rows, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(arrays.demand[rows] > 0, held / arrays.demand[rows], np.inf)
    value: FloatArray = rates.min(axis=1, initial=np.inf)
    return value
