"""The exact law of jobs that need one result for each of some parts: which parts are covered.

Gradients in batches wait for each partition from one of its nodes. The state of all nodes is a
product, far too many for more than a few nodes; which partitions are covered is a set, and nodes
add to it one after another. A node that has sent its first j results has covered a growing set,
so the law of the covered set comes in O(2^partitions) for each result and time. Only products and
sums of non-negative numbers occur.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.coded.completion import Condition

__all__ = ["can_cover", "uncovered"]

_MOST_PARTS = 12
_MOST_WORK = 2**20
"""Sets of parts times results, at most."""
_BLOCK = 2**20
"""Numbers of one block of times."""


def can_cover(conditions: Sequence[Condition], results: int) -> bool:
    """Whether every condition waits for one result, and the sets of them are few enough."""
    single = all(c.need == 1 and bool((c.weights >= 1).all()) for c in conditions)
    few = len(conditions) <= _MOST_PARTS
    return single and few and results << len(conditions) <= _MOST_WORK


def uncovered(
    late: FloatArray, first: IntArray, covers: Sequence[Sequence[int]], parts: int
) -> FloatArray:
    """Return P(some part is not covered), float64 (times,).

    Parameters
    ----------
    late
        float64 (times, m), probability that each result has not arrived; the results of a node
        follow each other in the order in which it sends them.
    first
        int64 (sources + 1,), the results of source v are ``first[v] .. first[v + 1]``.
    covers
        Parts that each result covers, numbers from 0 to ``parts - 1``.
    """
    out = np.empty(len(late))
    step = max(1, _BLOCK >> parts)
    for k in range(0, len(late), step):
        out[k : k + step] = _block(late[k : k + step], first, covers, parts)
    return out


def _block(
    late: FloatArray, first: IntArray, covers: Sequence[Sequence[int]], parts: int
) -> FloatArray:
    chance = np.zeros((len(late), 1 << parts))
    chance[:, 0] = 1.0
    for a, b in itertools.pairwise(first.tolist()):
        moved = chance.copy()
        chance *= late[:, a, None]
        for place in range(a, b):
            for part in covers[place]:
                view = moved.reshape(len(late), -1, 2, 1 << part)
                view[:, :, 1] += view[:, :, 0]
                view[:, :, 0] = 0.0
            after = late[:, place + 1] if place + 1 < b else 1.0
            chance += np.maximum(after - late[:, place], 0.0)[:, None] * moved
    return np.asarray(chance[:, :-1].sum(axis=1))
