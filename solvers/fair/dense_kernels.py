"""A small system of linear equations, solved with the same bytes wherever it runs."""

from __future__ import annotations

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.kernels import merged

__all__ = ["decompose", "solve_decomposed"]


@merged
def decompose(matrix: FloatArray, order: IntArray) -> None:
    """Replace a matrix (k, k) by its triangular factors, with the order of its rows.

    Gaussian elimination with partial pivoting. A singular matrix leaves infinite numbers.
    """
    size = order.size
    for j in range(size):
        order[j] = j
    for j in range(size):
        best = j
        for i in range(j + 1, size):
            if abs(matrix[i, j]) > abs(matrix[best, j]):
                best = i
        if best != j:
            order[j], order[best] = order[best], order[j]
            for k in range(size):
                matrix[j, k], matrix[best, k] = matrix[best, k], matrix[j, k]
        for i in range(j + 1, size):
            matrix[i, j] = matrix[i, j] / matrix[j, j]
            for k in range(j + 1, size):
                matrix[i, k] -= matrix[i, j] * matrix[j, k]


@merged
def solve_decomposed(
    matrix: FloatArray, order: IntArray, right: FloatArray, out: FloatArray
) -> None:
    """Solve for one right side (k,), given the factors of the matrix."""
    size = order.size
    for i in range(size):
        total = right[order[i]]
        for k in range(i):
            total -= matrix[i, k] * out[k]
        out[i] = total
    for back in range(size):
        i = size - 1 - back
        total = out[i]
        for k in range(i + 1, size):
            total -= matrix[i, k] * out[k]
        out[i] = total / matrix[i, i]
