"""Whether a job would rather have the shares of another one."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.arrays import FairArrays
from allocsolve.models.fair.objectives import counted

__all__ = ["envy_ratios"]


def envy_ratios(answer: FairAnswer) -> tuple[FloatArray, IntArray]:
    """Return how much more each job would gain from the shares of the one it envies most.

    The envy of i for k is ``max u_i.y / U_i`` over ``0 <= y_j <= (w_i gang_k) / (w_k gang_i)
    x_kj`` and, under the time cap, ``sum_j y_j <= 1``: the shares of k, scaled to the weight
    of i and to its gang. A ratio above 1 is envy (Foley, "Resource Allocation and the Public
    Sector", 1967; with weights Varian, 1974). Units shared by pairs are not compared.

    Returns
    -------
    tuple of float64 (n,) and int64 (n,)
        Largest ratio and the job envied, 0 and -1 for a job that is not counted or alone;
        O(n^2 m) steps.
    """
    arrays, rows = answer.problem.arrays, counted(answer.problem.arrays)
    ratio, envied = np.zeros(len(arrays.gang)), np.full(len(arrays.gang), -1)
    if len(rows) < 2:
        return ratio, envied
    bundles = answer.shares[rows] * (arrays.gang[rows] / arrays.weight[rows])[:, None]
    for place, i in enumerate(rows.tolist()):
        value = _values(arrays, i, bundles * (arrays.weight[i] / arrays.gang[i]))
        value[place] = -np.inf
        best = int(np.argmax(value))
        envied[i] = rows[best]
        own = answer.utilities[i]
        ratio[i] = value[best] / own if own > 0 else (np.inf if value[best] > 0 else 0.0)
    return ratio, envied


def _values(arrays: FairArrays, job: int, limits: FloatArray) -> FloatArray:
    """Return what a job would gain within each row of limits."""
    order = np.argsort(-arrays.throughput[job], kind="stable")
    taken = limits[:, order]
    if arrays.time_cap:
        filled = np.minimum(np.cumsum(taken, axis=1), 1.0)
        taken = np.diff(filled, axis=1, prepend=0.0)
    value: FloatArray = taken @ arrays.throughput[job, order]
    if arrays.demand is None:
        return value
    asked = arrays.demand[job] > 0
    rates = (limits[:, asked] / arrays.demand[job, asked]).min(axis=1, initial=np.inf)
    least: FloatArray = np.minimum(value if arrays.exchanges[job] else np.inf, rates)
    return least
