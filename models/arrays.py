"""Checked read-only arrays: the form in which problems store their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "FloatArray", "IntArray", "booleans", "frozen", "integers", "offsets"]

IntArray: TypeAlias = npt.NDArray[np.int64]
FloatArray: TypeAlias = npt.NDArray[np.float64]
BoolArray: TypeAlias = npt.NDArray[np.bool_]


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


def offsets(counts: Sequence[int]) -> IntArray:
    """Return the row offsets of a compressed-sparse-row table, shape (len(counts) + 1,)."""
    array = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(np.array(counts, dtype=np.int64), out=array[1:])
    array.setflags(write=False)
    return array
