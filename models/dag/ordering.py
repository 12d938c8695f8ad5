"""An order of tasks along arcs, which may have cycles."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

__all__ = ["order_along"]


def order_along(successors: Sequence[Sequence[int]]) -> list[int]:
    """Return all tasks in an order that the arcs follow, the smallest index first.

    Without cycles the order is topological. Where every task that is left waits for
    another one, the smallest of them is taken, and the arcs that lead to it are not followed.
    """
    missing = [0] * len(successors)
    for after in successors:
        for j in after:
            missing[j] += 1
    placed = [False] * len(successors)
    ready = [i for i, count in enumerate(missing) if not count]
    rest = iter(range(len(successors)))
    order: list[int] = []
    while len(order) < len(successors):
        i = heapq.heappop(ready) if ready else next(k for k in rest if not placed[k])
        placed[i] = True
        order.append(i)
        for j in successors[i]:
            missing[j] -= 1
            if not missing[j] and not placed[j]:
                heapq.heappush(ready, j)
    return order
