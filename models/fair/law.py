"""What an allocation promises: when each job ends if nothing straggles and shares stay."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.answer import IDLE, FairAnswer
from allocsolve.models.fair.data import Rounds
from allocsolve.models.fair.objectives import isolated
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings

__all__ = ["finish_time_ratios", "planned_ends", "round_length", "round_progress"]


def planned_ends(answer: FairAnswer) -> FloatArray:
    """Return when each job ends, float64 (n,), infinite where it never does.

    With runs that is their end; with shares ``arrival + remaining / U``; with rounds, which
    are repeated, the moment within the round in which the work is done.

    Raises
    ------
    ValueError
        If a job has no remaining work given.
    """
    jobs = answer.problem.arrays.jobs
    if np.isnan(jobs.remaining).any():
        raise ValueError("the ends of jobs need their remaining work")
    if answer.runs is not None:
        ends = np.where(jobs.remaining > 0, np.inf, jobs.arrival)
        for run in answer.runs:
            ends[run.job] = run.end
        return ends
    if answer.rounds is not None:
        return _round_ends(answer)
    with np.errstate(divide="ignore", invalid="ignore"):
        needed = np.where(jobs.remaining > 0, jobs.remaining / answer.utilities, 0.0)
    promised: FloatArray = jobs.arrival + needed
    return promised


def round_length(problem: FairProblem) -> float:
    """Return how long a round takes."""
    return float((problem.rounds or Rounds(count=1)).length)


def round_progress(answer: FairAnswer) -> tuple[FloatArray, FloatArray]:
    """Return pace and lost time of each job in each round, two float64 (R, n).

    A job loses the restart time in a round if it ran on another type, or on none, in the
    round before; the round before the first is the last, since rounds are repeated.
    """
    assert answer.rounds is not None
    arrays, rounds = answer.problem.arrays, answer.rounds
    runs = rounds != IDLE
    pace = np.where(runs, arrays.throughput[np.arange(rounds.shape[1]), rounds], 0.0)
    settings = answer.problem.rounds
    restart = float(settings.restart) if settings is not None else 0.0
    moved = runs & (rounds != np.roll(rounds, 1, axis=0))
    return pace, np.where(moved, restart, 0.0)


def _round_ends(answer: FairAnswer) -> FloatArray:
    jobs, length = answer.problem.arrays.jobs, round_length(answer.problem)
    pace, lost = round_progress(answer)
    ends = np.where(jobs.remaining > 0, np.inf, jobs.arrival)
    for i in np.flatnonzero((jobs.remaining > 0) & pace.any(axis=0)).tolist():
        cycle = _Cycle(pace[:, i], lost[:, i], length, float(jobs.arrival[i]))
        ends[i] = cycle.end_of(float(jobs.remaining[i]))
    return ends


@dataclass(frozen=True)
class _Cycle:
    """The rounds of one job, repeated from time 0; it works from its arrival on."""

    pace: FloatArray
    lost: FloatArray
    length: float
    arrival: float

    def end_of(self, work: float) -> float:
        """Return when so much work is done: a first cycle, whole cycles, a last one."""
        count, begun = len(self.pace), int(self.arrival // self.length)
        left, end = self._work(work, begun)
        if end is not None:
            return end
        total = float((self.pace * (self.length - self.lost)).sum())
        if total <= 0:
            return math.inf
        skipped = max(math.ceil(left / total) - 1, 0)
        left, end = self._work(left - skipped * total, begun + (skipped + 1) * count)
        if end is None:  # rounding left a little
            left, end = self._work(left, begun + (skipped + 2) * count)
        return math.inf if end is None else end

    def _work(self, left: float, first: int) -> tuple[float, float | None]:
        """Work for one cycle; return what is left, and when it was done if it was."""
        for number in range(first, first + len(self.pace)):
            r = number % len(self.pace)
            begin = max(number * self.length + self.lost[r], self.arrival)
            done = self.pace[r] * max((number + 1) * self.length - begin, 0.0)
            if done > 0 and left <= done * (1 + 1e-12):
                return 0.0, float(begin + left / self.pace[r])
            left -= done
        return left, None


def finish_time_ratios(
    answer: FairAnswer, ends: FloatArray, settings: Settings | None = None
) -> FloatArray:
    """Return ``(elapsed + end - arrival) / isolated`` of each job, float64 like ``ends``.

    Above 1 the job ends later than with its equal split (Mahajan et al., NSDI 2020).
    """
    arrays = answer.problem.arrays
    by = settings or answer.problem.settings
    spent = arrays.jobs.elapsed + ends - arrays.jobs.arrival
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: FloatArray = spent / isolated(arrays, by)
    return ratio
