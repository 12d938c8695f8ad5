"""Jobs side by side: arrays in blocks of lanes, for loops that compilers run in parallel.

A table (jobs, types) becomes (blocks, types, lanes). The last job is repeated in the lanes that
are left over; how many lanes there are depends on the number of jobs only, as bytes must not
depend on the processor. Every innermost loop over them does one thing for all lanes of a block.
Each lane sees the same operations in the same order whatever a compiler makes of it, so that
no fast mathematics is needed.

All numbers of a block lie together: ``table`` (blocks, rows, m, lanes) and ``line`` (blocks,
rows, lanes), whose rows have their names here. Room for one block is ``room`` (rows, m, lanes),
``slot`` (rows, lanes) and ``square`` (m, m, lanes).
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray

__all__ = ["lanes_for", "pack", "real_lanes", "unpack"]

_LANES = 48
"""Lanes of a block: its numbers stay in the nearest cache, and loops are worth their start."""

_TOGETHER = 8
"""Numbers that a processor may work on at once."""

PACE, SHARE, REDUCED, TO_SHARE, TO_REDUCED, PER_SHARE, ROOT, FIRST, SECOND, BASE = range(10)
"""Rows of a table.

Progress; shares and their duals, and the step of both (or, between its two halves, their
product); 1 / x; H 1, and the basis of a block; dual residual less the reduced price.
"""

TABLES = 10

GAIN, FLOOR, SLOPE, GANG, COUNTS, HELD = range(6)
"""Rows of lines: what is asked. ``COUNTS`` is 0 in lanes that only fill a block up, ``HELD`` is
the gang in the others."""

IDLE, TIME, SLACK, PRICE, TO_IDLE, TO_TIME, TO_SLACK, TO_PRICE = range(6, 14)
"""Rows of lines: idle time, slack, and their prices, with steps or products of both."""

SPARE, LACK, HOLD, STIFF, LENGTH, ALONG, ACROSS = range(14, 21)
"""Rows of lines: residuals of time and slack, curvature of both; the length of H u, and both
parts of H 1, in the basis."""

ONE_ONE, ONE_TWO, TWO_TWO, BENT = range(21, 25)
"""Rows of lines: the inverse of a block within the basis, and ``1 - a u' B^-1 u``."""

LINES = 25

SIDE, MOVE, MORE, DUAL = range(4)
"""Rows of room: a right side, what the inverse makes of it, something else, steps of duals."""

ROOMS = 4

ONE, TWO, THREE, FOUR, PULL, PUSH, WORTH, CURVE, AT_IDLE, AT_SLACK = range(10)
"""Rows of slots: for sums; what is asked along u and along 1; slope and curvature of the gain;
what belongs to idle time and to slack."""

SLOTS = 10


def lanes_for(count: int) -> int:
    """Return how many lanes the blocks of so many jobs have; few are left over."""
    blocks = max(1, -(-count // _LANES))
    lanes = -(-count // blocks)
    return lanes if blocks == 1 else -(-lanes // _TOGETHER) * _TOGETHER


def pack(values: FloatArray, out: FloatArray) -> None:
    """Lay values (n,) out as (blocks, lanes), or (n, m) as (blocks, m, lanes)."""
    count, lanes = len(values), out.shape[-1]
    whole = count // lanes
    head, tail = values[: whole * lanes], values[whole * lanes :]
    if values.ndim == 1:
        out[:whole] = head.reshape(whole, lanes)
        out[whole:, : len(tail)] = tail
    else:
        out[:whole] = head.reshape(whole, lanes, -1).transpose(0, 2, 1)
        out[whole:, :, : len(tail)] = tail.T
    if len(tail):
        out[-1, ..., len(tail) :] = values[-1][..., None]


def unpack(blocked: FloatArray, count: int) -> FloatArray:
    """Return the first ``count`` jobs of what :func:`pack` made."""
    flat = blocked if blocked.ndim == 2 else blocked.transpose(0, 2, 1)
    return np.ascontiguousarray(flat.reshape((-1, *flat.shape[2:]))[:count])


def real_lanes(count: int, lanes: int) -> FloatArray:
    """Return 1 for each lane with a job of its own and 0 for the others, (blocks, lanes)."""
    blocks = -(-count // lanes)
    real = np.arange(blocks * lanes) < count
    return real.astype(np.float64).reshape(blocks, lanes)
