"""Moments and quantiles of a time from its survival function ``S(t) = P(T > t)``.

``E[T]`` is the integral of S and ``E[T^2]`` that of 2 t S. Between the points where S jumps or
has a kink it is smooth, so each stretch is integrated by an adaptive Gauss-Kronrod rule (7 and 15
points; Kronrod 1965, error estimate of QUADPACK, Piessens et al. 1983). Beyond the last of them
stretches grow geometrically until nothing is left; of a tail ``t^-b`` the rest is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray

__all__ = ["Atoms", "Grid", "Moments", "Survival", "moments"]

Survival: TypeAlias = Callable[[FloatArray], FloatArray]
Atoms: TypeAlias = Literal["none", "some", "all"]

ACCURACY = 1e-10
"""Relative error that the adaptive rule goes for."""

_MOST_KINKS = 5000
"""Kinks at which stretches end; of more of them only some are used. Jumps are all used."""

_FLAT = 1e-14
"""Relative share of the integral that a stretch may leave in doubt without being integrated."""

_GONE = 1e-18
"""What S may still be, times the squared relative length of what is left out."""

_TRIED = 24
"""Corners that one step of a search looks at."""

_MOST_ROUNDS = 48
_FARTHEST = 1e140

_SHORT = 40
"""Stretches from which on the small pair of rules is tried first."""


class _Pair(NamedTuple):
    """A Kronrod rule and the Gauss rule within it on [-1, 1]."""

    points: FloatArray
    weights: FloatArray
    gauss: FloatArray

    @classmethod
    def of(cls, points: Sequence[float], weights: Sequence[float], gauss: Sequence[float]) -> _Pair:
        """Mirror the points from 0 on, with the weights of both rules."""
        sides = [np.array(half) for half in (points, weights, gauss)]
        return cls(
            np.concatenate([-sides[0][:0:-1], sides[0]]),
            *(np.concatenate([half[:0:-1], half]) for half in sides[1:]),
        )


_FINE = _Pair.of(
    [
        0.0,
        0.20778495500789846760,
        0.40584515137739716691,
        0.58608723546769113029,
        0.74153118559939443986,
        0.86486442335976907279,
        0.94910791234275852453,
        0.99145537112081263921,
    ],
    [
        0.20948214108472782801,
        0.20443294007529889241,
        0.19035057806478540991,
        0.16900472663926790283,
        0.14065325971552591875,
        0.10479001032225018384,
        0.06309209262997855329,
        0.02293532201052922496,
    ],
    [
        0.41795918367346938776,
        0.0,
        0.38183005050511894495,
        0.0,
        0.27970539148927666790,
        0.0,
        0.12948496616886969327,
        0.0,
    ],
)
_QUICK = _Pair.of(
    [0.0, 0.43424374934680255800, 0.77459666924148337704, 0.96049126870802028342],
    [
        0.45091653865847414235,
        0.40139741477596222291,
        0.26848808986833344073,
        0.10465622602646726519,
    ],
    [8 / 9, 0.0, 5 / 9, 0.0],
)


@dataclass(frozen=True, eq=False)
class Grid:
    """The survival function at its corners.

    Attributes
    ----------
    times
        float64 (k,), rising; the first is 0.
    at, before
        float64 (k,), S at each corner and just before it.
    """

    times: FloatArray
    at: FloatArray
    before: FloatArray

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
        if atoms == "none":
            return cls(corners, at, at)
        if atoms == "all":
            return cls(corners, at, np.concatenate([[1.0], at[:-1]]))
        return cls(corners, at, survival(corners * (1 - 4e-14)))

    def jumps(self) -> BoolArray:
        """Tell which corners are jumps."""
        return self.before - self.at > 1e-10 * self.before

    def stretches(self) -> IntArray:
        """Return the corners between which S is integrated, from where it leaves 1."""
        kept = self.jumps()
        step = max(1, -(-len(self.times) // _MOST_KINKS))
        kept[::step] = True
        kept[[0, -1]] = True
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
    """Mean and second moment, each with a bound of its error; infinite where they are.

    The bounds are those of the adaptive rule (differences of two rules, scaled as in
    QUADPACK) with the rounding of the sums; they were never exceeded in the tests.
    """

    mean: float
    mean_error: float
    second: float
    second_error: float

    @property
    def std(self) -> float:
        """Standard deviation."""
        if math.isinf(self.second):
            return math.inf
        return math.sqrt(max(self.second - self.mean**2, 0.0))


def moments(survival: Survival, grid: Grid, scale: float, index: float) -> Moments:
    """Integrate a survival function.

    Parameters
    ----------
    scale
        A length that the time has, for the first stretch beyond the corners.
    index
        b with S(t) ~ t^-b, infinite if S falls faster than every power.
    """
    if index <= 1:
        return Moments(math.inf, 0.0, math.inf, 0.0)
    body, error = _inner(survival, grid)
    if grid.at[-1] > 0:
        part, fault = _tail(survival, float(grid.times[-1]), scale, index, body)
        body, error = body + part, error + fault
    error = error + 4e-15 * body
    if index <= 2:
        return Moments(float(body[0]), float(error[0]), math.inf, 0.0)
    return Moments(float(body[0]), float(error[0]), float(body[1]), float(error[1]))


def _inner(survival: Survival, grid: Grid) -> tuple[FloatArray, FloatArray]:
    """Integrate up to the last corner.

    S falls, so where its values at both ends are as good as equal they give the integral.
    """
    edges = grid.stretches()
    low, high = grid.times[edges[:-1]], grid.times[edges[1:]]
    top, bottom = grid.at[edges[:-1]], np.minimum(grid.before[edges[1:]], grid.at[edges[:-1]])
    widths = np.stack([high - low, high * high - low * low], axis=1)
    start = float(grid.times[edges[0]])
    certain = np.array([start, start * start])
    least = certain + (widths * bottom[:, None]).sum(axis=0)
    doubt = widths * ((top - bottom) / 2)[:, None]
    flat = (doubt <= _FLAT * least).all(axis=1)
    body = certain + (widths * ((top + bottom) / 2)[:, None])[flat].sum(axis=0)
    error: FloatArray = doubt[flat].sum(axis=0)
    if not flat.all():
        part, fault = _adaptive(survival, low[~flat], high[~flat], body)
        body, error = body + part, error + fault
    return body, error


def _tail(
    survival: Survival, start: float, scale: float, index: float, body: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Integrate from the last corner to infinity."""
    unit = scale if scale > 0 else max(start, 1.0)
    total, error = np.zeros(2), np.zeros(2)
    low, exponent = 0.0, -4
    while True:
        highs = unit * 2.0 ** np.arange(exponent, exponent + 6)
        edges = start + np.concatenate([[low], highs])
        part, fault = _adaptive(survival, edges[:-1], edges[1:], body + total)
        total, error = total + part, error + fault
        low, exponent = float(highs[-1]), exponent + 6
        rest, doubt = _remainder(survival, float(edges[-1]), index)
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


def _adaptive(
    survival: Survival, low: FloatArray, high: FloatArray, known: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Integrate S and 2 t S over stretches, halving those whose error is too large.

    Parameters
    ----------
    known
        float64 (2,), what has been integrated before; errors are relative to the whole.

    Returns
    -------
    tuple of float64 (2,)
        The integrals and the bounds of their errors.
    """
    total, error = np.zeros(2), np.zeros(2)
    pieces = len(low)
    for number in range(_MOST_ROUNDS):
        pair = _QUICK if number == 0 and pieces > _SHORT else _FINE
        value, fault = _rule(survival, low, high, pair)
        whole = known + total + value.sum(axis=0)
        allowed = ACCURACY * whole / max(pieces, 1)
        bad = (fault > allowed).any(axis=1) & (high - low > 4e-14 * high)
        if number == _MOST_ROUNDS - 1:
            bad[:] = False
        total += value[~bad].sum(axis=0)
        error += fault[~bad].sum(axis=0)
        if not bad.any():
            break
        middle = (low[bad] + high[bad]) / 2
        low, high = np.concatenate([low[bad], middle]), np.concatenate([middle, high[bad]])
        pieces += int(bad.sum())
    return total, error


def _rule(
    survival: Survival, low: FloatArray, high: FloatArray, pair: _Pair
) -> tuple[FloatArray, FloatArray]:
    """Apply a pair of rules to each stretch: integrals (k, 2) and error estimates (k, 2)."""
    half = (high - low) / 2
    times = (low + half)[:, None] + half[:, None] * pair.points
    values = survival(times.ravel()).reshape(times.shape)
    both = np.stack([values, 2 * times * values], axis=2)
    fine = half[:, None] * np.einsum("kpf,p->kf", both, pair.weights)
    rough = half[:, None] * np.einsum("kpf,p->kf", both, pair.gauss)
    difference = np.abs(fine - rough)
    if pair is _QUICK:
        return fine, difference
    average = fine / np.maximum(high - low, 1e-300)[:, None]
    apart = np.abs(both - average[:, None, :])
    around = half[:, None] * np.einsum("kpf,p->kf", apart, pair.weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = around * np.minimum(1.0, (200 * difference / around) ** 1.5)
    return fine, np.where(around > 0, np.minimum(difference, scaled), difference)
