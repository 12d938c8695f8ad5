"""Sets of tasks no two of which can overlap in time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag.relaxation import Relaxation

__all__ = ["cliques", "excluding"]

_GREEDY_TASKS = 300
"""Up to so many tasks, cliques are also searched in the graph of all conflicts."""

_KEPT = 8
"""So many cliques of that search are worth a window."""

Indices = npt.NDArray[np.intp]


def cliques(relaxation: Relaxation) -> Iterator[Indices]:
    """Yield sets of tasks that cannot overlap, as indices.

    For each renewable resource the tasks that need more than half of its capacity, with the
    best smaller one that still excludes all of them; in small instances also cliques of
    tasks that exclude each other by any resource, node or precedence.
    """
    arrays = relaxation.arrays
    resources = np.flatnonzero(arrays.renewable & (arrays.capacity > 0)).tolist()
    for r in resources:
        yield from excluding(relaxation, r)
    busy = np.flatnonzero(relaxation.min_duration > 0)
    if resources and len(busy) <= _GREEDY_TASKS:
        yield from _greedy_cliques(relaxation, _ranked(relaxation, busy))


def excluding(relaxation: Relaxation, resource: int) -> Iterator[Indices]:
    """Yield sets of tasks that take time, any two of which need more of a resource than there is.

    First those that need more than half of it, then with the best smaller one.
    """
    capacity = int(relaxation.arrays.capacity[resource])
    demand = relaxation.least_demand(resource)
    busy = relaxation.min_duration > 0
    large = np.flatnonzero(busy & (2 * demand > capacity))
    if not len(large):
        return
    yield large
    smallest = int(demand[large].min())
    others = np.flatnonzero(busy & (2 * demand <= capacity) & (demand + smallest > capacity))
    if len(others):
        yield np.append(large, _ranked(relaxation, others)[0])


def _ranked(relaxation: Relaxation, tasks: Indices) -> Indices:
    """Sort tasks by what bounds see of them: the longest first, then by head and tail."""
    keys = (relaxation.tail[tasks], relaxation.head[tasks], -relaxation.min_duration[tasks])
    return tasks[np.lexsort(keys)]


def _greedy_cliques(relaxation: Relaxation, tasks: Indices) -> Iterator[Indices]:
    """Grow a clique from every task, the longest compatible task first; yield the best."""
    conflict = _conflicts(relaxation)[np.ix_(tasks, tasks)]
    duration, head, tail = (
        values[tasks] for values in (relaxation.min_duration, relaxation.head, relaxation.tail)
    )
    found: dict[tuple[int, ...], int] = {}
    for seed in range(len(tasks)):
        clique = _grow(conflict, seed)
        if clique not in found:
            members = list(clique)
            outside = int(head[members].min()) + int(tail[members].min())
            found[clique] = outside + int(duration[members].sum())
    best = sorted(found, key=lambda clique: -found[clique])[:_KEPT]
    yield from (tasks[list(clique)] for clique in best)


def _grow(conflict: BoolArray, seed: int) -> tuple[int, ...]:
    clique, candidates = [seed], conflict[seed].copy()
    while True:
        task = int(candidates.argmax())
        if not candidates[task]:
            return tuple(sorted(clique))
        clique.append(task)
        candidates &= conflict[task]


def _conflicts(relaxation: Relaxation) -> BoolArray:
    """Return which pairs of tasks can never run at the same time, bool (n, n)."""
    arrays = relaxation.arrays
    conflict = _reachable(relaxation)
    conflict |= conflict.T
    for r in np.flatnonzero(arrays.renewable).tolist():
        demand = relaxation.least_demand(r)
        conflict |= demand[:, None] + demand[None, :] > arrays.capacity[r]
    conflict |= _same_machine(relaxation.only_node, arrays.node_slots)
    np.fill_diagonal(conflict, val=False)
    return conflict


def _same_machine(only_node: IntArray, slots: IntArray) -> BoolArray:
    if not len(slots):
        return np.zeros((len(only_node), len(only_node)), np.bool_)
    single = (only_node >= 0) & (slots[only_node] == 1)
    same: BoolArray = (only_node[:, None] == only_node[None, :]) & single[:, None]
    return same


def _reachable(relaxation: Relaxation) -> BoolArray:
    """Return which tasks can only start after the end of which others, bool (n, n)."""
    arcs, position = relaxation.arcs, relaxation.position
    after = np.zeros((len(position), len(position)), np.bool_)
    usable = (arcs.from_end >= 0) & (position[arcs.source] < position[arcs.target])
    index = np.flatnonzero(usable)
    index = index[np.argsort(-position[arcs.source[index]], kind="stable")]
    for i, j in zip(arcs.source[index].tolist(), arcs.target[index].tolist(), strict=True):
        after[i] |= after[j]
        after[i, j] = True
    return after
