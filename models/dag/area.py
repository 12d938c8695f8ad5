"""Weights of nodes under which the tasks fill a certain area, wherever they run.

For any weights ``y >= 0`` of the nodes, a task takes at least ``min_k y_k d_k`` of weighted
time, and all nodes together offer ``sum_k y_k slots_k`` of it in each tick. The best weights
solve the dual of the linear program that splits tasks among unrelated nodes (Lenstra, Shmoys
and Tardos, "Approximation algorithms for scheduling unrelated parallel machines",
Mathematical Programming 46, 1990); any others give a valid, weaker bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.relaxation import Relaxation
from allocsolve.models.dag.windows import SAFE

__all__ = ["Area", "area_weights", "eligible_sets"]

_FINEST = 4096
"""Weights are rounded to integers of at most this size, so that areas are exact."""

_ROUNDS = 24
"""Rounds of the multiplicative update of weights."""

_BALANCED_MODES = 2**17
"""At most about so many modes are looked at in each of these rounds."""

_SETS = 32
"""At most so many sets of eligible nodes are tried."""


@dataclass(frozen=True, eq=False)
class Area:
    """Least weighted work of each task and what the nodes offer.

    Attributes
    ----------
    work
        int64 (n,).
    capacity
        Weighted slots, positive.
    where
        The nodes in words.
    """

    work: IntArray
    capacity: int
    where: str


def area_weights(relaxation: Relaxation) -> Iterator[Area]:
    """Yield areas: all nodes alike, sets of eligible nodes, and balanced weights."""
    if not relaxation.on_node.any():
        return
    yield _area(relaxation, _ones(relaxation, relaxation.used_nodes), "all nodes")
    for nodes in eligible_sets(relaxation):
        where = f"the {len(nodes)} nodes that they are eligible for"
        yield _area(relaxation, _ones(relaxation, nodes), where)
    yield _area(relaxation, _balanced(relaxation), "the nodes, weighted by their speed and load")


def eligible_sets(relaxation: Relaxation) -> list[IntArray]:
    """Return the sets of two or more nodes, but not all usable ones, to which tasks are restricted.

    The sets of most work come first; at most 32, and none beyond 62 nodes.
    """
    nodes, used = len(relaxation.arrays.node_slots), len(relaxation.used_nodes)
    if nodes > SAFE.bit_length() - 1:
        return []
    members = _members(relaxation)
    distinct, which = np.unique(members, return_inverse=True)
    work = np.zeros(len(distinct), np.int64)
    np.add.at(work, which, relaxation.min_duration)
    ranked = sorted(zip((-work).tolist(), distinct.tolist(), strict=True))[:_SETS]
    chosen = [member for _, member in ranked if 1 < member.bit_count() < used]
    return [np.flatnonzero((member >> np.arange(nodes)) & 1) for member in chosen]


def _members(relaxation: Relaxation) -> IntArray:
    """Return the nodes of each task's usable modes as bits, int64 (n,)."""
    arrays = relaxation.arrays
    bits = np.where(relaxation.on_node, 1 << np.maximum(arrays.mode_node, 0), 0)
    members = np.zeros(len(arrays.release), np.int64)
    owners = np.flatnonzero(np.diff(arrays.mode_offset))
    members[owners] = np.bitwise_or.reduceat(bits, arrays.mode_offset[owners])
    return members


def _ones(relaxation: Relaxation, nodes: IntArray) -> IntArray:
    weight = np.zeros(len(relaxation.arrays.node_slots), np.int64)
    weight[nodes] = 1
    return weight


def _area(relaxation: Relaxation, weight: IntArray, where: str) -> Area:
    slots = relaxation.arrays.node_slots
    return Area(_least_work(relaxation, weight), int((weight * slots).sum()) or 1, where)


def _least_work(relaxation: Relaxation, weight: IntArray) -> IntArray:
    """Return the least weighted duration of each task that runs on nodes, int64 (n,)."""
    return relaxation.least(_weighted(relaxation, weight))


def _weighted(relaxation: Relaxation, weight: IntArray) -> IntArray:
    node = relaxation.arrays.mode_node
    weighted: IntArray = np.where(node >= 0, weight[node] * relaxation.shortest, 0)
    return weighted


def _balanced(relaxation: Relaxation) -> IntArray:
    """Return the best integer weights that a multiplicative update of overloaded nodes finds.

    See Arora, Hazan and Kale, "The multiplicative weights update method", Theory of
    Computing 8, 2012. All sums are integers: the order of the tasks does not matter. In
    large instances only a sample of the tasks is balanced; its weights are valid for all.
    """
    slots = relaxation.arrays.node_slots
    finest = min(_FINEST, SAFE // (2 * max(relaxation.arrays.horizon, 1)))
    sample = _sample(relaxation)
    best, best_value = _ones(relaxation, relaxation.used_nodes), -1.0
    weight: FloatArray = best.astype(np.float64)
    for step in range(_ROUNDS):
        rounded = np.rint(weight * (finest / weight.max())).astype(np.int64)
        least, load = sample.shared(rounded)
        value = least / int((rounded * slots).sum())
        if value > best_value:
            best, best_value = rounded, value
        if not load.any():
            break
        strain = load / slots
        weight = weight * np.exp((strain / strain.max() - 0.5) * (2.0 / (1 + step) ** 0.7))
    return best


@dataclass(frozen=True, eq=False)
class _Sample:
    """Usable modes on nodes of some tasks: int64 (s,) node, duration and owner; task by task.

    ``first`` is the first mode of each owner, ``nodes`` the number of all nodes.
    """

    node: IntArray
    duration: IntArray
    owner: IntArray
    first: IntArray
    nodes: int

    def shared(self, weight: IntArray) -> tuple[int, IntArray]:
        """Return the least weighted work, and the time on each node if tasks go where it is."""
        weighted = weight[self.node] * self.duration
        least = np.minimum.reduceat(weighted, self.first)
        cheapest = weighted == least[self.owner]
        load = np.zeros(self.nodes, np.int64)
        np.add.at(load, self.node[cheapest], self.duration[cheapest])
        return int(least.sum()), load


def _sample(relaxation: Relaxation) -> _Sample:
    arrays = relaxation.arrays
    modes = np.flatnonzero(relaxation.on_node)
    if len(modes) > _BALANCED_MODES:
        # Multiples of the golden ratio are spread evenly, whatever period the tasks have.
        spread = arrays.mode_task[modes] * 2654435769 % 2**32
        modes = modes[spread * len(modes) < _BALANCED_MODES * 2**32]
    _, first, owner = np.unique(arrays.mode_task[modes], return_index=True, return_inverse=True)
    return _Sample(
        node=arrays.mode_node[modes],
        duration=relaxation.shortest[modes],
        owner=owner,
        first=first,
        nodes=len(arrays.node_slots),
    )
