"""Random precedence networks without redundant arcs, as ProGen draws them.

Source: R. Kolisch, A. Sprecher and A. Drexl, "Characterization and generation of a general
class of resource-constrained project scheduling problems", Management Science 41 (1995).
"""

from __future__ import annotations

from allocsolve.instances.generators.draw import Draw

__all__ = ["Network", "draw_network"]

_ATTEMPTS_PER_ARC = 20


class Network:
    """An acyclic graph on 0, ..., n - 1 whose arcs lead upward and are never redundant.

    ``before[j]`` and ``after[i]`` are the bit sets of all ancestors and descendants.
    """

    def __init__(self, size: int) -> None:
        self.arcs: list[tuple[int, int]] = []
        self.before = [0] * size
        self.after = [0] * size
        self._successors = [0] * size

    @property
    def size(self) -> int:
        """Number of tasks."""
        return len(self.before)

    def is_redundant(self, i: int, j: int) -> bool:
        """Whether the arc would follow from others, or make another one follow."""
        if self.before[j] >> i & 1:
            return True
        sources, targets = self.before[i] | 1 << i, self.after[j] | 1 << j
        return any(self._successors[a] & targets for a in _bits(sources))

    def add(self, i: int, j: int) -> None:
        """Add an arc."""
        self.arcs.append((i, j))
        self._successors[i] |= 1 << j
        sources, targets = self.before[i] | 1 << i, self.after[j] | 1 << j
        for a in _bits(sources):
            self.after[a] |= targets
        for b in _bits(targets):
            self.before[b] |= sources

    def has_successor(self, i: int) -> bool:
        """Whether some arc leaves i."""
        return bool(self._successors[i])


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found


def draw_network(draw: Draw, size: int, complexity: float) -> Network:
    """Draw a network with about ``complexity`` arcs per task.

    A few tasks at the beginning may start at once and a few at the end end the project;
    every other task gets a predecessor and a successor first. Fewer arcs result where the
    size leaves no room for more that are not redundant.
    """
    network = Network(size)
    free = max(1, size // 10)
    for j in range(free, size):
        _try(network, draw.integer(max(0, j - 2 * free), j - 1), j)
    for i in range(size - free):
        if not network.has_successor(i):
            _try(network, i, draw.integer(i + 1, min(size - 1, i + 2 * free)))
    wanted = round(complexity * size)
    for _ in range(_ATTEMPTS_PER_ARC * wanted):
        if len(network.arcs) >= wanted:
            break
        i, j = draw.integer(0, size - 1), draw.integer(0, size - 1)
        if i < j:
            _try(network, i, j)
    return network


def _try(network: Network, i: int, j: int) -> None:
    if not network.is_redundant(i, j):
        network.add(i, j)
