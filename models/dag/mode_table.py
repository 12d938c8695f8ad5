"""The ways to execute the tasks of a ``dag`` instance, in exact numbers before the grid is known.

A duration is kept as an integer times one of a few units: the common grid of all durations
that are given as such, and for each node the time that one grid step of work takes there.
So a hundred thousand tasks on many nodes cost one multiplication of arrays, not a fraction
for each pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from operator import itemgetter
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import IntArray, frozen
from allocsolve.models.dag.data import DagData, Mode, Node, Task
from allocsolve.models.exact import LARGEST, Number, exact, grid

__all__ = ["ModeTable", "read_modes"]

_Host: TypeAlias = tuple[int, Node]
"""Index and data of a node."""

_Demand: TypeAlias = Mapping[str, Number]


@dataclass
class ModeTable:
    """One row for each way to execute a task, in the order of the tasks.

    Attributes
    ----------
    count
        Number of ways of each task.
    node, index, demand
        Node (-1 for none), position in the task's ``modes``, resources held.
    steps, unit
        The duration is ``steps * units[unit]``.
    units
        ``units[0]`` for durations given as such, ``units[k + 1]`` for work on node k.
    """

    count: list[int] = field(default_factory=list)
    node: list[int] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    demand: list[_Demand] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    unit: list[int] = field(default_factory=list)
    units: list[Fraction] = field(default_factory=list)

    def grids(self) -> list[Fraction]:
        """Return for each unit the coarsest step of the durations that use it, 0 for none."""
        return [factor * unit for factor, unit in zip(self._factors(), self.units, strict=True)]

    def ticks(self, tick: Fraction) -> IntArray | None:
        """Return the durations in ticks; None if one is beyond 2^53.

        ``tick`` divides every element of :meth:`grids`.
        """
        factors = self._factors()
        ratios = [
            int(factor * unit / tick) for factor, unit in zip(factors, self.units, strict=True)
        ]
        which = np.array(self.unit, dtype=np.int64)
        divisors = _integers([factor or 1 for factor in factors])
        reduced = _integers(self.steps) // divisors[which]
        largest = [0] * len(self.units)
        for unit, value in zip(*_largest(which, reduced), strict=True):
            largest[unit] = value
        if any(a * b > LARGEST for a, b in zip(largest, ratios, strict=True)):
            return None
        return frozen(reduced * _integers(ratios)[which])

    def _factors(self) -> list[int]:
        """Greatest common divisor of the steps that use each unit, 0 if none does."""
        factors = [0] * len(self.units)
        which, steps = np.array(self.unit, dtype=np.int64), _integers(self.steps)
        for unit, group in _groups(which, steps):
            factors[unit] = int(np.gcd.reduce(group))
        return factors


def _integers(values: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return int64 where the values fit, Python integers otherwise."""
    fits = max(values, default=0) <= LARGEST
    array: npt.NDArray[np.int64] = np.array(values, dtype=np.int64 if fits else np.object_)
    return array


def _groups(
    which: IntArray, values: npt.NDArray[np.int64]
) -> Iterable[tuple[int, npt.NDArray[np.int64]]]:
    if not len(which):
        return []
    order = np.argsort(which, kind="stable")
    units, first = np.unique(which[order], return_index=True)
    return zip(units.tolist(), np.split(values[order], first[1:]), strict=True)


def _largest(which: IntArray, values: npt.NDArray[np.int64]) -> tuple[list[int], list[int]]:
    groups = [(unit, int(group.max())) for unit, group in _groups(which, values)]
    return [unit for unit, _ in groups], [value for _, value in groups]


def read_modes(data: DagData) -> ModeTable:
    """List the ways to execute every task; nodes with speed 0 execute none."""
    hosts = {node.id: (k, node) for k, node in enumerate(data.nodes) if exact(node.speed) != 0}
    given, work = _given(data, hosts), _work(data)
    given_unit, work_unit = grid(given.values()), grid(work.values())
    table = ModeTable()
    table.units = [given_unit, *(_unit_of_work(work_unit, node) for node in data.nodes)]
    for i, task in enumerate(data.tasks):
        rows = len(table.node)
        if task.modes is not None:
            steps = [_steps(given[i, k], given_unit) for k in range(len(task.modes))]
            _add_project_modes(table, task.modes, steps)
        elif i in work:
            nodes = [k for k, node in hosts.values() if _can_host(task, node)]
            step = _steps(work[i], work_unit)
            _add_nodes(table, nodes, [step] * len(nodes), [k + 1 for k in nodes], task.demand)
        else:
            nodes = [k for k, _ in _listed(task, data, hosts)]
            steps = [_steps(given[i, k], given_unit) for k in nodes]
            _add_nodes(table, nodes, steps, [0] * len(nodes), task.demand)
        table.count.append(len(table.node) - rows)
    return table


def _given(data: DagData, hosts: Mapping[str, _Host]) -> dict[tuple[int, int], Fraction]:
    """Durations given as such, by task and mode or node."""
    given: dict[tuple[int, int], Fraction] = {}
    for i, task in enumerate(data.tasks):
        if task.modes is not None:
            given.update(((i, k), exact(mode.duration)) for k, mode in enumerate(task.modes))
        elif task.id in data.durations:
            row = data.durations[task.id]
            hosted = _listed(task, data, hosts)
            given.update(((i, k), exact(row[node.id])) for k, node in hosted)
    return given


def _work(data: DagData) -> dict[int, Fraction]:
    return {i: exact(task.work) for i, task in enumerate(data.tasks) if task.work is not None}


def _unit_of_work(work_unit: Fraction, node: Node) -> Fraction:
    speed = exact(node.speed)
    return work_unit / speed if speed else Fraction(0)


def _listed(task: Task, data: DagData, hosts: Mapping[str, _Host]) -> list[_Host]:
    """Nodes in the task's row of durations; a large shop lists few for each of its tasks."""
    present = sorted(
        (hosts[node] for node in data.durations[task.id] if node in hosts), key=itemgetter(0)
    )
    return [host for host in present if _can_host(task, host[1])]


def _can_host(task: Task, node: Node) -> bool:
    """Whether the node is eligible and has the memory for the task alone."""
    allowed = task.eligible
    if allowed is not None and node.id not in allowed and node.type not in allowed:
        return False
    return node.memory is None or not task.memory or exact(task.memory) <= exact(node.memory)


def _steps(value: Fraction, unit: Fraction) -> int:
    return value.numerator * unit.denominator // (value.denominator * unit.numerator)


def _add_project_modes(table: ModeTable, modes: Sequence[Mode], steps: Sequence[int]) -> None:
    table.node.extend([-1] * len(modes))
    table.index.extend(range(len(modes)))
    table.demand.extend(mode.demand for mode in modes)
    table.steps.extend(steps)
    table.unit.extend([0] * len(modes))


def _add_nodes(
    table: ModeTable,
    nodes: Sequence[int],
    steps: Sequence[int],
    units: Sequence[int],
    demand: _Demand,
) -> None:
    table.node.extend(nodes)
    table.index.extend([0] * len(nodes))
    table.demand.extend([demand] * len(nodes))
    table.steps.extend(steps)
    table.unit.extend(units)
