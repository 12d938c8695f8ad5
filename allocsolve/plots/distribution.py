"""Empirical distribution functions of several plans, with confidence bands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import UsageError
from allocsolve.models.execution.outcome import Simulation
from allocsolve.plots.curves import confidence, mark, span, steps, use_log
from allocsolve.plots.frame import COLOURS, INK, WIDTH, dress, picture

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ecdf"]

_SIGN = "#7A7F87"
"""Colour of signs in the legend, which stand for those of every plan."""


def ecdf(
    simulations: Simulation | Sequence[Simulation],
    *,
    form: str = "svg",
    title: str | None = None,
    time_unit: str | None = None,
) -> bytes:
    """Draw how likely each plan is done by each time, with 95 % bands.

    A dashed line marks what a plan says itself, where it says one; dots mark the quantiles.
    The legend explains both, and the band.

    Parameters
    ----------
    simulations
        With their samples (``keep_samples=True``).
    form
        ``svg``, ``png`` or ``html``.
    time_unit
        Unit of the time axis.

    Raises
    ------
    UsageError
        If samples were not kept, or there is no such form.
    SolverMissing
        If matplotlib is not installed.
    """
    found = [simulations] if isinstance(simulations, Simulation) else list(simulations)
    if not found:
        raise UsageError("there is no simulation to draw")
    samples = [_samples(one) for one in found]
    heading = title if title is not None else _heading(found)
    return picture(lambda: _draw(found, samples, heading, time_unit), form, heading)


def _samples(of: Simulation) -> FloatArray:
    if of.samples is None:
        raise UsageError("the simulation holds no samples to draw: simulate with keep_samples=True")
    return of.samples


def _heading(found: Sequence[Simulation]) -> str:
    name = found[0].instance.name
    what = f"{len(found)} plans" if len(found) > 1 else found[0].name or "plan"
    return f"{name}: completion time of {what}" if name else f"completion time of {what}"


def _draw(
    found: Sequence[Simulation], samples: Sequence[FloatArray], heading: str, unit: str | None
) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 4.6), layout="constrained", facecolor="white")
    axis = figure.subplots()
    for k, (one, drawn) in enumerate(zip(found, samples, strict=True)):
        _curve(axis, one, drawn, COLOURS[k % len(COLOURS)])
    marks = [one.planned for one in found] + [found[0].deadline]
    low, high = span(samples, *marks)
    finite = [each[np.isfinite(each)] for each in samples]
    use_log(axis, low, high, min((float(each.min()) for each in finite if len(each)), default=0.0))
    mark(axis, found[0].deadline, "deadline", COLOURS[3])
    axis.set_ylim(0, 1.02)
    axis.set_xlabel(f"time ({unit})" if unit else "time", color=INK)
    axis.set_ylabel("probability of being done", color=INK)
    handles, names = axis.get_legend_handles_labels()
    signs = _signs(found, samples)
    axis.legend([*handles, *signs.values()], [*names, *signs], frameon=False, loc="lower right")
    dress(axis, heading)
    return figure


def _signs(found: Sequence[Simulation], samples: Sequence[FloatArray]) -> dict[str, Artist]:
    """Return what the legend explains beside the curves, those signs that are there."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    signs: dict[str, Artist] = {}
    if any(one.planned is not None for one in found):
        signs["makespan as planned" if found[0].kind == "dag" else "as planned"] = Line2D(
            [], [], color=_SIGN, linewidth=1.0, linestyle=(0, (4, 2))
        )
    levels = sorted({q for one in found for q, value in one.quantiles.items() if value < np.inf})
    if levels:
        told = ", ".join(f"{q:g}" for q in levels)
        dot = Line2D([], [], color=_SIGN, marker="o", markersize=3.5, linestyle="none")
        signs[f"quantile{'s' if len(levels) > 1 else ''} {told}"] = dot
    if any(len(each) > 1 for each in samples):
        signs["95 % band for the whole curve"] = Patch(color=_SIGN, alpha=0.25, linewidth=0)
    return signs


def _curve(axis: Axes, of: Simulation, samples: FloatArray, colour: str) -> None:
    times, values = steps(samples)
    axis.step(times, values, where="post", color=colour, linewidth=1.4, label=_label(of))
    if len(samples) > 1 and len(times):
        half = confidence(len(samples))
        axis.fill_between(
            times,
            np.maximum(values - half, 0),
            np.minimum(values + half, 1),
            step="post",
            color=colour,
            alpha=0.18,
            linewidth=0,
        )
    points = [(value, q) for q, value in of.quantiles.items() if np.isfinite(value)]
    axis.plot(*zip(*points, strict=True), "o", color=colour, markersize=3.5) if points else None
    if of.planned is not None:
        axis.axvline(of.planned, color=colour, linewidth=1.0, linestyle=(0, (4, 2)))


def _label(of: Simulation) -> str:
    mean = "infinite" if of.infinite else f"{of.mean:.5g}"
    planned = "" if of.planned is None else f", planned {of.planned:.5g}"
    return f"{of.name or 'plan'}: mean {mean}{planned}"
