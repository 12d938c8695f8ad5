"""What a caller hears while a run goes on, in units of the input."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from allocsolve.api.case import Case
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.errors import UsageError
from allocsolve.models.result import Objective
from allocsolve.solvers.control import ControlOf, Event, Token

__all__ = ["Incumbent", "Listener", "Progress"]


@dataclass(frozen=True)
class Progress:
    """Something happened in a run.

    Attributes
    ----------
    type
        ``"incumbent"``, ``"bound"`` or ``"status"``.
    time
        Seconds since the run began.
    value, bound
        Best value and proven bound so far, None if unknown.
    gap
        Relative distance of the two, None if either is unknown.
    source
        The part of the method that found it; for ``"status"`` what it does now.
    """

    type: str
    time: float
    value: int | float | None
    bound: int | float | None
    gap: float | None
    source: str


@dataclass(frozen=True)
class Incumbent:
    """A better answer, which the checker has accepted.

    Attributes
    ----------
    time
        Seconds since the run began.
    value, bound, gap, source
        As in :class:`Progress`.
    answer
        The schedule, assignment or allocation.
    """

    time: float
    value: int | float
    bound: int | float | None
    gap: float | None
    source: str
    answer: object

    @property
    def schedule(self) -> Schedule:
        """The answer of a ``dag`` problem.

        Raises
        ------
        UsageError
            If the problem is of another kind.
        """
        if not isinstance(self.answer, Schedule):
            raise UsageError("only a problem of kind 'dag' has a schedule: use 'answer'")
        return self.answer


class Listener:
    """Turns the events of a method into calls of the caller's functions.

    Attributes
    ----------
    failure
        The error that such a function raised; it ends the run.
    phases
        When each phase of the method began, by :func:`time.monotonic`, and its name.
    """

    def __init__(
        self,
        case: Case[object, object],
        started: float,
        token: Token,
        on_incumbent: Callable[[Incumbent], object] | None,
        on_event: Callable[[Progress], object] | None,
    ) -> None:
        self.control: ControlOf[object, float] | None = None
        self.phases: list[tuple[float, str]] = []
        self.failure: BaseException | None = None
        self._closed = False
        self._case = case
        self._started = started
        self._token = token
        self._on_incumbent = on_incumbent
        self._on_event = on_event

    def __call__(self, event: Event) -> None:
        """Pass an event on; called by the method, maybe from another thread."""
        if self.failure is not None or self._closed:
            return
        if event.type == "status":
            self.phases.append((time.monotonic(), event.source))
        try:
            self._pass_on(event)
        except BaseException as failure:  # raised again in the caller's thread
            self.failure = failure
            self._token.cancel()

    def close(self) -> None:
        """Pass nothing on any more: a thread that was left behind may still report."""
        self._closed = True

    def seconds_of(self, phase: str) -> float | None:
        """Return how long the phases that begin with this word took, None if there were none."""
        ends = [*(began for began, _ in self.phases[1:]), time.monotonic()]
        spent = [
            end - began
            for (began, name), end in zip(self.phases, ends, strict=False)
            if name.startswith(phase)
        ]
        return sum(spent) if spent else None

    def _pass_on(self, event: Event) -> None:
        progress = self._progress(event)
        if self._on_event is not None:
            self._on_event(progress)
        if self._on_incumbent is None or event.type != "incumbent" or self.control is None:
            return
        found = self.control.answer
        answer = None if found is None else self._case.lift(found)
        if answer is not None and not self._case.violations(answer):
            self._on_incumbent(self._incumbent(progress, answer))

    def _incumbent(self, progress: Progress, answer: object) -> Incumbent:
        value = self._case.number(self._case.cost(answer))
        return Incumbent(
            progress.time, value, progress.bound, progress.gap, progress.source, answer
        )

    def _progress(self, event: Event) -> Progress:
        value, bound = self._units(event.value), self._units(event.bound)
        case = self._case
        objective = Objective(case.objective, case.sense, value, bound, case.gap_scale)
        return Progress(
            type=event.type,
            time=time.monotonic() - self._started,
            value=value,
            bound=bound,
            gap=objective.gap,
            source=event.source,
        )

    def _units(self, cost: float | None) -> int | float | None:
        return None if cost is None else self._case.number(cost)
