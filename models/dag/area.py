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
    members = np.zeros(len(relaxation.min_duration), np.int64)
    modes = np.flatnonzero(relaxation.on_node)
    arrays = relaxation.arrays
    np.bitwise_or.at(members, arrays.mode_task[modes], 1 << arrays.mode_node[modes])
    distinct, which = np.unique(members, return_inverse=True)
    work = np.zeros(len(distinct), np.int64)
    np.add.at(work, which, relaxation.min_duration)
    ranked = sorted(zip((-work).tolist(), distinct.tolist(), strict=True))[:_SETS]
    chosen = [member for _, member in ranked if 1 < member.bit_count() < used]
    return [np.flatnonzero((member >> np.arange(nodes)) & 1) for member in chosen]


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
    Computing 8, 2012. All sums are integers: the order of the tasks does not matter.
    """
    arrays = relaxation.arrays
    finest = min(_FINEST, SAFE // (2 * max(arrays.horizon, 1)))
    best, best_value = _ones(relaxation, relaxation.used_nodes), -1.0
    weight: FloatArray = best.astype(np.float64)
    for step in range(_ROUNDS):
        rounded = np.rint(weight * (finest / weight.max())).astype(np.int64)
        weighted = _weighted(relaxation, rounded)
        least = relaxation.least(weighted)
        value = int(least.sum()) / int((rounded * arrays.node_slots).sum())
        if value > best_value:
            best, best_value = rounded, value
        load = _loads(relaxation, weighted, least) / arrays.node_slots
        if not load.any():
            break
        weight = weight * np.exp((load / load.max() - 0.5) * (2.0 / (1 + step) ** 0.7))
    return best


def _loads(relaxation: Relaxation, weighted: IntArray, least: IntArray) -> IntArray:
    """Return the time on each node if every task runs wherever it is cheapest, int64 (N,)."""
    arrays = relaxation.arrays
    cheapest = relaxation.on_node & (weighted == least[arrays.mode_task])
    load = np.zeros(len(arrays.node_slots), np.int64)
    np.add.at(load, arrays.mode_node[cheapest], relaxation.shortest[cheapest])
    return load
