"""Warm starts: any earlier answer, checked, mended if need be, or dropped with a warning."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import cast

from allocsolve.api.given import Answer, claim_of
from allocsolve.models.dag.answer import Schedule, ScheduledTask
from allocsolve.models.dag.check import check
from allocsolve.models.dag.dispatch import serial_schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.surplus import core_of
from allocsolve.models.errors import InputError

__all__ = ["prepare"]


def prepare(problem: DagProblem, start: Answer) -> tuple[Schedule | None, list[str]]:
    """Return a checked schedule to start from, None if nothing can be used, and warnings.

    Raises
    ------
    InputError
        If a document cannot be read.
    UsageError
        If the start is nothing that can be an answer.
    """
    entries = _entries(problem, start)
    if entries is None:
        return None, ["the warm start holds no schedule and is not used"]
    report = check(problem, entries)
    if report.valid:
        schedule = _exactly(problem, entries)
        if schedule is not None:
            return schedule, []
    return _mend(problem, entries, report.violations[0].message if report.violations else "")


def _entries(problem: DagProblem, start: Answer) -> Sequence[ScheduledTask] | None:
    answer = claim_of(problem, start).answer
    if isinstance(answer, Schedule):
        return answer.entries()
    return cast("Sequence[ScheduledTask] | None", answer)


def _exactly(problem: DagProblem, entries: Sequence[ScheduledTask]) -> Schedule | None:
    """Return the entries as a schedule, None if a time is off the problem's grid."""
    try:
        return Schedule.from_entries(problem, entries)
    except InputError:
        return None


def _mend(
    problem: DagProblem, entries: Sequence[ScheduledTask], fault: str
) -> tuple[Schedule | None, list[str]]:
    """Keep the order of the starts and let schedule generation choose the times."""
    what = fault or "a time is not on the grid of the instance"
    core = core_of(problem)
    schedule = serial_schedule(core.problem, _ranks(problem, entries))
    if schedule is None or not check(problem, schedule.entries()).valid:
        return None, [f"the warm start is not used: {what}"]
    return core.lift(schedule), [f"of the warm start only the order of the tasks is used: {what}"]


def _ranks(problem: DagProblem, entries: Sequence[ScheduledTask]) -> list[int]:
    """Return the rank of each task by its start; tasks without an entry come last."""
    starts: dict[str, Fraction] = {}
    for entry in entries:
        starts.setdefault(entry.task, entry.start)
    last = max(starts.values(), default=Fraction(0)) + 1
    keys = [starts.get(task.id, last) for task in problem.tasks]
    ranks = [0] * len(keys)
    for rank, task in enumerate(sorted(range(len(keys)), key=keys.__getitem__)):
        ranks[task] = rank
    return ranks
