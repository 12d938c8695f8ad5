"""The part of an instance that a neighbourhood leaves free, as an instance of its own.

Tasks that are not freed keep their node and their order, not their times: what the freed
tasks gain moves on through the rest (a partial-order schedule: Godard, Laborie and Nuijten,
"Randomized large neighborhood search for cumulative scheduling", ICAPS 2005). Their node is
the only one that is left to them, their order is a chain of edges for each slot of a node. So
the part is a graph of communicating tasks like the whole, and every table, bound and
formulation of such graphs holds for it.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag.graph import NOT_ELIGIBLE, CommGraph
from allocsolve.models.dag.list_build import Placement

__all__ = ["chains", "part_of"]


def part_of(placement: Placement, free: BoolArray) -> CommGraph:
    """Return the graph of all schedules that a neighbourhood allows.

    Parameters
    ----------
    placement
        A schedule that breaks no rule; it is one of them.
    free
        bool (n,): tasks whose node and place in the order may change; all or none of the
        tasks that share a node by their label.
    """
    graph = placement.graph
    home = np.arange(graph.nodes)[None, :] == placement.node[:, None]
    duration = np.where(home | free[:, None], graph.duration, NOT_ELIGIBLE)
    known = set(zip(graph.edge_source.tolist(), graph.edge_target.tolist(), strict=True))
    added = [pair for pair in chains(placement, ~free) if pair not in known]
    source, target = np.array(added, np.int64).reshape(-1, 2).T
    nothing = np.zeros(len(added), np.int64)
    return dataclasses.replace(
        graph.with_edges(source, target, nothing, nothing),
        duration=duration,
        order=_in_order(placement),
    )


def chains(placement: Placement, kept: BoolArray) -> Iterator[tuple[int, int]]:
    """Yield each kept task with the kept task after it in the same slot of a node.

    Tasks without length are in no slot.
    """
    graph = placement.graph
    length = graph.duration[np.arange(graph.n), placement.node]
    busy = kept & (length > 0)
    for k in range(graph.nodes):
        inside = np.flatnonzero(busy & (placement.node == k))
        tasks = inside[np.argsort(placement.start[inside], kind="stable")]
        ends = (placement.start + length)[tasks]
        for lane in _lanes(placement.start[tasks], ends, int(graph.slots[k])):
            yield from itertools.pairwise(tasks[lane].tolist())


def _lanes(start: IntArray, end: IntArray, slots: int) -> list[list[int]]:
    """Return which runs, sorted by their starts, follow one another in each slot."""
    if slots == 1:
        return [list(range(len(start)))]
    lanes: list[list[int]] = []
    last: list[int] = []
    for run, (begin, until) in enumerate(zip(start.tolist(), end.tolist(), strict=True)):
        fits = [lane for lane, before in enumerate(last) if before <= begin]
        if not fits:
            lanes.append([run])
            last.append(until)
            continue
        lane = max(fits, key=lambda open_lane: last[open_lane])
        lanes[lane].append(run)
        last[lane] = until
    return lanes


def _in_order(placement: Placement) -> IntArray:
    """Return the tasks as they start; those before others of the same start go first."""
    graph = placement.graph
    rank = np.empty(graph.n, np.int64)
    rank[graph.order] = np.arange(graph.n)
    end = placement.start + graph.duration[np.arange(graph.n), placement.node]
    return np.lexsort((rank, end, placement.start))
