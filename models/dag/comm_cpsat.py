"""Is there a schedule of at most this length? CP-SAT models for identical nodes.

A decision is easier than a minimisation: the length is a constant, so heads and tails make
tight domains and stars make linear cuts. "No" proves a bound, "yes" is a better schedule
(destructive improvement: Klein and Scholl, "Computing lower bounds by destructive
improvement", European Journal of Operational Research 112, 1999).

Variables: a start for each task, a literal for each task and node, a literal "same node" for
each edge that pays for the way. Nodes are alike, so a node is used only if the one before it
is used by an earlier task of the topological order.

*Star cut.* With room ticks between the end of task a and the latest end of a set of its
descendants whose data takes at least t to other nodes: on every node the work of the set is at
most slots * room, and slots * t less on nodes other than that of a. Only cuts that fill a good
part of the room on all nodes are added; sparse ones never bind and slow the engine down.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.dag.comm_bounds import ClusterBounds, Star
from allocsolve.models.dag.comm_identical import Identical
from allocsolve.models.dag.star import Fork

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["Decision", "decide_fork", "decide_schedule", "size_of"]

_DENSE = 0.6
"""Least share of the room on all nodes that the work of a star cut fills."""

Pulse = Callable[[], None]
Valued = Callable[["cp_model.IntVar"], int]


@dataclass(frozen=True, eq=False)
class Decision:
    """A built model and the way back: ``decode`` gives start and node of each task."""

    model: cp_model.CpModel
    decode: Callable[[Valued], tuple[list[int], list[int]]]


def decide_schedule(bounds: ClusterBounds, length: int, pulse: Pulse) -> Decision:
    """Build the model of all schedules of at most ``length`` ticks.

    ``pulse`` is called again and again while building; it may raise to end the build.
    """
    return _Builder(bounds, length, pulse).build()


class _Builder:
    """Builds one model, step by step."""

    def __init__(self, bounds: ClusterBounds, length: int, pulse: Pulse) -> None:
        from ortools.sat.python import cp_model

        self.bounds = bounds
        self.instance = bounds.instance
        self.length = length
        self.pulse = pulse
        self.model = cp_model.CpModel()
        self.start: list[cp_model.IntVar] = []
        self.on: list[list[cp_model.IntVar]] = []

    def build(self) -> Decision:
        """Add variables and constraints, and return the model with its decoder."""
        self._tasks()
        self._nodes()
        self._break_symmetry()
        self._transfers()
        for star in self.bounds.stars():
            self.pulse()
            self._cut(star)
        return Decision(self.model, self._decode)

    def _decode(self, value_of: Valued) -> tuple[list[int], list[int]]:
        start = [value_of(variable) for variable in self.start]
        return start, [_chosen(row, value_of) for row in self.on]

    def _tasks(self) -> None:
        instance = self.instance
        for i, (head, tail) in enumerate(zip(self.bounds.heads, self.bounds.tails, strict=True)):
            last = self.length - tail - instance.work[i]
            if last < head:
                self.model.add_bool_or([])  # nothing is so short
                last = head
            self.start.append(self.model.new_int_var(head, last, f"start_{i}"))
            self.on.append([self.model.new_bool_var(f"on_{i}_{k}") for k in range(instance.nodes)])
            self.model.add_exactly_one(self.on[i])

    def _nodes(self) -> None:
        instance, model = self.instance, self.model
        busy = [i for i, work in enumerate(instance.work) if work]
        for k in range(instance.nodes):
            self.pulse()
            runs = [
                model.new_optional_fixed_size_interval_var(
                    self.start[i], instance.work[i], self.on[i][k], f"run_{i}_{k}"
                )
                for i in busy
            ]
            if instance.slots == 1:
                model.add_no_overlap(runs)
            elif instance.slots < len(runs):
                model.add_cumulative(runs, [1] * len(runs), instance.slots)
        if instance.nodes > 1 and instance.capacity < len(busy):
            every = [
                model.new_fixed_size_interval_var(self.start[i], instance.work[i], f"run_{i}")
                for i in busy
            ]
            model.add_cumulative(every, [1] * len(every), instance.capacity)

    def _break_symmetry(self) -> None:
        order, nodes = self.instance.order, self.instance.nodes
        for rank, i in enumerate(order):
            self.pulse()
            for k in range(rank + 1, nodes):
                self.model.add(self.on[i][k] == 0)
            for k in range(1, min(rank + 1, nodes)):
                earlier = [self.on[order[r]][k - 1] for r in range(rank)]
                self.model.add_bool_or([*earlier, self.on[i][k].negated()])

    def _transfers(self) -> None:
        for i, transfers in enumerate(self.instance.outgoing):
            self.pulse()
            for j, near, far in transfers:
                end = self.start[i] + self.instance.work[i]
                self.model.add(self.start[j] >= end + near)
                if far > near and self.instance.nodes > 1:
                    same = self._same_node(i, j)
                    self.model.add(self.start[j] >= end + far).only_enforce_if(same.negated())

    def _same_node(self, i: int, j: int) -> cp_model.IntVar:
        same = self.model.new_bool_var(f"same_{i}_{j}")
        for left, right in zip(self.on[i], self.on[j], strict=True):
            self.model.add_bool_or([left.negated(), right.negated(), same])
            self.model.add_bool_or([same.negated(), left.negated(), right])
            self.model.add_bool_or([same.negated(), right.negated(), left])
        return same

    def _cut(self, star: Star) -> None:
        for tail in star.tails().tolist():
            inside = star.after >= tail
            tasks: list[int] = star.tasks[inside].tolist()
            delays = star.delay[inside]
            area = np.cumsum([self.instance.work[i] for i in tasks])
            room = self.length - star.base - tail
            full = self.instance.slots * room
            last = np.append(delays[1:] != delays[:-1], True)
            near = (delays > room) & last
            if near.any():
                self._keep_near(star.centre, tasks[: int(np.flatnonzero(near)[-1]) + 1])
            dense = last & ~near & (area >= _DENSE * full * self.instance.nodes)
            dense &= area + self.instance.slots * delays > full
            for k in np.flatnonzero(dense).tolist():
                self._star_cut(star.centre, tasks[: k + 1], int(delays[k]), full)

    def _keep_near(self, centre: int, tasks: Sequence[int]) -> None:
        """No data would be on another node in time."""
        for i in tasks:
            for here, there in zip(self.on[centre], self.on[i], strict=True):
                self.model.add_implication(here, there)
                self.model.add_implication(there, here)

    def _star_cut(self, centre: int, tasks: Sequence[int], delay: int, full: int) -> None:
        work = [self.instance.work[i] for i in tasks]
        lost = self.instance.slots * delay
        for k, here in enumerate(self.on[centre]):
            used = sum(w * self.on[i][k] for w, i in zip(work, tasks, strict=True))
            self.model.add(used + lost * (1 - here) <= full)


def decide_fork(fork: Fork, length: int) -> Decision:
    """Build the model that places the leaves of a fork or join; nothing is sequenced."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    within = length - fork.centre_work
    on = [
        [model.new_bool_var(f"on_{i}_{k}") for k in range(fork.nodes)]
        for i in range(len(fork.leaves))
    ]
    for row in on:
        model.add_exactly_one(row)
    work = [leaf.work for leaf in fork.leaves]
    model.add(_load(work, on, 0) <= within)
    for count in _steps(fork):
        room = within - fork.leaves[count - 1].delay
        for k in range(1, fork.nodes):
            if room < 0:
                model.add(sum(row[k] for row in on[:count]) == 0)
            else:
                model.add(_load(work[:count], on[:count], k) <= room)
    for k in range(2, fork.nodes):  # remote nodes come into use by their index
        for i, row in enumerate(on):
            model.add_bool_or([*(on[j][k - 1] for j in range(i)), row[k].negated()])
    return Decision(model, lambda value_of: fork.schedule([_chosen(row, value_of) for row in on]))


def _load(
    work: Sequence[int], on: Sequence[Sequence[cp_model.IntVar]], node: int
) -> cp_model.LinearExpr | int:
    return sum(w * row[node] for w, row in zip(work, on, strict=True))


def _steps(fork: Fork) -> list[int]:
    """Return after how many leaves the delay becomes less."""
    delays = [leaf.delay for leaf in fork.leaves] + [-1]
    return [k for k in range(1, len(delays)) if delays[k] != delays[k - 1]]


def _chosen(row: Sequence[cp_model.IntVar], value_of: Valued) -> int:
    return next(k for k, literal in enumerate(row) if value_of(literal))


def size_of(instance: Identical) -> int:
    """Return about how many literals and clauses the model of a schedule has."""
    return (instance.n * instance.nodes + 3 * instance.edges) * instance.nodes
