"""What an allocation promises: when each job ends if nothing straggles and shares stay."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.answer import IDLE, FairAnswer
from allocsolve.models.fair.objectives import isolated
from allocsolve.models.fair.settings import Settings

__all__ = ["finish_time_ratios", "planned_ends", "round_progress"]


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
    jobs, settings = answer.problem.arrays.jobs, answer.problem.rounds
    length = float(settings.length) if settings is not None else 360.0
    pace, lost = round_progress(answer)
    done = pace * (length - lost)
    cycle = done.sum(axis=0)
    ends = np.where(jobs.remaining > 0, np.inf, jobs.arrival)
    for i in np.flatnonzero((jobs.remaining > 0) & (cycle > 0)).tolist():
        ends[i] = _end_in_rounds(jobs.remaining[i], pace[:, i], lost[:, i], length)
    return ends


def _end_in_rounds(work: float, pace: FloatArray, lost: FloatArray, length: float) -> float:
    """Return when the work is done if the rounds are repeated from time 0."""
    done = pace * (length - lost)
    total = np.cumsum(done)
    cycles = max(int(np.ceil(work / total[-1])) - 1, 0)
    left = work - cycles * total[-1]
    r = int(np.searchsorted(total, left * (1 - 1e-12)))
    r = min(r, len(total) - 1)
    within = left - (total[r] - done[r])
    return float((cycles * len(total) + r) * length + lost[r] + within / pace[r])


def finish_time_ratios(
    answer: FairAnswer, ends: FloatArray, settings: Settings | None = None
) -> FloatArray:
    """Return ``(elapsed + end - arrival) / isolated`` of each job, float64 like ``ends``.

    Above 1 the job ends later than with its equal split (Mahajan et al., NSDI 2020).
    """
    arrays = answer.problem.arrays
    by = settings or answer.problem.settings
    ratio: FloatArray = (arrays.jobs.elapsed + ends - arrays.jobs.arrival) / isolated(arrays, by)
    return ratio
