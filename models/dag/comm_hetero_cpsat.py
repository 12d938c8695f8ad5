"""CP-SAT model of communicating tasks on nodes of any mix, with a length that is not exceeded.

Variables: start and end of each task, a literal for each task and node on which the node
table leaves it enough time within the length, and the makespan. On each node the chosen
tasks do not overlap (or at most as many as there are slots do); windows of nodes
(:mod:`allocsolve.models.dag.node_windows`) give the relaxation a sense of their load. An edge
whose data costs time is one inequality for each node of its source, with the delay to each
node of its target; pairs of nodes that the length leaves no time for are excluded.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.dag.node_windows import NodeTable, NodeWindow

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    Valued = Callable[[cp_model.IntVar], int]

__all__ = ["NodeCpModel", "build", "size_of"]

Pulse = Callable[[], None]


@dataclass(frozen=True, eq=False)
class NodeCpModel:
    """A built model and the ways back and forth.

    Attributes
    ----------
    decode
        From a function of variables to values to start and node of each task.
    hint
        Takes start and node of each task, int64 (n,) each.
    """

    model: cp_model.CpModel
    decode: Callable[[Valued], tuple[list[int], list[int]]]
    hint: Callable[[IntArray, IntArray], None]


def size_of(table: NodeTable) -> int:
    """Return about how many literals and coefficients the model has."""
    graph = table.graph
    return graph.nodes * (graph.n + len(graph.edge_source) * (1 + graph.nodes))


def build(
    table: NodeTable,
    length: int,
    *,
    lower: int = 0,
    windows: Iterable[NodeWindow] = (),
    gaps: Iterable[tuple[int, int, int]] = (),
    minimise: bool = True,
    pulse: Pulse = lambda: None,
) -> NodeCpModel:
    """Build the model of all schedules of at most ``length`` ticks.

    Parameters
    ----------
    lower
        A proven bound on the makespan.
    gaps
        Pairs of tasks with a least time from the end of the first to the start of the second.
    minimise
        Whether to ask for the least makespan, or only for a schedule.
    pulse
        Called again and again; may raise to end the build.
    """
    builder = _Builder(table, length, lower, pulse)
    return builder.build(tuple(windows), tuple(gaps), minimise)


class _Builder:
    """Builds one model, step by step."""

    def __init__(self, table: NodeTable, length: int, lower: int, pulse: Pulse) -> None:
        from ortools.sat.python import cp_model

        self.table = table
        self.graph = table.graph
        self.length = length
        self.pulse = pulse
        self.model = cp_model.CpModel()
        self.open: BoolArray = table.possible & (table.through <= length)
        self.start: list[cp_model.IntVar] = []
        self.end: list[cp_model.IntVar] = []
        self.on: list[dict[int, cp_model.IntVar]] = []
        self.lower = min(lower, length)
        self.makespan = self.model.new_int_var(self.lower, length, "makespan")

    def build(
        self,
        windows: Sequence[NodeWindow],
        gaps: Sequence[tuple[int, int, int]],
        minimise: bool,
    ) -> NodeCpModel:
        """Add variables and constraints, and return the model with its decoder."""
        if bool(self.open.any(axis=1).all()):
            self._tasks()
            self._nodes()
            self._edges()
            for a, b, gap in gaps:
                self.model.add(self.start[b] >= self.end[a] + gap)
            self._windows(windows)
            self._memory()
            self._groups()
            if minimise:
                self.model.minimize(self.makespan)
        else:
            self.model.add_bool_or([])  # nothing is so short
        return NodeCpModel(self.model, self._decode, self._hint)

    def _decode(self, value_of: Valued) -> tuple[list[int], list[int]]:
        node = [next(k for k, on in row.items() if value_of(on)) for row in self.on]
        return [value_of(start) for start in self.start], node

    def _hint(self, start: IntArray, node: IntArray) -> None:
        if not self.on or not bool(self.open[np.arange(self.graph.n), node].all()):
            return
        for i, (begin, home) in enumerate(zip(start.tolist(), node.tolist(), strict=True)):
            self.model.add_hint(self.start[i], begin)
            self.model.add_hint(self.end[i], begin + int(self.graph.duration[i, home]))
            for k, on in self.on[i].items():
                self.model.add_hint(on, k == home)

    def _tasks(self) -> None:
        model, table = self.model, self.table
        for i in range(self.graph.n):
            self.pulse()
            nodes = np.flatnonzero(self.open[i])
            length = self.graph.duration[i, nodes]
            head, tail = table.head[i, nodes], table.tail[i, nodes]
            start = model.new_int_var(
                int(head.min()), int((self.length - tail - length).max()), f"start_{i}"
            )
            end = model.new_int_var(
                int((head + length).min()), int((self.length - tail).max()), f"end_{i}"
            )
            row = {k: model.new_bool_var(f"on_{i}_{k}") for k in nodes.tolist()}
            model.add_exactly_one(row.values())
            spent = zip(length.tolist(), row.values(), strict=True)
            model.add(end == start + sum(d * on for d, on in spent))
            for k, on in row.items():
                model.add(start >= int(table.head[i, k])).only_enforce_if(on)
                model.add(end + int(table.tail[i, k]) <= self.makespan).only_enforce_if(on)
            self.start.append(start)
            self.end.append(end)
            self.on.append(row)

    def _nodes(self) -> None:
        """Let no node run more tasks at a time than it has slots."""
        for k, slots in enumerate(self.graph.slots.tolist()):
            self.pulse()
            runs = [
                self.model.new_optional_interval_var(
                    self.start[i],
                    int(self.graph.duration[i, k]),
                    self.end[i],
                    row[k],
                    f"run_{i}_{k}",
                )
                for i, row in enumerate(self.on)
                if k in row and self.graph.duration[i, k] > 0
            ]
            if slots == 1:
                self.model.add_no_overlap(runs)
            elif slots < len(runs):
                self.model.add_cumulative(runs, [1] * len(runs), slots)

    def _edges(self) -> None:
        graph = self.graph
        for a, b, data, lag in zip(
            graph.edge_source.tolist(),
            graph.edge_target.tolist(),
            graph.edge_data.tolist(),
            graph.edge_lag.tolist(),
            strict=True,
        ):
            self.pulse()
            self.model.add(self.start[b] >= self.end[a] + lag)
            if data > 0:
                self._transfer(a, b, data, lag)

    def _transfer(self, a: int, b: int, data: int, lag: int) -> None:
        """Delay the target by what the pair of nodes asks for; exclude pairs without time."""
        graph, table = self.graph, self.table
        for k, here in self.on[a].items():
            ready = int(table.head[a, k] + graph.duration[a, k]) + lag
            waiting: list[cp_model.LinearExpr] = []
            for m, there in self.on[b].items():
                delay = int(graph.latency[k, m] + data * graph.data_time[k, m]) if k != m else 0
                rest = int(graph.duration[b, m] + table.tail[b, m])
                cut = k != m and not graph.linked[k, m]
                if cut or ready + delay + rest > self.length:
                    self.model.add_bool_or([here.negated(), there.negated()])
                elif delay:
                    waiting.append(delay * there)
            if waiting:
                self.model.add(self.start[b] >= self.end[a] + lag + sum(waiting)).only_enforce_if(
                    here
                )

    def _windows(self, windows: Sequence[NodeWindow]) -> None:
        """Limit the load of windows; the load of each node is one of them."""
        everything = [NodeWindow(k, 0, 0) for k in range(self.graph.nodes)]
        for window in dict.fromkeys([*everything, *windows]):
            if window.head + window.tail > self.length:
                continue
            k = window.node
            load = [
                int(self.graph.duration[i, k]) * self.on[i][k]
                for i in np.flatnonzero(window.inside(self.table)).tolist()
                if k in self.on[i]
            ]
            slots = int(self.graph.slots[k])
            # Above the proven bound the room would be negative where no task of it runs.
            end = self.makespan if window.head + window.tail <= self.lower else self.length
            self.model.add(sum(load) <= slots * (end - window.head - window.tail))

    def _memory(self) -> None:
        if not self.graph.limits_memory:
            return
        for k, room in enumerate(self.graph.node_memory.tolist()):
            needs = [
                int(self.graph.memory[i]) * row[k] for i, row in enumerate(self.on) if k in row
            ]
            self.model.add(sum(needs) <= room)

    def _groups(self) -> None:
        """Let the tasks of a group share their node."""
        for group in range(int(self.graph.group.max(initial=-1)) + 1):
            tasks = np.flatnonzero(self.graph.group == group).tolist()
            for a, b in itertools.pairwise(tasks):
                for k in range(self.graph.nodes):
                    ends = [self.on[i].get(k) for i in (a, b)]
                    self._equal(ends[0], ends[1])

    def _equal(self, left: cp_model.IntVar | None, right: cp_model.IntVar | None) -> None:
        if left is not None and right is not None:
            self.model.add(left == right)
        elif left is not None or right is not None:
            self.model.add((left if right is None else right) == 0)
