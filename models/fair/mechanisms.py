"""Mechanisms that change the shares of a Nash allocation."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray

__all__ = ["partial_allocation_factors"]


def partial_allocation_factors(
    utilities: FloatArray, without: FloatArray, weights: FloatArray
) -> FloatArray:
    """Return the part of its Nash shares that each job keeps, float64 (n,) in (0, 1].

    ``f_i = (prod_k U_k^w_k / prod_k U_k(without i)^w_k)^(1 / w_i)`` over the other jobs k:
    what the others lose by the presence of i. Truthful, and at least 1/e of the Nash shares
    (Cole, Gkatzelis, Goel, "Mechanism Design for Fair Division", EC 2013, section 3).

    Parameters
    ----------
    utilities
        float64 (n,), utilities of the Nash allocation.
    without
        float64 (n, n), row i: utilities of the Nash allocation without job i; the diagonal
        does not count.
    weights
        float64 (n,), above 0.
    """
    with np.errstate(divide="ignore"):
        lost = weights * (np.log(utilities)[None, :] - np.log(without))
    np.fill_diagonal(lost, 0.0)
    factors: FloatArray = np.exp(lost.sum(axis=1) / weights)
    return factors
