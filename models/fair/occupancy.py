"""Whole units in rounds and runs, as the checker judges them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from allocsolve.models.fair.answer import IDLE, FairAnswer
from allocsolve.models.fair.objectives import counted
from allocsolve.models.result import Violation

__all__ = ["judge_rounds", "judge_runs"]

_TOLERANCE = 1e-9


def judge_rounds(answer: FairAnswer) -> Iterator[Violation]:
    """Yield each type that a round overfills and each job on a type that does not serve it."""
    if answer.rounds is None:
        return
    problem, arrays = answer.problem, answer.problem.arrays
    m = len(arrays.capacity)
    for r, row in enumerate(answer.rounds):
        running = np.flatnonzero(row != IDLE)
        types = row[running]
        if len(types) and (types.min() < 0 or types.max() >= m):
            yield Violation("rounds", f"round {r} names a type that there is not")
            continue
        for i in running[arrays.throughput[running, types] <= 0].tolist():
            job, token = problem.job_ids[i], problem.type_ids[row[i]]
            yield Violation("rounds", f"round {r}: job '{job}' gains nothing on type '{token}'")
        held = np.bincount(types, arrays.gang[running], m)
        for j in np.flatnonzero(held > arrays.capacity).tolist():
            yield Violation(
                "rounds",
                f"round {r}: {held[j]:g} of type '{problem.type_ids[j]}' are held, of "
                f"{arrays.capacity[j]:g}",
            )


def judge_runs(answer: FairAnswer, *, required: bool) -> Iterator[Violation]:
    """Yield what is wrong with uninterrupted runs: how often, how long, on how many units."""
    if answer.runs is None:
        if required:
            yield Violation("runs", "the objective asks for runs, but there are none")
        return
    problem, arrays = answer.problem, answer.problem.arrays
    times = np.bincount([run.job for run in answer.runs], minlength=len(arrays.gang))
    wanted = np.zeros(len(times), dtype=np.int64)
    wanted[counted(arrays)] = 1
    for i in np.flatnonzero(times != wanted).tolist():
        job = problem.job_ids[i]
        yield Violation("runs", f"job '{job}' runs {times[i]} times instead of {wanted[i]}")
    for run in answer.runs:
        pace = arrays.throughput[run.job, run.type]
        needed = arrays.jobs.remaining[run.job] / pace if pace > 0 else np.inf
        if run.start < 0 or not np.isclose(run.end - run.start, needed, rtol=_TOLERANCE):
            job = problem.job_ids[run.job]
            message = f"job '{job}' runs from {run.start} to {run.end}, its work takes {needed}"
            yield Violation("runs", message)
    yield from _overfull(answer)


def _overfull(answer: FairAnswer) -> Iterator[Violation]:
    """Sweep over starts and ends; at equal times ends come first."""
    arrays = answer.problem.arrays
    for j, token in enumerate(answer.problem.type_ids):
        here = [run for run in answer.runs or () if run.type == j]
        events = sorted(
            [(run.end - _TOLERANCE * abs(run.end), 0, -arrays.gang[run.job]) for run in here]
            + [(run.start, 1, arrays.gang[run.job]) for run in here]
        )
        most = max(np.cumsum([change for _, _, change in events]), default=0.0)
        if most > arrays.capacity[j]:
            message = f"{most:g} of type '{token}' are held at once, of {arrays.capacity[j]:g}"
            yield Violation("runs", message)
