"""Compiled passes of the interior point method that find a step: predictor and corrector.

Arrays and their rows are those of :mod:`allocsolve.solvers.fair.lanes`.
"""

from __future__ import annotations

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import merged, numeric
from allocsolve.solvers.fair.block_kernels import apply
from allocsolve.solvers.fair.interior_kernels import SECOND_ORDER, TARGET, Space
from allocsolve.solvers.fair.lanes import (
    AT_IDLE,
    AT_SLACK,
    BASE,
    COUNTS,
    DUAL,
    FOUR,
    GANG,
    HELD,
    HOLD,
    IDLE,
    LACK,
    MORE,
    MOVE,
    ONE,
    PACE,
    PER_SHARE,
    PRICE,
    PULL,
    PUSH,
    REDUCED,
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
)

__all__ = ["correct", "predict"]


@merged
def predict(
    tables: FloatArray,
    lines: FloatArray,
    change: FloatArray,
    lift: float,
    rows: bool,
    space: Space,
) -> None:
    """Find the step towards products of 0, for given steps of prices (m,) and level.

    Only its products are stored, with what they and a target change in the right side of the
    system. The first two of ``sums`` are the largest relative falls, primal and dual, or 1; the
    next three what the products of the point fall, and the products of the step.
    """
    room, slot, right, sums = space.room, space.slot, space.right, space.sums
    sums.fill(0.0)
    for b in range(tables.shape[0]):
        table, line = tables[b], lines[b]
        _ask(line, slot, lift, rows)
        for j in range(change.size):
            rise = change[j]
            for i in range(slot.shape[1]):
                room[MORE, j, i] = 0.0
                room[SIDE, j, i] = table[BASE, j, i] - rise * line[GANG, i]
        _find_step(table, line, room, slot, lift, rows)
        _fall(table, line, room, slot, sums, rows)
        _multiply(table, line, room, slot, sums)
        if rows:
            _multiply_rows(line, slot, sums)
        _change_right_side(table, line, room, slot, right, rows)


@merged
def correct(
    tables: FloatArray,
    lines: FloatArray,
    change: FloatArray,
    lift: float,
    target: float,
    rows: bool,
    space: Space,
) -> None:
    """Replace products by the step after which all products would equal ``target``.

    The first two of ``sums`` are the largest relative falls, or 1.
    """
    room, slot, sums = space.room, space.slot, space.sums
    sums.fill(0.0)
    lanes = slot.shape[1]
    for b in range(tables.shape[0]):
        table, line = tables[b], lines[b]
        _ask(line, slot, lift, rows)
        _aim(line, slot, target, rows)
        for j in range(change.size):
            rise = change[j]
            for i in range(lanes):
                more = (target - table[TO_SHARE, j, i]) * table[PER_SHARE, j, i]
                room[MORE, j, i] = more
                room[SIDE, j, i] = more + table[BASE, j, i] - rise * line[GANG, i]
        _find_step(table, line, room, slot, lift, rows)
        _fall(table, line, room, slot, sums, rows)
        for j in range(change.size):
            for i in range(lanes):
                table[TO_SHARE, j, i] = room[MOVE, j, i]
                table[TO_REDUCED, j, i] = room[DUAL, j, i]
        for i in range(lanes):
            line[TO_IDLE, i] = slot[ONE, i]
            line[TO_TIME, i] = slot[TWO, i]
            line[TO_SLACK, i] = slot[PULL, i]
            line[TO_PRICE, i] = slot[PUSH, i]


@merged
def _ask(line: FloatArray, slot: FloatArray, lift: float, rows: bool) -> None:
    """Set ``PULL`` and ``PUSH`` of a step towards products of 0."""
    for i in range(slot.shape[1]):
        slot[PUSH, i] = line[TIME, i] + line[HOLD, i] * line[SPARE, i]
        slot[PULL, i] = 0.0
        slot[AT_IDLE, i] = 0.0
        slot[AT_SLACK, i] = 0.0
    if rows:
        for i in range(slot.shape[1]):
            short = line[SLOPE, i] * lift - line[LACK, i]
            slot[PULL, i] = line[STIFF, i] * short - line[PRICE, i]


@merged
def _aim(line: FloatArray, slot: FloatArray, target: float, rows: bool) -> None:
    """Add what a target asks at idle time and slack."""
    for i in range(slot.shape[1]):
        slot[AT_IDLE, i] = (target - line[TO_IDLE, i]) / line[IDLE, i]
        slot[PUSH, i] -= slot[AT_IDLE, i]
    if rows:
        for i in range(slot.shape[1]):
            slot[AT_SLACK, i] = (target - line[TO_SLACK, i]) / line[SLACK, i]
            slot[PULL, i] += slot[AT_SLACK, i]


@numeric
def _find_step(
    table: FloatArray,
    line: FloatArray,
    room: FloatArray,
    slot: FloatArray,
    lift: float,
    rows: bool,
) -> None:
    """Find the step of each job: shares into ``MOVE``, their duals into ``DUAL``.

    Those of idle time and its price go to ``ONE`` and ``TWO``, of slack and its price to
    ``PULL`` and ``PUSH``.
    """
    lanes = slot.shape[1]
    apply(table, line, room, slot, MOVE)
    for i in range(lanes):
        slot[ONE, i] = 0.0
        slot[TWO, i] = 0.0
    for j in range(room.shape[1]):
        for i in range(lanes):
            moved = room[MOVE, j, i]
            slot[ONE, i] += moved
            slot[TWO, i] += table[PACE, j, i] * moved
            rise = 1 + moved * table[PER_SHARE, j, i]
            room[DUAL, j, i] = room[MORE, j, i] - table[REDUCED, j, i] * rise
    if rows:
        for i in range(lanes):
            to_slack = slot[TWO, i] - line[SLOPE, i] * lift + line[LACK, i]
            slot[PULL, i] = to_slack
            falls = line[STIFF, i] * to_slack + line[PRICE, i]
            slot[PUSH, i] = slot[AT_SLACK, i] - falls
    for i in range(lanes):
        at_idle = slot[AT_IDLE, i]
        rises = line[HOLD, i] * (slot[ONE, i] - line[SPARE, i]) + at_idle
        slot[TWO, i] = rises - line[TIME, i]
    for i in range(lanes):
        left = (slot[AT_IDLE, i] - slot[TWO, i]) / line[HOLD, i]
        slot[ONE, i] = left - line[IDLE, i]


@numeric
def _fall(
    table: FloatArray,
    line: FloatArray,
    room: FloatArray,
    slot: FloatArray,
    sums: FloatArray,
    rows: bool,
) -> None:
    """Keep the largest relative falls along the step."""
    lanes = slot.shape[1]
    for j in range(room.shape[1]):
        for i in range(lanes):
            fall = -room[MOVE, j, i] * table[PER_SHARE, j, i]
            sums[0, i] = max(sums[0, i], fall)
        for i in range(lanes):
            fall = -room[DUAL, j, i] / table[REDUCED, j, i]
            sums[1, i] = max(sums[1, i], fall)
    for i in range(lanes):
        sums[0, i] = max(sums[0, i], -slot[ONE, i] / line[IDLE, i])
        sums[1, i] = max(sums[1, i], -slot[TWO, i] / line[TIME, i])
    if rows:
        for i in range(lanes):
            sums[0, i] = max(sums[0, i], -slot[PULL, i] / line[SLACK, i])
            sums[1, i] = max(sums[1, i], -slot[PUSH, i] / line[PRICE, i])


@merged
def _multiply(
    table: FloatArray,
    line: FloatArray,
    room: FloatArray,
    slot: FloatArray,
    sums: FloatArray,
) -> None:
    """Store the products of the step, and add what the products of the point fall along it."""
    lanes = slot.shape[1]
    for i in range(lanes):
        line[TO_IDLE, i] = slot[ONE, i] * slot[TWO, i]
        slot[THREE, i] = line[TIME, i] * slot[ONE, i]
        slot[FOUR, i] = line[IDLE, i] * slot[TWO, i]
    for i in range(lanes):
        slot[ONE, i] = line[TO_IDLE, i]
    for j in range(room.shape[1]):
        for i in range(lanes):
            both = room[MOVE, j, i] * room[DUAL, j, i]
            table[TO_SHARE, j, i] = both
            slot[ONE, i] += both
        for i in range(lanes):
            slot[THREE, i] += table[REDUCED, j, i] * room[MOVE, j, i]
            slot[FOUR, i] += table[SHARE, j, i] * room[DUAL, j, i]
    for i in range(lanes):
        sums[2, i] += slot[THREE, i] * line[COUNTS, i]
        sums[3, i] += slot[FOUR, i] * line[COUNTS, i]
        sums[4, i] += slot[ONE, i] * line[COUNTS, i]


@merged
def _multiply_rows(line: FloatArray, slot: FloatArray, sums: FloatArray) -> None:
    """Do the same for slack and its price."""
    for i in range(slot.shape[1]):
        to_slack, to_price = slot[PULL, i], slot[PUSH, i]
        line[TO_SLACK, i] = to_slack * to_price
        sums[2, i] += line[PRICE, i] * to_slack * line[COUNTS, i]
        sums[3, i] += line[SLACK, i] * to_price * line[COUNTS, i]
        sums[4, i] += to_slack * to_price * line[COUNTS, i]


@merged
def _change_right_side(
    table: FloatArray,
    line: FloatArray,
    room: FloatArray,
    slot: FloatArray,
    right: FloatArray,
    rows: bool,
) -> None:
    """Add what a target, and the products of the first step, change in the right side."""
    for row in (TARGET, SECOND_ORDER):
        by_step = row == SECOND_ORDER
        for i in range(slot.shape[1]):
            at_idle = -line[TO_IDLE, i] if by_step else 1.0
            slot[PUSH, i] = -at_idle / line[IDLE, i]
            slot[PULL, i] = 0.0
        if rows:
            for i in range(slot.shape[1]):
                at_slack = -line[TO_SLACK, i] if by_step else 1.0
                slot[PULL, i] = at_slack / line[SLACK, i]
        for j in range(room.shape[1]):
            for i in range(slot.shape[1]):
                at_share = -table[TO_SHARE, j, i] if by_step else 1.0
                room[SIDE, j, i] = at_share * table[PER_SHARE, j, i]
        apply(table, line, room, slot, MORE)
        _add_change(table, line, room, slot, right, row)
        if rows:
            _add_change_of_level(line, slot, right, row, room.shape[1])


@merged
def _add_change(
    table: FloatArray,
    line: FloatArray,
    room: FloatArray,
    slot: FloatArray,
    right: FloatArray,
    row: int,
) -> None:
    """Add the shares in ``MORE`` to a right side; their utilities go to ``THREE``."""
    for i in range(slot.shape[1]):
        slot[THREE, i] = 0.0
    for j in range(room.shape[1]):
        for i in range(slot.shape[1]):
            more = room[MORE, j, i]
            right[row, j, i] += line[HELD, i] * more
            slot[THREE, i] += table[PACE, j, i] * more


@merged
def _add_change_of_level(
    line: FloatArray, slot: FloatArray, right: FloatArray, row: int, last: int
) -> None:
    """Add what the same changes in the row of the level."""
    for i in range(slot.shape[1]):
        rise = line[SLOPE, i] * line[COUNTS, i]
        right[row, last, i] += rise * (line[STIFF, i] * slot[THREE, i] - slot[PULL, i])
