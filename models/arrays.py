"""Checked read-only arrays: the form in which problems store their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

__all__ = [
    "BoolArray",
    "FloatArray",
    "IntArray",
    "booleans",
    "frozen",
    "integers",
    "is_uniform",
    "offsets",
    "uniform_table",
]

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]

ScalarT = TypeVar("ScalarT", bound=np.generic)


def integers(values: Iterable[int]) -> IntArray:
    """Return ``values`` as a read-only int64 vector."""
    array = np.array(list(values), dtype=np.int64)
    array.setflags(write=False)
    return array


def booleans(values: Iterable[bool]) -> BoolArray:
    """Return ``values`` as a read-only boolean vector."""
    array = np.array(list(values), dtype=np.bool_)
    array.setflags(write=False)
    return array


def frozen(array: IntArray) -> IntArray:
    """Return ``array`` as a contiguous int64 array that cannot be written."""
    fixed = np.ascontiguousarray(array, dtype=np.int64)
    fixed.setflags(write=False)
    return fixed


def offsets(counts: Sequence[int] | IntArray) -> IntArray:
    """Return the row offsets of a compressed-sparse-row table, shape (len(counts) + 1,)."""
    array = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(np.array(counts, dtype=np.int64), out=array[1:])
    array.setflags(write=False)
    return array


def uniform_table(size: int, value: npt.NDArray[ScalarT], own: int) -> npt.NDArray[ScalarT]:
    """Return a read-only square table of one value, with another one on the diagonal.

    All rows are windows of one line, so that it takes ``2 * size`` numbers of memory.

    Parameters
    ----------
    value
        (1,), off the diagonal.
    own
        On the diagonal.
    """
    line = np.repeat(value, max(2 * size - 1, 0))
    line[size - 1 : size] = own
    line.setflags(write=False)
    if not size:
        return line.reshape(0, 0)
    return sliding_window_view(line, size)[::-1]


def is_uniform(table: npt.NDArray[ScalarT]) -> bool:
    """Whether a table is surely of the form that :func:`uniform_table` returns."""
    step = table.itemsize
    return len(table) < 2 or table.strides == (-step, step)
