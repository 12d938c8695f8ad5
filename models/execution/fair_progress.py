"""How jobs progress under shares or rounds on types that straggle, for many replications.

A law is the factor by which work on a type takes longer. Under shares one factor is drawn
for each job and type (the units that a job holds are slow or not), in rounds one for each job
and round. Draws depend on seed, job, type or round, and replication only, so that answers are
compared on common random numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.law import round_length, round_progress
from allocsolve.models.nodes import RuntimeLaw
from allocsolve.models.random import uniforms

__all__ = ["Draws", "JobEnds", "Laws", "ends_in_rounds", "ends_under_runs", "ends_under_shares"]

Laws = Sequence[RuntimeLaw | None]
"""Law of each type, None where work takes as long as planned."""

_SHARES, _ROUNDS = 0, 1
_MOST_ROUNDS = 100_000
"""Rounds after which a job that is not done counts as never done."""


@dataclass(frozen=True)
class Draws:
    """Slowdowns of ``count`` replications from ``first`` on under a seed."""

    laws: Laws
    seed: int
    count: int
    first: int = 0

    def of_share(self, job: int, kind: int) -> FloatArray | float:
        """Return the factors of a job (or pair) on a type."""
        return self._draw(job, kind, _SHARES, kind)

    def of_round(self, job: int, kind: int, number: int) -> FloatArray | float:
        """Return the factors of a job in a round that it spends on a type."""
        return self._draw(job, kind, _ROUNDS, number)

    def _draw(self, stream: int, kind: int, purpose: int, draw: int) -> FloatArray | float:
        law = self.laws[kind]
        if law is None:
            return 1.0
        numbers = uniforms(self.seed, stream, self.first, self.count, purpose=purpose, draw=draw)
        return law.upper_quantile(numbers)


@dataclass(frozen=True, eq=False)
class JobEnds:
    """What one job does in each replication.

    Attributes
    ----------
    job
        Its position.
    end
        float64 (replications,), infinite where it never ends.
    held
        By type, unit-time that it holds, float64 (replications,).
    lost
        float64 (replications,), part of that lost to restarts.
    """

    job: int
    end: FloatArray
    held: dict[int, FloatArray]
    lost: FloatArray


def ends_under_shares(answer: FairAnswer, job: int, draws: Draws) -> JobEnds:
    """Let a job progress under its shares from its arrival; they stay until it ends."""
    arrays, count = answer.problem.arrays, draws.count
    columns = arrays.jobs
    work, arrival = float(columns.remaining[job]), float(columns.arrival[job])
    if work == 0:
        return JobEnds(job, np.full(count, arrival), {}, np.zeros(count))
    pace = _pace(answer, job, draws)
    with np.errstate(divide="ignore"):
        duration = np.where(pace > 0, work / pace, np.inf)
    held = {
        int(j): arrays.gang[job] * answer.shares[job, j] * duration
        for j in np.flatnonzero(answer.shares[job])
    }
    for q, side in _pairs_of(answer, job):
        assert answer.pair_shares is not None
        for j in np.flatnonzero(answer.pair_shares[q]).tolist() if side == 0 else ():
            more = arrays.gang[job] * answer.pair_shares[q, j] * duration
            held[j] = held.get(j, np.zeros(count)) + more
    return JobEnds(job, arrival + duration, held, np.zeros(count))


def _pairs_of(answer: FairAnswer, job: int) -> list[tuple[int, int]]:
    """Return the pairs that a job is in and its side in each."""
    if answer.pair_shares is None:
        return []
    found = np.argwhere(answer.problem.arrays.pair_jobs == job)
    return [(int(q), int(side)) for q, side in found]


def _pace(answer: FairAnswer, job: int, draws: Draws) -> FloatArray:
    """Return the progress per unit of time in each replication, float64 (replications,)."""
    arrays, shares = answer.problem.arrays, answer.shares[job]
    gained, least = np.zeros(draws.count), np.full(draws.count, np.inf)
    with np.errstate(divide="ignore"):
        for j in np.flatnonzero(arrays.throughput[job] * shares).tolist():
            gained += arrays.throughput[job, j] * shares[j] / draws.of_share(job, j)
        for q, side in _pairs_of(answer, job):
            assert answer.pair_shares is not None
            for j in np.flatnonzero(answer.pair_shares[q]).tolist():
                pace = arrays.pair_throughput[q, j, side] * answer.pair_shares[q, j]
                gained += pace / draws.of_share(len(arrays.gang) + q, j)
        if arrays.demand is None:
            return gained
        for j in np.flatnonzero(arrays.demand[job]).tolist():
            rate = shares[j] / arrays.demand[job, j] / draws.of_share(job, j)
            least = np.minimum(least, rate)
    return np.minimum(gained, least) if arrays.exchanges[job] else least


def ends_in_rounds(
    answer: FairAnswer, draws: Draws, stop: Callable[[], bool]
) -> Callable[[int], JobEnds]:
    """Return the function that lets a job progress in rounds, repeated from time 0."""
    assert answer.rounds is not None
    paces, lost = round_progress(answer)
    length = round_length(answer.problem)
    rounds, gang = answer.rounds, answer.problem.arrays.gang

    def run(job: int) -> JobEnds:
        track = _Track(answer, job, draws.count)
        cycle = np.flatnonzero(paces[:, job] > 0).tolist()
        for number in _numbers(cycle, len(rounds)):
            if track.done or stop():
                break
            r = number % len(rounds)
            kind = int(rounds[r, job])
            with np.errstate(divide="ignore"):
                pace = paces[r, job] / np.asarray(draws.of_round(job, kind, number))
            start = number * length
            track.spend(kind, start, start + lost[r, job], start + length, pace, gang[job])
        return JobEnds(job, track.end, track.held, track.lost)

    return run


def _numbers(cycle: list[int], rounds: int) -> list[int] | range:
    """Return the numbers of the rounds in which a job runs, as far as anybody waits."""
    if not cycle:
        return range(0)
    cycles = range(_MOST_ROUNDS // rounds + 1)
    return [k * rounds + r for k in cycles for r in cycle]


class _Track:
    """The state of one job in all replications from round to round."""

    def __init__(self, answer: FairAnswer, job: int, count: int) -> None:
        columns = answer.problem.arrays.jobs
        self.left = np.full(count, columns.remaining[job])
        self.end = np.where(self.left > 0, np.inf, columns.arrival[job])
        self.held: dict[int, FloatArray] = {}
        self.lost = np.zeros(count)
        self._arrival = float(columns.arrival[job])

    @property
    def done(self) -> bool:
        return not bool((self.left > 0).any())

    def spend(
        self, kind: int, start: float, work: float, end: float, pace: FloatArray, gang: float
    ) -> None:
        """Hold a type from ``start`` to ``end`` and work on it from ``work`` on."""
        begin = max(work, self._arrival)
        if begin >= end:
            return
        busy: BoolArray = self.left > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            needed = np.where(pace > 0, self.left / pace, np.inf)
        finishes = busy & (needed <= (end - begin) * (1 + 1e-12))
        self.end = np.where(finishes, begin + needed, self.end)
        until = np.where(finishes, begin + needed, end)
        hold = np.where(busy, gang * (until - max(start, self._arrival)), 0.0)
        self.held[kind] = self.held.get(kind, np.zeros(len(hold))) + hold
        self.lost += np.where(busy, gang * max(work - max(start, self._arrival), 0.0), 0.0)
        with np.errstate(invalid="ignore"):
            left = self.left - pace * (end - begin)
        self.left = np.where(busy & ~finishes, np.maximum(left, 0.0), 0.0)


def ends_under_runs(answer: FairAnswer, draws: Draws) -> list[JobEnds]:
    """Let each job run once on its type, in the order of planned starts on whole units.

    A job starts when its gang of units is free: those of the type that are free first.
    """
    arrays, count = answer.problem.arrays, draws.count
    jobs = arrays.jobs
    free = [np.zeros((int(stock), count)) for stock in arrays.capacity]
    found: list[JobEnds] = []
    for run in sorted(answer.runs or (), key=lambda run: (run.start, run.job)):
        gang, pool = int(arrays.gang[run.job]), free[run.type]
        pool.sort(axis=0)
        start = np.maximum(pool[gang - 1], jobs.arrival[run.job])
        pace = arrays.throughput[run.job, run.type]
        duration = jobs.remaining[run.job] / pace * draws.of_share(run.job, run.type)
        end: FloatArray = start + duration
        pool[:gang] = end
        held = {run.type: np.broadcast_to(gang * duration, (count,))}
        found.append(JobEnds(run.job, end, held, np.zeros(count)))
    return found
