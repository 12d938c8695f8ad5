"""The ways to execute the tasks of a ``dag`` instance, in exact numbers before the grid is known.

A duration is kept as an integer times one of a few units: the common grid of all durations
that are given as such, and for each node the time that one grid step of work takes there.
So a hundred thousand tasks on many nodes cost one multiplication of arrays, not a fraction
for each pair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import IntArray, frozen
from allocsolve.models.columns import Column
from allocsolve.models.dag.data import DagData, Node, Task
from allocsolve.models.exact import LARGEST, Number, exact

__all__ = ["ModeTable", "read_modes"]

_Demand: TypeAlias = Mapping[str, Number]
_NO_NODE = np.array([-1], np.int64)


@dataclass(frozen=True, eq=False)
class ModeTable:
    """One row for each way to execute a task, in the order of the tasks.

    Attributes
    ----------
    count
        int64 (n,): number of ways of each task.
    node, index
        int64 (m,): node (-1 for none), position in the task's ``modes``.
    demand, holder
        Resources held by each task on a node and by each mode of the project form; int64
        (m,) says which of these a way holds.
    steps, unit
        (m,): the duration is ``steps * units[unit]``.
    units
        ``units[0]`` for durations given as such, ``units[k + 1]`` for work on node k.
    """

    count: IntArray
    node: IntArray
    index: IntArray
    demand: Sequence[_Demand]
    holder: IntArray
    steps: npt.NDArray[np.int64]
    unit: IntArray
    units: Sequence[Fraction]

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
        reduced = self.steps // _integers([factor or 1 for factor in factors])[self.unit]
        largest = np.zeros(len(self.units), reduced.dtype)
        np.maximum.at(largest, self.unit, reduced)
        if any(a * b > LARGEST for a, b in zip(largest.tolist(), ratios, strict=True)):
            return None
        return frozen(reduced * _integers(ratios)[self.unit])

    def _factors(self) -> list[int]:
        """Greatest common divisor of the steps that use each unit, 0 if none does."""
        factors = np.zeros(len(self.units), self.steps.dtype)
        np.gcd.at(factors, self.unit, self.steps)
        return [int(factor) for factor in factors]


def _integers(values: Sequence[int]) -> npt.NDArray[np.int64]:
    """Return int64 where the values fit, Python integers otherwise."""
    fits = max(values, default=0) <= LARGEST
    array: npt.NDArray[np.int64] = np.array(values, dtype=np.int64 if fits else np.object_)
    return array


def read_modes(data: DagData) -> ModeTable:
    """List the ways to execute every task; nodes with speed 0 execute none."""
    hosts, rows = _Hosts(data), _Rows()
    count = np.zeros(len(data.tasks), np.int64)
    for i, task in enumerate(data.tasks):
        if task.modes is not None:
            for k, mode in enumerate(task.modes):
                rows.add(_NO_NODE, mode.demand, k)
                rows.given.append(mode.duration)
            count[i] = len(task.modes)
            continue
        if task.work is not None:
            nodes = hosts.of(task)
            rows.work.append((len(rows.node), task.work))
        else:
            row = data.durations[task.id]
            nodes = hosts.listed(task, row)
            rows.given.extend(row[hosts.ids[k]] for k in nodes.tolist())
        rows.add(nodes, task.demand)
        count[i] = len(nodes)
    return _assemble(data.nodes, rows, count)


@dataclass
class _Rows:
    """What the tasks and modes add to the table, one after the other.

    ``given`` lists the durations that are given as such, ``work`` pairs of a position in the
    other lists and the work there.
    """

    node: list[IntArray] = field(default_factory=list)
    demand: list[_Demand] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    given: list[Number] = field(default_factory=list)
    work: list[tuple[int, Number]] = field(default_factory=list)

    def add(self, node: IntArray, demand: _Demand, index: int = 0) -> None:
        """Add a way for each of the nodes."""
        self.node.append(node)
        self.demand.append(demand)
        self.index.append(index)


def _assemble(nodes: Sequence[Node], rows: _Rows, count: IntArray) -> ModeTable:
    width = np.fromiter(map(len, rows.node), np.int64, len(rows.node))
    holder = np.repeat(np.arange(len(width)), width)
    node = np.concatenate([np.zeros(0, np.int64), *rows.node])
    given, work = Column.of(rows.given), Column.of([amount for _, amount in rows.work])
    given_unit, work_unit = given.grid() or Fraction(1), work.grid() or Fraction(1)
    works = np.zeros(len(width), np.bool_)
    works[[place for place, _ in rows.work]] = True
    on_work = works[holder]
    given_steps, work_steps = given.multiples(given_unit), work.multiples(work_unit)
    steps = np.zeros(len(node), np.result_type(given_steps, work_steps))
    steps[~on_work] = given_steps
    steps[on_work] = np.repeat(work_steps, width[works])
    return ModeTable(
        count=count,
        node=node,
        index=np.array(rows.index, np.int64)[holder],
        demand=rows.demand,
        holder=holder,
        steps=steps,
        unit=np.where(on_work, node + 1, 0),
        units=[given_unit, *(_unit_of_work(work_unit, host) for host in nodes)],
    )


def _unit_of_work(work_unit: Fraction, node: Node) -> Fraction:
    speed = exact(node.speed)
    return work_unit / speed if speed else Fraction(0)


class _Hosts:
    """The nodes that are alive, and which of them a task may use."""

    def __init__(self, data: DagData) -> None:
        self.ids = [node.id for node in data.nodes]
        self._nodes = data.nodes
        self._alive = {node.id: k for k, node in enumerate(data.nodes) if exact(node.speed) != 0}
        self._all = np.array(list(self._alive.values()), np.int64)
        self._limits = any(node.memory is not None for node in data.nodes)
        self._known: dict[tuple[object, ...], IntArray] = {}

    def of(self, task: Task) -> IntArray:
        """Return the nodes that are eligible and have the memory for the task alone."""
        if task.eligible is None and not self._limits:
            return self._all
        eligible = None if task.eligible is None else tuple(task.eligible)
        key = (eligible, task.memory if self._limits else None)
        if key not in self._known:
            able = [k for k in self._alive.values() if self._can_host(task, k)]
            self._known[key] = np.array(able, np.int64)
        return self._known[key]

    def listed(self, task: Task, row: Mapping[str, Number]) -> IntArray:
        """Return those in a task's row of durations; a large shop lists few for each task."""
        present = sorted(self._alive[node] for node in row if node in self._alive)
        return np.array([k for k in present if self._can_host(task, k)], np.int64)

    def _can_host(self, task: Task, k: int) -> bool:
        node, allowed = self._nodes[k], task.eligible
        if allowed is not None and node.id not in allowed and node.type not in allowed:
            return False
        return node.memory is None or not task.memory or exact(task.memory) <= exact(node.memory)
