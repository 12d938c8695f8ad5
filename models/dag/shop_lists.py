"""Lists of operations of a shop: every list that keeps the order of the jobs is a schedule.

So a crossover of two lists needs no repair, unlike one of orders on machines.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.anneal_state import draw
from allocsolve.models.dag.shop_data import Shop
from allocsolve.models.dag.shop_state import (
    DURATION,
    MAKESPAN,
    Orders,
    length_on,
    link,
    longest_paths,
)
from allocsolve.models.kernels import inlined, kernel

__all__ = ["arrange", "dispatch", "mix"]

_NOISE = 2**20
"""Steps in which the noise of the dispatching rule is drawn."""


@kernel
def arrange(orders: Orders, listed: IntArray, machine: IntArray) -> None:
    """Put the operations on their machines, int64 (n,), in the order of a list."""
    table, first = orders.table, orders.first
    last = np.full(first.size, -1, np.int64)
    first[:] = -1
    for place in range(listed.size):
        operation = listed[place]
        on = machine[operation]
        table[operation, DURATION] = length_on(table, orders.way, operation, on)
        link(table, first, operation, last[on], on)
        last[on] = operation
    orders.field[MAKESPAN] = longest_paths(table)


@kernel
def dispatch(shop: Shop, listed: IntArray, machine: IntArray, field: IntArray) -> None:
    """Write a random schedule without delay as a list: the earliest start, then most work left.

    ``field`` holds the state of the generator.
    """
    jobs = shop.job_offset.size - 1
    place, ready = shop.job_offset[:-1].copy(), np.zeros(jobs, np.int64)
    free, left = np.zeros(shop.machines, np.int64), np.zeros(jobs, np.int64)
    for job in range(jobs):
        for operation in range(shop.job_offset[job], shop.job_offset[job + 1]):
            left[job] += shop.shortest[operation]
    most = left.max() + 1
    for count in range(listed.size):
        best, chosen, chosen_way = 0.0, -1, -1
        for job in range(jobs):
            if place[job] == shop.job_offset[job + 1]:
                continue
            way = _first_end(shop, place[job], ready[job], free)
            start = max(ready[job], free[shop.way_machine[way]])
            share = left[job] * (1.0 - draw(field, _NOISE) / _NOISE) / most
            if chosen < 0 or start - share < best:
                best, chosen, chosen_way = start - share, job, way
        operation, on = place[chosen], shop.way_machine[chosen_way]
        listed[count], machine[operation] = operation, on
        end = max(ready[chosen], free[on]) + shop.way_duration[chosen_way]
        ready[chosen], free[on] = end, end
        left[chosen] -= shop.shortest[operation]
        place[chosen] += 1


@inlined
def _first_end(shop: Shop, operation: int, ready: int, free: IntArray) -> int:
    """Return the way in which an operation ends first."""
    best, chosen = 0, -1
    for way in range(shop.way_offset[operation], shop.way_offset[operation + 1]):
        end = max(ready, free[shop.way_machine[way]]) + shop.way_duration[way]
        if chosen < 0 or end < best:
            best, chosen = end, way
    return chosen


@kernel
def mix(one: IntArray, two: IntArray, child: IntArray, field: IntArray) -> None:
    """Write a crossover of two lists: a stretch of the one comes in the order of the other.

    Each is int64 (2, n): the list, and the machine of every operation. The operations of the
    stretch take their machines from the other list too. ``field``: state of the generator.
    """
    n = one.shape[1]
    size = n // 4 + draw(field, n // 2 + 1)
    first = draw(field, n - size + 1)
    used = np.zeros(n, np.bool_)
    child[1] = one[1]
    for place in range(first):
        child[0, place] = one[0, place]
        used[one[0, place]] = True
    end, at = first, 0
    while end < first + size:
        operation = two[0, at]
        if not used[operation]:
            child[0, end], used[operation] = operation, True
            child[1, operation] = two[1, operation]
            end += 1
        at += 1
    for place in range(first, n):
        if not used[one[0, place]]:
            child[0, end] = one[0, place]
            end += 1
