"""Compiled loops that choose the loads of two nodes at once, all other loads fixed.

If each node sends one result, what the others have sent by a time has a law that is had from
that of all nodes by taking two of them out again, in O(total load). With it the exact score
of every pair of loads of the two costs a few operations, so a move may be of any size.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.coded.load_kernels import Table
from allocsolve.models.kernels import kernel

__all__ = ["Goal", "scan_pairs", "warm"]


class Goal(NamedTuple):
    """What loads are scored by and what they have to keep.

    Attributes
    ----------
    measure, price, caps, limits
        As in :func:`allocsolve.models.coded.load_kernels.scan_moves`.
    need
        Units that suffice.
    """

    measure: FloatArray
    price: FloatArray
    caps: IntArray
    limits: FloatArray
    need: int


@kernel
def scan_pairs(
    table: Table,
    goal: Goal,
    pairs: IntArray,
    offsets: IntArray,
    loads: IntArray,
    value: FloatArray,
    law: FloatArray,
) -> int:
    """Give pairs of nodes, one after another, their best loads; return how many got better.

    Parameters
    ----------
    table
        With one result for each load.
    pairs
        int64 (m, 2): nodes i and j, or -1 in place of j for i alone.
    offsets
        int64 (k,), changes of a load that are tried; 0 among them.
    loads
        int64 (n,), changed.
    value
        float64 (1,), filled with the score of the loads.
    law
        float64 (times, width): space for the law of what has arrived. Loads that add up to
        ``width`` or more are not looked at.
    """
    _fill(table, loads, law)
    value[0] = _score(goal, loads, law)
    slack = 1e-14 * goal.measure.sum()
    space, count = np.empty((2, law.shape[1])), offsets.shape[0]
    first, second = np.empty(count, np.int64), np.zeros(count, np.int64)
    scores, found = np.empty((count, count)), 0
    for m in range(pairs.shape[0]):
        i, j = pairs[m, 0], pairs[m, 1]
        mine = first[: _choices(offsets, loads[i], goal.caps[i], first)]
        other = second[:1]
        if j >= 0:
            other = second[: _choices(offsets, loads[j], goal.caps[j], second)]
        else:
            other[0] = 0
        scores[:] = 0.0
        _score_pair(table, goal, i, j, loads, law, space, mine, other, scores)
        best = _best(goal, law.shape[1], i, j, loads, mine, other, scores)
        a, b = best // other.shape[0], best % other.shape[0]
        if best < 0 or not scores[a, b] < value[0] - 1e-12 * abs(value[0]) - slack:
            continue
        found += 1
        value[0] = scores[a, b]
        # One node is emptied first: in between no more units than at the end are out.
        _change(table, law, space[0], i, 0, loads)
        if j >= 0:
            _change(table, law, space[0], j, other[b], loads)
        _change(table, law, space[0], i, mine[a], loads)
    return found


@kernel
def _change(
    table: Table, law: FloatArray, space: FloatArray, node: int, load: int, loads: IntArray
) -> None:
    """Give a node another load, and change the law accordingly."""
    late, _, first, class_of = table
    top, row = loads.sum(), first[class_of[node]]
    for k in range(law.shape[0]):
        rest = top - loads[node]
        if loads[node] > 0:
            _take_out(law[k], space, top, loads[node], late[k, row[loads[node]]])
            law[k, : rest + 1] = space[: rest + 1]
            law[k, rest + 1 : top + 1] = 0.0
        if load > 0:
            _bring_in(law[k], rest, load, late[k, row[load]])
    loads[node] = load


@kernel
def _bring_in(law: FloatArray, top: int, load: int, tail: float) -> None:
    """Let a node send a load or not; the sums so far are at most ``top``."""
    for s in range(top, -1, -1):
        law[s + load] += (1.0 - tail) * law[s]
        law[s] *= tail


@kernel
def _choices(offsets: IntArray, load: int, cap: int, out: IntArray) -> int:
    """List the loads that are tried for a node; return how many they are."""
    count = 0
    for k in range(offsets.shape[0]):
        if 0 <= load + offsets[k] <= cap:
            out[count] = load + offsets[k]
            count += 1
    return count


@kernel
def _fill(table: Table, loads: IntArray, law: FloatArray) -> None:
    """Compute the law of what has arrived, all sums of it, at each time."""
    late, _, first, class_of = table
    for k in range(law.shape[0]):
        state, top = law[k], 0
        state[:] = 0.0
        state[0] = 1.0
        for i in range(loads.shape[0]):
            load = loads[i]
            if load > 0:
                _bring_in(state, top, load, late[k, first[class_of[i], load]])
                top += load


@kernel
def _score(goal: Goal, loads: IntArray, law: FloatArray) -> float:
    """Return the score of loads from their law."""
    score, cost = 0.0, 0.0
    for k in range(law.shape[0]):
        score += goal.measure[k] * law[k, : goal.need].sum()
    for i in range(loads.shape[0]):
        cost += goal.price[i] * loads[i]
    return cost - goal.limits[3] if score <= goal.limits[2] else score


@kernel
def _score_pair(
    table: Table,
    goal: Goal,
    i: int,
    j: int,
    loads: IntArray,
    law: FloatArray,
    space: FloatArray,
    mine: IntArray,
    other: IntArray,
    scores: FloatArray,
) -> None:
    """Add up ``measure . survival`` for all loads of the two nodes; the scores are 0 before."""
    late, _, first, class_of = table
    total, need, one = loads.sum(), goal.need, space[0]
    there = np.empty(other.shape[0])
    lower = np.empty(other.shape[0])
    for k in range(late.shape[0]):
        rest, top = law[k], total
        if loads[i] > 0:
            _take_out(rest, one, top, loads[i], late[k, first[class_of[i], loads[i]]])
            rest, top = one, top - loads[i]
        if j >= 0 and loads[j] > 0:
            _take_out(rest, space[1], top, loads[j], late[k, first[class_of[j], loads[j]]])
            rest, top = space[1], top - loads[j]
        # From here on `one` holds P(the others have sent at most s).
        reached = 0.0
        for s in range(min(top + 1, need)):
            reached += rest[s]
            one[s] = reached
        one[min(top + 1, need) : need] = reached
        below = one[need - 1]
        for b in range(other.shape[0]):
            there[b] = 1.0 if other[b] == 0 else late[k, first[class_of[j], other[b]]]
            lower[b] = one[need - 1 - other[b]] if other[b] < need else 0.0
        for a in range(mine.shape[0]):
            tail = 1.0 if mine[a] == 0 else late[k, first[class_of[i], mine[a]]]
            left = need - 1 - mine[a]
            base = one[left] if left >= 0 else 0.0
            for b in range(other.shape[0]):
                both = one[left - other[b]] if left >= other[b] else 0.0
                without = there[b] * below + (1.0 - there[b]) * lower[b]
                beside = there[b] * base + (1.0 - there[b]) * both
                scores[a, b] += goal.measure[k] * (tail * without + (1.0 - tail) * beside)


@kernel
def _take_out(law: FloatArray, out: FloatArray, top: int, load: int, tail: float) -> None:
    """Undo the step of one node in the direction in which errors do not grow."""
    rest = top - load
    if tail >= 0.5:
        factor, back = 1.0 / tail, (1.0 - tail) / tail
        for s in range(min(load, rest + 1)):
            out[s] = law[s] * factor
        for s in range(load, rest + 1):
            out[s] = law[s] * factor - back * out[s - load]
    else:
        factor, back = 1.0 / (1.0 - tail), tail / (1.0 - tail)
        for s in range(rest, max(rest - load, -1), -1):
            out[s] = law[s + load] * factor
        for s in range(rest - load, -1, -1):
            out[s] = law[s + load] * factor - back * out[s + load]


@kernel
def _best(
    goal: Goal,
    width: int,
    i: int,
    j: int,
    loads: IntArray,
    mine: IntArray,
    other: IntArray,
    scores: FloatArray,
) -> int:
    """Return the place of the best allowed loads of two nodes, -1 if none are allowed."""
    _, price, _, limits, need = goal
    total, cost = 0, 0.0
    for v in range(loads.shape[0]):
        if v not in (i, j):
            total += loads[v]
            cost += price[v] * loads[v]
    best, least = -1, np.inf
    for a in range(mine.shape[0]):
        for b in range(other.shape[0]):
            units = total + mine[a] + other[b]
            paid = cost + price[i] * mine[a] + (price[j] * other[b] if j >= 0 else 0.0)
            if units < need or units > limits[0] or units >= width or paid > limits[1]:
                continue
            if scores[a, b] <= limits[2]:
                scores[a, b] = paid - limits[3]
            if scores[a, b] < least:
                best, least = a * other.shape[0] + b, scores[a, b]
    return best


def warm() -> None:
    """Compile the kernels, or load them from the cache."""
    late, first = np.array([[0.5, 0.25]]), np.array([[0, 0, 1, 2]])
    table = Table.of(late, np.ones(2, np.int64), first, np.zeros(2, np.int64))
    loads, caps = np.ones(2, np.int64), integers([2, 2])
    pairs, offsets = np.array([[0, 1], [1, -1]], np.int64), integers([-1, 0, 1])
    limits = np.array([4.0, 1.0, -1.0, 0.0])
    goal = Goal(np.ones(1), np.zeros(2), caps, limits, 1)
    scan_pairs(table, goal, pairs, offsets, loads, np.ones(1), np.empty((1, 5)))
