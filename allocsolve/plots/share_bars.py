"""Shares, utilities and prices of a fair division."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import UsageError
from allocsolve.models.fair.answer import FairAnswer, FairResult
from allocsolve.models.fair.objectives import counted
from allocsolve.models.fair.split import equal_split
from allocsolve.models.fair.utility import loads
from allocsolve.plots.frame import COLOURS, GRID, INK, WIDTH, amount, dress, picture
from allocsolve.plots.share_groups import ShareRow, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["shares"]

_MOST_ROWS = 40
_MOST_TYPES = 24
_NOTHING = 1e-9
_RATIO = COLOURS[8]


def shares(
    answer: FairAnswer | FairResult, *, form: str = "svg", title: str | None = None
) -> bytes:
    """Draw the shares of each job by type, its utility, and the price of each type.

    Bars of utilities are multiples of the equal split, with the utility written beside them;
    the axis names the least multiple of all jobs. Prices are those of the answer, beside the
    part of the stock that is held; an answer without prices is drawn without them.

    More than 40 jobs are drawn as classes of equal jobs; where there are more classes, as the
    jobs that hold the largest parts of the stock, and the mean of all others. The title says so.

    Parameters
    ----------
    answer
        An allocation or a result; both know their problem.
    form
        ``svg``, ``png`` or ``html``.

    Raises
    ------
    UsageError
        If there is no such form, or the answer is something else, or holds runs instead of
        shares.
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
    if answer.runs is not None and not answer.shares.any():
        raise UsageError(
            "the answer holds runs from start to end, no shares of time"
            "\n  allowed: an answer with shares; --what ecdf draws when jobs are done"
        )
    held, problem = answer, answer.problem
    ratio = _ratios(held)
    rows, told = rows_of(held, ratio, _MOST_ROWS)
    name = problem.name or problem.origin.name or "allocation"
    what = f"{name}: shares of {len(held)} jobs{', ' if told else ''}{told}"
    heading = title if title is not None else what
    return picture(lambda: _draw(held, rows, ratio, heading), form, heading)


def _ratios(answer: FairAnswer) -> FloatArray:
    """Return utilities over the equal split, float64 (n,); 0 where there is none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = answer.utilities / equal_split(answer.problem.arrays)
    return np.nan_to_num(found, nan=0.0, posinf=0.0)


def _draw(answer: FairAnswer, rows: Sequence[ShareRow], ratio: FloatArray, heading: str) -> Figure:
    from matplotlib.figure import Figure

    jobs = 1.4 + max(0.19 * len(rows), 0.6)
    types = 1.2 + 0.19 * min(len(answer.problem.types), _MOST_TYPES)
    figure = Figure(figsize=(WIDTH, jobs + types), layout="constrained", facecolor="white")
    axes = figure.subplots(2, 2, sharey="row", width_ratios=(2, 1), height_ratios=(jobs, types))
    left, right = axes[0]
    _stack(left, answer, rows)
    _draw_utilities(right, rows, ratio[counted(answer.problem.arrays)])
    _draw_types(axes[1, 0], axes[1, 1], answer)
    dress(left, heading, pad=26)
    for axis in axes.flat[1:]:
        dress(axis)
    for axis in axes.flat:
        axis.grid(axis="y", visible=False)
        axis.grid(axis="x", color=GRID)
    return figure


def _stack(axis: Axes, answer: FairAnswer, rows: Sequence[ShareRow]) -> None:
    """Draw the shares of each row side by side, a colour for each type."""
    table = np.array([row.shares for row in rows]).reshape(len(rows), -1)
    begin = np.zeros(len(rows))
    for j, token in enumerate(answer.problem.type_ids):
        colour = COLOURS[j % len(COLOURS)]
        axis.barh(range(len(rows)), table[:, j], left=begin, height=0.7, color=colour, label=token)
        begin = begin + table[:, j]
    axis.set_xlim(0, 1.02 * (float(begin.max(initial=0.0)) or 1.0))
    what = "share of time" if answer.problem.time_cap else "share"
    axis.set_xlabel(what if answer.problem.arrays.demand is None else "amount held", color=INK)
    axis.set_yticks(range(len(rows)), [row.label for row in rows])
    axis.set_ylim(len(rows) - 0.4, -0.6)
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=8, fontsize=7)


def _draw_utilities(axis: Axes, rows: Sequence[ShareRow], ratio: FloatArray) -> None:
    bars = axis.barh(range(len(rows)), [row.ratio for row in rows], height=0.7, color=_RATIO)
    axis.bar_label(bars, _told([row.utility for row in rows]), padding=3, fontsize=7, color=INK)
    axis.axvline(1.0, color=COLOURS[3], linewidth=1.0)
    axis.set_xlim(0, 1.25 * max([1.0, *(row.ratio for row in rows)]))
    least = f" (least {ratio.min():.3g})" if len(ratio) else ""
    axis.set_xlabel(f"utility / equal split{least}\nin numbers: utility", color=INK)


def _told(values: Sequence[float]) -> list[str]:
    """Return numbers to four digits; what is nothing beside the largest one is 0."""
    least = _NOTHING * max(map(abs, values), default=0.0)
    return [amount(float(f"{value:.4g}")) if abs(value) > least else "0" for value in values]


def _draw_types(left: Axes, right: Axes, answer: FairAnswer) -> None:
    """Draw the price of a unit of each type, and how much of its stock is held."""
    problem, arrays = answer.problem, answer.problem.arrays
    shown = range(min(len(problem.types), _MOST_TYPES))
    colours = [COLOURS[j % len(COLOURS)] for j in shown]
    names = [f"{problem.type_ids[j]} ({amount(arrays.capacity[j])})" for j in shown]
    left.set_yticks(shown, names)
    left.set_ylim(len(shown) - 0.4, -0.6)
    if answer.prices is None:
        left.set_xlabel("the answer holds no prices", color=INK)
        left.set_xticks([])
    else:
        prices = answer.prices[: len(shown)]
        bars = left.barh(shown, prices, height=0.7, color=colours)
        left.bar_label(bars, _told(prices.tolist()), padding=3, fontsize=7, color=INK)
        left.set_xlim(0, 1.15 * float(prices.max()) if prices.any() else 1)
        left.set_xlabel("price: what one more unit would add to the objective", color=INK)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = loads(arrays, answer.shares, answer.pair_shares) / arrays.capacity
    right.barh(shown, np.nan_to_num(part[: len(shown)]), height=0.7, color=colours)
    right.set_xlim(0, 1.05)
    right.set_xlabel("part of the stock that is held", color=INK)
