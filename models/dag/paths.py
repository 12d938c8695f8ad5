"""Longest paths in graphs whose arcs may lead back, and cycles of positive length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag.ordering import order_along

__all__ = ["Arcs", "Paths", "forced_order", "longest_paths"]


@dataclass(frozen=True, eq=False)
class Arcs:
    """Arcs ``start(target) >= start(source) + weight``.

    Attributes
    ----------
    source, target, weight
        int64 (a,), tasks and ticks.
    from_end
        int64 (a,), ticks that ``start(target)`` is at least later than the *end* of the source.
    """

    source: IntArray
    target: IntArray
    weight: IntArray
    from_end: IntArray


@dataclass(frozen=True)
class Paths:
    """Longest paths to every task.

    Attributes
    ----------
    value
        Length of the longest path to each task, its initial value included.
    parent
        The task before it on that path, -1 where the path begins.
    cycle
        Tasks of a cycle of positive length, in order; the values mean nothing then.
    """

    value: list[int]
    parent: list[int]
    cycle: list[int] | None = None

    def path_to(self, task: int) -> list[int]:
        """Return the tasks of the longest path that ends at ``task``."""
        path = [task]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        return path[::-1]


def forced_order(n: int, arcs: Arcs) -> list[int]:
    """Order tasks along the arcs of non-negative weight; cycles are cut somewhere."""
    successors: list[list[int]] = [[] for _ in range(n)]
    keep = arcs.weight >= 0
    for i, j in zip(arcs.source[keep].tolist(), arcs.target[keep].tolist(), strict=True):
        successors[i].append(j)
    return order_along(successors)


def longest_paths(arcs: Arcs, position: IntArray, initial: Sequence[int]) -> Paths:
    """Return the longest path to every task, each starting at the initial value of some task.

    Sweeps the arcs that follow ``position`` in that order, then the others in reverse, until
    nothing changes (Yen, "An algorithm for finding shortest routes from all source nodes to a
    given destination in general networks", Quarterly of Applied Mathematics 27, 1970): one
    sweep if no arc leads back. The parents have a cycle after finitely many sweeps if and
    only if some cycle has positive length (Cherkassky and Goldberg, "Negative-cycle
    detection algorithms", Mathematical Programming 85, 1999).
    """
    value, parent = list(initial), [-1] * len(initial)
    along = position[arcs.source] < position[arcs.target]
    ahead = _sorted_arcs(arcs, along, position)
    back = _sorted_arcs(arcs, ~along, -position)
    while True:
        _sweep(ahead, value, parent)
        if not _sweep(back, value, parent):
            return Paths(value, parent)
        cycle = _find_cycle(parent)
        if cycle is not None:
            return Paths(value, parent, cycle)


_Columns: TypeAlias = tuple[list[int], list[int], list[int]]
"""Sources, targets and weights of arcs, in the order of a sweep."""


def _sorted_arcs(arcs: Arcs, chosen: BoolArray, key: IntArray) -> _Columns:
    index = np.flatnonzero(chosen)
    index = index[np.argsort(key[arcs.source[index]], kind="stable")]
    return arcs.source[index].tolist(), arcs.target[index].tolist(), arcs.weight[index].tolist()


def _sweep(arcs: _Columns, value: list[int], parent: list[int]) -> bool:
    """Lengthen paths along the arcs in order; tell whether any became longer."""
    changed = False
    for i, j, weight in zip(*arcs, strict=True):
        length = value[i] + weight
        if length > value[j]:
            value[j] = length
            parent[j] = i
            changed = True
    return changed


def _find_cycle(parent: Sequence[int]) -> list[int] | None:
    """Return a cycle of the parents in the direction of the arcs, least task first."""
    seen = [-1] * len(parent)
    for root in range(len(parent)):
        task = root
        while task >= 0 and seen[task] < 0:
            seen[task] = root
            task = parent[task]
        if task >= 0 and seen[task] == root:
            return _cycle_through(parent, task)
    return None


def _cycle_through(parent: Sequence[int], task: int) -> list[int]:
    cycle = [task]
    while parent[cycle[-1]] != task:
        cycle.append(parent[cycle[-1]])
    cycle.reverse()
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]
