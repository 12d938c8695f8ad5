"""Forks and joins exactly, by dynamic programming over the loads of nodes.

The leaves are taken by decreasing delay. Then a leaf fits on a remote node within D if and
only if the work already there, with its own, is at most D less its delay; the node of the
centre takes the rest. So the loads of the remote nodes, in any order, are all that matters of
the past: nested knapsacks (compare Kellerer, Pferschy and Pisinger, Knapsack Problems, 2004).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from allocsolve.models.dag.star import Fork, Leaf

__all__ = ["ForkAnswer", "solve_fork"]

Loads: TypeAlias = tuple[int, ...]
"""Work on each remote node, increasing."""

_ON_CENTRE = -1
_MOST_STATES = 30_000
_NEVER = 2**62


@dataclass(frozen=True)
class ForkAnswer:
    """How far the dynamic programme came.

    Attributes
    ----------
    least
        Proven lower bound on the makespan, ticks.
    places
        Node of each leaf in a schedule that meets the bound; None if the states became too
        many, the search was stopped, or ``cutoff`` was reached.
    """

    least: int
    places: list[int] | None


def solve_fork(fork: Fork, cutoff: int, stop: Callable[[], bool]) -> ForkAnswer:
    """Find an optimal placement.

    Parameters
    ----------
    cutoff
        Only makespans below it are of interest, ticks.
    stop
        Asked again and again; true ends the search with what is proven.
    """
    within = fork.least()
    while fork.centre_work + within < cutoff and not stop():
        table = _Table(fork, within)
        if not table.fill(stop):
            break
        if table.is_complete():
            return ForkAnswer(fork.centre_work + within, table.places())
        within = table.next_within
    return ForkAnswer(min(fork.centre_work + within, cutoff), None)


class _Table:
    """All reachable loads after each leaf, for makespans of the centre and ``within`` more."""

    def __init__(self, fork: Fork, within: int) -> None:
        self.next_within = _NEVER  # least value at which something refused would fit
        self._fork = fork
        self._within = within
        empty: Loads = (0,) * (fork.nodes - 1)
        self._layers: list[dict[Loads, tuple[Loads, int]]] = [{empty: (empty, _ON_CENTRE)}]

    def fill(self, stop: Callable[[], bool]) -> bool:
        """Place leaf after leaf; False if there are too many states or it was stopped."""
        total = 0
        for leaf in self._fork.leaves:
            total += leaf.work
            layer = self._layer(leaf, total)
            self._layers.append(layer)
            if not layer:
                return True
            if len(layer) > _MOST_STATES or stop():
                return False
        return True

    def is_complete(self) -> bool:
        """Whether all leaves fit."""
        return bool(self._layers[-1])

    def _layer(self, leaf: Leaf, total: int) -> dict[Loads, tuple[Loads, int]]:
        """Return the loads after a leaf, each with those before and the load it was put upon."""
        layer: dict[Loads, tuple[Loads, int]] = {}
        for loads in self._layers[-1]:
            here = total - sum(loads)
            if self._fits(here):
                layer.setdefault(loads, (loads, _ON_CENTRE))
            for load in set(loads):
                raised = load + leaf.work
                if self._fits(max(raised + leaf.delay, here - leaf.work)):
                    layer.setdefault(_raise(loads, load, raised), (loads, load))
            if len(layer) > _MOST_STATES:
                break
        return layer

    def _fits(self, needed: int) -> bool:
        if needed <= self._within:
            return True
        self.next_within = min(self.next_within, needed)
        return False

    def places(self) -> list[int]:
        """Return the node of each leaf in some way to place them all."""
        loads = next(iter(self._layers[-1]))
        chosen: list[int] = []
        for layer in self._layers[:0:-1]:
            loads, load = layer[loads]
            chosen.append(load)
        remote = [0] * (self._fork.nodes - 1)
        places = []
        for leaf, load in zip(self._fork.leaves, reversed(chosen), strict=True):
            if load == _ON_CENTRE:
                places.append(0)
            else:
                node = remote.index(load)
                remote[node] += leaf.work
                places.append(node + 1)
        return places


def _raise(loads: Loads, load: int, raised: int) -> Loads:
    changed = list(loads)
    changed.remove(load)
    changed.append(raised)
    return tuple(sorted(changed))
