"""Measured durations against the laws fitted to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import UsageError
from allocsolve.plots.curves import confidence, plain_ticks, span, steps, use_log
from allocsolve.plots.frame import COLOURS, INK, WIDTH, dress, picture
from allocsolve.report.fit import FitReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["fits"]

_MOST_LAWS = 5
_POINTS = 400


def fits(report: FitReport, *, form: str = "svg", title: str | None = None) -> bytes:
    """Draw the distribution function of durations and of the best laws, and their tails.

    Parameters
    ----------
    report
        A report that still holds the durations.
    form
        ``svg``, ``png`` or ``html``.

    Raises
    ------
    UsageError
        If the report holds no durations, or there is no such form.
    SolverMissing
        If matplotlib is not installed.
    """
    if report.samples is None:
        raise UsageError("the report was read from a document and holds no durations to draw")
    samples = report.samples
    heading = title if title is not None else _heading(report)
    return picture(lambda: _draw(report, samples, heading), form, heading)


def _heading(report: FitReport) -> str:
    """Say what was measured, and which of the fitted laws are drawn."""
    name = report.column or report.source or "durations"
    shown, laws = min(len(report), _MOST_LAWS), len(report)
    which = f"the best {shown} of {laws} fitted laws" if laws > shown else f"{laws} fitted laws"
    return f"{name}: {report.count} durations, {which}"


def _axis_name(report: FitReport) -> str:
    return report.column or "duration"


def _draw(report: FitReport, samples: FloatArray, heading: str) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 4.4), layout="constrained", facecolor="white")
    left, right = figure.subplots(1, 2)
    _distribution(left, report, samples)
    _tail(right, report, samples)
    dress(left, heading)
    dress(right)
    return figure


def _grid(low: float, high: float) -> FloatArray:
    low = max(low, 0.0)
    if low > 0:
        return np.geomspace(low, high, _POINTS)
    return np.linspace(low, high, _POINTS)


def _distribution(axis: Axes, report: FitReport, samples: FloatArray) -> None:
    low, high = span([samples])
    times, values = steps(samples)
    axis.step(times, values, where="post", color=INK, linewidth=1.6, label="measured")
    half = confidence(len(samples))
    band = (np.maximum(values - half, 0), np.minimum(values + half, 1))
    label = "95 % band for the whole curve"
    axis.fill_between(times, *band, step="post", color=INK, alpha=0.12, linewidth=0, label=label)
    grid = _grid(low, high)
    for k, fit in enumerate(report.fits[:_MOST_LAWS]):
        label = f"{fit.law.name} (BIC {fit.bic:.5g})"
        axis.plot(grid, fit.law.cdf(grid), color=COLOURS[k], linewidth=1.1, label=label)
    use_log(axis, low, high, float(samples.min()))
    axis.set_ylim(0, 1.02)
    axis.set_xlabel(_axis_name(report), color=INK)
    axis.set_ylabel("P(X <= t)", color=INK)
    axis.legend(frameon=False, loc="lower right")


def _tail(axis: Axes, report: FitReport, samples: FloatArray) -> None:
    """Draw the probability of longer durations, where laws differ most."""
    ordered = np.sort(samples)
    beyond = 1 - np.arange(1, len(ordered) + 1) / len(ordered)
    kept = beyond > 0
    axis.step(ordered[kept], beyond[kept], where="post", color=INK, linewidth=1.6)
    grid = _grid(float(ordered[0]), float(ordered[-1]) * 1.5 or 1.0)
    for k, fit in enumerate(report.fits[:_MOST_LAWS]):
        axis.plot(grid, np.maximum(fit.law.survival(grid), 1e-300), color=COLOURS[k], linewidth=1.1)
    axis.set_yscale("log")
    lowest = 0.3 / len(ordered)
    plain_ticks(axis.yaxis, 1.2 / lowest)
    axis.set_ylim(lowest, 1.2)
    use_log(axis, float(grid[0]), float(grid[-1]), float(ordered[0]))
    axis.set_xlabel(_axis_name(report), color=INK)
    axis.set_ylabel("P(X > t)", color=INK)
