"""Random precedence networks without redundant arcs, as ProGen draws them.

Source: R. Kolisch, A. Sprecher and A. Drexl, "Characterization and generation of a general
class of resource-constrained project scheduling problems", Management Science 41 (1995).
"""

from __future__ import annotations

from allocsolve.instances.generators.draw import Draw

__all__ = ["Network", "draw_network"]

_ATTEMPTS_PER_ARC = 20
_MOST_CLOSED = 1000
"""Larger networks may have redundant arcs: their transitive closure costs too much."""


class Network:
    """An acyclic graph on 0, ..., n - 1 whose arcs lead upward."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.arcs: list[tuple[int, int]] = []
        self._known: set[tuple[int, int]] = set()
        self._has_successor = [False] * size
        self._closure = _Closure(size) if size <= _MOST_CLOSED else None

    def has_successor(self, i: int) -> bool:
        """Whether some arc leaves i."""
        return self._has_successor[i]

    def try_arc(self, i: int, j: int) -> None:
        """Add an arc unless it would be redundant or make another one redundant."""
        if (i, j) in self._known:
            return
        if self._closure is not None:
            if self._closure.is_redundant(i, j):
                return
            self._closure.add(i, j)
        self.arcs.append((i, j))
        self._known.add((i, j))
        self._has_successor[i] = True


class _Closure:
    """Ancestors, descendants and successors of every task as bit sets."""

    def __init__(self, size: int) -> None:
        self._before = [0] * size
        self._after = [0] * size
        self._successors = [0] * size

    def is_redundant(self, i: int, j: int) -> bool:
        """Whether an arc from i to j would be redundant, or make another one so."""
        if self._before[j] >> i & 1:
            return True
        sources, targets = self._before[i] | 1 << i, self._after[j] | 1 << j
        return any(self._successors[a] & targets for a in _bits(sources))

    def add(self, i: int, j: int) -> None:
        """Add an arc from i to j."""
        self._successors[i] |= 1 << j
        sources, targets = self._before[i] | 1 << i, self._after[j] | 1 << j
        for a in _bits(sources):
            self._after[a] |= targets
        for b in _bits(targets):
            self._before[b] |= sources


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def draw_network(draw: Draw, size: int, complexity: float) -> Network:
    """Draw a network with about ``complexity`` arcs per task.

    About a tenth of the tasks may start at once and about a tenth end the project; every
    other task gets a predecessor and a successor first. Fewer arcs result where the size
    leaves no room for more that are not redundant. Networks of more than 1000 tasks may
    have redundant arcs.
    """
    network = Network(size)
    free = max(1, size // 10)
    wanted = round(complexity * size)
    for j in range(free, size if wanted else 0):
        network.try_arc(draw.integer(max(0, j - 2 * free), j - 1), j)
    for i in range(size - free if wanted else 0):
        if not network.has_successor(i):
            network.try_arc(i, draw.integer(i + 1, min(size - 1, i + 2 * free)))
    for _ in range(_ATTEMPTS_PER_ARC * wanted):
        if len(network.arcs) >= wanted:
            break
        i, j = draw.integer(0, size - 1), draw.integer(0, size - 1)
        if i < j:
            network.try_arc(i, j)
    return network
