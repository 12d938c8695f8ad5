"""Nodes that are alike: an exchange of their loads changes nothing."""

from __future__ import annotations

from allocsolve.models.arrays import IntArray, integers
from allocsolve.models.coded.problem import CodedProblem

__all__ = ["node_classes"]


def node_classes(problem: CodedProblem) -> IntArray:
    """Return the class of each node, int64 (n,), counted from 0 in the order of the nodes.

    Nodes of a class have the same law, times, cost and capacity and straggle alone. With
    scenarios, and in a group, every node is a class of its own.
    """
    arrays = problem.arrays
    numbers: dict[object, int] = {}
    found = []
    for i in range(len(problem.nodes)):
        alone = arrays.independent or (arrays.scenarios is None and arrays.group[i] < 0)
        key: object = i
        if alone and arrays.holds is None:
            key = (
                arrays.laws[i],
                float(arrays.speed[i]),
                float(arrays.startup[i]),
                float(arrays.message[i]),
                float(arrays.row_time[i]),
                float(arrays.cost[i]),
                float(arrays.capacity[i]),
            )
        found.append(numbers.setdefault(key, len(numbers)))
    return integers(found)
