"""Loads of coded jobs: how much each node gets, and how much it could take."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, cast

import numpy as np

from allocsolve.api.answers import checked_answers
from allocsolve.api.given import Answer
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import Elastic, Gradient, MatMul, MatVec
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import UsageError
from allocsolve.plots.frame import COLOURS, INK, WIDTH, amount, dress, picture

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["draw_loads", "loads"]

_MOST_NAMES, _MOST_BARS = 40, 400
_MOST_LETTERS = 150
"""From so many letters on names of nodes are turned."""
_IN_SIGHT = 3
"""Capacities above so many times the largest load are not drawn: they would hide the loads."""
_MARKS = ("D", "v", "s", "^", "o", "P", "X")
_UNITS: Mapping[type, str] = {
    MatVec: "coded rows",
    MatMul: "coded products",
    Gradient: "partitions",
    Elastic: "share of the matrix",
}


def loads(
    problem: CodedProblem,
    answers: Mapping[str, Answer],
    *,
    form: str = "svg",
    title: str | None = None,
) -> bytes:
    """Draw the load of every node, with what it could store.

    The first answer is drawn as bars, the others as marks.

    Parameters
    ----------
    answers
        Answers, results or solution documents, by name; the checker must accept them.
    form
        ``svg``, ``png`` or ``html``.

    Raises
    ------
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
    shown = dict(zip(names, cast("list[CodedAnswer]", held), strict=True))
    name = problem.name or problem.origin.name or "coded job"
    heading = title if title is not None else f"{name}: load of each node"
    return picture(lambda: _draw(problem, shown, heading), form, heading)


def _draw(problem: CodedProblem, shown: Mapping[str, CodedAnswer], heading: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 3.6), layout="constrained", facecolor="white")
    axis = figure.subplots()
    coloured = {
        name: (answer, COLOURS[k % len(COLOURS)]) for k, (name, answer) in enumerate(shown.items())
    }
    draw_loads(axis, problem, coloured)
    dress(axis, heading)
    axis.grid(axis="x", visible=False)
    return figure


def draw_loads(
    axis: Axes, problem: CodedProblem, shown: Mapping[str, tuple[CodedAnswer, str]]
) -> None:
    """Draw the first answer as bars, the others as marks, and capacities as lines.

    Parameters
    ----------
    shown
        Answers with their colours, by name.
    """
    signs = [
        _draw_answer(axis, k, name, answer, colour)
        for k, (name, (answer, colour)) in enumerate(shown.items())
    ]
    largest = max(max(answer.loads) for answer, _ in shown.values())
    signs += _draw_capacities(axis, problem, float(largest))
    names = [node.id for node in problem.nodes]
    axis.set_xlim(-0.6, len(names) - 0.4)
    axis.set_ylim(bottom=0)
    axis.set_ylabel(_UNITS[type(problem.task)], color=INK)
    if all(load.denominator == 1 for answer, _ in shown.values() for load in answer.loads):
        from matplotlib.ticker import MaxNLocator

        axis.yaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    step = -(-len(names) // _MOST_NAMES)
    told = names[::step]
    turned = max(map(len, told)) * len(told) > _MOST_LETTERS
    axis.set_xticks(range(0, len(names), step), told, rotation=60 if turned else 0)
    axis.set_xlabel("node", color=INK)
    axis.legend(
        handles=signs, frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=len(signs)
    )


def _draw_answer(axis: Axes, k: int, name: str, answer: CodedAnswer, colour: str) -> Artist:
    """Draw the k-th answer and return its entry of the legend."""
    count = len(answer.loads)
    height = np.array([float(load) for load in answer.loads])
    label = f"{name}: {amount(sum(answer.loads, Fraction(0)))} in all"
    if count > _MOST_BARS:
        return axis.stairs(
            height, np.arange(count + 1) - 0.5, color=colour, fill=k == 0, label=label
        )
    if k == 0:
        from matplotlib.patches import Patch

        axis.bar(range(count), height, width=0.7, color=colour)
        return Patch(color=colour, label=label)
    (drawn,) = axis.plot(
        range(count),
        height,
        _MARKS[(k - 1) % len(_MARKS)],
        color=colour,
        markersize=4.5,
        markeredgecolor="white",
        label=label,
    )
    return drawn


def _draw_capacities(axis: Axes, problem: CodedProblem, largest: float) -> list[Artist]:
    """Draw what each node could take, where that is limited and in sight; return its entry."""
    caps = problem.arrays.capacity.astype(np.float64)
    limited = [node.storage is not None or node.speed == 0 for node in problem.nodes]
    seen = np.flatnonzero(np.array(limited) & (caps <= _IN_SIGHT * largest))
    if not len(seen):
        return []
    return [
        axis.hlines(
            caps[seen],
            seen - 0.45,
            seen + 0.45,
            color=COLOURS[3],
            linewidth=1.4,
            label="what the node can take",
        )
    ]
