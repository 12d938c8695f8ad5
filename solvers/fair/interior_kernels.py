"""Compiled passes of the interior point method over all jobs: the system in the prices.

The shares of a job are eliminated (see :mod:`allocsolve.solvers.fair.block_kernels`); what is
left for all jobs together is a system in the m prices and the level.
Names follow the program ``max k t + sum gain(U_i) - cost`` subject to
``U_i >= floor_i + slope_i t``, ``sum_j x_ij <= 1`` and the stock.
"""

from __future__ import annotations

from typing import NamedTuple

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import inlined, kernel
from allocsolve.solvers.fair.block_kernels import Work, apply, factorise, room

__all__ = ["NO_GAIN", "Jobs", "Point", "System", "advance", "assemble", "dual_residual", "look"]

NO_GAIN = -1.0
"""Value of ``alpha`` where no job has a gain and only the level counts."""


_NOISE = 1e-13
"""Relative residual that counts as none."""


class Jobs(NamedTuple):
    """What is asked: pace (n, m); gain, floor, slope, gang (n,)."""

    pace: FloatArray
    gain: FloatArray
    floor: FloatArray
    slope: FloatArray
    gang: FloatArray


class Point(NamedTuple):
    """Shares and their duals (n, m); idle time and its price, slack and its price (n,).

    Slack and its price have no elements where no job has a floor or a level.
    """

    share: FloatArray
    reduced: FloatArray
    idle: FloatArray
    time: FloatArray
    slack: FloatArray
    price: FloatArray


class System(NamedTuple):
    """Sums over jobs.

    ``matrix`` (m + 1, m + 1) and ``right`` (m + 1,) in prices and level, ``load`` (m,);
    ``target`` and ``second`` (m + 1,), what a target for the products and the products of
    steps add to ``right``; ``sums`` (8,).
    """

    matrix: FloatArray
    right: FloatArray
    load: FloatArray
    target: FloatArray
    second: FloatArray
    sums: FloatArray


@inlined
def _pull(gain: float, utility: float, alpha: float) -> tuple[float, float]:
    """Return slope and curvature of a gain."""
    if alpha < 0 or gain == 0:
        return 0.0, 0.0
    if alpha == 0:
        return gain, 0.0
    if alpha == 1:
        return gain / utility, gain / utility / utility
    slope = gain * utility**-alpha
    return slope, alpha * slope / utility


@inlined
def look(
    i: int, jobs: Jobs, point: Point, level: float, alpha: float
) -> tuple[float, float, float, float, float]:
    """Return residuals of time and slack, slope and curvature of the gain, stiffness."""
    pace, gain, floor, slope, _ = jobs
    share, _, idle, _, slack, price = point
    utility, used = 0.0, 0.0
    for j in range(pace.shape[1]):
        utility += pace[i, j] * share[i, j]
        used += share[i, j]
    rise, curve = _pull(gain[i], utility, alpha)
    lack, stiff = 0.0, 0.0
    if slack.size > 0:
        lack = utility - floor[i] - slope[i] * level - slack[i]
        stiff = price[i] / slack[i]
    return 1 - used - idle[i], lack, rise, curve, stiff


@inlined
def dual_residual(i: int, j: int, jobs: Jobs, point: Point, asked: float, worth: float) -> float:
    """Return the residual of a dual constraint, 0 where rounding errors are all that is left.

    Divided by a reduced price near 0 such an error would spoil the shares.
    """
    gained, paid = jobs.pace[i, j] * worth, asked * jobs.gang[i]
    wrong = gained - point.time[i] - paid + point.reduced[i, j]
    return wrong if abs(wrong) > _NOISE * (gained + point.time[i] + paid) else 0.0


@kernel
def advance(point: Point, step: Point, primal: float, dual: float) -> None:
    """Take a step of these lengths."""
    share, reduced, idle, time, slack, price = point
    to_share, to_reduced, to_idle, to_time, to_slack, to_price = step
    for i in range(share.shape[0]):
        for j in range(share.shape[1]):
            share[i, j] += primal * to_share[i, j]
            reduced[i, j] += dual * to_reduced[i, j]
        idle[i] += primal * to_idle[i]
        time[i] += dual * to_time[i]
    for i in range(slack.size):
        slack[i] += primal * to_slack[i]
        price[i] += dual * to_price[i]


@kernel
def assemble(
    jobs: Jobs, point: Point, asked: FloatArray, level: float, alpha: float, system: System
) -> None:
    """Add up the system in the prices, the load and what the residuals are.

    ``asked`` (m,) is price and cost of each type. Afterwards ``sums`` holds: products of
    primal and dual, dual residual, largest residual of time and of slack, ``sum slope price``
    and its right side.
    """
    pace, _, _, slope, gang = jobs
    share, reduced, idle, time, slack, price = point
    matrix, right, load, _, _, sums = system
    count, types = pace.shape
    work = room(types)
    side, move = work.side, work.move
    matrix[:], right[:], load[:], sums[:] = 0, 0, 0, 0
    for i in range(count):
        spare, lack, rise, curve, stiff = look(i, jobs, point, level, alpha)
        hold = time[i] / idle[i]
        factorise(i, share, reduced, pace, curve + stiff, hold, work)
        _residuals(i, jobs, point, asked, rise, system)
        sums[2] = max(sums[2], abs(spare))
        own = price[i] if slack.size > 0 else 0.0
        pull, push = -own - stiff * lack, time[i] + hold * spare
        for j in range(types):
            wrong = dual_residual(i, j, jobs, point, asked[j], rise + own)
            side[j] = wrong - reduced[i, j]
        apply(pull, push, side, work, move)
        _add_prices(gang[i], work, matrix, right)
        if slack.size > 0:
            sums[3] = max(sums[3], abs(lack))
            sums[4] += slope[i] * price[i]
            sums[5] -= slope[i] * (price[i] + stiff * lack)
            if slope[i] != 0:
                _add_level(i, jobs, stiff, work, matrix, right)


@inlined
def _residuals(
    i: int, jobs: Jobs, point: Point, asked: FloatArray, rise: float, system: System
) -> None:
    """Add the products of a job and the residual of its dual constraints."""
    pace, gang = jobs.pace, jobs.gang
    share, reduced, idle, time, slack, price = point
    load, sums = system.load, system.sums
    worth, worst, products = rise, 0.0, idle[i] * time[i]
    if slack.size > 0:
        worth += price[i]
        products += slack[i] * price[i]
    for j in range(pace.shape[1]):
        products += share[i, j] * reduced[i, j]
        load[j] += gang[i] * share[i, j]
        worst = max(worst, abs(dual_residual(i, j, jobs, point, asked[j], worth)))
    sums[0] += products
    sums[1] += worst


@inlined
def _add_prices(gang: float, work: Work, matrix: FloatArray, right: FloatArray) -> None:
    """Add the part of a job to the rows and columns of the prices.

    What is orthogonal to the two directions is multiplied out from its projections: as a
    difference it would have no correct digit once a share is far larger than its dual.
    """
    _, root, first, second, inverse, _, move, _, _, table = work
    types = root.size
    for j in range(types):
        for k in range(types):
            table[j, k] = -root[j] * (first[j] * first[k] + second[j] * second[k])
        table[j, j] += root[j]
    for j in range(types):
        one, two = root[j] * first[j], root[j] * second[j]
        by_first, by_second = (
            one * inverse[0] + two * inverse[1],
            one * inverse[1] + two * inverse[2],
        )
        right[j] += gang * move[j]
        for k in range(j + 1):
            total = root[k] * (by_first * first[k] + by_second * second[k])
            for other in range(types):
                total += table[j, other] * table[k, other]
            matrix[j, k] += gang * gang * total


@inlined
def _add_level(
    i: int, jobs: Jobs, stiff: float, work: Work, matrix: FloatArray, right: FloatArray
) -> None:
    """Add the part of a job to the row of the level, in a form without differences."""
    pace, gang = jobs.pace, jobs.gang[i]
    _, root, first, second, inverse, _, move, _, _, _ = work
    last, border = pace.shape[1], stiff * jobs.slope[i]
    scale = border * gang * inverse[4]
    moved = 0.0
    for j in range(last):
        matrix[last, j] += scale * root[j] * (inverse[0] * first[j] + inverse[1] * second[j])
        moved += pace[i, j] * move[j]
    matrix[last, last] += border * jobs.slope[i] * inverse[3]
    right[last] += border * moved
