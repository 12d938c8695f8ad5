"""Answers that go into a simulation or a picture: checked, and as the kind holds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, cast

from allocsolve.api.given import Answer, foreign
from allocsolve.api.judging import judged
from allocsolve.models.errors import CheckFailed, InputError, UsageError
from allocsolve.models.result import Result, Violation

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem
    from allocsolve.models.dag.answer import ScheduledTask
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.fair.problem import FairProblem

__all__ = ["checked_answer", "checked_answers"]

_UNKNOWN_NODE = re.compile("unknown_node|unknown node")
"""Tells violations that a list of other nodes would mend."""


def checked_answers(
    problem: Problem, answers: Sequence[Answer], names: Sequence[str] | None = None
) -> tuple[list[object], list[str], list[str]]:
    """Return answers that the checker accepts, as the kind holds them, and a name for each.

    The last list says which of them were made for another instance.

    Raises
    ------
    CheckFailed
        If the checker rejects one of them, with the broken rules.
    NoSolution
        If a result holds no answer.
    InputError
        If a document cannot be read, or holds no answer.
    UsageError
        If there are not as many names as answers, or two are the same, or something is nothing
        that can be an answer.
    """
    labels = _names(answers) if names is None else list(names)
    if len(labels) != len(answers) or len(set(labels)) < len(labels):
        raise UsageError(f"{len(answers)} answers need as many different names, not {labels}")
    several = len(answers) > 1
    found = [
        _checked(problem, answer, label if several else "")
        for answer, label in zip(answers, labels, strict=True)
    ]
    return [one for one, _ in found], labels, [warning for _, told in found for warning in told]


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
    CheckFailed, NoSolution, InputError, UsageError
        As :func:`checked_answers`.
    """
    return _checked(problem, answer, label)[0]


def _checked(problem: Problem, answer: Answer, label: str) -> tuple[object, list[str]]:
    """Return an answer and whether it was made for another instance."""
    claim, report = judged(problem, answer)
    if claim.answer is None and isinstance(answer, Result):
        answer.require()
    if claim.answer is None and report.valid:
        raise InputError("the document holds no answer", allowed="a document with an answer")
    strange = foreign(problem, claim)
    if not report.valid:
        raise CheckFailed("\n".join(_rejected(report.violations, strange, label)))
    named = [f"{label}: {warning}" if label else warning for warning in strange]
    return _typed(problem, claim.answer), named


def _rejected(violations: Sequence[Violation], strange: Sequence[str], label: str) -> Iterator[str]:
    """Yield why an answer is not taken; first whether it belongs to the instance at all."""
    yield from strange
    yield f"the checker rejects {label or 'the answer'}, so it is neither simulated nor drawn"
    if any(_UNKNOWN_NODE.search(f"{one.rule} {one.message}") for one in violations):
        yield "  remedy: read the instance with the nodes of the answer (--nodes N or --nodes FILE)"
    for one in violations:
        yield f"{one.rule}: {one.message}"


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
