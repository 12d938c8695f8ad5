"""Shares and utilities of a fair division."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.errors import UsageError
from allocsolve.models.fair.answer import FairAnswer, FairResult
from allocsolve.models.fair.split import equal_split
from allocsolve.plots.frame import COLOURS, GRID, INK, WIDTH, dress, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["shares"]

_MOST_JOBS = 60


def shares(
    answer: FairAnswer | FairResult, *, form: str = "svg", title: str | None = None
) -> bytes:
    """Draw the shares of each job by type, and its utility over that of an equal split.

    At most 60 jobs are drawn, those of the least utility over their equal split; the title says
    so.

    Parameters
    ----------
    answer
        An allocation or a result; both know their problem.
    form
        ``svg``, ``png`` or ``html``.

    Raises
    ------
    UsageError
        If there is no such form, or the answer is something else.
    NoSolution
        If the result holds no allocation.
    SolverMissing
        If matplotlib is not installed.
    """
    if isinstance(answer, FairResult):
        answer = answer.require()
    if not isinstance(answer, FairAnswer):
        raise UsageError(
            f"answer is of type {type(answer).__name__}\n  allowed: a FairAnswer or a FairResult"
        )
    problem = answer.problem
    name = problem.name or problem.origin.name or "allocation"
    count = len(answer)
    shown = "" if count <= _MOST_JOBS else f", the {_MOST_JOBS} worst off"
    heading = title if title is not None else f"{name}: shares of {count} jobs{shown}"
    return picture(lambda: _draw(answer, heading), form, heading)


def _draw(answer: FairAnswer, heading: str) -> Figure:
    from matplotlib.figure import Figure

    arrays = answer.problem.arrays
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(answer.utilities / equal_split(arrays), nan=0.0, posinf=0.0)
    rows = np.arange(len(answer))
    if len(rows) > _MOST_JOBS:
        rows = np.sort(np.argsort(ratio, kind="stable")[:_MOST_JOBS])
    height = 1.4 + max(0.19 * len(rows), 0.6)
    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2, sharey=True, width_ratios=(2, 1))
    _stack(left, answer, rows.tolist())
    right.barh(range(len(rows)), ratio[rows], height=0.7, color=COLOURS[8])
    right.axvline(1.0, color=COLOURS[3], linewidth=1.0)
    right.set_xlabel("utility / equal split", color=INK)
    left.set_yticks(range(len(rows)), [answer.problem.job_ids[i] for i in rows.tolist()])
    left.set_ylim(len(rows) - 0.4, -0.6)
    dress(left, heading)
    dress(right)
    for axis in (left, right):
        axis.grid(axis="y", visible=False)
        axis.grid(axis="x", color=GRID)
    return figure


def _stack(axis: Axes, answer: FairAnswer, rows: list[int]) -> None:
    """Draw the shares of each job side by side."""
    begin = np.zeros(len(rows))
    for j, token in enumerate(answer.problem.type_ids):
        width = answer.shares[rows, j]
        colour = COLOURS[j % len(COLOURS)]
        axis.barh(range(len(rows)), width, left=begin, height=0.7, color=colour, label=token)
        begin = begin + width
    what = "share of time" if answer.problem.time_cap else "share"
    axis.set_xlabel(what if answer.problem.arrays.demand is None else "amount held", color=INK)
    axis.legend(frameon=False, loc="upper left", bbox_to_anchor=(0, -0.08), ncols=6, fontsize=7)
