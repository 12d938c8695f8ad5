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

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.errors import CheckFailed, InputError
from allocsolve.models.execution.fair_policy import ends_under_policy
from allocsolve.models.execution.fair_progress import (
    Draws,
    JobEnds,
    Laws,
    ends_in_rounds,
    ends_under_runs,
    ends_under_shares,
)
from allocsolve.models.execution.fair_summary import Collector, Totals
from allocsolve.models.execution.outcome import Simulation
from allocsolve.models.execution.request import DEFAULT_REPLICATIONS, SimulationRequest
from allocsolve.models.execution.summary import (
    compare,
    mean_interval,
    moments,
    quantile,
    quantile_interval,
    replications_needed,
    wilson_interval,
)
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.check import check
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.nodes import Deterministic, RuntimeLaw, law_from
from allocsolve.models.ports import SharePolicy
from allocsolve.models.random import GENERATOR

__all__ = ["simulate"]

_PILOT = 1024


@dataclass(frozen=True)
class _Run:
    """What all replications have in common."""

    request: SimulationRequest
    laws: Laws
    policy: SharePolicy | None
    stop: Callable[[], bool]


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
        Asked between jobs; when it says so, the answers that are done are returned.

    Returns
    -------
    list of Simulation
        One for each answer. ``extra`` holds ``mean_completion_time``, ``jobs`` (mean,
        quantiles and mean finish-time ratio of each job; null where infinite),
        ``worst_finish_time_ratio`` (mean over the replications, null without isolated times),
        ``never_done`` (jobs that end in no replication) and ``restart_time`` (GPU-time).

    Raises
    ------
    InputError
        If a job has no remaining work, or a law is wrong.
    CheckFailed
        If an answer breaks a rule.
    """
    _require_work(problem)
    for answer in answers:
        _refuse_broken(answer)
    laws = _laws(problem, request.law)
    run = _Run(request, laws, policy, cancelled or (lambda: False))
    labels = names or [str(k + 1) for k in range(len(answers))]
    found: list[Simulation] = []
    samples: list[FloatArray] = []
    for k, (label, answer) in enumerate(zip(labels, answers, strict=True)):
        totals = _replay(answer, run)
        if totals is None:
            break
        samples.append(totals.makespan)
        found.append(_describe(answer, label, totals, run))
        if on_progress is not None:
            on_progress((k + 1) / len(answers))
    return _compared(found, samples)


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


def _replay(answer: FairAnswer, run: _Run) -> Totals | None:
    """Replay as often as asked; None if cancelled."""
    request = run.request
    if not any(run.laws):
        return _replications(answer, run, run.laws, 1)
    if request.precision is None:
        return _replications(answer, run, run.laws, request.replications or DEFAULT_REPLICATIONS)
    limit = request.replications or 1_000_000
    pilot = _replications(answer, run, run.laws, min(_PILOT, limit))
    if pilot is None:
        return None
    wanted = min(replications_needed(moments(pilot.makespan), request.precision), limit)
    return pilot if wanted <= pilot.count else _replications(answer, run, run.laws, wanted)


def _replications(answer: FairAnswer, run: _Run, laws: Laws, count: int) -> Totals | None:
    draws = Draws(laws, run.request.seed, count)
    collector = Collector(answer, count, run.request.quantiles)
    for ends in _ends(answer, draws, run):
        collector.add(ends)
        if run.stop():
            return None
    return collector.totals()


def _ends(answer: FairAnswer, draws: Draws, run: _Run) -> Iterable[JobEnds]:
    """Yield what each job does, one after another."""
    jobs = range(len(answer))
    if run.policy is not None:
        return ends_under_policy(answer.problem, run.policy, draws, run.stop)
    if answer.runs is not None:
        return ends_under_runs(answer, draws)
    if answer.rounds is not None:
        return map(ends_in_rounds(answer, draws, run.stop), jobs)
    return (ends_under_shares(answer, job, draws) for job in jobs)


def _describe(answer: FairAnswer, name: str, totals: Totals, run: _Run) -> Simulation:
    request, drawn = run.request, any(run.laws)
    planned = _replications(answer, run, [None] * len(run.laws), 1) if drawn else totals
    ordered = np.sort(totals.makespan)
    of = moments(totals.makespan)
    infinite_mean, infinite_variance = _heavy(answer, run)
    mean = math.inf if infinite_mean else of.mean
    done = request.deadline is not None and int((ordered <= request.deadline).sum())
    return Simulation(
        kind="fair",
        name=name,
        method="monte_carlo" if drawn else "exact",
        mean=mean,
        std=math.inf if infinite_mean or infinite_variance else of.std,
        quantiles={q: quantile(ordered, q) for q in request.quantiles},
        generator=GENERATOR if drawn else None,
        path="numpy" if drawn else None,
        seed=request.seed if drawn else None,
        replications=totals.count if drawn else None,
        mean_ci=mean_interval(of) if drawn and not (infinite_mean or infinite_variance) else None,
        quantile_cis={q: quantile_interval(ordered, q) for q in request.quantiles if drawn},
        deadline=request.deadline,
        deadline_probability=None if request.deadline is None else done / totals.count,
        deadline_ci=(
            wilson_interval(done, totals.count) if drawn and request.deadline is not None else None
        ),
        planned=None if planned is None else float(planned.makespan[0]),
        utilisation=totals.utilisation(),
        samples=totals.makespan if request.keep_samples else None,
        warnings=totals.warnings(),
        extra=totals.extra(),
    )


def _heavy(answer: FairAnswer, run: _Run) -> tuple[bool, bool]:
    """Return whether the mean, and the variance, of the makespan are infinite.

    A job on several types is slow only if all of them are, so that the indices of the tails
    of their laws add up; one with demands is slow if any of them is. In rounds a slow one ends
    with the round.
    """
    if answer.rounds is not None and answer.runs is None and run.policy is None:
        return False, False
    arrays = answer.problem.arrays
    index = np.array([math.inf if law is None else law.tail_index() for law in run.laws])
    used, works = _used_types(answer, run), arrays.jobs.remaining > 0
    rows = used[works & used.any(axis=1)]
    least = float(np.where(rows, index, 0.0).sum(axis=1).min(initial=math.inf))
    if arrays.demand is not None:
        asked = arrays.demand[works] > 0
        least = min(least, float(np.where(asked, index, math.inf).min(initial=math.inf)))
    return least <= 1, least <= 2


def _used_types(answer: FairAnswer, run: _Run) -> BoolArray:
    """Return on which types each job may work, bool (n, m)."""
    arrays = answer.problem.arrays
    if run.policy is not None:
        return np.asarray(arrays.throughput > 0)
    used = np.asarray(arrays.throughput * answer.shares > 0)
    if answer.pair_shares is not None:
        for side in (0, 1):
            gains = arrays.pair_throughput[:, :, side] * answer.pair_shares > 0
            np.logical_or.at(used, arrays.pair_jobs[:, side], gains)
    if answer.runs is not None:
        used = np.zeros_like(used)
        for each in answer.runs:
            used[each.job, each.type] = True
    return used


def _compared(found: list[Simulation], samples: list[FloatArray]) -> list[Simulation]:
    """Compare every two answers that have the same replications."""
    if len(found) < 2:
        return found
    compared = []
    for a, first in enumerate(found):
        pairs = tuple(
            compare((first.name, second.name), samples[a], samples[b])
            for b, second in enumerate(found)
            if b != a and len(samples[a]) == len(samples[b]) > 1
        )
        compared.append(first.replace(comparison=pairs or None))
    return compared
