"""The closed forms of :mod:`allocsolve.models.fair.responses` as one compiled walk, for many jobs.

It takes no logarithms and no powers, so that its bytes do not depend on who compiled it.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import kernel

__all__ = ["walk", "warm"]


@kernel
def walk(
    reach: FloatArray, price: FloatArray, weight: FloatArray, floor: FloatArray, linear: bool
) -> FloatArray:
    """Walk along the lower hull of each job's offers to the utility that it would choose.

    Parameters
    ----------
    reach, price
        float64 (k, m), utility and price of a full time share of each type.
    weight
        float64 (k,), the job wants utility as long as one unit more costs at most
        ``weight / utility``, or ``weight`` if ``linear``.
    floor
        float64 (k,), utility that it takes at any price.

    Returns
    -------
    float64 (3, k)
        The utility, its cost (infinite where the floor is out of reach), and the slope of the
        edge of the hull on which it lies.
    """
    count, types = reach.shape
    out = np.empty((3, count))
    for i in range(count):
        at, paid, slope = 0.0, 0.0, 0.0
        utility, cost = 0.0, 0.0
        while True:
            best, to, there = np.inf, -1.0, 0.0
            for j in range(types):
                if reach[i, j] > at:
                    rise = (price[i, j] - paid) / (reach[i, j] - at)
                    if rise < best or (rise == best and reach[i, j] > to):
                        best, to, there = rise, reach[i, j], price[i, j]
            if to < 0:
                utility, cost = at, paid if floor[i] <= at else np.inf
                break
            slope = best
            wish = np.inf if weight[i] > 0 else 0.0
            if slope > 0:
                wish = weight[i] / slope
                if linear:
                    wish = np.inf if wish > 1 else 0.0
            utility = max(wish, at, floor[i])
            if utility <= to:
                cost = paid + slope * (utility - at)
                break
            at, paid = to, there
        out[0, i], out[1, i], out[2, i] = utility, cost, slope
    return out


def warm() -> None:
    """Call the kernel once with the types of real use."""
    one = np.ones((1, 2))
    walk(one, one, one[:, 0].copy(), one[:, 0].copy(), False)
