"""Whether the tasks on each node fit into its memory, and stay with those they belong to.

Part of the independent checker. A task holds its memory on its node for the whole schedule, as
the weights of a model do, also if it takes no time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

from allocsolve.models.dag.data import DagData
from allocsolve.models.dag.placement import Placed
from allocsolve.models.exact import exact, plain
from allocsolve.models.result import Violation

__all__ = ["judge_sharing"]

_NAMED = 8
"""At most so many task ids are listed in one message."""


def judge_sharing(data: DagData, placed: Sequence[Placed]) -> list[Violation]:
    """Return one violation for each node whose memory is too small and each group that is split."""
    return [*_judge_memory(data, placed), *_judge_colocation(placed)]


def _judge_memory(data: DagData, placed: Sequence[Placed]) -> Iterator[Violation]:
    limits = {node.id: exact(node.memory) for node in data.nodes if node.memory is not None}
    held: dict[str, list[Placed]] = defaultdict(list)
    for item in placed:
        if item.node in limits and item.task.memory:
            held[item.node].append(item)
    for node, items in held.items():
        total = sum((exact(item.task.memory or 0) for item in items), Fraction(0))
        if total > limits[node]:
            yield Violation(
                "memory",
                f"node '{node}' must hold {plain(total)} of memory, it has {plain(limits[node])} "
                f"({_list([item.task.id for item in items])})",
            )


def _judge_colocation(placed: Sequence[Placed]) -> Iterator[Violation]:
    groups: dict[str, list[Placed]] = defaultdict(list)
    for item in placed:
        if item.task.colocate is not None and item.node is not None:
            groups[item.task.colocate].append(item)
    for label, items in groups.items():
        nodes: dict[str | None, str] = {}
        for item in items:
            nodes.setdefault(item.node, item.task.id)
        if len(nodes) > 1:
            places = ", ".join(f"'{task}' on '{node}'" for node, task in nodes.items())
            yield Violation(
                "colocation",
                f"the tasks of '{label}' must share one node, they are on {len(nodes)} ({places})",
            )


def _list(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    return f"tasks {', '.join(tasks[:_NAMED])}{more}"
