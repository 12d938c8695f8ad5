"""What jobs choose at given prices, and whether they choose it in a whole box of prices.

At prices p a job uses at most two types j and k, neighbours on the upper concave envelope of
the points (gang p, u): only j for a part of its time, only j all the time, or both all the
time. Whether that stays its best choice is decided by comparisons that are linear in the
prices, so that the ends of the box decide them exactly. Jobs that choose alike add up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.kernels import inlined, kernel

__all__ = ["Box", "Sums", "choose", "sort_jobs"]

PART, WHOLE, BOTH = 0, 1, 2
"""Sorts of choices: a part of the time on one type, all of it, all of it on two types."""


class Box(NamedTuple):
    """Prices at its centre and ends, (m,) each; (level, least, most); whether it is gains."""

    centre: FloatArray
    low: FloatArray
    high: FloatArray
    level: FloatArray
    gains: bool


class Sums(NamedTuple):
    """What jobs that always choose alike add up to.

    ``fixed``, ``drift`` (m,): load, and what it rises with the level; ``part`` (m,): gains of
    jobs on one type; ``gain``, ``gang``, ``ratio`` (m, m): of jobs on two types.
    """

    fixed: FloatArray
    drift: FloatArray
    part: FloatArray
    gain: FloatArray
    gang: FloatArray
    ratio: FloatArray


@inlined
def _first_type(pace: FloatArray, i: int, prices: FloatArray) -> int:
    """Return the type of most progress for its price, of equals the fastest."""
    best = -1
    for j in range(prices.size):
        if pace[i, j] > 0:
            if best < 0:
                best = j
                continue
            one, two = pace[i, j] * prices[best], pace[i, best] * prices[j]
            if one > two or (one == two and pace[i, j] > pace[i, best]):
                best = j
    return best


@inlined
def _next_type(pace: FloatArray, i: int, prices: FloatArray, j: int) -> tuple[int, float]:
    """Return the type of steepest continuation of the envelope beyond j, -1 for none."""
    best, steepest = -1, 0.0
    for k in range(prices.size):
        if pace[i, k] > pace[i, j]:
            dearer = prices[k] - prices[j]
            slope = (pace[i, k] - pace[i, j]) / dearer if dearer > 0 else np.inf
            if slope > steepest or (slope == steepest and pace[i, k] > pace[i, best]):
                best, steepest = k, slope
    return best, steepest


@inlined
def _choice(
    pace: FloatArray, i: int, weight: float, prices: FloatArray, wanted: float
) -> tuple[int, int, float, int]:
    """Return two types, the part on the second (on the first for ``PART``), the sort.

    ``weight`` is gain for a unit of the gang; a negative one asks for the utility ``wanted``.
    """
    j = _first_type(pace, i, prices)
    gains = weight >= 0
    if gains:
        wanted = weight * pace[i, j] / prices[j] if prices[j] > 0 else np.inf
    if wanted <= pace[i, j]:
        return j, j, wanted / pace[i, j], PART
    while True:
        k, slope = _next_type(pace, i, prices, j)
        if gains:
            wanted = weight * slope
        if k < 0 or wanted <= pace[i, j]:
            return j, j, 1.0, WHOLE
        if wanted < pace[i, k]:
            return j, k, (wanted - pace[i, j]) / (pace[i, k] - pace[i, j]), BOTH
        j = k


@inlined
def _stays_part(pace: FloatArray, i: int, j: int, weight: float, most: float, box: Box) -> bool:
    """Whether one type for a part of the time stays best: cheapest, and time is left."""
    low, high = box.low, box.high
    stays: bool = weight <= low[j] if box.gains else most <= pace[i, j]
    for k in range(low.size):
        stays = stays and (k == j or pace[i, k] * high[j] <= pace[i, j] * low[k])
    return stays


@inlined
def _stays_whole(pace: FloatArray, i: int, j: int, weight: float, box: Box) -> bool:
    """Whether one type all the time stays best: no other is worth its price."""
    low, high = box.low, box.high
    stays = box.gains and weight >= high[j]
    for k in range(low.size):
        step = pace[i, k] - pace[i, j]
        stays = stays and (k == j or weight * step <= pace[i, j] * (low[k] - high[j]))
    return stays


@inlined
def _stays_both(
    pace: FloatArray, i: int, j: int, k: int, ends: tuple[float, float, float], box: Box
) -> bool:
    """Whether two types all the time stay best.

    ``ends`` is gain for a unit of the gang, least and most utility that is wanted.
    """
    low, high = box.low, box.high
    least, most = low[k] - high[j], high[k] - low[j]
    step = pace[i, k] - pace[i, j]
    if not (least > 0 and low[k] * pace[i, j] >= high[j] * pace[i, k]):
        return False
    stays: bool
    if box.gains:
        stays = ends[0] * step >= most * pace[i, j] and ends[0] * step <= least * pace[i, k]
    else:
        stays = pace[i, j] <= ends[1] and ends[2] <= pace[i, k]
    for other in range(low.size):
        if other in (j, k):
            continue
        part = (pace[i, other] - pace[i, j]) / step
        dear = high[k] if part > 0 else low[k]
        cheap = high[j] if part < 1 else low[j]
        stays = stays and dear * part + cheap * (1 - part) <= low[other]
    return stays


@kernel
def sort_jobs(
    pace: FloatArray,
    gain: FloatArray,
    floor: FloatArray,
    slope: FloatArray,
    gang: FloatArray,
    box: Box,
    open_jobs: IntArray,
    sums: Sums,
) -> int:
    """Add up the jobs whose choice is the same in the whole box; return how many are left.

    The positions of the others are written to ``open_jobs``.
    """
    left = 0
    for field in sums[:3]:
        field[:] = 0
    for field in sums[3:]:
        field[:] = 0
    level, least, most = box.level
    for i in range(gang.size):
        weight = gain[i] / gang[i] if box.gains else -1.0
        wanted = floor[i] + slope[i] * level
        ends = (weight, floor[i] + slope[i] * least, floor[i] + slope[i] * most)
        j, k, _, sort = _choice(pace, i, weight, box.centre, wanted)
        if sort == PART:
            stays = _stays_part(pace, i, j, weight, ends[2], box)
        elif sort == WHOLE:
            stays = _stays_whole(pace, i, j, weight, box)
        else:
            stays = _stays_both(pace, i, j, k, ends, box)
        if not stays:
            open_jobs[left] = i
            left += 1
        elif sort == WHOLE:
            sums.fixed[j] += gang[i]
        elif box.gains:
            _add_gains(pace, i, j, k, gain[i], gang[i], sums)
        else:
            _add_levels(pace, i, j, k, floor[i], slope[i], gang[i], sums)
    return left


@inlined
def _add_gains(
    pace: FloatArray, i: int, j: int, k: int, gain: float, gang: float, sums: Sums
) -> None:
    """Add a job that spends its gain: on one type, or on the step from one to another."""
    if j == k:
        sums.part[j] += gain
        return
    sums.gain[j, k] += gain
    sums.gang[j, k] += gang
    sums.ratio[j, k] += gang * pace[i, j] / (pace[i, k] - pace[i, j])


@inlined
def _add_levels(
    pace: FloatArray,
    i: int,
    j: int,
    k: int,
    floor: float,
    slope: float,
    gang: float,
    sums: Sums,
) -> None:
    """Add the load of a job, which is linear in the level."""
    fixed, drift, _, _, _, _ = sums
    if j == k:
        drift[j] += gang * slope / pace[i, j]
        fixed[j] += gang * floor / pace[i, j]
        return
    step = pace[i, k] - pace[i, j]
    rise, there = gang * slope / step, gang * (floor - pace[i, j]) / step
    drift[k] += rise
    drift[j] -= rise
    fixed[k] += there
    fixed[j] += gang - there


@kernel
def choose(
    pace: FloatArray,
    gain: FloatArray,
    wanted: FloatArray,
    gang: FloatArray,
    prices: FloatArray,
    share: FloatArray,
    worth: FloatArray,
) -> None:
    """Write what each job would choose, and what a unit of utility costs it there.

    Parameters
    ----------
    gain
        float64 (n,), or (0,) if the jobs want the utilities ``wanted`` whatever they cost.
    """
    for i in range(gang.size):
        weight = gain[i] / gang[i] if gain.size > 0 else -1.0
        goal = wanted[i] if wanted.size > 0 else 0.0
        j, k, part, sort = _choice(pace, i, weight, prices, goal)
        share[i, :] = 0.0
        worth[i] = 0.0
        if sort == PART:
            share[i, j] = part
            worth[i] = gang[i] * prices[j] / pace[i, j]
        else:
            share[i, j] = 1 - part if sort == BOTH else 1.0
        if sort == BOTH:
            share[i, k] = part
            worth[i] = gang[i] * (prices[k] - prices[j]) / (pace[i, k] - pace[i, j])
