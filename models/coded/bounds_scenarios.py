"""Bounds on jobs whose times are listed draws."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.problem import CodedProblem

__all__ = ["rateless_times"]

_STEPS = 60


def rateless_times(problem: CodedProblem, domain: Domain) -> FloatArray:
    """Return for each draw the time by which the nodes can have worked through enough rows.

    No loads in any batches are complete before.

    Returns
    -------
    float64 (draws,)
        Infinite where the capacities do not suffice.
    """
    arrays = problem.arrays
    assert arrays.scenarios is not None
    alive = arrays.speed > 0
    draws, caps = arrays.scenarios[:, alive], domain.caps[alive]
    start = arrays.startup[alive] + arrays.message[alive]
    if problem.scaling == "additive":
        begin, unit = start + draws, np.broadcast_to(arrays.row_time[alive], draws.shape)
    else:
        begin, unit = np.broadcast_to(start, draws.shape), draws / arrays.speed[alive]
    if int(caps.sum()) < domain.need:
        return np.full(len(draws), np.inf)
    low = np.zeros(len(draws))
    high = (begin + caps * unit).max(axis=1)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        spent = middle[:, None] - begin
        with np.errstate(divide="ignore", invalid="ignore"):
            rows = np.where(unit > 0, np.floor(spent / unit * (1 + 1e-12) + 1e-12), caps)
        rows = np.where(spent < 0, 0, np.clip(rows, 0, caps))
        enough = rows.sum(axis=1) >= domain.need
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return low
