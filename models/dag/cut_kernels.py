"""Compiled loops of the cut paths: times between all pairs of tasks, nearest pairs first.

What they compute is said in :mod:`allocsolve.models.dag.cut_paths`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.kernels import kernel

__all__ = ["Desk", "Gaps", "View", "fill_gaps"]

NONE = 2**60
"""Time of a set of tasks that fits on no node, and before tasks that do not count."""


class View(NamedTuple):
    """The graph with a source 0 and a sink n + 1 around its n tasks in topological order.

    Attributes
    ----------
    source, target, lag, delay
        int64 (e,): edges by source, and the least delay between two nodes (0: no need to cut
        or not to cut the edge).
    offset
        int64 (n + 3,): the edges that leave task t are ``offset[t] : offset[t + 1]``.
    least
        int64 (n + 2,): shortest durations.
    reach
        bool (n + 2, n + 2): whether a path leads from one task to the other.
    duration
        int64 (n + 2, K), ``most`` where a task cannot run; nodes that are alike count once.
    memory, group, group_memory
        int64: memory of a task, its group or -1, and the memory of all tasks of a group.
    slots, room
        int64 (K,): slots and memory of these nodes.
    most
        No time between tasks is said to be longer.
    """

    source: IntArray
    target: IntArray
    lag: IntArray
    delay: IntArray
    offset: IntArray
    least: IntArray
    reach: BoolArray
    duration: IntArray
    memory: IntArray
    group: IntArray
    group_memory: IntArray
    slots: IntArray
    room: IntArray
    most: int


class Gaps(NamedTuple):
    """Least times between tasks, int64 (n + 2, n + 2); -1 without a path or not filled yet.

    ``ahead[a, b]`` and ``back[b, a]`` count from the end of a to the start of b.
    """

    ahead: IntArray
    back: IntArray


class Desk(NamedTuple):
    """Room for one pair of tasks: those between, edges, and sets of tasks by their root."""

    inner: IntArray
    cost: IntArray
    edge: IntArray
    parent: IntArray
    memory: IntArray
    work: IntArray
    before: IntArray
    after: IntArray
    first: IntArray


@kernel
def _collect(view: View, gaps: Gaps, a: int, b: int, desk: Desk) -> tuple[int, int, int]:
    """List what lies between a and b.

    Returns the longest way without cuts, the number of tasks, and that of edges with a delay.
    """
    longest, tasks, count = 0, 0, 0
    for c in range(a, b):
        if c == a:
            way = 0
        elif gaps.ahead[a, c] < 0 or gaps.back[b, c] < 0:
            continue
        else:
            desk.inner[tasks] = c
            tasks += 1
            way = gaps.ahead[a, c] + view.least[c]
            longest = max(longest, way + gaps.back[b, c])
        for q in range(view.offset[c], view.offset[c + 1]):
            v = view.target[q]
            rest = 0 if v == b else view.least[v] + gaps.back[b, v]
            if v != b and gaps.back[b, v] < 0:
                continue
            longest = max(longest, way + view.lag[q] + rest)
            if view.delay[q] > 0:
                desk.cost[count] = -(way + view.lag[q] + rest + view.delay[q])
                desk.edge[count] = q
                count += 1
    return longest, tasks, count


@kernel
def _keep_longer(desk: Desk, count: int, time: int) -> int:
    """Leave out the edges that cannot lengthen the way; return how many are left."""
    kept = 0
    for place in range(count):
        if -desk.cost[place] > time:
            desk.cost[kept], desk.edge[kept] = desk.cost[place], desk.edge[place]
            kept += 1
    return kept


@kernel
def _lay_out(view: View, gaps: Gaps, a: int, b: int, desk: Desk, tasks: int) -> int:
    """Put every task into a set of its own, or of its group; return the time of the longest."""
    desk.inner[tasks], desk.inner[tasks + 1] = a, b
    desk.first[:] = -1
    longest = 0
    for place in range(tasks + 2):
        t = desk.inner[place]
        desk.parent[t], desk.memory[t] = t, view.memory[t]
        if place < tasks:
            desk.work[t] = view.duration[t]
            desk.before[t], desk.after[t] = gaps.ahead[a, t], gaps.back[b, t]
        else:
            desk.work[t] = 0
            desk.before[t], desk.after[t] = NONE, NONE
        group = view.group[t]
        if group >= 0:
            if desk.first[group] < 0:
                desk.first[group] = t
                desk.memory[t] = view.group_memory[group]
            else:
                desk.memory[t] = 0
                longest = max(longest, _unite(view, desk, desk.first[group], t))
    return longest


@kernel
def _root(parent: IntArray, task: int) -> int:
    while parent[task] != task:
        parent[task] = parent[parent[task]]
        task = parent[task]
    return task


@kernel
def _unite(view: View, desk: Desk, a: int, b: int) -> int:
    """Unite the sets of two tasks; return the least time between a and b if it is on one node."""
    x, y = _root(desk.parent, a), _root(desk.parent, b)
    if x == y:
        return 0
    desk.parent[y] = x
    desk.memory[x] += desk.memory[y]
    desk.before[x] = min(desk.before[x], desk.before[y])
    desk.after[x] = min(desk.after[x], desk.after[y])
    least = NONE
    for k in range(view.slots.size):
        work = min(desk.work[x, k] + desk.work[y, k], NONE)
        desk.work[x, k] = work
        if desk.memory[x] > view.room[k]:
            continue
        time = 0
        if work > 0:
            time = desk.before[x] - (-work // view.slots[k]) + desk.after[x]
        least = min(least, time)
    return least


@kernel
def _between(view: View, gaps: Gaps, a: int, b: int, desk: Desk) -> int:
    """Return the least time from the end of a to the start of b."""
    time, tasks, count = _collect(view, gaps, a, b, desk)
    count = _keep_longer(desk, count, time)
    if count == 0:
        return min(time, view.most)
    time, last = max(time, _lay_out(view, gaps, a, b, desk, tasks)), NONE
    for place in np.argsort(desk.cost[:count], kind="mergesort"):
        cost = -desk.cost[place]
        if time >= cost:
            break
        q = desk.edge[place]
        time = max(time, _unite(view, desk, view.source[q], view.target[q]))
        last = cost
    return min(time, last, view.most)


@kernel
def fill_gaps(view: View, gaps: Gaps, desk: Desk, row: int, budget: int) -> int:
    """Fill rows of the gaps upwards from a row; return the next one.

    Stops after about ``budget`` looks at tasks and edges.
    """
    while row >= 0 and budget > 0:
        for b in range(row + 1, view.least.size):
            if view.reach[row, b]:
                budget -= b - row + view.offset[b] - view.offset[row]
                gap = _between(view, gaps, row, b, desk)
                gaps.ahead[row, b] = gap
                gaps.back[b, row] = gap
        row -= 1
    return row
