"""The blocks of some jobs in the interior point method, and their inverses.

Eliminating the shares of a job leaves ``B = diag(z / x) + a u u' + b 1 1'``, with the curvature
a of its gain and b of its time cap. B is inverted in O(m) in an orthonormal basis of
{H u, H 1}, ``H = sqrt(x / z)``, since the plain formula of Woodbury loses all digits where the
two are nearly parallel. Arrays and their rows are those of :mod:`allocsolve.solvers.fair.lanes`.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import merged, numeric
from allocsolve.solvers.fair.lanes import (
    ACROSS,
    ALONG,
    BENT,
    CURVE,
    FIRST,
    FOUR,
    HOLD,
    LENGTH,
    ONE,
    ONE_ONE,
    ONE_TWO,
    PACE,
    PER_SHARE,
    PULL,
    PUSH,
    REDUCED,
    ROOT,
    SECOND,
    SHARE,
    SIDE,
    THREE,
    TWO,
    TWO_TWO,
)

__all__ = ["apply", "factorise"]


@numeric
def factorise(table: FloatArray, line: FloatArray, slot: FloatArray) -> None:
    """Set up the inverses of a block; the curvature a is in the slot ``CURVE``."""
    types, lanes = table.shape[1], table.shape[2]
    for i in range(lanes):
        slot[ONE, i] = 0.0
    for j in range(types):
        for i in range(lanes):
            table[PER_SHARE, j, i] = 1 / table[SHARE, j, i]
        for i in range(lanes):
            table[ROOT, j, i] = np.sqrt(table[SHARE, j, i] / table[REDUCED, j, i])
        for i in range(lanes):
            along = table[ROOT, j, i] * table[PACE, j, i]
            table[FIRST, j, i] = along
            slot[ONE, i] += along * along
    for i in range(lanes):
        line[LENGTH, i] = np.sqrt(slot[ONE, i])
    _complete_basis(table, line, slot)
    _invert_within(line, slot)


@merged
def _complete_basis(table: FloatArray, line: FloatArray, slot: FloatArray) -> None:
    """Scale the first direction and find the second one, orthogonal to it."""
    types, lanes = table.shape[1], table.shape[2]
    for i in range(lanes):
        slot[ONE, i] = 1 / max(line[LENGTH, i], 1e-300)
        slot[TWO, i] = 0.0
    for j in range(types):
        for i in range(lanes):
            first = table[FIRST, j, i] * slot[ONE, i]
            table[FIRST, j, i] = first
            slot[TWO, i] += first * table[ROOT, j, i]
    for i in range(lanes):
        slot[THREE, i] = 0.0
        slot[FOUR, i] = 0.0
    for j in range(types):
        for i in range(lanes):
            second = table[ROOT, j, i] - slot[TWO, i] * table[FIRST, j, i]
            table[SECOND, j, i] = second
            slot[THREE, i] += second * table[FIRST, j, i]
    _straighten(table, line, slot)


@merged
def _straighten(table: FloatArray, line: FloatArray, slot: FloatArray) -> None:
    """Take off once more what is along the first direction: the first pass may lose digits."""
    types, lanes = table.shape[1], table.shape[2]
    for j in range(types):
        for i in range(lanes):
            second = table[SECOND, j, i] - slot[THREE, i] * table[FIRST, j, i]
            table[SECOND, j, i] = second
            slot[FOUR, i] += second * second
    for i in range(lanes):
        line[ALONG, i] = slot[TWO, i] + slot[THREE, i]
        line[ACROSS, i] = np.sqrt(slot[FOUR, i])
    for i in range(lanes):
        slot[ONE, i] = 1 / max(line[ACROSS, i], 1e-300)
        if types == 1:  # there is one direction only: what is left are rounding errors
            line[ACROSS, i] = 0.0
            slot[ONE, i] = 0.0
    for j in range(types):
        for i in range(lanes):
            table[SECOND, j, i] *= slot[ONE, i]


@merged
def _invert_within(line: FloatArray, slot: FloatArray) -> None:
    """Invert the blocks within the basis."""
    for i in range(line.shape[1]):
        tight = np.sqrt(line[HOLD, i])
        slot[ONE, i] = line[ALONG, i] * tight
        slot[TWO, i] = line[ACROSS, i] * tight
    for i in range(line.shape[1]):
        bend = line[LENGTH, i] * np.sqrt(slot[CURVE, i])
        slot[THREE, i] = 1 + bend * bend
    for i in range(line.shape[1]):
        along, over = slot[ONE, i], 1 + slot[TWO, i] * slot[TWO, i]
        slot[FOUR, i] = 1 / (slot[THREE, i] * over + along * along)
    for i in range(line.shape[1]):
        along, over = slot[ONE, i], 1 + slot[TWO, i] * slot[TWO, i]
        line[ONE_ONE, i] = over * slot[FOUR, i]
        line[BENT, i] = (over + along * along) * slot[FOUR, i]
    for i in range(line.shape[1]):
        along = slot[ONE, i]
        line[ONE_TWO, i] = -along * slot[TWO, i] * slot[FOUR, i]
        line[TWO_TWO, i] = (slot[THREE, i] + along * along) * slot[FOUR, i]


@numeric
def apply(
    table: FloatArray, line: FloatArray, room: FloatArray, slot: FloatArray, out: int
) -> None:
    """Multiply the inverses with ``pull u + push 1 + side``, into a row of the room.

    The first two can be huge and cancel with what they meet in the block, so they never
    leave the basis. The second projection keeps small components of the third accurate.
    """
    types, lanes = room.shape[1], room.shape[2]
    for i in range(lanes):
        slot[ONE, i] = 0.0
        slot[TWO, i] = 0.0
        slot[THREE, i] = 0.0
        slot[FOUR, i] = 0.0
    for j in range(types):
        for i in range(lanes):
            moved = table[ROOT, j, i] * room[SIDE, j, i]
            room[out, j, i] = moved
            slot[ONE, i] += table[FIRST, j, i] * moved
            slot[TWO, i] += table[SECOND, j, i] * moved
    for j in range(types):
        for i in range(lanes):
            kept = table[FIRST, j, i] * slot[ONE, i] + table[SECOND, j, i] * slot[TWO, i]
            moved = room[out, j, i] - kept
            room[out, j, i] = moved
            slot[THREE, i] += table[FIRST, j, i] * moved
            slot[FOUR, i] += table[SECOND, j, i] * moved
    for i in range(lanes):  # what is kept of both, without what was found of them off both
        slot[ONE, i] += slot[PULL, i] * line[LENGTH, i] + slot[PUSH, i] * line[ALONG, i]
        slot[TWO, i] += slot[PUSH, i] * line[ACROSS, i]
    for i in range(lanes):
        kept = line[ONE_ONE, i] * slot[ONE, i] + line[ONE_TWO, i] * slot[TWO, i]
        slot[THREE, i] = kept - slot[THREE, i]
        kept = line[ONE_TWO, i] * slot[ONE, i] + line[TWO_TWO, i] * slot[TWO, i]
        slot[FOUR, i] = kept - slot[FOUR, i]
    for j in range(types):
        for i in range(lanes):
            kept = table[FIRST, j, i] * slot[THREE, i] + table[SECOND, j, i] * slot[FOUR, i]
            room[out, j, i] = (room[out, j, i] + kept) * table[ROOT, j, i]
