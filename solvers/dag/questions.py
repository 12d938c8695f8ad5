"""Questions to CP-SAT on identical nodes: is there a schedule of at most some length.

"No" proves a bound, "yes" is a better schedule (Klein and Scholl, "Computing lower bounds by
destructive improvement", European Journal of Operational Research 112, 1999).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_bounds import ClusterBounds
from allocsolve.models.dag.comm_cpsat import Decision, decide_fork, decide_schedule
from allocsolve.models.dag.star import Fork
from allocsolve.models.result import Bound, Scalar
from allocsolve.solvers.control import Control
from allocsolve.solvers.engines.cpsat import EngineStatus, run

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["Questions"]

_FIRST_SHARE, _NEXT_SHARE = 0.6, 0.35
"""Share of the time left for the question one tick below the best schedule, and for others."""

_SHORTEST = 0.1
"""Seconds below which no question is asked."""


class _Ended(Exception):
    """Time is up while a model is being built."""


class _Answer(Enum):
    """What came of a question."""

    YES = "yes"
    NO = "no"
    OPEN = "open"


class Questions:
    """Asks for ever shorter schedules, and for ever longer ones that do not exist.

    Parameters
    ----------
    fork
        The fork or join that the instance is, if it is one.
    parameters
        Fields of CP-SAT's parameters.

    Attributes
    ----------
    is_open
        Whether some question was left open when its time was over.
    abandoned
        Whether a thread of the engine was left behind; nothing more can be asked then.
    """

    def __init__(
        self,
        bounds: ClusterBounds,
        fork: Fork | None,
        control: Control[Schedule],
        parameters: Mapping[str, Scalar],
    ) -> None:
        self.is_open = False
        self.abandoned = False
        self._until = math.inf
        self._bounds = bounds
        self._fork = fork
        self._control = control
        self._parameters = parameters

    def ask_all(self, seconds: float = math.inf) -> None:
        """Ask until value and bound meet, a limit ends it, or after so many seconds.

        Without any limit of time a question that CP-SAT leaves open is not asked again: it
        would be answered in the same way.
        """
        self._until = min(self._control.limits.deadline or math.inf, time.monotonic() + seconds)
        while self._may_ask():
            last = self._value() - 1 == self._lower()
            if self._ask(self._value() - 1, 1.0 if last else _FIRST_SHARE) is _Answer.OPEN:
                self._push()
                if math.isinf(self._until):
                    break

    def _push(self) -> None:
        """Halve the distance between the bound and the shortest length that is left open."""
        shortest_open = self._value() - 1
        while self._may_ask() and self._lower() < shortest_open:
            length = (self._lower() + shortest_open) // 2
            if self._ask(length, _NEXT_SHARE) is _Answer.OPEN:
                shortest_open = length
            shortest_open = min(shortest_open, self._value() - 1)

    def _value(self) -> int:
        value = self._control.value
        return self._bounds.instance.graph.problem.arrays.horizon + 1 if value is None else value

    def _may_ask(self) -> bool:
        rest = self._until - time.monotonic()
        return not self.abandoned and self._control.stopped() is None and rest > _SHORTEST

    def _lower(self) -> int:
        return 0 if self._control.bound is None else self._control.bound.value

    def _ask(self, length: int, share: float) -> _Answer:
        """Ask for a schedule of at most so many ticks within a share of the time left."""
        self._control.phase(f"CP-SAT is asked for a makespan of {length} ticks")
        inner = self._within(share)
        try:
            decision = self._formulate(length, inner)
        except _Ended:
            self.is_open = True
            return _Answer.OPEN
        report = run(decision.model, inner, self._accept(decision), self._parameters)
        self.abandoned = report.abandoned
        if report.status is EngineStatus.INFEASIBLE:
            self._control.raise_bound(
                Bound(length + 1, "cpsat", "no shorter schedule exists, proven by CP-SAT")
            )
            return _Answer.NO
        if report.status is EngineStatus.UNKNOWN:
            self.is_open = True
            return _Answer.OPEN
        return _Answer.YES

    def _within(self, share: float) -> Control[Schedule]:
        """Return a control for one question: the same token, a part of the time left."""
        limits = replace(self._control.limits, gap=0.0)
        if not math.isinf(self._until):
            now = time.monotonic()
            limits = replace(limits, deadline=now + share * max(self._until - now, 0.0))
        return Control(limits, self._control.token)

    def _formulate(self, length: int, inner: Control[Schedule]) -> Decision:
        def pulse() -> None:
            if inner.stopped() is not None:
                raise _Ended

        pulse()
        if self._fork is not None:
            return decide_fork(self._fork, length)
        decision = decide_schedule(self._bounds, length, pulse)
        pulse()
        return decision

    def _accept(self, decision: Decision) -> Callable[[Callable[[cp_model.IntVar], int]], None]:
        def accept(value_of: Callable[[cp_model.IntVar], int]) -> None:
            schedule = self._bounds.instance.graph.to_schedule(*decision.decode(value_of))
            self._control.offer(schedule, schedule.makespan, "cpsat")

        return accept
