"""The dynamic program of the completion law over whole arrays, for where nothing is compiled.

All times go side by side through each step, so numpy is a few times slower than the compiled
loops of :mod:`allocsolve.models.coded.law_kernels`, not hundreds of times, and no compiler is
waited for. Every time sees the same operations in the same order as there: both give the same
bytes (a test compares them).
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.coded.law_kernels import TINY

__all__ = ["array_seconds", "array_survival"]

_BLOCK = 2**17
"""Numbers of the states that are worked on together, so that they stay in the cache."""

_FEW = 64
"""Rows that a loop adds faster than one call would."""

_STEP, _EACH = 3e-5, 1.2e-9
"""Seconds of a step of numpy for one source, and for each number that it touches."""


def array_seconds(times: int, results: int, sources: int, need: int) -> float:
    """Return how long :func:`array_survival` takes, roughly.

    Parameters
    ----------
    times, results, sources, need
        Number of times, of results, of sources, and the need.
    """
    size = max(need, 1)
    blocks = -(-times * size // _BLOCK)
    return blocks * (sources * _STEP + size * 2e-6) + times * results * size * _EACH


def array_survival(
    late: FloatArray, first: IntArray, weight: IntArray, need: int, out: FloatArray
) -> None:
    """Do what :func:`allocsolve.models.coded.law_kernels.threshold_survival` does.

    Parameters
    ----------
    late
        float64 (times, m), probability that each result has not arrived.
    first, weight, need, out
        As there.
    """
    if need <= 0:
        out[:] = 0.0
        return
    step = max(1, _BLOCK // need)
    columns = np.ascontiguousarray(late.T)
    for k in range(0, len(late), step):
        out[k : k + step] = _failing(columns[:, k : k + step], first, weight, need)


def _failing(late: FloatArray, first: IntArray, weight: IntArray, need: int) -> FloatArray:
    """Return the probabilities at some times, float64 (times,); ``late`` is (m, times)."""
    times = late.shape[1]
    state, fresh = np.zeros((need, times)), np.zeros((need, times))
    state[0] = 1.0
    failed = np.zeros(times)
    low, high, rest = 0, 0, int(weight.sum())
    for a, b in zip(first[:-1].tolist(), first[1:].tolist(), strict=True):
        gain = int(weight[a:b].sum())
        rest -= gain
        top = min(high + gain, need - 1)
        _move(state, fresh, low, high, top, late[a:b], weight[a:b])
        state, fresh, high = fresh, state, top
        hopeless = max(low, min(high + 1, need - rest))
        failed = _added(failed, state[low:hopeless])
        state[low:hopeless] = 0.0
        low = hopeless
        if low > high:
            break
        _drop(state[low : high + 1])
    return _added(failed, state[low : high + 1])


def _added(total: FloatArray, rows: FloatArray) -> FloatArray:
    """Add rows one after another, as compiled loops do, in one call however many there are."""
    if len(rows) <= _FEW:
        for row in rows:
            total = total + row
        return total
    return np.asarray(np.add.accumulate(np.concatenate([total[None], rows]), axis=0)[-1])


def _move(
    state: FloatArray,
    fresh: FloatArray,
    low: int,
    high: int,
    top: int,
    late: FloatArray,
    weight: IntArray,
) -> None:
    """Let the results of a source arrive or not; ``late`` is (results, times)."""
    fresh[low : top + 1] = 0.0
    tails, moved = late, np.zeros((1, 1), np.int64) + np.cumsum(weight)[:, None]
    if len(late) > 1 and (late[:-1] > late[1:]).any():
        order = np.argsort(late, axis=0, kind="stable")
        tails = np.take_along_axis(late, order, axis=0)
        moved = np.cumsum(weight[order], axis=0)
    fresh[low : min(high, top) + 1] = tails[0] * state[low : min(high, top) + 1]
    for j in range(len(late)):
        share = (tails[j + 1] if j + 1 < len(late) else 1.0) - tails[j]
        for distance in np.unique(moved[j]).tolist():
            last = min(high, top - distance)
            if last < low:
                continue
            mine = share if moved.shape[1] == 1 else np.where(moved[j] == distance, share, 0.0)
            fresh[low + distance : last + distance + 1] += mine * state[low : last + 1]


def _drop(state: FloatArray) -> None:
    """Drop the lowest states that are as good as impossible, as the compiled loops do."""
    if not (state[0] < TINY).any():
        return
    tiny = state < TINY
    leading = np.logical_and.accumulate(tiny, axis=0)
    state[leading] = 0.0
