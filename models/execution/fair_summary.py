"""What the replications of an allocation add up to, job by job."""

from __future__ import annotations

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


@dataclass(frozen=True, eq=False)
class Totals:
    """Sums over all jobs.

    Attributes
    ----------
    makespan
        float64 (count,), latest end of the jobs that can end.
    held
        float64 (types,), mean share of the GPU-time up to the makespan that is held.
    """

    problem: FairProblem
    count: int
    makespan: FloatArray
    completion: float
    ratio: float | None
    held: FloatArray
    lost: float
    jobs: Mapping[str, object]
    never: Sequence[str]

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
        return {
            "mean_completion_time": finite(self.completion),
            "worst_finish_time_ratio": None if self.ratio is None else finite(self.ratio),
            "restart_time": finite(self.lost),
            "never_done": list(self.never),
            "jobs": dict(self.jobs),
        }


def finite(value: float) -> float | None:
    """Return a number, None if it is infinite or none."""
    return float(value) if np.isfinite(value) else None


class Collector:
    """Takes the ends of one job after another, so that memory does not grow with the jobs."""

    def __init__(self, answer: FairAnswer, count: int, quantiles: Sequence[float]) -> None:
        self._problem, self._count, self._quantiles = answer.problem, count, quantiles
        self._isolated = isolated(answer.problem.arrays, answer.problem.settings)
        self._makespan, self._completion = np.zeros(count), np.zeros(count)
        self._ratio = np.zeros(count)
        self._held = np.zeros((len(answer.problem.types), count))
        self._lost = np.zeros(count)
        self._jobs: dict[str, object] = {}
        self._never: list[str] = []
        self._ended = 0

    def add(self, ends: JobEnds) -> None:
        """Count one job."""
        columns, i = self._problem.arrays.jobs, ends.job
        token = self._problem.job_ids[i]
        for j, held in ends.held.items():
            self._held[j] += np.where(np.isfinite(held), held, 0.0)
        self._lost += ends.lost
        if np.isinf(ends.end).all():
            self._never.append(token)
            self._jobs[token] = {"mean": None, "quantiles": {}, "finish_time_ratio": None}
            return
        time = ends.end - columns.arrival[i]
        base = self._isolated[i]
        ratio = np.zeros_like(time) if base == 0 else (columns.elapsed[i] + time) / base
        self._makespan = np.maximum(self._makespan, ends.end)
        self._completion += time
        self._ratio = np.maximum(self._ratio, ratio)
        self._ended += 1
        ordered = np.sort(time)
        self._jobs[token] = {
            "mean": finite(time.mean()),
            "quantiles": {f"{q:g}": finite(quantile(ordered, q)) for q in self._quantiles},
            "finish_time_ratio": finite(ratio.mean()),
        }

    def totals(self) -> Totals:
        """Return the sums."""
        stock = self._problem.arrays.capacity
        with np.errstate(divide="ignore", invalid="ignore"):
            held = np.mean(self._held / (stock[:, None] * self._makespan), axis=1)
        return Totals(
            self._problem,
            self._count,
            self._makespan,
            float(self._completion.mean()) / max(self._ended, 1),
            None if np.isnan(self._ratio).any() else float(self._ratio.mean()),
            held,
            float(self._lost.mean()),
            self._jobs,
            self._never,
        )
