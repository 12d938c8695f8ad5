"""Policies for the execution model: keep the plan, dispatch anew, run copies of slow tasks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice, takewhile

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import UsageError
from allocsolve.models.ports import Dispatcher, Situation, Start

__all__ = ["KeepPlan", "ListDispatch", "Speculate"]


@dataclass
class KeepPlan:
    """Every task on its planned node, in the order of planned starts.

    On nodes with one slot it does what the plan without a policy does.
    """

    name: str = "keep plan"
    _order: dict[int, list[int]] = field(default_factory=dict, repr=False)
    _of: FloatArray | None = field(default=None, repr=False)

    def dispatch(self, situation: Situation) -> Sequence[Start]:
        """Start the next planned task of each idle node if it is ready."""
        if self._of is not situation.planned_start:
            self._order, self._of = self._plan(situation), situation.planned_start
        ready, begun = set(situation.ready), situation.begun
        starts: list[Start] = []
        for node, free in situation.idle.items():
            left = (task for task in self._order.get(node, ()) if not begun[task])
            next_ones = takewhile(ready.__contains__, islice(left, free))
            starts.extend(Start(task, node) for task in next_ones)
        return starts

    def next_look(self, _situation: Situation) -> float | None:
        """Return None: it waits for ends only."""
        return None

    @staticmethod
    def _plan(situation: Situation) -> dict[int, list[int]]:
        queue: dict[int, list[int]] = {}
        start, node = situation.planned_start, situation.planned_node
        shortest = situation.expected.min(axis=1, initial=math.inf)
        for task in np.lexsort((np.arange(len(start)), start)).tolist():
            if shortest[task] > 0:
                queue.setdefault(int(node[task]), []).append(task)
        return queue


@dataclass(frozen=True)
class ListDispatch:
    """List scheduling as nodes fall idle: ready tasks by planned start, each where it ends first.

    A task waits for a busy node of its plan only if no node is idle.
    """

    name: str = "list dispatch"

    def dispatch(self, situation: Situation) -> Sequence[Start]:
        """Give every ready task the idle node on which it is expected to end first."""
        free, starts = dict(situation.idle), []
        for task in situation.ready:
            node = _best_node(situation, task, free)
            if node is not None:
                starts.append(Start(task, node))
                free[node] -= 1
        return starts

    def next_look(self, _situation: Situation) -> float | None:
        """Return None: it waits for ends only."""
        return None


@dataclass(frozen=True)
class Speculate:
    """Another policy, and a second copy of what has run too long, on a node left idle.

    Attributes
    ----------
    after
        A copy starts once a task has run ``after`` times its expected duration: take a
        quantile of the runtime law, e.g. ``law.quantile(0.95)``.
    inner
        What dispatches the tasks themselves.
    """

    after: float
    inner: Dispatcher = field(default_factory=ListDispatch)
    name: str = "speculative copies"

    def __post_init__(self) -> None:
        if not self.after > 0:
            raise UsageError(f"speculation starts after {self.after} times; it must be above 0")

    def dispatch(self, situation: Situation) -> Sequence[Start]:
        """Dispatch, then copy the tasks that are late, the latest first."""
        starts = list(self.inner.dispatch(situation))
        free = dict(situation.idle)
        for start in starts:
            free[start.node] -= 1
        late = [
            (self._moment(since, expected), task)
            for task, since, expected in _alone(situation)
            if self._moment(since, expected) <= situation.time
        ]
        for _, task in sorted(late):
            node = _best_node(situation, task, free)
            if node is not None:
                starts.append(Start(task, node))
                free[node] -= 1
        return starts

    def next_look(self, situation: Situation) -> float | None:
        """Return when the next running task gets late."""
        moments = [self._moment(since, expected) for _, since, expected in _alone(situation)]
        moments = [moment for moment in moments if moment > situation.time]
        looks = [self.inner.next_look(situation), min(moments, default=None)]
        return min((look for look in looks if look is not None), default=None)

    def _moment(self, since: float, expected: float) -> float:
        return since + self.after * expected


def _alone(situation: Situation) -> list[tuple[int, float, float]]:
    """Return task, start and expected duration of the tasks with one copy."""
    copies: dict[int, int] = {}
    for running in situation.running:
        copies[running.task] = copies.get(running.task, 0) + 1
    return [(r.task, r.since, r.expected) for r in situation.running if copies[r.task] == 1]


def _best_node(situation: Situation, task: int, free: dict[int, int]) -> int | None:
    """Return the idle node on which a task is expected to end first, None if it has none."""
    best, first = None, math.inf
    for node, slots in free.items():
        expected = float(situation.expected[task, node])
        if slots > 0 and expected < math.inf:
            end = max(situation.time, situation.arrival(task, node)) + expected
            if end < first:
                best, first = node, end
    return best
