"""Which sets of nodes decode a gradient, by the ranks of an encoding matrix.

A set of nodes decodes if the all-ones vector lies in the span of its rows. Where no matrix is
given, coverage is the certificate: if every partition is on at least ``s + 1`` nodes, a matrix
with these supports exists from which any n - s rows decode. (Take distinct x_i != 1 and the
(s+1) x n Vandermonde matrix C of the x_i; column j of B solves C[:, supp_j] b = 1, which has a
solution because s + 1 columns of C are a regular matrix; for a set S of s stragglers
[1 | C[:, S]] is again a regular Vandermonde matrix, so some row vector a = u C vanishes on S and
has a B = 1. Construction of Tandon et al. 2017 and of Wang, Guo, Tang et al. 2019.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.coded.answer import Entry

__all__ = ["MOST_SETS", "Decoder", "repetition_error", "straggler_sets"]

MOST_SETS = 100_000
"""Sets of stragglers that are tried one by one; of more sets a part is tried."""

_RESIDUAL = 1e-6
"""Largest relative residual of the all-ones vector that counts as decoded."""


@dataclass(frozen=True, eq=False)
class Decoder:
    """An encoding matrix with a memory of the sets that it decodes.

    Attributes
    ----------
    matrix
        (n, partitions), real or complex.
    stragglers
        Number of nodes that may be missing.
    """

    matrix: npt.NDArray[np.complex128] | FloatArray
    stragglers: int
    _known: dict[int, bool] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, rows: Sequence[Sequence[Entry]], nodes: int, stragglers: int) -> Decoder:
        """Take the rows of a matrix, one for each node."""
        matrix = np.array([list(row) for row in rows]).reshape(nodes, -1)
        return cls(matrix if np.iscomplexobj(matrix) else matrix.astype(np.float64), stragglers)

    def decodes(self, nodes: Sequence[int]) -> bool:
        """Whether the rows of some nodes span the all-ones vector."""
        key = sum(1 << node for node in nodes)
        if key not in self._known:
            self._known[key] = self._spans(sorted(nodes))
        return self._known[key]

    def _spans(self, nodes: list[int]) -> bool:
        rows = self.matrix[nodes]
        ones = np.ones(self.matrix.shape[1], dtype=self.matrix.dtype)
        if not nodes:
            return False
        weights = np.linalg.lstsq(rows.T, ones, rcond=None)[0]
        residual = np.linalg.norm(rows.T @ weights - ones)
        return bool(residual <= _RESIDUAL * math.sqrt(len(ones)))

    def times(self, times: FloatArray, node: IntArray) -> FloatArray:
        """Return when a decodable set has answered, float64 (draws,).

        Parameters
        ----------
        times
            float64 (draws, m), when each result arrives.
        node
            int64 (m,), whose result it is; one of each node.
        """
        order = np.argsort(times, axis=1, kind="stable")
        found = np.full(len(times), np.inf)
        for k, row in enumerate(order):
            count = self._first(node[row].tolist())
            if count is not None:
                found[k] = times[k, row[count - 1]]
        return found

    def _first(self, ranked: list[int]) -> int | None:
        """Return how many of the nodes, in this order, are the first ones that decode."""
        low, high = 0, len(ranked)
        if not self.decodes(ranked):
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.decodes(ranked[:middle]) else (middle, high)
        return high

    def failing_set(self) -> tuple[int, ...] | None:
        """Return stragglers without whom the others do not decode, None if none were found."""
        n = len(self.matrix)
        for missing in straggler_sets(n, self.stragglers):
            if not self.decodes([i for i in range(n) if i not in missing]):
                return missing
        return None


def straggler_sets(nodes: int, stragglers: int) -> Iterator[tuple[int, ...]]:
    """Yield all sets of stragglers, or a part of them if they are more than :data:`MOST_SETS`.

    The part holds the ``nodes`` sets of consecutive nodes (the worst ones for codes with
    points in order) and sets drawn from a generator with a fixed seed.
    """
    if math.comb(nodes, stragglers) <= MOST_SETS:
        yield from itertools.combinations(range(nodes), stragglers)
        return
    for first in range(nodes):
        yield tuple(sorted((first + k) % nodes for k in range(stragglers)))
    draw = np.random.Generator(np.random.PCG64(0))
    for _ in range(MOST_SETS // 100):
        yield tuple(sorted(draw.choice(nodes, stragglers, replace=False).tolist()))


def repetition_error(nodes: int, copies: int, answers: int) -> float:
    """Return the expected squared error of a gradient from ``answers`` random nodes.

    Fractional repetition on ``nodes`` nodes with as many partitions, each on ``copies`` nodes,
    decoded optimally: ``n C(n - s, r) / C(n, r)``, the expected number of lost partitions.
    """
    lost = math.comb(nodes - copies, answers)
    return nodes * lost / math.comb(nodes, answers)
