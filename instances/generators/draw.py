"""Random numbers that are the same on every platform and in every version of Python."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

__all__ = ["Draw"]

ItemT = TypeVar("ItemT")


class Draw:
    """Integers, choices and permutations from a seed.

    Only ``Random.random`` is used: of all methods it alone is promised to give the same
    sequence for ever.
    """

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def integer(self, low: int, high: int) -> int:
        """Return an integer, each of low, ..., high equally likely."""
        return low + int(self._random.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """Return True with the given probability."""
        return self._random.random() < probability

    def choice(self, items: Sequence[ItemT]) -> ItemT:
        """Return one of the items."""
        return items[self.integer(0, len(items) - 1)]

    def shuffled(self, items: Sequence[ItemT]) -> list[ItemT]:
        """Return the items in random order (Fisher and Yates)."""
        result = list(items)
        for i in range(len(result) - 1, 0, -1):
            j = self.integer(0, i)
            result[i], result[j] = result[j], result[i]
        return result

    def subset(self, items: Sequence[ItemT], size: int) -> list[ItemT]:
        """Return ``size`` different items in the order in which they are listed."""
        chosen = set(self.shuffled(range(len(items)))[:size])
        return [item for i, item in enumerate(items) if i in chosen]
