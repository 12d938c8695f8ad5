"""Classes of identical jobs: a million jobs of a few hundred kinds need one variable each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray

__all__ = ["JobClasses", "classes_of"]


@dataclass(frozen=True, eq=False)
class JobClasses:
    """n jobs in k classes of equal rows.

    Attributes
    ----------
    member
        int64 (n,), class of each job.
    first
        int64 (k,), the first job of each class; classes are numbered in this order.
    count
        int64 (k,), jobs of each class.
    """

    member: IntArray
    first: IntArray
    count: IntArray


def classes_of(*columns: FloatArray) -> JobClasses:
    """Return the classes of jobs whose rows are equal in every column.

    Rows are compared by a 64-bit hash and then exactly, so that equal hashes of unequal rows
    are told apart; 0.0 and -0.0 count as equal, NaN as equal to NaN.

    Parameters
    ----------
    columns
        Each float64 (n,) or (n, any).
    """
    rows = [column if column.ndim == 2 else column[:, None] for column in columns]
    table = np.ascontiguousarray(np.hstack(rows)) + 0.0  # -0.0 becomes 0.0
    keys = table.view(np.uint64)
    hashed = _hash(keys)
    _, first, member = np.unique(hashed, return_index=True, return_inverse=True)
    if not (keys == keys[first[member]]).all():
        _, first, member = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        member = member.reshape(-1)
    order = np.argsort(first, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    member = rank[member].astype(np.int64)
    return JobClasses(member, first[order].astype(np.int64), np.bincount(member).astype(np.int64))


def _hash(keys: np.ndarray) -> np.ndarray:
    """Mix the bits of each row into one number (multiply and shift, as FNV and splitmix do)."""
    mixed = np.full(len(keys), 0xCBF29CE484222325, dtype=np.uint64)
    for j in range(keys.shape[1]):
        mixed ^= keys[:, j]
        mixed *= np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed
