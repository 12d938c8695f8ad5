"""Forks and joins on identical nodes: nothing but the choice of a node for each leaf.

In a fork one task sends data to all others. Counted from the end of the centre, a leaf can
start at 0 on the centre's node and at its delay on any other node. On one node it is best to
start leaves in the order of their delays (Sinnen, "Reducing the solution space of optimal
task scheduling", Computers and Operations Research 43, 2014, orders forks and joins alike), so
leaves fit on a remote node within D if and only if, for every t, those with a delay of at
least t work no longer than D - t together. Nothing is left to sequence. A join is a fork with
time running backwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from allocsolve.models.dag.comm_identical import Identical

__all__ = ["Fork", "Leaf", "fork_of"]


class Leaf(NamedTuple):
    """A leaf: ticks until its data is on another node, its work, and the task itself."""

    delay: int
    work: int
    task: int


@dataclass(frozen=True, eq=False)
class Fork:
    """A fork, or a join seen backwards.

    Attributes
    ----------
    leaves
        By decreasing delay.
    nodes
        Nodes that can be of use, that of the centre among them.
    """

    instance: Identical
    centre: int
    leaves: list[Leaf]
    nodes: int
    backwards: bool

    @property
    def centre_work(self) -> int:
        """Duration of the centre, ticks."""
        return self.instance.work[self.centre]

    def least(self) -> int:
        """Return a lower bound on the ticks beside the centre's."""
        best = max(leaf.work for leaf in self.leaves)
        area = 0
        for delay, work, _ in self.leaves:
            area += work
            spread = -(-(area + (self.nodes - 1) * delay) // self.nodes)
            best = max(best, min(area, spread))
        return best

    def schedule(self, places: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return start and node of each task; ``places`` has a node for each leaf, 0 the centre's.

        The leaves of a node start in the order of their delays, which is optimal.
        """
        n, first = self.instance.n, self.centre_work
        start, node = [0] * n, [0] * n
        free = [first] * self.nodes
        for leaf, place in reversed(list(zip(self.leaves, places, strict=True))):
            begin = max(free[place], first + (leaf.delay if place else 0))
            start[leaf.task], node[leaf.task] = begin, place
            free[place] = begin + leaf.work
        if self.backwards:
            end = max(free)
            start = [end - s - w for s, w in zip(start, self.instance.work, strict=True)]
        return start, node


def fork_of(instance: Identical) -> Fork | None:
    """Return the fork or join that an instance is, None if it is neither.

    Nodes have one slot; there are no release dates and no minimum lags.
    """
    n = instance.n
    if n < 2 or instance.edges != n - 1 or instance.slots != 1 or any(instance.release):
        return None
    for graph, backwards in ((instance, False), (instance.mirrored(), True)):
        centre = graph.order[0]
        transfers = graph.outgoing[centre]
        if len(transfers) == n - 1 and not any(near for _, near, _ in transfers):
            leaves = [Leaf(far, graph.work[task], task) for task, _, far in transfers]
            leaves.sort(key=lambda leaf: (-leaf.delay, -leaf.work))
            return Fork(instance, centre, leaves, min(instance.nodes, n - 1), backwards)
    return None
