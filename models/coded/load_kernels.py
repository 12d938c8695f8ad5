"""Compiled loops over loads: their survival functions, and moves that improve them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, frozen, integers
from allocsolve.models.coded.law_kernels import threshold_survival
from allocsolve.models.kernels import kernel

__all__ = ["Table", "scan_moves", "survival_of", "warm"]


class Table(NamedTuple):
    """The results of each class of nodes for each load, P of them, at some times.

    Attributes
    ----------
    late
        float64 (times, P), the probability that each has not arrived.
    weight
        int64 (P,), units of load that arrive with each.
    first
        int64 (classes, top + 2): those of a node of class c with the load l are
        ``first[c, l] .. first[c, l + 1]``.
    class_of
        int64 (n,), class of each node.
    """

    late: FloatArray
    weight: IntArray
    first: IntArray
    class_of: IntArray

    @classmethod
    def of(cls, late: FloatArray, weight: IntArray, first: IntArray, class_of: IntArray) -> Table:
        """Return a table whose whole numbers cannot be written.

        Loops are compiled for such tables; of others they would be compiled anew.
        """
        return cls(np.ascontiguousarray(late), frozen(weight), frozen(first), frozen(class_of))


@kernel
def survival_of(table: Table, loads: IntArray, need: int, out: FloatArray) -> None:
    """Compute P(job not complete) at each time for the loads of all nodes.

    Parameters
    ----------
    loads
        int64 (n,).
    out
        float64 (times,), filled.
    """
    late, weight, first, class_of = table
    count, sources = 0, 0
    for i in range(loads.shape[0]):
        c = class_of[i]
        size = first[c, loads[i] + 1] - first[c, loads[i]]
        count += size
        if size > 0:
            sources += 1
    mine = np.empty((late.shape[0], count))
    weights = np.empty(count, np.int64)
    begin = np.zeros(sources + 1, np.int64)
    place, source = 0, 0
    for i in range(loads.shape[0]):
        c = class_of[i]
        start, end = first[c, loads[i]], first[c, loads[i] + 1]
        for p in range(start, end):
            weights[place + p - start] = weight[p]
            for k in range(late.shape[0]):
                mine[k, place + p - start] = late[k, p]
        if end > start:
            place += end - start
            source += 1
            begin[source] = place
    threshold_survival(mine, begin, weights, need, out)


@kernel
def scan_moves(
    table: Table,
    measure: FloatArray,
    price: FloatArray,
    caps: IntArray,
    limits: FloatArray,
    need: int,
    moves: IntArray,
    step: int,
    loads: IntArray,
    value: FloatArray,
) -> int:
    """Try moves one by one and keep each that lowers the score; return how many did.

    The score is ``measure . survival``, or, once that is at most ``limits[2]``, the cost of
    the loads less a constant that makes every such score negative.

    Parameters
    ----------
    measure
        float64 (times,).
    price
        float64 (n,), cost of a unit of load.
    limits
        float64 (4,): the largest total load, the largest cost, the survival from which on the
        cost counts (negative: never), and that constant.
    moves
        int64 (m, 2): ``(i, j)`` moves ``step`` units from j to i; j = -1 adds them to i, j = -2
        takes them from i.
    loads
        int64 (n,), changed.
    value
        float64 (1,), the score of the loads, changed.
    """
    found = 0
    out = np.empty(table.late.shape[0])
    for m in range(moves.shape[0]):
        i, j = moves[m, 0], moves[m, 1]
        gain = -step if j == -2 else step
        loads[i] += gain
        if j >= 0:
            loads[j] -= step
        better = False
        if 0 <= loads[i] <= caps[i] and (j < 0 or loads[j] >= 0):
            total, cost = 0, 0.0
            for v in range(loads.shape[0]):
                total += loads[v]
                cost += price[v] * loads[v]
            if need <= total <= limits[0] and cost <= limits[1]:
                survival_of(table, loads, need, out)
                score = 0.0
                for k in range(out.shape[0]):
                    score += measure[k] * out[k]
                if score <= limits[2]:
                    score = cost - limits[3]
                better = score < value[0] - 1e-13 * abs(value[0])
        if better:
            value[0] = score
            found += 1
        else:
            loads[i] -= gain
            if j >= 0:
                loads[j] += step
    return found


def warm() -> None:
    """Compile the kernels, or load them from the cache."""
    late, first = np.array([[0.5, 0.25, 0.75]]), np.array([[0, 0, 1, 3]])
    table = Table.of(late, np.ones(3, np.int64), first, np.zeros(2, np.int64))
    loads, caps = np.ones(2, np.int64), integers([2, 2])
    moves = np.array([[0, 1], [0, -1]], np.int64)
    limits = np.array([4.0, 1.0, -1.0, 0.0])
    scan_moves(table, np.ones(1), np.zeros(2), caps, limits, 1, moves, 1, loads, np.ones(1))
    survival_of(table, loads, 1, np.empty(1))
