"""Tasks with data on identical nodes: what the bounds, the search and the formulation read.

All nodes run a task in the same time and all pairs of them have the same link, so an edge
has two distances from end to start: one if both tasks share a node, one if they do not.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.arrays import DagArrays
from allocsolve.models.dag.graph import CommGraph, has_graph
from allocsolve.models.dag.problem import DagProblem

__all__ = ["Identical", "Transfer", "identical_nodes"]

Transfer: TypeAlias = tuple[int, int, int]
"""(task at the other end, ticks from end to start on one node, ticks between two nodes)."""


@dataclass(frozen=True, eq=False)
class Identical:
    """A graph of communicating tasks on identical nodes as plain lists.

    Attributes
    ----------
    nodes
        Number of nodes that can be of use: at least 1, at most one for each task.
    slots
        Tasks that each node runs at a time.
    work
        Duration of each task, ticks.
    release
        Earliest start of each task, ticks.
    incoming, outgoing
        Transfers from the predecessors and to the successors of each task.
    order
        A topological order.
    """

    graph: CommGraph
    nodes: int
    slots: int
    work: list[int]
    release: list[int]
    incoming: list[list[Transfer]]
    outgoing: list[list[Transfer]]
    order: list[int]

    @property
    def n(self) -> int:
        """Number of tasks."""
        return len(self.work)

    @property
    def capacity(self) -> int:
        """Slots of all nodes together."""
        return self.nodes * self.slots

    @property
    def edges(self) -> int:
        """Number of edges."""
        return len(self.graph.edge_source)

    def mirrored(self) -> Identical:
        """Return the graph with time running backwards; releases are left out."""
        return replace(
            self,
            release=[0] * self.n,
            incoming=self.outgoing,
            outgoing=self.incoming,
            order=self.order[::-1],
        )

    def apart(self) -> IntArray:
        """Return the ticks from end to start of each edge between two nodes, int64 (e,)."""
        return _apart(self.graph)


def identical_nodes(problem: DagProblem) -> Identical | None:
    """Return the lists of a problem, None if its nodes or links differ or it has no nodes.

    Memory and colocation only restrict a schedule further, so they are left out.
    """
    if not problem.nodes or not problem.tasks or not has_graph(problem):
        return None
    if problem.arrays.order is None or not _look_alike(problem.arrays):
        return None
    graph = CommGraph.of(problem)
    return _lists(graph) if graph.identical else None


def _look_alike(arrays: DagArrays) -> bool:
    """Whether nothing speaks against identical nodes at first sight."""
    apart = ~np.eye(len(arrays.node_slots), dtype=bool)
    links = (arrays.latency[apart], arrays.data_time[apart], arrays.linked[apart])
    if any((values != values[:1]).any() for values in links):
        return False
    return bool((arrays.min_duration == arrays.max_duration).all())


def _lists(graph: CommGraph) -> Identical:
    near, far = graph.edge_lag, _apart(graph)
    return Identical(
        graph=graph,
        nodes=max(1, min(graph.nodes, graph.n)),
        slots=int(graph.slots[0]),
        work=graph.duration[:, 0].tolist(),
        release=graph.release.tolist(),
        incoming=_rows(graph.pred_offset, graph.pred_task, graph.pred_edge, near, far),
        outgoing=_rows(graph.succ_offset, graph.succ_task, graph.succ_edge, near, far),
        order=graph.order.tolist(),
    )


def _apart(graph: CommGraph) -> IntArray:
    """Return lag plus delay of each edge; without links a delay that no schedule can afford."""
    if graph.nodes < 2:
        return graph.edge_lag
    if graph.linked[0, 1]:
        delay = graph.latency[0, 1] + graph.edge_data * graph.data_time[0, 1]
    else:
        delay = np.full(len(graph.edge_data), graph.problem.arrays.horizon + 1, np.int64)
    apart: IntArray = graph.edge_lag + np.where(graph.edge_data > 0, delay, 0)
    return apart


def _rows(
    offset: IntArray, task: IntArray, edge: IntArray, near: IntArray, far: IntArray
) -> list[list[Transfer]]:
    rows = list(zip(task.tolist(), near[edge].tolist(), far[edge].tolist(), strict=True))
    return [rows[a:b] for a, b in itertools.pairwise(offset.tolist())]
