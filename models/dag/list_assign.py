"""A node for every task when placing them one by one gets stuck.

Memory, tasks that share a node, and missing links make the choice of nodes a packing and
colouring problem of its own. Units (a group of tasks, or a task) are taken largest memory
first (first-fit decreasing; Johnson, "Fast algorithms for bin packing", 1974) or, where
only links are missing, along the edges; each keeps the nodes of its neighbours possible,
and the search goes back a limited number of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.graph import CommGraph

__all__ = ["assign_nodes"]

_STEPS = 200_000
"""Choices after which a search gives up."""


def assign_nodes(graph: CommGraph, stop: Callable[[], bool]) -> IntArray | None:
    """Return a node for each task, int64 (n,); None if none was found.

    First each unit goes where the load stays least, then where it fills the memory best.
    """
    units = _units(graph)
    for tightest in (False, True):
        chosen = _Search(graph, units, stop, tightest=tightest).run()
        if chosen is not None:
            return np.array(chosen, np.int64)[units.of]
    return None


@dataclass(frozen=True, eq=False)
class _Units:
    """What is placed as a whole.

    ``of`` int64 (n,) is the unit of each task; ``work`` the time on each node; ``need`` the
    memory; ``domain`` a bit for each node; ``near`` the units that data passes to or from.
    """

    of: IntArray
    work: list[list[int]]
    need: list[int]
    domain: list[int]
    near: list[set[int]]


def _units(graph: CommGraph) -> _Units:
    keys = np.where(graph.group >= 0, graph.group, graph.n + np.arange(graph.n))
    _, first, of = np.unique(keys, return_index=True, return_inverse=True)
    of = of.astype(np.int64)
    work = np.zeros((len(first), graph.nodes), np.int64)
    np.add.at(work, of, np.where(graph.eligible, graph.duration, 0))
    need = np.zeros(len(first), np.int64)
    np.add.at(need, of, graph.memory)
    domain = [
        sum(1 << k for k, able in enumerate(row) if able) for row in graph.eligible[first].tolist()
    ]
    near: list[set[int]] = [set() for _ in first]
    if not graph.fully_linked:
        sends = graph.edge_data > 0
        for a, b in zip(
            of[graph.edge_source[sends]].tolist(),
            of[graph.edge_target[sends]].tolist(),
            strict=True,
        ):
            if a != b:
                near[a].add(b)
                near[b].add(a)
    return _Units(of, work.tolist(), need.tolist(), domain, near)


class _Search:
    """Depth-first search for a node of every unit."""

    def __init__(
        self, graph: CommGraph, units: _Units, stop: Callable[[], bool], *, tightest: bool
    ) -> None:
        self.units = units
        self.stop = stop
        self.tightest = tightest
        self.slots: list[int] = graph.slots.tolist()
        self.linked = [
            sum(1 << k for k, there in enumerate(row) if there) for row in graph.linked.tolist()
        ]
        self.room: list[int] = graph.node_memory.tolist()
        self.load = [0] * graph.nodes
        self.domain = list(units.domain)
        self.node = [-1] * len(units.need)

    def run(self) -> list[int] | None:
        """Return a node for each unit, or None."""
        order = self._order()
        tries: list[Iterator[int]] = []
        undo: list[list[tuple[int, int]]] = []
        for step in range(_STEPS + len(order)):
            if len(tries) == len(order) and len(undo) == len(order):
                return self.node
            if step % 1024 == 1023 and self.stop():
                return None
            unit = order[len(undo)]
            if len(tries) == len(undo):
                tries.append(iter(self._candidates(unit)))
            if self._advance(unit, tries[-1], undo):
                continue
            tries.pop()
            if not undo:
                return None
            self._take_back(order[len(undo) - 1], undo.pop())
        return None

    def _advance(
        self, unit: int, candidates: Iterator[int], undo: list[list[tuple[int, int]]]
    ) -> bool:
        """Put a unit on the next node that leaves its neighbours one; False if there is none."""
        for node in candidates:
            changed = self._forward(unit, node)
            if changed is not None:
                self._load(unit, node, 1)
                self.node[unit] = node
                undo.append(changed)
                return True
        return False

    def _order(self) -> list[int]:
        """Return the units, largest memory first, and along the edges among equal ones."""
        return sorted(self._along_edges(), key=lambda unit: -self.units.need[unit])

    def _along_edges(self) -> list[int]:
        seen = [False] * len(self.node)
        order: list[int] = []
        for root in range(len(seen)):
            if seen[root]:
                continue
            seen[root] = True
            group = [root]
            for unit in group:
                for other in sorted(self.units.near[unit]):
                    if not seen[other]:
                        seen[other] = True
                        group.append(other)
            order.extend(group)
        return order

    def _candidates(self, unit: int) -> list[int]:
        need, work = self.units.need[unit], self.units.work[unit]
        fitting = [
            k for k, room in enumerate(self.room) if self.domain[unit] >> k & 1 and need <= room
        ]
        if self.tightest:
            return sorted(fitting, key=lambda k: (self.room[k] - need, k))
        return sorted(fitting, key=lambda k: ((self.load[k] + work[k]) / self.slots[k], k))

    def _forward(self, unit: int, node: int) -> list[tuple[int, int]] | None:
        """Narrow the neighbours' nodes; None, and nothing changed, if one keeps none."""
        changed: list[tuple[int, int]] = []
        for other in self.units.near[unit]:
            before = self.domain[other]
            left = before & self.linked[node]
            if self.node[other] >= 0 or left == before:
                continue
            changed.append((other, before))
            self.domain[other] = left
            if not left:
                self._restore(changed)
                return None
        return changed

    def _take_back(self, unit: int, changed: list[tuple[int, int]]) -> None:
        self._load(unit, self.node[unit], -1)
        self.node[unit] = -1
        self._restore(changed)

    def _restore(self, changed: list[tuple[int, int]]) -> None:
        for other, before in changed:
            self.domain[other] = before

    def _load(self, unit: int, node: int, sign: int) -> None:
        self.room[node] -= sign * self.units.need[unit]
        self.load[node] += sign * self.units.work[unit][node]
