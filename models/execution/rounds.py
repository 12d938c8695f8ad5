"""Drawing replications in rounds that grow, whatever is replayed.

An interrupted run has what earlier rounds gave, a run with a precision draws until it is
reached, and whoever waits hears how far it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import AllocsolveError
from allocsolve.models.execution.request import (
    DEFAULT_REPLICATIONS,
    LARGEST_SEARCHED,
    SimulationRequest,
)
from allocsolve.models.execution.summary import moments, replications_needed
from allocsolve.models.random import GROUP

__all__ = ["INTERRUPTED", "Cancelled", "Drawn", "Source", "Watch", "draw_asked", "draw_number"]

INTERRUPTED = "interrupted: fewer replications were drawn than were asked for"

_GROWTH = 4
"""How many times as many replications a round has as the one before, at most."""

_STEP = 20
"""A run whose precision is almost reached draws at least this part more, 1 / 20."""

_PILOT_SHARE = 0.05
"""Share of the progress that is told for the replications before their number is known."""


class Cancelled(AllocsolveError):
    """The run was asked to stop."""


@dataclass
class Watch:
    """Who is told how far a run is, and who may stop it."""

    on_progress: Callable[[float], object] | None = None
    cancelled: Callable[[], bool] | None = None

    def tell(self, share: float) -> None:
        """Tell the share that is done, 0 to 1."""
        if self.on_progress is not None:
            self.on_progress(min(share, 1.0))

    def stops(self) -> bool:
        """Whether the run is to end."""
        return self.cancelled is not None and self.cancelled()

    def within(self, done: float, size: float, total: float) -> Watch:
        """Return the watch of a part of the work, which tells the share of the whole."""
        if self.on_progress is None:
            return self
        return Watch(lambda share: self.tell((done + share * size) / total), self.cancelled)


class Source(Protocol):
    """Answers that are replayed together, on common random numbers."""

    @property
    def rounds(self) -> tuple[int, int]:
        """Replications of the first round, and of every round at most (about a second)."""
        ...

    def draw(self, first: int, count: int, watch: Watch) -> Sequence[FloatArray]:
        """Return the values of the next replications of each answer, and count them.

        Raises
        ------
        Cancelled
            If the watch stops the round; then none of its replications counts.
        """
        ...


@dataclass
class Drawn:
    """Values of each answer, as many of each, and whether the run was interrupted."""

    samples: list[FloatArray] = field(default_factory=list)
    was_interrupted: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know."""
        return (INTERRUPTED,) if self.was_interrupted else ()


def draw_number(source: Source, count: int, watch: Watch) -> Drawn:
    """Draw so many replications.

    Raises
    ------
    Cancelled
        If the run is cancelled before there are two replications of each answer.
    """
    drawing = _Drawing(source)
    drawing.up_to(count, watch)
    return drawing.found


def draw_asked(
    source: Source,
    request: SimulationRequest,
    watch: Watch,
    *,
    default: int = DEFAULT_REPLICATIONS,
    has_interval: Sequence[bool],
) -> Drawn:
    """Draw as many replications as a request asks for.

    With a precision the run draws until the interval of each mean is narrow enough, or the
    largest number is reached. A stopping rule that looks at the interval keeps its coverage in
    the limit of small precisions (Chow and Robbins, Ann. Math. Statist. 36, 1965).

    Parameters
    ----------
    default
        Replications where the request names neither their number nor a precision that
        replications can reach.
    has_interval
        Of which answers the mean is estimated and has an interval.

    Raises
    ------
    Cancelled
        If the run is cancelled before there are two replications of each answer.
    """
    if request.precision is None or not any(has_interval):
        return draw_number(source, request.replications or default, watch)
    limit = request.replications or LARGEST_SEARCHED
    drawing, target = _Drawing(source), min(GROUP, limit)
    part = watch.within(0, _PILOT_SHARE, 1)
    while True:
        drawing.up_to(target, part)
        needed = drawing.needed(request.precision, has_interval)
        if drawing.found.was_interrupted or needed <= drawing.done or drawing.done >= limit:
            break
        target = min(max(needed, drawing.done + drawing.done // _STEP), limit)
        part = watch.within(_PILOT_SHARE, 1 - _PILOT_SHARE, 1)
    watch.tell(1.0)
    return drawing.found


class _Drawing:
    """A run of rounds."""

    def __init__(self, source: Source) -> None:
        self.found, self.done = Drawn(), 0
        self._source = source
        self._size, self._most = source.rounds

    def up_to(self, total: int, watch: Watch) -> None:
        """Go on until there are so many replications of each answer."""
        rounds: list[Sequence[FloatArray]] = [self.found.samples] if self.done else []
        while self.done < total:
            size = min(self._size, total - self.done)
            try:
                rounds.append(self._round(size, total, watch))
            except Cancelled:
                if self.done < min(2, total):
                    raise
                self.found.was_interrupted = True
                break
            self.done += size
            self._size = min(_GROWTH * self._size, self._most)
        self.found.samples = [np.concatenate(of_one) for of_one in zip(*rounds, strict=True)]

    def _round(self, size: int, total: int, watch: Watch) -> Sequence[FloatArray]:
        if watch.stops():
            raise Cancelled
        part = watch.within(self.done, size, total)
        drawn = self._source.draw(self.done, size, part)
        part.tell(1.0)
        return drawn

    def needed(self, precision: float, has_interval: Sequence[bool]) -> int:
        """Return how many replications the narrowest interval that is asked for takes."""
        return max(
            replications_needed(moments(values), precision)
            for values, counts in zip(self.found.samples, has_interval, strict=True)
            if counts
        )
