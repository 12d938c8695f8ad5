"""Compiled loops that bound what any loads can reach, and that enumerate loads under the bound."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.coded.load_kernels import Table
from allocsolve.models.kernels import kernel

__all__ = [
    "COMPLETE",
    "FOUND",
    "PAUSED",
    "adaptive_values",
    "block_ceiling",
    "enumerate_loads",
    "warm",
]

COMPLETE, PAUSED, FOUND = 0, 1, 2
"""How an enumeration returns: at its end, with its budget used up, with loads to look at."""

_ROUNDING = 1e-12

_LARGEST = 6
"""Nodes of a block at most."""


@kernel
def adaptive_values(
    table: Table,
    caps: IntArray,
    price: FloatArray,
    need: int,
    out: FloatArray,
) -> None:
    """Compute the most that can be gained if each load may depend on what arrived before.

    ``out[k, i, s] = max_l (p W(s - l) + (1 - p) W(s)) - price l`` with ``W = out[k, i + 1]``
    and p the probability that the load l of node i arrives by time k: nodes i, i + 1, .. are
    asked one after another for the last s units. Loads that are fixed beforehand are one
    such plan, so nothing of them can be better.

    Parameters
    ----------
    table
        With one result for each load.
    out
        float64 (times, n + 1, need + 1), filled; 1 where nothing is missing.
    """
    late, _, first, class_of = table
    nodes = class_of.shape[0]
    for k in range(late.shape[0]):
        out[k, nodes, :] = 0.0
        out[k, nodes, 0] = 1.0
        for i in range(nodes - 1, -1, -1):
            start = first[class_of[i], 1] - 1
            for s in range(need + 1):
                out[k, i, s] = out[k, i + 1, s]
            for load in range(1, min(caps[i], need) + 1):
                tail = late[k, start + load]
                if tail >= 1.0:
                    break  # neither does a larger load arrive
                _try(out[k, i + 1], out[k, i], load, tail, price[i] * load, need)


@kernel
def _try(
    after: FloatArray, best: FloatArray, load: int, tail: float, paid: float, need: int
) -> None:
    """Raise the values of a node to those that it has with a load."""
    gain = after[load : need + 1] * tail + (1.0 - tail) * after[: need + 1 - load] - paid
    best[load : need + 1] = np.maximum(best[load : need + 1], gain)


@kernel
def block_ceiling(
    table: Table, caps: IntArray, price: FloatArray, need: int, most: float, out: FloatArray
) -> None:
    """Compute what :func:`adaptive_values` has for all nodes, if they are asked in blocks.

    The loads of a block are fixed together, before any of it has answered, so less depends
    on what arrived and the value is lower. The last nodes are put into blocks first.

    Parameters
    ----------
    most
        Steps that a block may take, some nanoseconds each.
    out
        float64 (times,), filled.
    """
    late, _, first, class_of = table
    nodes = class_of.shape[0]
    after, best, fresh = np.empty(need + 1), np.empty(need + 1), np.empty(need + 1)
    tops = np.zeros(nodes, np.int64)
    for k in range(late.shape[0]):
        for i in range(nodes):
            tops[i] = 0
            start = first[class_of[i], 1] - 1
            while tops[i] < min(caps[i], need) and late[k, start + tops[i] + 1] < 1.0:
                tops[i] += 1
        after[:] = 0.0
        after[0] = 1.0
        end = nodes
        while end > 0:
            begin, plans = end - 1, 2.0 * (tops[end - 1] + 1) * need
            while begin > 0 and end - begin < _LARGEST:
                plans *= 2.0 * (tops[begin - 1] + 1)
                if plans > most:
                    break
                begin -= 1
            best[:] = after
            if end - begin == 1:
                start = first[class_of[begin], 1] - 1
                for load in range(1, tops[begin] + 1):
                    tail = late[k, start + load]
                    _try(after, best, load, tail, price[begin] * load, need)
            else:
                _ask_block(late[k], first, class_of, tops, price, begin, end, after, best, fresh)
            after[:] = best
            end = begin
        out[k] = after[need]


@kernel
def _ask_block(
    late: FloatArray,
    first: IntArray,
    class_of: IntArray,
    tops: IntArray,
    price: FloatArray,
    begin: int,
    end: int,
    after: FloatArray,
    best: FloatArray,
    fresh: FloatArray,
) -> None:
    """Raise the values of a block to the best of all its loads; nodes alike get rising ones."""
    size, need = end - begin, after.shape[0] - 1
    loads = np.zeros(size, np.int64)
    sums, chance = np.zeros(2**size, np.int64), np.ones(2**size)
    while True:
        place = size - 1
        while place >= 0 and loads[place] == tops[begin + place]:
            place -= 1
        if place < 0:
            return
        loads[place] += 1
        for later in range(place + 1, size):
            alike = class_of[begin + later] == class_of[begin + later - 1]
            loads[later] = loads[later - 1] if alike else 0
        states, paid = 1, 0.0
        for i in range(size):
            paid += price[begin + i] * loads[i]
            if loads[i] == 0:
                continue
            tail = late[first[class_of[begin + i], 1] - 1 + loads[i]]
            for x in range(states):
                sums[states + x] = min(sums[x] + loads[i], need)
                chance[states + x] = chance[x] * (1.0 - tail)
                chance[x] *= tail
            states *= 2
        fresh[:] = -paid
        for x in range(states):
            fresh[: sums[x] + 1] += chance[x]
            fresh[sums[x] + 1 :] += chance[x] * after[1 : need + 1 - sums[x]]
        best[1:] = np.maximum(best[1:], fresh[1:])
        sums[0], chance[0] = 0, 1.0


@kernel
def enumerate_loads(
    table: Table,
    caps: IntArray,
    price: FloatArray,
    measure: FloatArray,
    limits: FloatArray,
    values: FloatArray,
    state: FloatArray,
    loads: IntArray,
    place: IntArray,
    budget: int,
) -> int:
    """Go on with a depth-first search over loads, node by node.

    With the loads of the first nodes fixed, the rest is bounded by ``values``. Nodes of a class
    stand side by side and get rising loads.

    Parameters
    ----------
    measure
        float64 (times,), non-negative: the score of loads is ``measure . survival``.
    limits
        float64 (3,): the largest total load, the cost and the score that must not be reached.
    values
        Filled by :func:`adaptive_values` with price 0.
    state
        float64 (n + 1, times, need + 1): probabilities of what is missing before each node,
        changed; ``state[0, :, need]`` is 1 at the beginning.
    loads
        int64 (n,), changed; where they are the result, all of them are fixed.
    place
        int64 (2,), the node that is next and the loads that were tried, changed. At the
        beginning the node is 0 and ``loads[0]`` is -1.

    Returns
    -------
    int
        :data:`COMPLETE`, :data:`PAUSED` or :data:`FOUND`.
    """
    late, _, first, class_of = table
    nodes, need = class_of.shape[0], state.shape[2] - 1
    while place[0] >= 0:
        if budget <= 0:
            return PAUSED
        budget -= 1
        place[1] += 1
        i = place[0]
        loads[i] += 1
        total, cost = 0, 0.0
        for v in range(i + 1):
            total += loads[v]
            cost += price[v] * loads[v]
        if loads[i] > caps[i] or total > limits[0] or cost >= limits[1]:
            place[0] -= 1
            continue
        _assign(late, first[class_of[i], 1] - 1 + loads[i], loads[i], state[i], state[i + 1], need)
        score = 0.0
        for k in range(late.shape[0]):
            reached = 0.0
            for s in range(need + 1):
                reached += state[i + 1, k, s] * values[k, i + 1, s]
            score += measure[k] * max(0.0, 1.0 - reached)
        if score >= limits[2] + _ROUNDING:
            continue
        if i + 1 < nodes:
            place[0] = i + 1
            loads[i + 1] = loads[i] - 1 if class_of[i + 1] == class_of[i] else -1
        elif total >= need:
            return FOUND
    return COMPLETE


@kernel
def _assign(
    late: FloatArray,
    column: int,
    load: int,
    before: FloatArray,
    after: FloatArray,
    need: int,
) -> None:
    """Let a load arrive or not, at each time."""
    for k in range(late.shape[0]):
        if load == 0:
            for s in range(need + 1):
                after[k, s] = before[k, s]
            continue
        tail = late[k, column]
        for s in range(need + 1):
            after[k, s] = tail * before[k, s]
        after[k, 0] += (1.0 - tail) * before[k, 0]
        for s in range(1, need + 1):
            after[k, max(s - load, 0)] += (1.0 - tail) * before[k, s]


def warm() -> None:
    """Compile the kernels, or load them from the cache."""
    late, first = np.array([[0.5, 0.25]]), np.array([[0, 0, 1, 2]])
    table = Table.of(late, np.ones(2, np.int64), first, np.zeros(2, np.int64))
    caps, price, values = integers([2, 2]), np.zeros(2), np.empty((1, 3, 3))
    adaptive_values(table, caps, price, 2, values)
    block_ceiling(table, caps, price, 2, 1e3, np.empty(1))
    state = np.zeros((3, 1, 3))
    state[0, :, 2] = 1.0
    loads, place = np.full(2, -1, np.int64), np.zeros(2, np.int64)
    limits = np.array([4.0, np.inf, 1.0])
    enumerate_loads(table, caps, price, np.ones(1), limits, values, state, loads, place, 9)
