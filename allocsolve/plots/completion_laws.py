"""Exact completion laws of coded jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from allocsolve.api.answers import checked_answers
from allocsolve.api.given import Answer
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.law import CompletionLaw, completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import UsageError
from allocsolve.plots.curves import mark
from allocsolve.plots.frame import COLOURS, WIDTH, dress, picture
from allocsolve.plots.law_curves import Curve, draw_curves, times_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["completion"]


def completion(
    problem: CodedProblem,
    answers: Mapping[str, Answer],
    *,
    deadline: float | None = None,
    form: str = "svg",
    title: str | None = None,
) -> bytes:
    """Draw the exact completion law of coded jobs.

    Parameters
    ----------
    answers
        Answers, results or solution documents, by name; the checker must accept them.
    deadline
        A time to mark.
    form
        ``svg``, ``png`` or ``html``.

    Raises
    ------
    NoExactLaw
        If the law of an answer has no exact form; draw samples then.
    UsageError
        If there is no answer, no such form, or nothing that can be an answer.
    CheckFailed, NoSolution, InputError
        If an answer breaks a rule, or a result or document holds none or cannot be read.
    SolverMissing
        If matplotlib is not installed.
    """
    if not answers:
        raise UsageError("there is no answer to draw")
    held, names, _ = checked_answers(problem, list(answers.values()), list(answers))
    curves = []
    for k, (name, answer) in enumerate(zip(names, held, strict=True)):
        law = completion_law(problem, cast("CodedAnswer", answer))
        curves.append(Curve(law, _label(name, law), COLOURS[k % len(COLOURS)]))
    name = problem.name or problem.origin.name or "coded job"
    heading = title if title is not None else f"{name}: completion law"
    return picture(lambda: _draw(curves, deadline, heading), form, heading)


def _label(name: str, law: CompletionLaw) -> str:
    mean = "infinite" if math.isinf(law.mean) else f"{law.mean:.5g}"
    median, late = law.quantiles((0.5, 0.99))
    return f"{name or 'answer'}: mean {mean}, median {median:.5g}, q0.99 {late:.5g}"


def _draw(curves: Sequence[Curve], deadline: float | None, heading: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained", facecolor="white")
    axis = figure.subplots()
    draw_curves(axis, curves, times_of(curves, [] if deadline is None else [deadline]))
    for curve in curves:
        if math.isfinite(curve.law.mean):
            axis.axvline(curve.law.mean, color=curve.colour, linewidth=0.8, linestyle=(0, (1, 2)))
    mark(axis, deadline, "deadline", COLOURS[3])
    dress(axis, heading)
    return figure
