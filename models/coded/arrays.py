"""The data of a ``coded`` problem as read-only arrays, one entry for each node."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray, integers
from allocsolve.models.coded.data import CodedData, Elastic, Gradient, Node
from allocsolve.models.exact import exact
from allocsolve.models.nodes import Law, RuntimeLaw, law_from

__all__ = ["CodedArrays", "build_arrays"]


@dataclass(frozen=True, eq=False)
class CodedArrays:
    """What the nodes are and what they can do; n nodes, in the order of the instance.

    Attributes
    ----------
    speed, startup, message, row_time, cost
        float64 (n,), in units of the input.
    capacity
        float64 (n,), the largest load of a node: its storage, rounded down where loads are
        whole; no more than the partitions that it may hold; at most 1 (or the blocks that it
        holds) for elastic tasks; 0 for a dead node; infinite without a limit.
    group
        int64 (n,), nodes of equal number straggle together; -1 for a node on its own.
    holds
        bool (n, partitions), None where every node may take every partition.
    scenarios
        float64 (draws, n), times per unit of load; None with laws.
    laws
        The law of each node, empty with scenarios.
    """

    speed: FloatArray
    startup: FloatArray
    message: FloatArray
    row_time: FloatArray
    cost: FloatArray
    capacity: FloatArray
    group: IntArray
    holds: BoolArray | None
    scenarios: FloatArray | None
    laws: tuple[RuntimeLaw, ...]

    @property
    def independent(self) -> bool:
        """Whether the times of the nodes are independent."""
        return self.scenarios is None and bool((self.group < 0).all())


def build_arrays(data: CodedData) -> CodedArrays:
    """Turn validated data into arrays.

    Raises
    ------
    InputError
        If a law is not known or its parameters are not allowed.
    """
    scenarios = None
    if data.scenarios is not None and data.scenarios.samples is not None:
        scenarios = np.array([[float(x) for x in row] for row in data.scenarios.samples])
        scenarios.setflags(write=False)
    return CodedArrays(
        speed=_floats(node.speed for node in data.nodes),
        startup=_floats(node.startup for node in data.nodes),
        message=_floats(node.message for node in data.nodes),
        row_time=_floats(node.row_time for node in data.nodes),
        cost=_floats(node.cost for node in data.nodes),
        capacity=_floats(_capacity(data, node) for node in data.nodes),
        group=_groups(data),
        holds=_holds(data),
        scenarios=scenarios,
        laws=() if scenarios is not None else _laws(data),
    )


def _floats(values: Iterable[object]) -> FloatArray:
    array = np.array([float(value) for value in values], dtype=np.float64)  # type: ignore[arg-type]  # numbers of any sort
    array.setflags(write=False)
    return array


def _laws(data: CodedData) -> tuple[RuntimeLaw, ...]:
    unit = Law(law="deterministic", value=1)
    return tuple(
        law_from(node.runtime or unit, path=f"$.nodes[{i}].runtime")
        for i, node in enumerate(data.nodes)
    )


def _capacity(data: CodedData, node: Node) -> float:
    storage = math.inf if node.storage is None else exact(node.storage)
    if not exact(node.speed):
        return 0.0
    if isinstance(data.task, Elastic):
        share = Fraction(1)
        if node.holds is not None and data.task.partitions:
            share = Fraction(len(node.holds), data.task.partitions)
        return float(min(storage, share))
    if isinstance(data.task, Gradient):
        held = data.task.partitions if node.holds is None else len(node.holds)
        storage = min(storage, held)
    return storage if isinstance(storage, float) else float(math.floor(storage))


def _groups(data: CodedData) -> IntArray:
    members: dict[str, int] = {}
    for node in data.nodes:
        if node.group is not None:
            members[node.group] = members.get(node.group, 0) + 1
    shared = [label for label, count in members.items() if count > 1]
    number = {label: k for k, label in enumerate(shared)}
    return integers(number.get(node.group or "", -1) for node in data.nodes)


def _holds(data: CodedData) -> BoolArray | None:
    if not isinstance(data.task, Gradient | Elastic):
        return None
    if all(node.holds is None for node in data.nodes):
        return None
    parts = data.task.partitions or 1
    table = np.ones((len(data.nodes), parts), dtype=np.bool_)
    for i, node in enumerate(data.nodes):
        if node.holds is not None:
            table[i] = False
            table[i, node.holds] = True
    table.setflags(write=False)
    return table
