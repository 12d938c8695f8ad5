"""A node for every task when not every pair of nodes is linked.

Greedy placement may put two predecessors on nodes that no node is linked with both of.
Then the nodes are chosen first: a task and the sender of its data must share a node or a
link. That is a list-colouring problem, so the search is limited; it never backtracks if
some node is eligible for all tasks that exchange data with one another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from allocsolve.models.dag.network import Network, Way

__all__ = ["choose_nodes"]

_STEPS = 200_000
"""Choices after which the search gives up."""


def choose_nodes(network: Network, stop: Callable[[], bool]) -> Network | None:
    """Return the network with one node for each task, None if no choice was found."""
    neighbours = _neighbours(network)
    chosen: dict[int, Way] = {}
    for component in _components(neighbours):
        found = _assign(network, neighbours, component, stop)
        if found is None:
            return None
        chosen.update(found)
    return replace(network, ways=_narrowed(network, chosen))


def _narrowed(network: Network, chosen: dict[int, Way]) -> list[list[Way]]:
    return [[chosen[i]] if i in chosen else ways for i, ways in enumerate(network.ways)]


def _neighbours(network: Network) -> list[list[int]]:
    """Return the tasks that each task exchanges data with."""
    found: list[list[int]] = [[] for _ in range(len(network))]
    for task, arcs in enumerate(network.incoming):
        for arc in arcs:
            if arc.data:
                found[task].append(arc.other)
                found[arc.other].append(task)
    return found


def _components(neighbours: list[list[int]]) -> list[list[int]]:
    """Return the groups of tasks connected by data, each in breadth-first order."""
    seen = [False] * len(neighbours)
    groups = []
    for root, near in enumerate(neighbours):
        if seen[root] or not near:
            continue
        seen[root] = True
        group = [root]
        for task in group:
            for other in neighbours[task]:
                if not seen[other]:
                    seen[other] = True
                    group.append(other)
        groups.append(group)
    return groups


def _assign(
    network: Network, neighbours: list[list[int]], group: list[int], stop: Callable[[], bool]
) -> dict[int, Way] | None:
    """Choose ways depth-first in the order of the group, the commonest node first."""
    common = Counter(way.node for task in group for way in network.ways[task])
    options = {
        task: sorted(
            network.ways[task], key=lambda way: (-common[way.node], way.duration, way.mode)
        )
        for task in group
    }
    tried = [0]
    chosen: dict[int, Way] = {}
    for step in range(_STEPS):
        if len(tried) > len(group):
            return chosen
        if not tried or (step % 256 == 255 and stop()):
            return None
        task, k = group[len(tried) - 1], tried[-1]
        chosen.pop(task, None)
        if k == len(options[task]):
            tried.pop()
            continue
        tried[-1] += 1
        if _fits(network, neighbours[task], options[task][k], chosen):
            chosen[task] = options[task][k]
            tried.append(0)
    return None


def _fits(network: Network, near: list[int], way: Way, chosen: dict[int, Way]) -> bool:
    return all(
        network.delay(1, chosen[other].node, way.node) is not None
        for other in near
        if other in chosen
    )
