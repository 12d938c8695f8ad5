"""What the replications of an allocation add up to, job by job."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.execution.fair_progress import JobEnds
from allocsolve.models.execution.summary import quantile
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.objectives import isolated
from allocsolve.models.fair.problem import FairProblem

__all__ = ["Collector", "Totals"]

_NAMED = 5

_KEPT = 2**20
"""Times of all jobs together that are kept for quantiles, but at least one replication."""


@dataclass(frozen=True, eq=False)
class Totals:
    """Means over all replications.

    Attributes
    ----------
    completion
        Mean over the jobs of their mean time from arrival to end, infinite if one is.
    ratio
        Mean of the worst finish-time ratio, None without isolated times.
    held
        float64 (types,), mean share of the unit-time up to the makespan that is held.
    lost
        Mean unit-time that restarts take.
    jobs
        What is told of each job.
    never
        Jobs that never end.
    detailed
        Replications from which the quantiles of jobs are.
    """

    problem: FairProblem
    completion: float
    ratio: float | None
    held: FloatArray
    lost: float
    jobs: Mapping[str, object]
    never: Sequence[str]
    detailed: int

    def utilisation(self) -> dict[str, float]:
        """Return the busy share of each type that is in stock."""
        return {
            token: float(held)
            for token, held in zip(self.problem.type_ids, self.held, strict=True)
            if np.isfinite(held)
        }

    def warnings(self) -> tuple[str, ...]:
        """Say which jobs never end."""
        if not self.never:
            return ()
        named = ", ".join(self.never[:_NAMED])
        more = f" and {len(self.never) - _NAMED} more" if len(self.never) > _NAMED else ""
        return (f"{named}{more} never end with this allocation; the makespan leaves them out",)

    def extra(self) -> dict[str, object]:
        """Return what is told of the jobs beside the makespan."""
        told: dict[str, object] = {
            "mean_completion_time": finite(self.completion),
            "worst_finish_time_ratio": None if self.ratio is None else finite(self.ratio),
        }
        if math.inf in (self.completion, self.ratio):
            told["infinite"] = True
        return {
            **told,
            "restart_time": finite(self.lost),
            "never_done": list(self.never),
            "jobs": dict(self.jobs),
        }


def finite(value: float) -> float | None:
    """Return a number, None if it is infinite or none."""
    return float(value) if np.isfinite(value) else None


class Collector:
    """Adds up what jobs do in round after round of replications.

    Parameters
    ----------
    tails
        float64 (n,), index of the tail of each job: with at most 1 its mean is infinite,
        whatever the samples.
    never
        Jobs that never end; the makespan leaves them out.
    """

    def __init__(
        self,
        answer: FairAnswer,
        quantiles: Sequence[float],
        tails: FloatArray,
        never: Sequence[int],
    ) -> None:
        self._problem, self._quantiles, self._tails = answer.problem, quantiles, tails
        self._isolated = isolated(answer.problem.arrays, answer.problem.settings)
        jobs = len(answer)
        self._count = 0
        self._time, self._ratio = np.zeros(jobs), np.zeros(jobs)
        self._worst, self._lost = 0.0, 0.0
        self._held = np.zeros(len(answer.problem.types))
        self._ends = np.ones(jobs, dtype=np.bool_)
        self._ends[list(never)] = False
        self._most = max(1, _KEPT // max(1, jobs))
        self._kept: list[list[FloatArray]] = [[] for _ in range(jobs)]
        self._detailed = 0

    def add(self, jobs: Sequence[JobEnds], count: int) -> FloatArray:
        """Count a round of replications; return the latest end of the jobs that end."""
        makespan, worst, lost = np.zeros(count), np.zeros(count), np.zeros(count)
        held = np.zeros((len(self._held), count))
        keep = min(count, self._most - self._detailed)
        for ends in jobs:
            for j, spent in ends.held.items():
                held[j] += np.where(np.isfinite(spent), spent, 0.0)
            lost += ends.lost
            self._kept[ends.job].append(self._since_arrival(ends)[:keep])
            if self._ends[ends.job]:
                makespan = np.maximum(makespan, ends.end)
                worst = np.maximum(worst, self._count_job(ends))
        stock = self._problem.arrays.capacity[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            self._held += (held / (stock * makespan)).sum(axis=1)
        self._worst += float(worst.sum())
        self._lost += float(lost.sum())
        self._count, self._detailed = self._count + count, self._detailed + keep
        return makespan

    def _since_arrival(self, ends: JobEnds) -> FloatArray:
        return np.asarray(ends.end - self._problem.arrays.jobs.arrival[ends.job])

    def _count_job(self, ends: JobEnds) -> FloatArray:
        """Count times and ratios of a job; return its ratios."""
        columns, i = self._problem.arrays.jobs, ends.job
        time, base = self._since_arrival(ends), self._isolated[i]
        ratio = np.zeros_like(time) if base == 0 else (columns.elapsed[i] + time) / base
        self._time[i] += float(time.sum())
        self._ratio[i] += float(ratio.sum())
        return ratio

    def totals(self) -> Totals:
        """Return the means."""
        told = [i for i, kept in enumerate(self._kept) if kept]
        ended = sum(bool(self._ends[i]) for i in told)
        heavy = bool((self._tails[self._ends] <= 1).any())
        completion = float(self._time[self._ends].sum()) / max(self._count * ended, 1)
        is_known = not math.isnan(self._worst)
        worst = math.inf if heavy else self._worst / self._count
        return Totals(
            self._problem,
            math.inf if heavy else completion,
            worst if is_known else None,
            self._held / self._count,
            self._lost / self._count,
            {self._problem.job_ids[i]: self._job(i) for i in told},
            [self._problem.job_ids[i] for i in np.flatnonzero(~self._ends).tolist()],
            self._detailed,
        )

    def _job(self, i: int) -> dict[str, object]:
        """Return what is told of a job; a job that ends in no replication has no quantiles."""
        is_heavy = not self._ends[i] or bool(self._tails[i] <= 1)
        mean = math.inf if is_heavy else float(self._time[i]) / self._count
        told: dict[str, object] = {"mean": finite(mean)}
        if math.isinf(mean):
            told["infinite"] = True
        if not self._ends[i]:
            return {**told, "quantiles": {}, "finish_time_ratio": None}
        ordered = np.sort(np.concatenate(self._kept[i]))
        ratio = math.inf if is_heavy else float(self._ratio[i]) / self._count
        return {
            **told,
            "quantiles": {f"{q:g}": finite(quantile(ordered, q)) for q in self._quantiles},
            "finish_time_ratio": finite(ratio),
        }
