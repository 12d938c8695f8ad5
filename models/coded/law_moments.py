"""Moments and quantiles of a time from its survival function ``S(t) = P(T > t)``.

``E[T]`` is the integral of S, and ``E[(T - c)^2]`` about the median c that of
``2 (t - c) (S - [t < c])``, which is nowhere negative. Between the points where S jumps or has a
kink it is smooth, so each stretch is integrated by an adaptive rule. Beyond the last of them
stretches grow geometrically until nothing is left; of a tail ``t^-b`` the rest is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.coded.law_rules import Survival, integrate

__all__ = ["Atoms", "Grid", "Moments", "moments"]

Atoms: TypeAlias = Literal["none", "some", "all"]

_MOST_KINKS = 5000
"""Kinks at which stretches end; of more of them only some are used. Jumps are all used."""

_FLAT = 1e-14
"""Relative share of the integral that a stretch may leave in doubt without being integrated."""

_GONE = 1e-18
"""What S may still be, times the squared relative length of what is left out."""

_TRIED = 24
"""Corners that one step of a search looks at."""

_FARTHEST = 1e140


@dataclass(frozen=True, eq=False)
class Grid:
    """The survival function at its corners.

    Attributes
    ----------
    times
        float64 (k,), rising; the first is 0.
    at, before
        float64 (k,), S at each corner and just before it.
    kept
        bool (k,), corners between which S is integrated, if they lie where it falls.
    """

    times: FloatArray
    at: FloatArray
    before: FloatArray
    kept: BoolArray

    @classmethod
    def of(cls, survival: Survival, corners: FloatArray, atoms: Atoms = "some") -> Grid:
        """Evaluate a survival function at its corners.

        Corners before which nothing and after which as good as everything has happened are
        left out, all but the last one of the former.

        Parameters
        ----------
        corners
            float64 (k,), rising, the first one is 0.
        atoms
            Whether S jumps at none of the corners, at some, or is constant between them.
        """
        corners = _active(survival, corners)
        at = survival(corners)
        before = at
        if atoms == "all":
            before = np.concatenate([[1.0], at[:-1]])
        elif atoms == "some":
            before = survival(corners * (1 - 4e-14))
        kept = before - at > 1e-10 * before
        kept[:: max(1, -(-len(corners) // _MOST_KINKS))] = True
        kept[[0, -1]] = True
        return cls(corners, at, before, kept)

    def with_corner(self, survival: Survival, time: float) -> Grid:
        """Return the same grid with one more corner, at which S does not jump."""
        place = int(np.searchsorted(self.times, time))
        if place < len(self.times) and self.times[place] == time:
            return self
        value = float(survival(np.array([time]))[0])
        return Grid(
            np.insert(self.times, place, time),
            np.insert(self.at, place, value),
            np.insert(self.before, place, value),
            np.insert(self.kept, place, True),
        )

    def stretches(self) -> IntArray:
        """Return the corners between which S is integrated, from where it leaves 1."""
        kept = self.kept.copy()
        first = int(np.searchsorted(-self.at, -1.0, side="right")) - 1
        kept[: max(first, 0)] = False
        kept[max(first, 0)] = True
        last = int(np.searchsorted(-self.at, 0.0)) if self.at[-1] == 0 else len(self.at) - 1
        kept[last] = True
        kept[last + 1 :] = False
        return np.flatnonzero(kept)


def _active(survival: Survival, corners: FloatArray) -> FloatArray:
    """Return 0 and the corners between which S falls, found by search."""

    def first(level: float, low: int) -> int:
        """Return the first corner from ``low`` on at which S is at most ``level``."""
        high = len(corners)
        while low < high:
            tried = np.unique(np.linspace(low, high - 1, min(_TRIED, high - low)).astype(np.int64))
            above = int((survival(corners[tried]) > level).sum())
            low = int(tried[above - 1]) + 1 if above else low
            high = int(tried[above]) if above < len(tried) else high
        return low

    begin = max(first(np.nextafter(1.0, 0.0), 0) - 1, 0)
    spread = min(float(corners[-1]) / max(float(corners[begin]), 1e-300), 1e150) ** 2
    end = min(first(_GONE / max(spread, 1.0), begin), len(corners) - 1)
    kept = corners[begin : end + 1]
    return kept if kept[0] == 0 else np.concatenate([[0.0], kept])


@dataclass(frozen=True)
class Moments:
    """Mean and variance, infinite where they are.

    Attributes
    ----------
    mean_error
        Bound of the numerical error of the mean: that of the adaptive rule with the rounding of
        the sums, which was never exceeded in the tests.
    """

    mean: float
    mean_error: float
    variance: float

    @property
    def std(self) -> float:
        """Standard deviation."""
        return math.sqrt(self.variance)


def moments(survival: Survival, grid: Grid, scale: float, index: float, centre: float) -> Moments:
    """Integrate a survival function.

    Parameters
    ----------
    scale
        A length that the time has, for the first stretch beyond the corners.
    index
        b with S(t) ~ t^-b, infinite if S falls faster than every power.
    centre
        About which the second moment is taken: the median.
    """
    if index <= 1:
        return Moments(math.inf, 0.0, math.inf)
    grid = grid.with_corner(survival, centre)
    body, error = _inner(survival, grid, centre)
    if grid.at[-1] > 0:
        part, fault = _tail(survival, grid, scale, index, body, centre)
        body, error = body + part, error + fault
    mean, second = body.tolist()
    doubt = float(error[0]) + 4e-15 * mean
    if index <= 2:
        return Moments(mean, doubt, math.inf)
    apart = mean - centre
    return Moments(mean, doubt, max(second - apart * apart, 0.0))


def _inner(survival: Survival, grid: Grid, centre: float) -> tuple[FloatArray, FloatArray]:
    """Integrate up to the last corner.

    S falls, so where its values at both ends are as good as equal they give the integral.
    """
    edges = grid.stretches()
    low, high = grid.times[edges[:-1]], grid.times[edges[1:]]
    top, bottom = grid.at[edges[:-1]], np.minimum(grid.before[edges[1:]], grid.at[edges[:-1]])
    past = high <= centre
    widths = np.stack([high - low, np.abs((high - centre) ** 2 - (low - centre) ** 2)], axis=1)
    largest = np.stack([top, np.where(past, 1 - bottom, top)], axis=1)
    smallest = np.stack([bottom, np.where(past, 1 - top, bottom)], axis=1)
    certain = np.array([float(grid.times[edges[0]]), 0.0])
    least = certain + (widths * smallest).sum(axis=0)
    doubt = widths * (largest - smallest) / 2
    flat = (doubt <= _FLAT * least).all(axis=1)
    body = certain + (widths * (largest + smallest) / 2)[flat].sum(axis=0)
    error: FloatArray = doubt[flat].sum(axis=0)
    if not flat.all():
        part, fault = integrate(survival, low[~flat], high[~flat], body, centre)
        body, error = body + part, error + fault
    return body, error


def _tail(
    survival: Survival, grid: Grid, scale: float, index: float, body: FloatArray, centre: float
) -> tuple[FloatArray, FloatArray]:
    """Integrate from the last corner to infinity."""
    start = float(grid.times[-1])
    unit = scale if scale > 0 else max(start, 1.0)
    total, error = np.zeros(2), np.zeros(2)
    low, exponent = 0.0, -4
    while True:
        highs = unit * 2.0 ** np.arange(exponent, exponent + 6)
        edges = start + np.concatenate([[low], highs])
        part, fault = integrate(survival, edges[:-1], edges[1:], body + total, centre)
        total, error = total + part, error + fault
        low, exponent = float(highs[-1]), exponent + 6
        rest, doubt = _remainder(survival, float(edges[-1]), index)
        rest[1] -= 2 * centre * rest[0] if index > 2 else 0.0
        known = body + total
        if (doubt <= 1e-13 * (known + rest)).all() or edges[-1] > _FARTHEST:
            return total + rest, error + doubt


def _remainder(survival: Survival, end: float, index: float) -> tuple[FloatArray, FloatArray]:
    """Return the integrals beyond ``end`` if S is a power there, and how sure that is.

    The local power is compared with the known one over a doubling of t. The second moment
    of a tail that has none is left out.
    """
    here, there = survival(np.array([end, 2 * end])).tolist()
    if here == 0.0:
        return np.zeros(2), np.zeros(2)
    if math.isinf(index):
        # Faster than every power: the next stretches are bounded by a geometric series.
        ratio = min(2 * there / here, 0.999)
        bound = here * end / (1 - ratio)
        squared = min(4 * there / here, 0.999)
        return np.zeros(2), np.array([bound, 2 * end * here * end / (1 - squared)])
    drift = abs(there / here * 2.0**index - 1) + 1e-15
    mean = here * end / (index - 1)
    second = 2 * here * end * end / (index - 2) if index > 2 else 0.0
    rest = np.array([mean, second])
    return rest, rest * min(10 * drift, 1.0)
