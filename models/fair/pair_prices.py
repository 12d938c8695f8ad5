"""What pairs that share units pay for what they gain, at given prices."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.arrays import FairArrays
from allocsolve.models.fair.classes import classes_of

__all__ = ["pair_margin"]

_TABLE = 1 << 24
"""Numbers up to which different pairs are found by a table."""


def pair_margin(
    arrays: FairArrays, unit: FloatArray, prices: FloatArray, time_prices: FloatArray
) -> float:
    """Return the least ratio of price to worth of a time share of any pair on any type.

    ``(gang p_j + l_a + l_b) / (y_a u_aj + y_b u_bj)``; dual feasibility asks for at least 1.

    Parameters
    ----------
    unit, time_prices
        float64 (n,), price y of a unit of utility and l of the time of each job.
    prices
        float64 (m,), what a unit of each type costs.

    Returns
    -------
    float
        Infinite if no pair gains anything.
    """
    some = _different(arrays, unit, time_prices)
    first, second = arrays.pair_jobs[some].T
    rates = arrays.pair_rates[arrays.pair_kind[some]]
    gained = rates[:, :, 0] * unit[first, None] + rates[:, :, 1] * unit[second, None]
    asked = arrays.gang[first, None] * prices + (time_prices[first] + time_prices[second])[:, None]
    counts = (gained > 0) & (arrays.capacity > 0)
    return float(np.min(asked[counts] / gained[counts], initial=np.inf))


def _different(arrays: FairArrays, *columns: FloatArray) -> IntArray:
    """Return positions of pairs that stand for all, if there are clearly fewer of them."""
    everything = np.arange(len(arrays.pair_jobs))
    classes = classes_of(arrays.gang, *columns)
    k, kinds = len(classes.first), len(arrays.pair_rates)
    if k * k * kinds > _TABLE:
        return everything
    ends = classes.member[arrays.pair_jobs]
    at = np.full(k * k * kinds, -1)
    at[(ends[:, 0] * k + ends[:, 1]) * kinds + arrays.pair_kind] = everything
    return at[at >= 0]
