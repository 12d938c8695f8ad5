"""Memory of nodes and tasks that share a node, while a schedule is generated.

Tasks that share a node are one bundle, any other task is a bundle of its own. The first task of
a bundle that is placed takes the memory of all of it, so the others always find theirs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from allocsolve.models.dag.network import Network, Way

__all__ = ["Packing", "pack"]


@dataclass(frozen=True)
class _Bundle:
    """Tasks that share a node: the nodes open to all of them and the memory of all."""

    tasks: tuple[int, ...]
    nodes: frozenset[int]
    need: int


class Packing:
    """What is left of the memory of every node, and where the bundles are."""

    def __init__(self, network: Network) -> None:
        self._left = list(network.room)
        self._place: dict[int, int] = {}
        self._bundle: dict[int, int] = {}
        self._bundles = _bundles(network)
        for number, bundle in enumerate(self._bundles):
            self._bundle.update(dict.fromkeys(bundle.tasks, number))

    def open_to(self, task: int, ways: Sequence[Way]) -> list[Way]:
        """Return the ways whose node has room for the bundle of the task, or has it already."""
        number = self._bundle[task]
        place, bundle = self._place.get(number), self._bundles[number]
        if place is not None:
            return [way for way in ways if way.node == place]
        return [
            way
            for way in ways
            if way.node < 0 or (way.node in bundle.nodes and self._left[way.node] >= bundle.need)
        ]

    def take(self, task: int, way: Way) -> None:
        """Book the memory of the bundle of a task."""
        number = self._bundle[task]
        if number not in self._place and way.node >= 0:
            self._place[number] = way.node
            self._left[way.node] -= self._bundles[number].need


def pack(network: Network) -> Network | None:
    """Return the network with a node for every bundle, None if none was found.

    The largest bundle first, each to the node with most memory left (a form of worst fit
    decreasing).
    """
    left = list(network.room)
    ways = list(network.ways)
    for bundle in sorted(_bundles(network), key=lambda b: (-b.need, len(b.nodes), b.tasks)):
        if any(way.node < 0 for way in network.ways[bundle.tasks[0]]):
            continue
        node = max(sorted(bundle.nodes), key=lambda k: left[k], default=None)
        if node is None or left[node] < bundle.need:
            return None
        left[node] -= bundle.need
        for task in bundle.tasks:
            ways[task] = [way for way in network.ways[task] if way.node == node]
    return replace(network, ways=ways)


def _bundles(network: Network) -> list[_Bundle]:
    members: dict[int, list[int]] = defaultdict(list)
    for task, label in enumerate(network.group):
        members[label if label >= 0 else -1 - task].append(task)
    return [
        _Bundle(
            tuple(tasks),
            frozenset.intersection(*(_nodes(network.ways[i]) for i in tasks)),
            sum(network.memory[i] for i in tasks),
        )
        for tasks in members.values()
    ]


def _nodes(ways: Sequence[Way]) -> frozenset[int]:
    return frozenset(way.node for way in ways)
