"""Quantiles of a time from its survival function, by bracketing root finding."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.coded.law_moments import Grid
from allocsolve.models.coded.law_rules import Survival

__all__ = ["quantiles"]

_SLACK = 1e-13
"""Relative rounding of the survival function that counts as equal."""

_BELOW_ONE = float(np.nextafter(1.0, 0.0))
_MOST_STEPS = 200
_FARTHEST = 1e300


def quantiles(survival: Survival, grid: Grid, scale: float, q: FloatArray) -> FloatArray:
    """Return the least t with ``P(T <= t) >= q`` for each q in (0, 1); infinite beyond 1e300.

    At a jump the quantile is the jump itself. Elsewhere all quantiles are found together by
    Chandrupatla's method (Adv. Eng. Software 28, 1997) on log S between two corners, or by
    doubling beyond the last one.
    """
    upper = 1.0 - q
    # Probabilities as small as the slack do not reach back to times before which S is 1.
    level = np.minimum(upper * (1 + _SLACK), _BELOW_ONE)
    above = grid.at > level[:, None]
    place = above.sum(axis=1)
    found = np.empty(len(q))
    inside = place < len(grid.times)
    corner = np.minimum(place, len(grid.times) - 1)
    jumps = inside & ((grid.before[corner] > level) | (place == 0))
    found[jumps] = grid.times[corner[jumps]]
    smooth = inside & ~jumps
    low, high = np.empty(len(q)), np.empty(len(q))
    low[smooth] = grid.times[corner[smooth] - 1]
    high[smooth] = grid.times[corner[smooth]]
    beyond = ~inside
    low[beyond], high[beyond] = _double(survival, float(grid.times[-1]), scale, upper[beyond])
    rest = smooth | beyond
    if rest.any():
        found[rest] = _roots(survival, low[rest], high[rest], upper[rest])
    return found


def _double(
    survival: Survival, start: float, scale: float, upper: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bracket the quantiles that lie beyond the last corner."""
    unit = scale if scale > 0 else max(start, 1.0)
    low, high = np.full(len(upper), start), np.full(len(upper), start + unit)
    while len(upper):
        still = (survival(high) > upper) & (high < _FARTHEST)
        if not still.any():
            break
        low[still] = high[still]
        high[still] = start + 2 * (high[still] - start)
    return low, high


def _roots(survival: Survival, low: FloatArray, high: FloatArray, upper: FloatArray) -> FloatArray:
    """Return the points in the brackets at which S falls to ``upper``."""
    level = np.log(upper)

    def height(t: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore"):
            return np.asarray(np.maximum(np.log(survival(t)), -1e4)) - level

    b, a = low.copy(), high.copy()
    fa, fb = height(a), height(b)
    c, fc = a.copy(), fa.copy()
    share = np.full(len(a), 0.5)
    for _ in range(_MOST_STEPS):
        best = np.where(np.abs(fa) < np.abs(fb), a, b)
        width = np.abs(a - b)
        done: BoolArray = (width <= 4e-15 * np.abs(best)) | (
            np.minimum(np.abs(fa), np.abs(fb)) == 0
        )
        if done.all():
            break
        t = np.where(done, best, a + share * (b - a))
        ft = height(t)
        same = np.sign(ft) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = np.where(done, best, t), np.where(done, 0.0, ft)
        share = _share(a, b, c, fa, fb, fc)
    return np.where(np.abs(fa) <= np.abs(fb), a, b)


def _share(
    a: FloatArray,
    b: FloatArray,
    c: FloatArray,
    fa: FloatArray,
    fb: FloatArray,
    fc: FloatArray,
) -> FloatArray:
    """Return where in the bracket to look next: inverse quadratic where that is safe."""
    with np.errstate(divide="ignore", invalid="ignore"):
        xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
        safe = (phi**2 < xi) & ((1 - phi) ** 2 < 1 - xi)
        first = fa / (fb - fa) * fc / (fb - fc)
        second = (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        share = np.where(safe, first + second, 0.5)
        edge = 2e-15 * np.abs(a) / np.maximum(np.abs(b - a), 1e-300)
    edge = np.minimum(edge, 0.5)
    return np.clip(np.where(np.isfinite(share), share, 0.5), edge, 1 - edge)
