"""Distribution functions as curves: what to draw of them, and between which times."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.plots.frame import INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

__all__ = ["confidence", "mark", "plain_ticks", "span", "steps", "use_log"]

_MOST_POINTS = 1500
_SPREAD = 40.0
_SHOWN = 0.999

_DECADES = 2e3
"""Ratio of the ends of an axis from which on powers of ten are labels enough."""


def steps(samples: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return times and values of an empirical distribution function, thinned for drawing.

    Infinite samples count, so the curve may end below 1.

    Parameters
    ----------
    samples
        float64 (n,), n >= 1.
    """
    ordered = np.sort(samples)
    n = len(ordered)
    rank = np.arange(n)
    if n > _MOST_POINTS:
        inner = np.linspace(0, n - 1, _MOST_POINTS - 200)
        tail = n - 1 - np.geomspace(1, n, 200) + 1
        rank = np.unique(np.concatenate([inner, tail]).round().astype(np.int64))
    rank = rank[np.isfinite(ordered[rank])]
    return ordered[rank], (rank + 1) / n


def confidence(count: int) -> float:
    """Return the half width of a 95 % band around a whole distribution function.

    Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", Annals of
    Probability 18, 1990.
    """
    return math.sqrt(math.log(2 / 0.05) / (2 * count))


def span(samples: Sequence[FloatArray], *others: float | None) -> tuple[float, float]:
    """Return the times between which curves are worth drawing; long tails are cut off."""
    least, most = math.inf, 0.0
    for each in samples:
        finite = np.sort(each[np.isfinite(each)])
        if len(finite):
            least = min(least, float(finite[0]))
            most = max(most, float(finite[min(len(finite) - 1, int(_SHOWN * len(finite)))]))
    known = [other for other in others if other is not None and math.isfinite(other)]
    least, most = min([least, *known]), max([most, *known])
    if not math.isfinite(least):
        return 0.0, 1.0
    room = 0.03 * (most - least) or 0.05 * abs(most) or 1.0
    return least - room, most + room


def use_log(axis: Axes, low: float, high: float, least: float) -> None:
    """Set the limits of the time axis; it is logarithmic where the curves span many decades."""
    if least > 0 and high > _SPREAD * least:
        axis.set_xscale("log")
        low = least / 1.1
        plain_ticks(axis.xaxis, high / low)
    axis.set_xlim(low, high)


def plain_ticks(axis: Axis, ratio: float) -> None:
    """Write numbers of a logarithmic axis as plain text, so many that several are in sight.

    Parameters
    ----------
    ratio
        Of the ends of the axis.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if ratio < _DECADES else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


def mark(axis: Axes, time: float | None, text: str, colour: str = INK) -> None:
    """Mark a time with a vertical line that is named at its top."""
    if time is None or not math.isfinite(time):
        return
    axis.axvline(time, color=colour, linewidth=1.0, linestyle=(0, (4, 2)))
    axis.annotate(
        text,
        (time, 1),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=7,
        color=colour,
    )
