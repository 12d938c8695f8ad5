"""A list schedule of communicating tasks without compiled loops, memory and groups honoured."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.dispatch import generate
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_assign import assign_nodes
from allocsolve.models.dag.network import build_network
from allocsolve.models.dag.priorities import latest_start

__all__ = ["plain_schedule"]


def plain_schedule(graph: CommGraph, stop: Callable[[], bool]) -> Schedule | None:
    """Return the schedule of serial generation, None if it finds none or is stopped.

    Where memory or groups bind, the nodes are chosen first.
    """
    network = build_network(graph.problem)
    if graph.limits_memory or graph.has_groups:
        if not graph.eligible.any(axis=1).all():
            return None
        node = assign_nodes(graph, stop)
        if node is None:
            return None
        kept = [
            [way for way in ways if way.node == home]
            for ways, home in zip(network.ways, node.tolist(), strict=True)
        ]
        network = replace(network, ways=kept)
    plan = generate(network, latest_start(network), stop)
    return None if plan is None else plan.schedule(graph.problem)
