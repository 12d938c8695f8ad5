"""The compiled dynamic programs of the exact completion law."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.kernels import kernel

__all__ = ["TINY", "threshold_survival", "warm"]

TINY = 1e-290
"""States less likely than this are dropped: denormal numbers are slow."""


@kernel
def threshold_survival(
    late: FloatArray, first: IntArray, weight: IntArray, need: int, out: FloatArray
) -> None:
    """Compute the probability that the weights of what has arrived stay below a need.

    The weighted Poisson-binomial recursion over independent sources, in O(m need) for each
    time. A state is a sum of arrived weights below the need; a state from which the rest
    cannot reach the need any more is settled at once. Only products and sums of
    non-negative numbers occur, so that small results are accurate relatively.

    Parameters
    ----------
    late
        float64 (times, m), probability that each result has not arrived.
    first
        int64 (sources + 1,), the results of source v are ``first[v] .. first[v + 1]``. They
        arrive together in the sense that one uniform number draws all their times: all those
        have arrived whose probability of being late is below it.
    weight
        int64 (m,), positive.
    out
        float64 (times,), filled.

    Notes
    -----
    All arrays are C-contiguous and can be written: of others numba would compile it anew.
    """
    longest = 1
    for v in range(first.shape[0] - 1):
        longest = max(longest, first[v + 1] - first[v])
    state = np.zeros(max(need, 1))
    fresh = np.zeros(max(need, 1))
    tails = np.empty(longest)
    steps = np.empty(longest, np.int64)
    for k in range(late.shape[0]):
        if need <= 0:
            out[k] = 0.0
        else:
            state[:] = 0.0
            fresh[:] = 0.0
            out[k] = _fail(late[k], first, weight, need, state, fresh, tails, steps)


@kernel
def _fail(
    late: FloatArray,
    first: IntArray,
    weight: IntArray,
    need: int,
    state: FloatArray,
    fresh: FloatArray,
    tails: FloatArray,
    steps: IntArray,
) -> float:
    """Return the probability for one time; the states are zero before."""
    state[0] = 1.0
    low, high, rest, failed = 0, 0, 0, 0.0
    for j in range(weight.shape[0]):
        rest += weight[j]
    for v in range(first.shape[0] - 1):
        count = first[v + 1] - first[v]
        gain = _rank(late, weight, first[v], count, tails, steps)
        rest -= gain
        if tails[0] < 1.0:
            top = min(high + gain, need - 1)
            if count == 1:
                _spread_one(state, fresh, low, high, top, steps[0], tails[0])
            else:
                _spread(state, fresh, low, high, top, tails, steps, count)
            state[low : high + 1] = 0.0
            state, fresh, high = fresh, state, top
        while low <= high and (state[low] < TINY or low + rest < need):
            if low + rest < need:
                failed += state[low]
            state[low] = 0.0
            low += 1
        if low > high:
            break
    for s in range(low, high + 1):
        failed += state[s]
    return failed


@kernel
def _rank(
    late: FloatArray,
    weight: IntArray,
    start: int,
    count: int,
    tails: FloatArray,
    steps: IntArray,
) -> int:
    """Copy the results of a source, those that arrive first in front; return their weight."""
    total = 0
    for j in range(count):
        total += weight[start + j]
        value, step = late[start + j], weight[start + j]
        place = j
        while place > 0 and tails[place - 1] > value:
            tails[place] = tails[place - 1]
            steps[place] = steps[place - 1]
            place -= 1
        tails[place] = value
        steps[place] = step
    return total


@kernel
def _spread_one(
    state: FloatArray,
    fresh: FloatArray,
    low: int,
    high: int,
    top: int,
    step: int,
    tail: float,
) -> None:
    """Let one result arrive or not; ``fresh`` is zero before."""
    source = state[low : min(high, top) + 1]
    stay = fresh[low:]
    for s in range(source.shape[0]):
        stay[s] = tail * source[s]
    arrived = 1.0 - tail
    source = state[low : max(min(high, top - step) + 1, low)]
    move = fresh[min(low + step, fresh.shape[0]) :]
    for s in range(source.shape[0]):
        move[s] += arrived * source[s]


@kernel
def _spread(
    state: FloatArray,
    fresh: FloatArray,
    low: int,
    high: int,
    top: int,
    tails: FloatArray,
    steps: IntArray,
    count: int,
) -> None:
    """Let the first results of a source arrive, as many as its uniform number allows."""
    moved = 0
    for j in range(count + 1):
        if j == 0:
            share = tails[0]
        else:
            moved += steps[j - 1]
            share = (tails[j] if j < count else 1.0) - tails[j - 1]
        if share > 0.0:
            source = state[low : max(min(high, top - moved) + 1, low)]
            move = fresh[min(low + moved, fresh.shape[0]) :]
            for s in range(source.shape[0]):
                move[s] += share * source[s]


def warm() -> None:
    """Compile the kernels, or load them from the cache."""
    out = np.empty(2)
    late = np.array([[0.5, 0.25, 0.75], [1.0, 1.0, 1.0]])
    first, weight = np.array([0, 1, 3], np.int64), np.ones(3, np.int64)
    threshold_survival(late, first, weight, 2, out)
