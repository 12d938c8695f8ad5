"""Compiled passes of the interior point method over all jobs: the system in the prices.

The shares of a job are eliminated (see :mod:`allocsolve.solvers.fair.block_kernels`); what is
left for all jobs together is a system in the m prices and the level. Arrays and their rows are
those of :mod:`allocsolve.solvers.fair.lanes`; the sums over jobs are kept lane by lane.
Names follow the program ``max k t + sum gain(U_i) - cost`` subject to
``U_i >= floor_i + slope_i t``, ``sum_j x_ij <= 1`` and the stock.
"""

from __future__ import annotations

from typing import NamedTuple

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import merged, numeric
from allocsolve.solvers.fair.block_kernels import apply, factorise
from allocsolve.solvers.fair.lanes import (
    BASE,
    BENT,
    COUNTS,
    CURVE,
    DUAL,
    FIRST,
    FLOOR,
    FOUR,
    GAIN,
    GANG,
    HELD,
    HOLD,
    IDLE,
    LACK,
    LENGTH,
    MORE,
    MOVE,
    ONE,
    ONE_ONE,
    ONE_TWO,
    PACE,
    PRICE,
    PULL,
    PUSH,
    REDUCED,
    ROOT,
    SECOND,
    SHARE,
    SIDE,
    SLACK,
    SLOPE,
    SPARE,
    STIFF,
    THREE,
    TIME,
    TO_IDLE,
    TO_PRICE,
    TO_REDUCED,
    TO_SHARE,
    TO_SLACK,
    TO_TIME,
    TWO,
    TWO_TWO,
    WORTH,
)

__all__ = ["LOAD", "NO_GAIN", "RIGHT", "SECOND_ORDER", "TARGET", "Space", "assemble"]

NO_GAIN = -1.0
"""Value of ``alpha`` where no job has a gain and only the level counts."""

RIGHT, TARGET, SECOND_ORDER, LOAD = range(4)
"""Rows of sums for the right side: itself; what a target for all products, and the products of
a step, add to it; the load of each type."""

_NOISE = 1e-13
"""Relative residual that counts as none: a larger part of it would be rounding errors."""


class Space(NamedTuple):
    """Room for one block, as in :mod:`allocsolve.solvers.fair.lanes`, and sums over jobs.

    matrix (m + 1, m + 1, lanes) in prices and level, right (4, m + 1, lanes) with the rows
    ``RIGHT``, ..., and sums (8, lanes).
    """

    room: FloatArray
    slot: FloatArray
    square: FloatArray
    matrix: FloatArray
    right: FloatArray
    sums: FloatArray


@merged
def assemble(
    tables: FloatArray,
    lines: FloatArray,
    lengths: tuple[float, float],
    asked: FloatArray,
    level: float,
    alpha: float,
    rows: bool,
    space: Space,
) -> None:
    """Go along a step, then build the system in the prices, without the stock's own part.

    Parameters
    ----------
    lengths
        Those of the primal and of the dual step.
    asked
        Price and cost of each type, (m,).
    rows
        Whether jobs have floors or a level.
    space
        Its ``sums`` hold, afterwards: products of primal and dual, dual residual, largest
        residual of time and of slack, ``sum slope price`` and its right side.
    """
    room, slot, square, matrix, right, sums = space
    matrix.fill(0.0)
    right.fill(0.0)
    sums.fill(0.0)
    for b in range(tables.shape[0]):
        table, line = tables[b], lines[b]
        if lengths[0] > 0:
            _advance(table, line, lengths[0], lengths[1], rows)
        _look(table, line, slot, alpha)
        if rows:
            _look_at_rows(line, slot, level)
        factorise(table, line, slot)
        _add_residuals(table, line, asked, room, slot, right)
        _push(line, slot, sums, rows)
        apply(table, line, room, slot, MOVE)
        _add_prices(table, line, room, slot, square, matrix, right)
        if rows:
            _add_level(table, line, room, slot, matrix, right)
            _add_slack(line, sums)


@merged
def _advance(table: FloatArray, line: FloatArray, primal: float, dual: float, rows: bool) -> None:
    """Go along a step."""
    for j in range(table.shape[1]):
        for i in range(table.shape[2]):
            table[SHARE, j, i] += primal * table[TO_SHARE, j, i]
        for i in range(table.shape[2]):
            table[REDUCED, j, i] += dual * table[TO_REDUCED, j, i]
    for i in range(line.shape[1]):
        line[IDLE, i] += primal * line[TO_IDLE, i]
        line[TIME, i] += dual * line[TO_TIME, i]
    if rows:
        for i in range(line.shape[1]):
            line[SLACK, i] += primal * line[TO_SLACK, i]
            line[PRICE, i] += dual * line[TO_PRICE, i]


@merged
def _look(table: FloatArray, line: FloatArray, slot: FloatArray, alpha: float) -> None:
    """Find residual and curvature of time, slope and curvature of gains, utility in ``ONE``."""
    lanes = slot.shape[1]
    for i in range(lanes):
        slot[ONE, i] = 0.0
        slot[TWO, i] = 0.0
    for j in range(table.shape[1]):
        for i in range(lanes):
            slot[ONE, i] += table[PACE, j, i] * table[SHARE, j, i]
            slot[TWO, i] += table[SHARE, j, i]
    for i in range(lanes):
        line[SPARE, i] = 1 - slot[TWO, i] - line[IDLE, i]
        line[HOLD, i] = line[TIME, i] / line[IDLE, i]
    if alpha == 1:
        for i in range(lanes):
            slot[WORTH, i] = line[GAIN, i] / slot[ONE, i]
            slot[CURVE, i] = slot[WORTH, i] / slot[ONE, i]
        return
    for i in range(lanes):
        slot[WORTH, i] = line[GAIN, i] if alpha == 0 else 0.0
        slot[CURVE, i] = 0.0
    if alpha > 0:
        for i in range(lanes):
            slot[WORTH, i] = line[GAIN, i] * slot[ONE, i] ** -alpha
            slot[CURVE, i] = alpha * slot[WORTH, i] / slot[ONE, i]


@merged
def _look_at_rows(line: FloatArray, slot: FloatArray, level: float) -> None:
    """Find residual and stiffness of slack; its price belongs to what utility is worth."""
    for i in range(slot.shape[1]):
        above = slot[ONE, i] - line[FLOOR, i] - line[SLOPE, i] * level
        line[LACK, i] = above - line[SLACK, i]
    for i in range(slot.shape[1]):
        stiff = line[PRICE, i] / line[SLACK, i]
        line[STIFF, i] = stiff
        slot[WORTH, i] += line[PRICE, i]
        slot[CURVE, i] += stiff


@merged
def _add_residuals(
    table: FloatArray,
    line: FloatArray,
    asked: FloatArray,
    room: FloatArray,
    slot: FloatArray,
    right: FloatArray,
) -> None:
    """Begin the right side; products and dual residual of each job go to ``ONE`` and ``TWO``.

    A residual of a dual constraint counts as 0 where rounding errors are all that is left:
    divided by a reduced price near 0 they would spoil the shares.
    """
    lanes = slot.shape[1]
    for i in range(lanes):
        slot[ONE, i] = line[IDLE, i] * line[TIME, i]
        slot[TWO, i] = 0.0
    for j in range(asked.size):
        price = asked[j]
        for i in range(lanes):
            slot[ONE, i] += table[SHARE, j, i] * table[REDUCED, j, i]
            right[LOAD, j, i] += line[HELD, i] * table[SHARE, j, i]
        for i in range(lanes):
            gained, paid = table[PACE, j, i] * slot[WORTH, i], price * line[GANG, i]
            wrong = gained - line[TIME, i] - paid + table[REDUCED, j, i]
            least = _NOISE * (gained + line[TIME, i] + paid)
            wrong = wrong if abs(wrong) > least else 0.0
            slot[TWO, i] = max(slot[TWO, i], abs(wrong))
            room[SIDE, j, i] = wrong - table[REDUCED, j, i]
        for i in range(lanes):
            table[BASE, j, i] = room[SIDE, j, i]


@merged
def _push(line: FloatArray, slot: FloatArray, sums: FloatArray, rows: bool) -> None:
    """Set what gain and time cap ask of a step without a target, and add up the residuals."""
    for i in range(slot.shape[1]):
        slot[PUSH, i] = line[TIME, i] + line[HOLD, i] * line[SPARE, i]
        slot[PULL, i] = 0.0
    if rows:
        for i in range(slot.shape[1]):
            slot[PULL, i] = -line[PRICE, i] - line[STIFF, i] * line[LACK, i]
            slot[ONE, i] += line[SLACK, i] * line[PRICE, i]
    for i in range(slot.shape[1]):
        sums[0, i] += slot[ONE, i] * line[COUNTS, i]
        sums[1, i] += slot[TWO, i] * line[COUNTS, i]
        sums[2, i] = max(sums[2, i], abs(line[SPARE, i]))


@numeric
def _add_prices(
    table: FloatArray,
    line: FloatArray,
    room: FloatArray,
    slot: FloatArray,
    square: FloatArray,
    matrix: FloatArray,
    right: FloatArray,
) -> None:
    """Add the jobs to the rows and columns of the prices.

    What is orthogonal to the two directions is multiplied out from its projections: as a
    difference it would have no correct digit once a share is far larger than its dual.
    """
    types, lanes = room.shape[1], room.shape[2]
    for j in range(types):
        for i in range(lanes):
            right[RIGHT, j, i] += line[HELD, i] * room[MOVE, j, i]
        for i in range(lanes):
            held = line[HELD, i] * table[ROOT, j, i]
            slot[THREE, i] = held
            room[MORE, j, i] = held * table[FIRST, j, i]
            room[DUAL, j, i] = held * table[SECOND, j, i]
        for k in range(types):
            for i in range(lanes):
                both = room[DUAL, j, i] * table[SECOND, k, i]
                square[j, k, i] = -(room[MORE, j, i] * table[FIRST, k, i] + both)
        for i in range(lanes):
            square[j, j, i] += slot[THREE, i]
    for j in range(types):
        _add_row(j, line, room, slot, square, matrix)


@merged
def _add_row(
    j: int,
    line: FloatArray,
    room: FloatArray,
    slot: FloatArray,
    square: FloatArray,
    matrix: FloatArray,
) -> None:
    """Add the jobs to one row, up to its diagonal."""
    types, lanes = room.shape[1], room.shape[2]
    for i in range(lanes):
        one, two = room[MORE, j, i], room[DUAL, j, i]
        slot[THREE, i] = one * line[ONE_ONE, i] + two * line[ONE_TWO, i]
        slot[FOUR, i] = one * line[ONE_TWO, i] + two * line[TWO_TWO, i]
    for k in range(j + 1):
        for i in range(lanes):
            both = slot[FOUR, i] * room[DUAL, k, i]
            matrix[j, k, i] += slot[THREE, i] * room[MORE, k, i] + both
        for other in range(0, types - 1, 2):  # two at once: half as many sums to fetch
            for i in range(lanes):
                both = square[j, other + 1, i] * square[k, other + 1, i]
                matrix[j, k, i] += square[j, other, i] * square[k, other, i] + both
        if types % 2 == 1:
            for i in range(lanes):
                matrix[j, k, i] += square[j, types - 1, i] * square[k, types - 1, i]


@merged
def _add_level(
    table: FloatArray,
    line: FloatArray,
    room: FloatArray,
    slot: FloatArray,
    matrix: FloatArray,
    right: FloatArray,
) -> None:
    """Add the jobs to the row of the level, in a form without differences."""
    types, lanes = room.shape[1], room.shape[2]
    for i in range(lanes):
        slot[ONE, i] = line[STIFF, i] * line[SLOPE, i] * line[COUNTS, i]
        slot[TWO, i] = slot[ONE, i] * line[GANG, i] * line[LENGTH, i]
        slot[THREE, i] = 0.0
    for j in range(types):
        for i in range(lanes):
            kept = line[ONE_ONE, i] * table[FIRST, j, i]
            kept += line[ONE_TWO, i] * table[SECOND, j, i]
            matrix[types, j, i] += slot[TWO, i] * table[ROOT, j, i] * kept
        for i in range(lanes):
            slot[THREE, i] += table[PACE, j, i] * room[MOVE, j, i]
    for i in range(lanes):
        matrix[types, types, i] += slot[ONE, i] * line[SLOPE, i] * line[BENT, i]
        right[RIGHT, types, i] += slot[ONE, i] * slot[THREE, i]


@merged
def _add_slack(line: FloatArray, sums: FloatArray) -> None:
    """Add up the residuals of the rows, and what their prices are in all."""
    for i in range(sums.shape[1]):
        sums[3, i] = max(sums[3, i], abs(line[LACK, i]))
        sums[4, i] += line[SLOPE, i] * line[COUNTS, i] * line[PRICE, i]
    for i in range(sums.shape[1]):
        asked = line[PRICE, i] + line[STIFF, i] * line[LACK, i]
        sums[5, i] -= line[SLOPE, i] * line[COUNTS, i] * asked
