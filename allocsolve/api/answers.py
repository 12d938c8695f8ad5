"""Answers that go into a simulation or a picture: checked, and as the kind holds them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from allocsolve.api.judging import Answer, judged
from allocsolve.models.errors import CheckFailed, InputError, UsageError
from allocsolve.models.result import Result

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem
    from allocsolve.models.dag.answer import ScheduledTask
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.fair.problem import FairProblem

__all__ = ["checked_answer", "checked_answers"]


def checked_answers(
    problem: Problem, answers: Sequence[Answer], names: Sequence[str] | None = None
) -> tuple[list[object], list[str]]:
    """Return answers that the checker accepts, as the kind holds them, and a name for each.

    Raises
    ------
    CheckFailed
        If the checker rejects one of them, with the broken rules.
    NoSolution
        If a result holds no answer.
    InputError
        If a document cannot be read, or holds no answer.
    UsageError
        If there are not as many names as answers, or two are the same.
    """
    labels = _names(answers) if names is None else list(names)
    if len(labels) != len(answers) or len(set(labels)) < len(labels):
        raise UsageError(f"{len(answers)} answers need as many different names, not {labels}")
    several = len(answers) > 1
    found = [
        checked_answer(problem, answer, label if several else "")
        for answer, label in zip(answers, labels, strict=True)
    ]
    return found, labels


def _names(answers: Sequence[Answer]) -> list[str]:
    """Return the methods of results, where they differ, else numbers."""
    methods = [answer.method for answer in answers if isinstance(answer, Result)]
    if len(methods) == len(answers) == len(set(methods)):
        return methods
    return [f"answer {k + 1}" for k in range(len(answers))]


def checked_answer(problem: Problem, answer: Answer, label: str = "") -> object:
    """Return one answer as its kind holds it: a schedule, an assignment, an allocation.

    Parameters
    ----------
    label
        Which of several answers it is, for errors.

    Raises
    ------
    CheckFailed, NoSolution, InputError
        As :func:`checked_answers`.
    """
    claim, report = judged(problem, answer)
    if claim.answer is None and isinstance(answer, Result):
        answer.require()
    if claim.answer is None and report.valid:
        raise InputError("the document holds no answer", allowed="a document with an answer")
    if not report.valid:
        broken = [f"{violation.rule}: {violation.message}" for violation in report.violations]
        what = f"the checker rejects {label or 'the answer'}, so it is not simulated"
        raise CheckFailed("\n".join([what, *broken]))
    return _typed(problem, claim.answer)


def _typed(problem: Problem, answer: object) -> object:
    """Return an answer that passed the checker in the form that is replayed."""
    if problem.kind == "dag":
        return _schedule(cast("DagProblem", problem), answer)
    return _allocation(cast("FairProblem", problem), answer) if problem.kind == "fair" else answer


def _schedule(problem: DagProblem, answer: object) -> object:
    from allocsolve.models.dag.answer import Schedule
    from allocsolve.models.exact import grid

    if isinstance(answer, Schedule):
        return answer
    entries = cast("Sequence[ScheduledTask]", answer)
    # Starts of a plan written by hand may lie between the times of the instance.
    step = grid([problem.arrays.tick, *(entry.start for entry in entries)])
    return Schedule.from_entries(problem.on_grid(step), entries)


def _allocation(problem: FairProblem, answer: object) -> object:
    from allocsolve.models.fair.allocation import Allocation, place

    return place(problem, answer).require() if isinstance(answer, Allocation) else answer
