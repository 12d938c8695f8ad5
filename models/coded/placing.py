"""Placing partitions on nodes so that each is on enough different ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from allocsolve.models.arrays import BoolArray

__all__ = ["arcs", "flow_placement"]


def arcs(loads: Sequence[int], partitions: int) -> list[tuple[int, ...]]:
    """Return consecutive partitions around a circle for each node.

    Loads of at most ``partitions`` each that add up to a multiple c of it put every partition
    on exactly c nodes; a larger sum puts it on c or c + 1.
    """
    found, place = [], 0
    for load in loads:
        found.append(tuple((place + k) % partitions for k in range(load)))
        place = (place + load) % partitions
    return found


def flow_placement(
    caps: Sequence[int], holds: BoolArray, copies: int
) -> list[tuple[int, ...]] | None:
    """Return partitions of each node so that every one is on ``copies`` nodes, None if impossible.

    A maximum flow from partitions through the nodes that may hold them (integral by the
    theorem of Ford and Fulkerson), so the answer is exact.

    Parameters
    ----------
    caps
        Most partitions of each node.
    holds
        bool (n, partitions), which nodes may take which partitions.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    nodes, partitions = holds.shape
    node, part = np.nonzero(holds)
    source, sink = nodes + partitions, nodes + partitions + 1
    tail = np.concatenate([np.full(partitions, source), nodes + part, np.arange(nodes)])
    head = np.concatenate([nodes + np.arange(partitions), node, np.full(nodes, sink)])
    room = np.concatenate([np.full(partitions, copies), np.ones(len(node)), np.asarray(caps)])
    size = sink + 1
    graph = csr_array((room.astype(np.int32), (tail, head)), shape=(size, size))
    result = maximum_flow(graph, source, sink)
    if result.flow_value < copies * partitions:
        return None
    used = result.flow.toarray()[nodes : nodes + partitions, :nodes] > 0
    return [tuple(np.flatnonzero(used[:, i]).tolist()) for i in range(nodes)]
