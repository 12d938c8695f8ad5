"""Replaying under a policy: one event after another, asking the policy what starts.

The same draws as in the compiled replay: the first copy of a task reads the numbers that the
plan reads, further copies read their own. So a policy and the plan are compared on common
random numbers.
"""

from __future__ import annotations

import heapq
import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import UsageError
from allocsolve.models.execution.copies import CopyDraws, Setting
from allocsolve.models.ports import Dispatcher, Running, Situation

__all__ = ["Execution", "Outcome"]

_END, _LOSS, _READY, _WAKE = range(4)


@dataclass(frozen=True, eq=False)
class Outcome:
    """One execution, times in ticks.

    Attributes
    ----------
    makespan
        Infinite if some task never ends.
    start, end, node
        Of the copy that ended first; NaN and -1 for a task that never ends.
    busy
        Time that each node worked.
    wasted
        Time that nodes worked for nothing: slower copies, lost nodes, failures.
    copies
        Copies that were started beyond the first of each task.
    """

    makespan: float
    start: FloatArray
    end: FloatArray
    node: list[int]
    busy: FloatArray
    wasted: float
    copies: int


@dataclass(slots=True)
class _Copy:
    task: int
    node: int
    since: float
    end: float
    lost: float
    alive: bool = True


@dataclass
class Execution:
    """One replication of an instance under a policy.

    Parameters
    ----------
    setting
        The instance and its plan.
    policy
        What decides.
    draws
        Durations of copies, and when nodes are lost, in this replication.
    """

    setting: Setting
    policy: Dispatcher
    draws: CopyDraws
    now: float = 0.0
    _events: list[tuple[float, int, int, int]] = field(default_factory=list)
    _copies: list[_Copy] = field(default_factory=list)
    _running: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        setting = self.setting
        n = len(setting.duration)
        self._start, self._end = np.full(n, np.nan), np.full(n, np.nan)
        self._node = [-1] * n
        self._busy = np.zeros(len(setting.slots))
        self._wasted, self._extra, self._done = 0.0, 0, 0
        self._begun = [0] * n
        self._waiting = list(setting.waits)
        self._ready: set[int] = set()
        self._idle = dict(enumerate(setting.slots))
        self._serial = 0

    def run(self) -> Outcome:
        """Run to the end."""
        for node, loss in self.draws.losses():
            self._push(loss, _LOSS, node)
        for task, waits in enumerate(self._waiting):
            if not waits:
                self._push(self.setting.release[task], _READY, task)
        while self._done < len(self._end) and self._events:
            self._advance()
            if self._done < len(self._end):
                self._ask()
        makespan = math.inf if self._done < len(self._end) else float(self._end.max(initial=0.0))
        return Outcome(
            makespan,
            self._start,
            self._end,
            self._node,
            self._busy,
            self._wasted,
            self._extra,
        )

    def _push(self, time: float, kind: int, what: int) -> None:
        self._serial += 1
        heapq.heappush(self._events, (time, kind, self._serial, what))

    def _advance(self) -> None:
        """Handle all events of the next moment."""
        self.now = self._events[0][0]
        while self._events and self._events[0][0] <= self.now:
            _, kind, _, what = heapq.heappop(self._events)
            if kind == _END:
                self._finish(what)
            elif kind == _LOSS:
                self._lose(what)
            elif kind == _READY:
                self._release(what)

    def _release(self, task: int) -> None:
        """Let a task be ready; one without length needs no node and is done."""
        if self.setting.duration[task] > 0:
            self._ready.add(task)
        else:
            self._complete(task, self.now, self.now, self.setting.planned_node[task])

    def _finish(self, number: int) -> None:
        copy = self._copies[number]
        if not copy.alive:
            return
        self._stop(number, useful=True)
        for other in list(self._running[copy.task]):
            self._stop(other, useful=False)
        self._complete(copy.task, copy.since, copy.end, copy.node)

    def _stop(self, number: int, *, useful: bool) -> None:
        """Take a copy off its node."""
        copy = self._copies[number]
        copy.alive = False
        self._running[copy.task].remove(number)
        if copy.node in self._idle:
            self._idle[copy.node] += 1
        worked = max(0.0, self.now - copy.since)
        self._busy[copy.node] += worked
        self._wasted += copy.lost if useful else worked

    def _complete(self, task: int, start: float, end: float, node: int) -> None:
        self._start[task], self._end[task], self._node[task] = start, end, node
        self._done += 1
        for successor in self.setting.successors[task]:
            self._waiting[successor] -= 1
            if not self._waiting[successor]:
                self._push(max(self.now, self._allowed(successor, None)), _READY, successor)

    def _allowed(self, task: int, node: int | None) -> float:
        """Return when precedence lets a task start, with its data on a node if one is given."""
        moment = float(self.setting.release[task])
        for source, lag, from_start, edge in self.setting.incoming[task]:
            base = self._start[source] if from_start else self._end[source]
            delay = 0.0
            if node is not None:
                delay = self.setting.delay(edge, self._node[source], node)
            moment = max(moment, float(base) + lag + delay)
        return moment

    def _lose(self, node: int) -> None:
        """Take a node away for good, with all that runs on it."""
        self._idle.pop(node, None)
        for number, copy in enumerate(self._copies):
            if copy.alive and copy.node == node:
                self._stop(number, useful=False)
                if not self._running[copy.task]:
                    self._ready.add(copy.task)

    def _ask(self) -> None:
        """Let the policy start copies, and say when to ask again."""
        situation = self._situation()
        for order in self.policy.dispatch(situation):
            self._begin(order.task, order.node)
        look = self.policy.next_look(self._situation())
        if look is not None and self.now < look < math.inf:
            self._push(look, _WAKE, -1)

    def _situation(self) -> Situation:
        setting = self.setting
        running = [
            Running(c.task, c.node, c.since, float(setting.expected[c.task, c.node]))
            for numbers in self._running.values()
            for c in (self._copies[number] for number in numbers)
        ]
        return Situation(
            time=self.now,
            ready=sorted(self._ready, key=lambda task: (setting.planned_start[task], task)),
            begun=self._begun,
            idle={node: free for node, free in self._idle.items() if free > 0},
            running=running,
            expected=setting.expected,
            arrival=partial(self._allowed),
            planned_node=setting.planned_node,
            planned_start=setting.planned_start,
        )

    def _begin(self, task: int, node: int) -> None:
        if self._idle.get(node, 0) < 1 or not math.isfinite(self.setting.expected[task, node]):
            raise UsageError(f"policy '{self.policy.name}' starts task {task} on node {node}")
        if task not in self._ready and not self._running[task]:
            raise UsageError(f"policy '{self.policy.name}' starts task {task}, which cannot run")
        since = max(self.now, self._allowed(task, node))
        took, lost = self.draws.duration(task, node, self._begun[task])
        self._extra += self._begun[task] > 0
        self._begun[task] += 1
        self._ready.discard(task)
        self._idle[node] -= 1
        self._running[task].append(len(self._copies))
        self._push(since + took, _END, len(self._copies))
        self._copies.append(_Copy(task, node, since, since + took, lost))
