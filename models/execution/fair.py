"""Replaying allocations: when the jobs of a fair division end on types that straggle.

The value of a replication is the makespan of the job completion times, the time by which all
jobs that can ever end have ended. Shares stay as they are when a job ends (what it held is
idle then), unless a :class:`allocsolve.models.ports.SharePolicy` is handed in.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import CheckFailed, InputError
from allocsolve.models.execution.estimate import estimate
from allocsolve.models.execution.fair_policy import ends_under_policy
from allocsolve.models.execution.fair_progress import (
    Draws,
    JobEnds,
    Laws,
    ends_in_rounds,
    ends_under_runs,
    ends_under_shares,
)
from allocsolve.models.execution.fair_summary import Collector
from allocsolve.models.execution.fair_tails import tail_indices
from allocsolve.models.execution.outcome import Simulation
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.rounds import Cancelled, Watch, draw_asked, draw_number
from allocsolve.models.execution.summary import compare_all
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.check import check
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.nodes import Deterministic, RuntimeLaw, law_from
from allocsolve.models.ports import SharePolicy

__all__ = ["simulate"]

_FIRST, _ROUND = 64, 2**20
"""Replications of the first round; numbers of all jobs in a round at most."""

_FIRST_UNDER_POLICY, _ROUND_UNDER_POLICY = 16, 10**4
"""The same under a policy, which is asked in every replication."""


def simulate(
    problem: FairProblem,
    answers: Sequence[FairAnswer],
    request: SimulationRequest,
    *,
    names: Sequence[str] | None = None,
    policy: SharePolicy | None = None,
    on_progress: Callable[[float], object] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[Simulation]:
    """Replay allocations on common random numbers.

    Parameters
    ----------
    answers
        Shares, rounds or runs of the problem; runs go before rounds, rounds before shares.
    names
        Names of the answers, "1", "2", ... without.
    policy
        Decides the shares whenever a job arrives or ends, instead of those of the answers.
    on_progress
        Called with the part that is done, 0 to 1.
    cancelled
        Asked several times a second; when it says so, what was drawn until then is reported,
        with a warning.

    Returns
    -------
    list of Simulation
        One for each answer; each holds the comparisons of all pairs. ``extra`` holds
        ``mean_completion_time``, ``jobs`` (mean and mean finish-time ratio of each job, and
        quantiles of its first ``detailed`` replications), ``worst_finish_time_ratio`` (mean over
        the replications, null without isolated times), ``never_done`` (jobs that end in no
        replication) and ``restart_time`` (unit-time, which is also ``wasted_work``). Means that are
        infinite are null, with ``infinite`` true beside them.

    Raises
    ------
    InputError
        If a job has no remaining work, or a law is wrong.
    CheckFailed
        If an answer breaks a rule.
    Cancelled
        If ``cancelled`` said so before anything was drawn.
    """
    _require_work(problem)
    for answer in answers:
        _refuse_broken(answer)
    laws, watch = _laws(problem, request.law), Watch(on_progress, cancelled)
    replays = [_Replay(answer, request, laws, policy, cancelled) for answer in answers]
    source, random = _Source(replays), any(laws)
    if random:
        steady = [bool((each.tails > 2).all()) for each in replays]
        drawn = draw_asked(source, request, watch, has_interval=steady)
    else:
        drawn = draw_number(source, 1, watch)
    labels = names or [str(k + 1) for k in range(len(answers))]
    found = [
        _describe(each, values, random=random).replace(name=label)
        for each, values, label in zip(replays, drawn.samples, labels, strict=True)
    ]
    pairs = compare_all(found, drawn.samples)
    return [
        one.replace(comparison=pairs, warnings=(*one.warnings, *drawn.warnings)) for one in found
    ]


def _require_work(problem: FairProblem) -> None:
    for i in np.flatnonzero(np.isnan(problem.arrays.jobs.remaining)).tolist()[:1]:
        raise InputError(
            f"job '{problem.job_ids[i]}' has no remaining work, so it has no end",
            allowed="a finite, non-negative number",
            remedy="add remaining to every job",
            path=f"$.jobs[{i}].remaining",
        )


def _refuse_broken(answer: FairAnswer) -> None:
    """Refuse shares, rounds or runs that break a rule of the instance, whatever the objective."""
    report = check(answer.problem, answer, name="max_min")
    if not report.valid:
        lines = [f"{v.rule}: {v.message}" for v in report.violations[:5]]
        raise CheckFailed("an answer that breaks a rule is not simulated\n" + "\n".join(lines))


def _laws(problem: FairProblem, law: RuntimeLaw | None) -> Laws:
    """Return the law of each type; a law that is always 1 is none."""
    found = [law] * len(problem.types)
    if law is None:
        found = [
            None if kind.runtime is None else law_from(kind.runtime, path=f"$.types[{j}].runtime")
            for j, kind in enumerate(problem.types)
        ]
    return [None if isinstance(each, Deterministic) and each.value == 1 else each for each in found]


class _Replay:
    """One allocation, and what was counted of it."""

    def __init__(
        self,
        answer: FairAnswer,
        request: SimulationRequest,
        laws: Laws,
        policy: SharePolicy | None,
        cancelled: Callable[[], bool] | None,
    ) -> None:
        self.answer, self.request, self.policy = answer, request, policy
        self.tails = tail_indices(answer, laws, has_policy=policy is not None)
        self._laws = laws
        planned = self._ends(Draws([None] * len(laws), request.seed, 1), Watch(None, cancelled))
        never = [ends.job for ends in planned if math.isinf(ends.end[0])]
        self.collector = Collector(answer, request.quantiles, self.tails, never)
        self.planned = max([0.0, *(float(e.end[0]) for e in planned if e.job not in never)])

    def draw(self, first: int, count: int, watch: Watch) -> list[JobEnds]:
        """Return what each job does in the next replications."""
        return self._ends(Draws(self._laws, self.request.seed, count, first), watch)

    def _ends(self, draws: Draws, watch: Watch) -> list[JobEnds]:
        found = []
        for ends in self._each(draws, watch.stops):
            found.append(ends)
            watch.tell(len(found) / len(self.answer))
            if watch.stops():
                raise Cancelled
        if watch.stops():  # a policy that is stopped tells nothing of any job
            raise Cancelled
        return found

    def _each(self, draws: Draws, stop: Callable[[], bool]) -> Iterable[JobEnds]:
        """Yield what each job does, one after another."""
        answer, jobs = self.answer, range(len(self.answer))
        if self.policy is not None:
            return ends_under_policy(answer.problem, self.policy, draws, stop)
        if answer.runs is not None:
            return ends_under_runs(answer, draws)
        if answer.rounds is not None:
            return map(ends_in_rounds(answer, draws, stop), jobs)
        return (ends_under_shares(answer, job, draws) for job in jobs)


@dataclass(frozen=True)
class _Source:
    """Allocations that are replayed together."""

    replays: Sequence[_Replay]

    @property
    def rounds(self) -> tuple[int, int]:
        """Replications of the first round, and of every round at most."""
        jobs = max([1, *(len(each.answer) for each in self.replays)])
        if any(each.policy is not None for each in self.replays):
            return _FIRST_UNDER_POLICY, max(_FIRST_UNDER_POLICY, _ROUND_UNDER_POLICY // jobs)
        return _FIRST, max(_FIRST, _ROUND // jobs)

    def draw(self, first: int, count: int, watch: Watch) -> list[FloatArray]:
        """Return the next makespans of each allocation; count all of them, or none."""
        total = len(self.replays)
        drawn = [
            each.draw(first, count, watch.within(k, 1, total))
            for k, each in enumerate(self.replays)
        ]
        return [
            each.collector.add(ends, count) for each, ends in zip(self.replays, drawn, strict=True)
        ]


def _describe(replay: _Replay, makespans: FloatArray, *, random: bool) -> Simulation:
    least, totals = float(replay.tails.min(initial=math.inf)), replay.collector.totals()
    found = estimate(
        "fair",
        makespans,
        replay.request,
        random=random,
        path="numpy",
        finite_mean=least > 1,
        finite_variance=least > 2,
    )
    return found.replace(
        planned=replay.planned,
        utilisation=totals.utilisation(),
        wasted_work=totals.lost,
        detailed=totals.detailed,
        warnings=(*totals.warnings(), *found.warnings),
        extra=totals.extra(),
    )
