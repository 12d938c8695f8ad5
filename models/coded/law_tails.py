"""How heavy the tail of a completion time is, and so whether its mean is infinite.

If the time of a node i has the tail ``t^-a_i`` (Pareto: its shape; other laws fall faster than
every power), then a job that fails only while all nodes of a set A are late has the tail
``t^-b`` with b the least sum of a_i over such sets A. Nodes that straggle together count once,
with the largest a of those that are late. The mean is infinite if and only if b <= 1, the
variance if and only if b <= 2. The least sum is a covering knapsack, solved exactly: in integers
if the shapes have a common denominator that is small enough.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

__all__ = ["Source", "least_cover"]

Source: TypeAlias = Sequence[tuple[Fraction, int]]
"""What a source can keep back: (tail index, weight of its results with at most this index)."""

_LARGEST = 2**52


def least_cover(sources: Sequence[Source], target: int) -> float:
    """Return the least sum of indices whose sources keep back at least a weight.

    Parameters
    ----------
    sources
        Of each at most one entry is chosen; its weight counts all entries before it.
    target
        Weight that must be late so that the job is.

    Returns
    -------
    float
        Infinite if all heavy sources together do not suffice.
    """
    if target <= 0:
        return 0.0
    indices = [index for source in sources for index, _ in source]
    if not indices:
        return math.inf
    step = math.lcm(*(index.denominator for index in indices))
    whole = sum(indices) * step < _LARGEST
    unit = step if whole else 1
    best = np.full(target + 1, np.inf)
    best[0] = 0.0
    for source in sources:
        before = best.copy()
        for index, weight in source:
            moved = np.full(target + 1, np.inf)
            kept = min(weight, target)
            moved[kept:] = before[: target + 1 - kept]
            moved[target] = before[target - kept :].min()
            np.minimum(best, moved + float(index * unit), out=best)
    return float(best[target]) / unit
