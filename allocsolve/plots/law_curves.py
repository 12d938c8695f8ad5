"""Curves of exact completion laws, with what the objective looks at marked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.law import CompletionLaw
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.plots.curves import mark, plain_ticks
from allocsolve.plots.frame import INK, amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Curve", "draw_curves", "label_of", "mark_goal", "tail_of", "times_of"]

_POINTS = 800
_ENDS = (0.001, 0.995)
_FAR = 3.0
"""Times of other curves are shown up to so many times the end of the first one."""

_VALUES: Mapping[str, str] = {
    "mean": "mean {0}",
    "quantile": "quantile {q} {0}",
    "deadline_probability": "P(T <= {t}) {0}",
    "cost": "cost {0}",
    "worst_case": "worst case {0}",
}
"""How the legend tells the value of each objective."""

_LATE = 0.95
"""From this probability on only the tail of a law tells answers apart."""


@dataclass(frozen=True)
class Curve:
    """A law with its look.

    Attributes
    ----------
    label
        Its entry in the legend.
    is_rule
        Whether it is drawn thin, beside what it is compared with.
    """

    law: CompletionLaw
    label: str
    colour: str
    is_rule: bool = False


def tail_of(problem: CodedProblem) -> float | None:
    """Return the late probability that the objective looks at, None if there is none.

    It is the quantile or the confidence, if that is at least 0.95.
    """
    goal = problem.objective
    wanted = {"quantile": goal.q, "cost": goal.confidence}.get(problem.objective_name)
    return float(wanted) if wanted is not None and float(wanted) >= _LATE else None


def times_of(
    curves: Sequence[Curve], seen: Sequence[float] = (), tail: float | None = None
) -> FloatArray:
    """Return the times at which curves are drawn, float64 (800,).

    They end where every curve is nearly complete, but where one has a much longer tail than
    the first it is cut off.

    Parameters
    ----------
    seen
        Times that have to be in sight.
    tail
        See :func:`tail_of`.
    """
    late = _ENDS[1] if tail is None else 1 - (1 - tail) / 8
    ends = [curve.law.quantiles((_ENDS[0], late)) for curve in curves]
    first = ends[0][1] if ends and math.isfinite(ends[0][1]) else math.inf
    starts = [begin for begin, _ in ends if begin < min(_FAR * first, math.inf)]
    stops = [min(end, _FAR * first) for begin, end in ends if begin < _FAR * first]
    known = [stop for stop in [*stops, *seen] if math.isfinite(stop)]
    low, high = min(starts, default=0.0), max([*starts, *known], default=1.0)
    room = 0.05 * (high - low) or 0.1 * high or 1.0
    return np.linspace(max(0.0, low - room), high + room, _POINTS)


def draw_curves(
    axis: Axes, curves: Sequence[Curve], times: FloatArray, tail: float | None = None
) -> None:
    """Draw the laws: P(T <= t), or for a tail P(T > t) in powers of ten."""
    for curve in reversed(curves):  # the first one lies on top
        late = curve.law.survival(times)
        values = np.where(late > 0, late, np.nan) if tail is not None else 1 - late
        width, style = (1.1, (0, (5, 1.5))) if curve.is_rule else (1.9, "solid")
        axis.plot(
            times, values, color=curve.colour, linewidth=width, linestyle=style, label=curve.label
        )
    axis.set_xlim(float(times[0]), float(times[-1]))
    axis.set_xlabel("time", color=INK)
    if tail is None:
        axis.set_ylim(0, 1.02)
        axis.set_ylabel("probability of being complete", color=INK)
    else:
        axis.set_yscale("log")
        axis.set_ylim((1 - tail) / 10, 1.3)
        plain_ticks(axis.yaxis, 1e4)
        axis.set_ylabel("probability of not being complete", color=INK)
    handles, names = axis.get_legend_handles_labels()
    axis.legend(
        handles[::-1],
        names[::-1],
        frameon=False,
        loc="lower right" if tail is None else "upper right",
    )


def mark_goal(
    axis: Axes, problem: CodedProblem, curve: Curve, value: float, tail: float | None
) -> None:
    """Mark what the objective looks at, but for a deadline."""
    goal, name = problem.objective, problem.objective_name
    level = {"quantile": goal.q, "cost": goal.confidence}.get(name)
    if level is not None:
        height = float(level) if tail is None else 1 - float(level)
        axis.axhline(height, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
    told = {
        "mean": f"mean {amount(value)}",
        "quantile": f"quantile {amount(float(goal.q or 0))}: {amount(value)}",
        "worst_case": f"worst case {amount(value)}",
    }.get(name)
    if told is not None:
        mark(axis, value, told, curve.colour)


def label_of(problem: CodedProblem, name: str, value: float, best: float | None = None) -> str:
    """Return the entry of the legend: name and value, and by how much the best one is better."""
    words = _VALUES[problem.objective_name].format(
        "infinite" if math.isinf(value) else amount(round(value, 10)),
        q=amount(float(problem.objective.q or 0)),
        t=amount(float(problem.objective.deadline or 0)),
    )
    is_compared = best is not None and best > 0 and math.isfinite(value) and value != best
    if best is None or not is_compared or problem.objective_name == "deadline_probability":
        return f"{name}: {words}"
    return f"{name}: {words} ({value / best - 1:+.1%})"
