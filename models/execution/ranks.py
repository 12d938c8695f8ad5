"""Quantiles of samples."""

from __future__ import annotations

import math

from allocsolve.models.arguments import share
from allocsolve.models.arrays import FloatArray

__all__ = ["quantile"]


def quantile(ordered: FloatArray, q: float) -> float:
    """Return the least sample that at least the share ``q`` of all samples does not exceed.

    Parameters
    ----------
    ordered
        float64 (n,), rising.
    q
        In (0, 1).

    Raises
    ------
    UsageError
        If ``q`` is no probability.
    """
    rank = math.ceil(len(ordered) * share("quantile", q) * (1 - 1e-14))
    return float(ordered[max(rank, 1) - 1])
