"""Checked read-only arrays: the form in which problems store their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["BoolArray", "FloatArray", "IntArray", "booleans", "integers", "matrix", "offsets"]

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


def matrix(rows: Sequence[Sequence[int]], columns: int) -> IntArray:
    """Return ``rows`` as a read-only int64 matrix of shape (len(rows), columns)."""
    array = np.array(rows, dtype=np.int64).reshape(len(rows), columns)
    array.setflags(write=False)
    return array


def offsets(counts: Sequence[int]) -> IntArray:
    """Return the row offsets of a compressed-sparse-row table, shape (len(counts) + 1,)."""
    array = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(np.array(counts, dtype=np.int64), out=array[1:])
    array.setflags(write=False)
    return array
