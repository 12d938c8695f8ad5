"""Speculative copies in closed form: what a backup after a delay brings and costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import UsageError
from allocsolve.models.laws_base import RuntimeLaw

__all__ = ["Backup", "with_backup"]

_TAILS = (0.5, 0.1, 1e-2, 1e-4, 1e-8)
"""Probabilities at whose upper quantiles the integrals are cut into pieces."""

_FAR = 1e280
"""Time from which on a heavy tail is taken for the power that it tends to."""


@dataclass(frozen=True)
class Backup:
    """Mean completion and mean machine time of a task with a speculative copy."""

    completion: float
    machine_time: float


def with_backup(law: RuntimeLaw, delay: float) -> Backup:
    """Return the exact means of a task that gets a copy on a second node after ``delay``.

    The first of the two to end stops the other. With ``S(t) = P(X > t)`` the mean completion is
    the integral of ``S`` up to ``delay`` and of ``S(t) S(t - delay)`` from there on, where two
    nodes work. Both are infinite where twice the index of the tail is at most 1.

    Raises
    ------
    UsageError
        If ``delay`` is negative or not a number.
    """
    if not delay >= 0:
        raise UsageError(f"delay {delay:g} of a backup must be at least 0")
    if math.isinf(delay):
        return Backup(law.mean(), law.mean())
    index = 2.0 * law.tail_index()
    if index <= 1.0:
        return Backup(math.inf, math.inf)

    def both_run(t: FloatArray) -> FloatArray:
        return law.survival(t) * law.survival(t - delay)

    alone = _integral(law, law.survival, (0.0, delay), (0.0,))
    both = _integral(law, both_run, (delay, delay + _FAR), (0.0, delay))
    both += _FAR * float(both_run(np.asarray(delay + _FAR))) / (index - 1.0)
    return Backup(completion=alone + both, machine_time=alone + 2.0 * both)


def _integral(
    law: RuntimeLaw,
    curve: Callable[[FloatArray], FloatArray],
    limits: tuple[float, float],
    shifts: tuple[float, ...],
) -> float:
    """Integrate between the breakpoints and some quantiles of the law, moved by the shifts."""
    low, high = limits
    inner = (*law.breakpoints(), *law.upper_quantile(np.array(_TAILS)).tolist())
    cuts = {p + shift for p in inner for shift in shifts if low < p + shift < high}
    edges = sorted({low, high} | cuts)
    return math.fsum(_piece(curve, a, b) for a, b in pairwise(edges))


def _piece(curve: Callable[[FloatArray], FloatArray], low: float, high: float) -> float:
    """Integrate one smooth piece, a long one over ``s = log(t / low)``, in which tails decay."""
    from scipy.integrate import quad

    def plain(t: float) -> float:
        return float(curve(np.asarray(t)))

    def logarithmic(s: float) -> float:
        t = low * math.exp(s)
        return t * plain(t)

    if not plain(low):
        return 0.0
    if high < 8.0 * low or not low:
        return float(quad(plain, low, high, epsabs=0.0, epsrel=1e-12, limit=200)[0])
    span = math.log(high / low)
    return float(quad(logarithmic, 0.0, span, epsabs=0.0, epsrel=1e-12, limit=400)[0])
