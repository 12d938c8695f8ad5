"""What happens to single tasks and transfers beyond the runtime laws: rows handed to the replay.

Slowdowns of a node over its tasks, failures with repair and random bandwidths are drawn here,
a row for each task or arc, with numbers that depend on seed, task (or node, or edge) and
replication only. A task on a node with a group label reads the numbers of the group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import FloatArray
from allocsolve.models.execution.plan import ReplayPlan
from allocsolve.models.execution.program import Rows
from allocsolve.models.execution.replay import DURATIONS, FAILURES, LINKS, LOSS, SLOWDOWN
from allocsolve.models.nodes import Deterministic, RuntimeLaw
from allocsolve.models.processes import Failures, Markov, NodeProcess, PerTask, UniformSource
from allocsolve.models.random import GROUP, FloatType, Place, round_keys, top_word, uniforms
from allocsolve.models.sampling import SCRATCH, draw64

__all__ = ["Disturbances", "GroupRows", "break_down", "draw_rows"]

Form: TypeAlias = tuple[int, FloatArray]
"""Code and numbers of a law, see :data:`allocsolve.models.laws_base.LAW_CODES`."""

_ROWS = 256
"""At most so many rows are made at once, unless one task needs more."""

_MOST_FAILURES = 10_000


def draw_rows(form: Form, seed: int, stream: int, group: int, place: Place) -> FloatArray:
    """Return the draws of one group from the compiled form of a law, float64 (GROUP,)."""
    out, scratch = np.empty(GROUP), np.empty((SCRATCH, GROUP))
    words, keys = np.empty((2, GROUP), np.uint32), round_keys(seed, 1, stream)[0]
    draw64(out, scratch, words, keys, group, place, *form)
    return out


def break_down(
    failures: Failures, work: FloatArray, uniform: UniformSource
) -> tuple[FloatArray, FloatArray]:
    """Return when each task is done if it starts at 0, and how much work was lost.

    The same draws as :meth:`allocsolve.models.processes.Failures.times`; there is no loss where
    tasks resume after a repair.
    """
    if not failures.rate:
        return work, np.zeros(work.shape)
    elapsed, lost, left = np.zeros(work.shape), np.zeros(work.shape), work.copy()
    active = np.ones(work.shape, np.bool_)
    for k in range(_MOST_FAILURES):
        alive = -np.log1p(-uniform(2 * k)) / failures.rate
        active &= alive < left
        if not active.any():
            return elapsed + left, lost
        repaired = alive - np.log1p(-uniform(2 * k + 1)) / failures.repair
        elapsed[active] += repaired[active]
        if failures.resume:
            left[active] -= alive[active]
        else:
            lost[active] += alive[active]
    return np.where(active, np.inf, elapsed + left), lost


@dataclass(frozen=True)
class Disturbances:
    """Rows that the replay of a plan wants.

    Attributes
    ----------
    plan
        The plan.
    laws
        Law of the factor of each task, None for the planned duration.
    processes
        Of each node.
    link_law
        Law of the factor of each transfer, None for transfers as planned.
    seed, dtype
        As asked for.
    """

    plan: ReplayPlan
    laws: Sequence[RuntimeLaw | None]
    processes: Sequence[NodeProcess]
    link_law: RuntimeLaw | None
    seed: int
    dtype: FloatType

    @cached_property
    def _forms(self) -> dict[int, Form]:
        return {}

    def form(self, law: RuntimeLaw | None) -> Form:
        """Return the compiled form of a law; without one the factor is 1."""
        if id(law) not in self._forms:
            self._forms[id(law)] = (law or Deterministic(1.0)).kernel_form()
        return self._forms[id(law)]

    @cached_property
    def tasks(self) -> frozenset[int]:
        """Tasks whose durations are given."""
        busy = self.plan.duration > 0
        return frozenset(
            task
            for task, node in enumerate(self.plan.node.tolist())
            if node >= 0 and busy[task] and _changes(self.processes[node])
        )

    @cached_property
    def losses(self) -> Mapping[int, int]:
        """Row of each node that may be lost."""
        nodes = [k for k, process in enumerate(self.processes) if process.loss is not None]
        return {k: row for row, k in enumerate(nodes)}

    @property
    def links(self) -> bool:
        """Whether transfers are random."""
        return self.link_law is not None and bool(self.plan.arcs.transfer.any())

    @cached_property
    def streams(self) -> list[int]:
        """Stream of each node: the first node with its label."""
        first: dict[str, int] = {}
        return [
            k if process.group is None else first.setdefault(process.group, k)
            for k, process in enumerate(self.processes)
        ]

    @staticmethod
    def is_free(process: NodeProcess) -> bool:
        """Whether the factor of a task depends on no other task and node."""
        return isinstance(process.slowdown, PerTask) and process.group is None

    def arcs(self, position: int) -> list[int]:
        """Return the arcs into a position whose factor is given."""
        if not self.links:
            return []
        arcs = self.plan.arcs
        span = range(int(arcs.offset[position]), int(arcs.offset[position + 1]))
        return [k for k in span if arcs.transfer[k] > 0]

    def segments(self, limit: int) -> Iterator[tuple[int, int]]:
        """Yield spans of positions that together need few rows, at least one span."""
        order = self.plan.order.tolist()
        begin, rows = 0, 0
        for position, task in enumerate(order):
            needed = len(self.arcs(position)) + (task in self.tasks)
            if position > begin and (rows + needed > _ROWS or position - begin >= limit):
                yield begin, position
                begin, rows = position, 0
            rows += needed
        yield begin, len(order)

    def of_group(self, group: int) -> GroupRows:
        """Return the rows of one group of replications."""
        return GroupRows(self, group)

    def transfers(self, group: int) -> Iterator[tuple[int, Rows]]:
        """Yield each arc whose factor is given, with the factors."""
        rows = self.of_group(group)
        for position in range(len(self.plan.order)):
            for arc in self.arcs(position):
                yield arc, rows.transfer(arc)

    def lost(self, group: int) -> Iterator[tuple[int, FloatArray]]:
        """Yield each task that may fail, with the ticks of work that failures cost it."""
        rows = self.of_group(group)
        for task in sorted(self.tasks):
            if self.processes[int(self.plan.node[task])].failures is not None:
                yield task, rows.duration(task)[1]


def _changes(process: NodeProcess) -> bool:
    return process.slowdown is not None or process.failures is not None


class GroupRows:
    """Rows of one group of replications."""

    def __init__(self, owner: Disturbances, group: int) -> None:
        self._owner, self._group = owner, group
        self._top = top_word(owner.seed)
        self._tick = float(owner.plan.problem.arrays.tick)
        self._factors: dict[int, FloatArray] = {}

    def _uniform(self, purpose: int, stream: int) -> UniformSource:
        def draw(number: int) -> FloatArray:
            first = self._group * GROUP
            v = uniforms(self._owner.seed, stream, first, GROUP, purpose=purpose, draw=number)
            return 1.0 - v

        return draw

    @cached_property
    def losses(self) -> Rows:
        """When nodes are lost, ticks, one row for each node that may be."""
        owner = self._owner
        rows = np.empty((len(owner.losses), GROUP), owner.dtype)
        for node, row in owner.losses.items():
            law, stream = owner.processes[node].loss, owner.streams[node]
            place = (LOSS, 0, self._top)
            rows[row] = (
                draw_rows(owner.form(law), owner.seed, stream, self._group, place) / self._tick
            )
        return rows

    def rows(self, begin: int, end: int) -> Rows:
        """Return the rows that the tasks at some positions use, in their order."""
        owner = self._owner
        found: list[npt.ArrayLike] = []
        order = owner.plan.order
        if owner.links or owner.tasks:
            for position in range(begin, end):
                found.extend(self.transfer(arc) for arc in owner.arcs(position))
                if int(order[position]) in owner.tasks:
                    found.append(self.duration(int(order[position]))[0])
        return np.array(found, owner.dtype).reshape(len(found), GROUP)

    def transfer(self, arc: int) -> Rows:
        """Return the factors of the transfer of an arc."""
        owner = self._owner
        edge = int(owner.plan.arcs.edge[arc])
        place = (LINKS, 0, self._top)
        drawn = draw_rows(owner.form(owner.link_law), owner.seed, edge, self._group, place)
        return drawn.astype(owner.dtype)

    def duration(self, task: int) -> tuple[FloatArray, FloatArray]:
        """Return the durations of a task, and the work that failures cost it, ticks."""
        owner = self._owner
        process = owner.processes[int(owner.plan.node[task])]
        place = (DURATIONS, 0, self._top)
        drawn = draw_rows(owner.form(owner.laws[task]), owner.seed, task, self._group, place)
        work = drawn * float(owner.plan.duration[task])
        work = work * self._slowdown(process, task)
        if process.failures is None:
            return work, np.zeros(GROUP)
        source = self._uniform(FAILURES, task)
        took, lost = break_down(process.failures, work * self._tick, source)
        return took / self._tick, lost / self._tick

    def _slowdown(self, process: NodeProcess, task: int) -> FloatArray:
        """Return the factors of a task on its node; steps are the tasks of the node."""
        owner, slowdown = self._owner, process.slowdown
        if slowdown is None:
            return np.ones(GROUP)
        if owner.is_free(process):
            source = self._uniform(SLOWDOWN, len(owner.processes) + task)
            return np.asarray(slowdown.factors(1, source)[0])
        node = int(owner.plan.node[task])
        if node not in self._factors:
            steps = int((owner.plan.node == node).sum()) if _moves(slowdown) else 1
            source = self._uniform(SLOWDOWN, owner.streams[node])
            self._factors[node] = slowdown.factors(steps, source)
        rows = self._factors[node]
        return np.asarray(rows[min(int(owner.plan.rank[task]), len(rows) - 1)])


def _moves(slowdown: object) -> bool:
    """Whether the factor changes from task to task."""
    return isinstance(slowdown, Markov | PerTask)
