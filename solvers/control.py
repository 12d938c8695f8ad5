"""Limits, cancellation and the best answer so far: what a method talks to while it runs."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from allocsolve.models.result import BoundOf, Reason, SolverInfo, Termination, relative_gap

__all__ = ["Control", "ControlOf", "Event", "Limits", "Outcome", "Proof", "RealControl", "Token"]

AnswerT = TypeVar("AnswerT")
CostT = TypeVar("CostT", int, float)


class Token:
    """A cancellation token; any thread or signal handler may set it."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._came = math.inf

    def cancel(self) -> None:
        """Ask the run to end and keep its best answer."""
        if not self.cancelled:
            self._came = time.monotonic()
        self._event.set()

    def age(self) -> float:
        """Return the seconds since the run was asked to end, 0 if it was not."""
        return max(0.0, time.monotonic() - self._came)

    @property
    def cancelled(self) -> bool:
        """Whether the run was asked to end."""
        return self._event.is_set()


@dataclass(frozen=True)
class Limits:
    """When a run ends and what it may use.

    Attributes
    ----------
    deadline
        Reading of :func:`time.monotonic` at which the run ends, None for no limit.
    gap
        Relative gap at which the answer is good enough, 0 for a proof of optimality.
    threads
        Threads that an engine may use.
    seed
        Seed of everything random.
    options
        Method-specific settings, as given by ``--set``.
    """

    deadline: float | None = None
    gap: float = 0.0
    threads: int = 1
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Event:
    """Something a caller may want to show: an incumbent, a bound or a change of phase.

    Attributes
    ----------
    type
        ``"incumbent"``, ``"bound"`` or ``"status"``.
    value, bound
        Best cost and best bound on it, None if unknown.
    source
        The part of the method that found it; for ``"status"`` what it does now.
    """

    type: str
    value: int | float | None
    bound: int | float | None
    source: str


class Proof(Enum):
    """What a method proved when it ended."""

    NOTHING = "nothing"
    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"


@dataclass(frozen=True)
class Outcome:
    """How a method ended; its best answer and bound are in the :class:`Control`.

    Attributes
    ----------
    deterministic
        Whether the same call gives the same answer again (no time limit, one thread).
    reason
        Why there is no answer, with ``Proof.INFEASIBLE``.
    baselines
        Value of each rule that the answer was compared with, in units of the objective; None
        for a rule that gives no answer.
    abandoned
        A thread of an engine did not stop in time and still runs: a process that wants to
        end now has to leave with ``os._exit``.
    """

    proof: Proof
    termination: Termination
    solver: SolverInfo
    deterministic: bool = True
    reason: Reason | None = None
    warnings: tuple[str, ...] = ()
    abandoned: bool = False
    baselines: Mapping[str, float | None] = field(default_factory=dict)


class ControlOf(Generic[AnswerT, CostT]):
    """The best answer and bound of one run of a minimisation, with its limits.

    Safe to use from several threads. Values and bounds are costs.

    Parameters
    ----------
    limits
        When to end.
    token
        Cancellation token.
    listener
        Called with every event, never concurrently.
    warm_start
        A checked answer to start from.

    Attributes
    ----------
    examined
        Whether the caller has looked for a short reason why there is no answer, and found none.
    """

    def __init__(
        self,
        limits: Limits,
        token: Token | None = None,
        listener: Callable[[Event], None] | None = None,
        warm_start: AnswerT | None = None,
    ) -> None:
        self.limits = limits
        self.token = token or Token()
        self.warm_start = warm_start
        self.examined = False
        self._listener = listener
        self._lock = threading.RLock()
        self._answer: AnswerT | None = None
        self._value: CostT | None = None
        self._bound: BoundOf[CostT] | None = None
        self._source: str | None = None

    @property
    def answer(self) -> AnswerT | None:
        """The best answer so far."""
        return self._answer

    @property
    def value(self) -> CostT | None:
        """The value of the best answer so far."""
        return self._value

    @property
    def bound(self) -> BoundOf[CostT] | None:
        """The best bound so far."""
        return self._bound

    @property
    def source(self) -> str | None:
        """The part of the method that found the best answer."""
        return self._source

    def offer(self, answer: AnswerT, value: CostT, source: str) -> bool:
        """Keep the answer if it is better than the best one; tell whether it was."""
        with self._lock:
            if self._value is not None and value >= self._value:
                return False
            self._answer, self._value, self._source = answer, value, source
            self._tell("incumbent", source)
            return True

    def refine(self, answer: AnswerT) -> None:
        """Hold an answer of the same value, which proves more, in place of the best one."""
        with self._lock:
            self._answer = answer

    def raise_bound(self, bound: BoundOf[CostT]) -> bool:
        """Keep the bound if it is higher than the best one; tell whether it was."""
        with self._lock:
            if self._bound is not None and bound.value <= self._bound.value:
                return False
            self._bound = bound
            self._tell("bound", bound.source)
            return True

    def phase(self, what: str) -> None:
        """Tell the listener what the method does now."""
        with self._lock:
            self._tell("status", what)

    def _tell(self, kind: str, source: str) -> None:
        if self._listener is not None:
            bound = None if self._bound is None else self._bound.value
            self._listener(Event(kind, self._value, bound, source))

    def remaining(self) -> float:
        """Return the seconds left, infinite without a time limit."""
        if self.limits.deadline is None:
            return float("inf")
        return self.limits.deadline - time.monotonic()

    def is_proven(self) -> bool:
        """Whether the best answer meets the best bound."""
        return (
            self._value is not None and self._bound is not None and self._value <= self._bound.value
        )

    def stopped(self) -> Termination | None:
        """Return why the run should end now, None to go on.

        ``FINISHED`` means that value and bound meet.
        """
        if self.is_proven():
            return Termination.FINISHED
        if self.token.cancelled:
            return Termination.INTERRUPTED
        if self._value is not None and self._bound is not None:
            gap = relative_gap(self._value, self._bound.value)
            if self.limits.gap > 0 and gap <= self.limits.gap:
                return Termination.GAP_LIMIT
        if self.remaining() <= 0:
            return Termination.TIME_LIMIT
        return None


class Control(ControlOf[AnswerT, int]):
    """A run whose costs are ticks of a time grid."""


class RealControl(ControlOf[AnswerT, float]):
    """A run whose costs are real numbers: an objective value, its sign turned round for ``max``."""
