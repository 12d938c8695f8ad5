"""Exact completion laws of coded jobs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np

from allocsolve.api.answers import checked_answers
from allocsolve.api.given import Answer
from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.law import CompletionLaw, completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.plots.curves import mark
from allocsolve.plots.frame import COLOURS, INK, WIDTH, dress, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["completion"]

_POINTS = 800
_ENDS = (0.001, 0.995)


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
        If there is no such form, or nothing that can be an answer.
    CheckFailed, NoSolution, InputError
        If an answer breaks a rule, or a result or document holds none or cannot be read.
    SolverMissing
        If matplotlib is not installed.
    """
    held, names, _ = checked_answers(problem, list(answers.values()), list(answers))
    laws = {
        name: completion_law(problem, cast("CodedAnswer", answer))
        for name, answer in zip(names, held, strict=True)
    }
    ends = [law.quantiles(_ENDS) for law in laws.values()]
    name = problem.name or problem.origin.name or "coded job"
    heading = title if title is not None else f"{name}: completion law"
    return picture(lambda: _draw(laws, _grid(ends, deadline), deadline, heading), form, heading)


def _grid(ends: list[tuple[float, ...]], deadline: float | None) -> FloatArray:
    times = [time for pair in ends for time in pair if math.isfinite(time)]
    low, high = min(times, default=0.0), max([*times, deadline or 0.0], default=1.0)
    room = 0.05 * (high - low) or 0.1 * high or 1.0
    return np.linspace(max(0.0, low - room), high + room, _POINTS)


def _draw(
    laws: Mapping[str, CompletionLaw], grid: FloatArray, deadline: float | None, heading: str
) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained", facecolor="white")
    axis = figure.subplots()
    for k, (name, law) in enumerate(laws.items()):
        colour = COLOURS[k % len(COLOURS)]
        mean = "infinite" if math.isinf(law.mean) else f"{law.mean:.5g}"
        median, late = law.quantiles((0.5, 0.99))
        label = f"{name or 'answer'}: mean {mean}, median {median:.5g}, q0.99 {late:.5g}"
        axis.plot(grid, 1 - law.survival(grid), color=colour, linewidth=1.4, label=label)
        if math.isfinite(law.mean):
            axis.axvline(law.mean, color=colour, linewidth=0.8, linestyle=(0, (1, 2)))
    mark(axis, deadline, "deadline", COLOURS[3])
    axis.set_xlim(float(grid[0]), float(grid[-1]))
    axis.set_ylim(0, 1.02)
    axis.set_xlabel("time", color=INK)
    axis.set_ylabel("probability of being complete", color=INK)
    axis.legend(frameon=False, loc="lower right")
    dress(axis, heading)
    return figure
