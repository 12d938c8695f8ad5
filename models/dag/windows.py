"""The window argument: work that must be done between a head and a tail needs room there.

If tasks that cannot start before ``a`` and must be followed by at least ``b`` hold the energy
``E`` of something with capacity ``c``, the makespan is at least ``a + ceil(E / c) + b``. With
one machine the best window equals the value of Jackson's preemptive schedule (Carlier, "The
one-machine sequencing problem", European Journal of Operational Research 11, 1982).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import IntArray

__all__ = ["SAFE", "Energy", "Window", "best_window", "energies"]

SAFE = 2**62
"""Sums of int64 numbers are exact below this; beyond it Python integers take over."""

_THRESHOLDS = 256
"""At most so many heads and tails are tried; all of them in small instances."""

Energy: TypeAlias = IntArray
"""Non-negative integers: int64 if their sum stays below ``SAFE``, else Python integers in an
array of objects, on which numpy's operations do the same without overflow."""


@dataclass(frozen=True)
class Window:
    """A window with the work that must be done in it.

    Attributes
    ----------
    value
        ``head + ceil(energy / capacity) + tail``.
    head, tail
        The least head and tail of the tasks counted.
    energy
        Their total.
    """

    value: int
    head: int
    tail: int
    energy: int


def energies(amount: IntArray, duration: IntArray) -> Energy:
    """Return ``amount * duration`` exactly, in a type whose sum cannot overflow."""
    largest = float(amount.max(initial=0)) * float(duration.sum(dtype=np.float64))
    if largest < SAFE / 2:
        return amount * duration
    return cast(Energy, amount.astype(object) * duration.astype(object))


def best_window(head: IntArray, tail: IntArray, energy: Energy, capacity: int) -> Window | None:
    """Return the window of the largest value over pairs of heads and tails.

    Parameters
    ----------
    head, tail
        int64 (k,), ticks; tails may be negative (a latest end with its sign turned).
    energy
        (k,), non-negative; tasks of no energy are left out.
    capacity
        Energy that fits into one tick, positive.

    Returns
    -------
    Window or None
        None if no task has energy. Many distinct heads or tails are thinned, which can
        only lower the value.
    """
    busy = np.flatnonzero(energy > 0)
    if not len(busy):
        return None
    head, tail, energy = head[busy], tail[busy], energy[busy]
    lows, row = _thresholds(head)
    highs, column = _thresholds(tail)
    table: Energy = np.zeros((len(lows), len(highs)), energy.dtype)
    np.add.at(table, (row, column), energy)
    table = table[::-1, ::-1].cumsum(axis=0).cumsum(axis=1)[::-1, ::-1]
    value = lows[:, None] - (-table // capacity) + highs[None, :]
    # A window without work proves nothing; the last task of it is in another window.
    value = np.where(table > 0, value, value.min() - 1)
    best, other = np.unravel_index(int(value.argmax()), value.shape)
    return Window(
        value=int(value[best, other]),
        head=int(lows[best]),
        tail=int(highs[other]),
        energy=int(table[best, other]),
    )


def _thresholds(values: IntArray) -> tuple[IntArray, npt.NDArray[np.intp]]:
    """Return increasing thresholds and, for each value, the largest one not above it."""
    distinct = np.unique(values)
    if len(distinct) > _THRESHOLDS:
        distinct = distinct[np.linspace(0, len(distinct) - 1, _THRESHOLDS).astype(np.intp)]
    return distinct, np.searchsorted(distinct, values, side="right") - 1
