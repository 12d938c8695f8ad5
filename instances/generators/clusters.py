"""Random task graphs whose data travels between the nodes of a cluster."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from allocsolve.instances.generators.draw import Draw
from allocsolve.instances.generators.network import draw_network
from allocsolve.instances.generators.settings import Choice, Setting, Values
from allocsolve.models.dag.data import Edge, Link, Node, Task
from allocsolve.models.dag.problem import DagProblem

__all__ = ["COMMUNICATION", "draw_communication"]

COMMUNICATION = (
    Choice("machine", ("related", "unrelated", "identical"), "how the nodes differ"),
    Setting("nodes", 3, 1, 1000, "number of nodes"),
    Setting("slots", 1, 1, 1000, "slots per node"),
    Setting("network_complexity", 1.5, 0, 100, "mean number of arcs per task"),
    Setting("min_work", 1, 0, 10**9, "least work of a task"),
    Setting("max_work", 10, 0, 10**9, "largest work of a task"),
    Setting("max_speed", 3, 1, 10**3, "speeds are 1, ..., max_speed (related nodes)"),
    Setting("ratio", 1.0, 0, 10**6, "data of an edge over work of a task, both on average"),
    Setting("max_latency", 2, 0, 10**9, "largest latency of a link"),
    Setting("max_bandwidth", 2, 1, 10**3, "bandwidths are 1, ..., max_bandwidth"),
    Setting("missing_links", 0.0, 0, 1, "share of the pairs of nodes without a link"),
)
"""Settings of the family ``communication``."""


def draw_communication(draw: Draw, tasks: int, values: Values) -> DagProblem:
    """Draw a task graph, its data, and nodes with a link of its own for every pair.

    Missing links never make an instance infeasible: all tasks may share a node.
    """
    names = [f"n{k}" for k in range(values.integer("nodes"))]
    arcs = draw_network(draw, tasks, values.number("network_complexity")).arcs
    low, high = values.integer("min_work"), values.integer("max_work")
    work = [draw.integer(low, high) for _ in range(tasks)]
    most_data = round(values.number("ratio") * (low + high))
    edges = [
        Edge(source=f"t{i + 1}", target=f"t{j + 1}", data=draw.integer(0, most_data))
        for i, j in arcs
    ]
    unrelated = values.word("machine") == "unrelated"
    return DagProblem(
        tasks=[
            Task(id=f"t{i + 1}", work=None if unrelated else amount)
            for i, amount in enumerate(work)
        ],
        edges=edges,
        nodes=_nodes(draw, names, values),
        durations=_durations(draw, work, names) if unrelated else {},
        links=_links(draw, names, values),
    )


def _nodes(draw: Draw, names: Sequence[str], values: Values) -> list[Node]:
    fastest = values.integer("max_speed") if values.word("machine") == "related" else 1
    slots = values.integer("slots")
    return [Node(id=name, speed=draw.integer(1, fastest), slots=slots) for name in names]


def _durations(
    draw: Draw, work: Sequence[int], names: Sequence[str]
) -> Mapping[str, Mapping[str, int]]:
    """Draw a duration for every pair, from the work to twice the work."""
    return {
        f"t{i + 1}": {name: draw.integer(amount, 2 * amount) for name in names}
        for i, amount in enumerate(work)
    }


def _links(draw: Draw, names: Sequence[str], values: Values) -> list[Link]:
    most, fastest = values.integer("max_latency"), values.integer("max_bandwidth")
    missing = values.number("missing_links")
    return [
        Link(
            between=pair,
            latency=draw.integer(0, most),
            bandwidth=0 if draw.chance(missing) else draw.integer(1, fastest),
        )
        for pair in itertools.combinations(names, 2)
    ]
