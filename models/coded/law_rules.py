"""Adaptive integration of a falling function and of its moment, by pairs of Gauss-Kronrod rules.

The error of a stretch is estimated by the difference of the two rules (Kronrod 1965; scaled as in
QUADPACK, Piessens et al. 1983). That is blind where the function falls between an end and the
first point, as it does if its scale is a millionth of the stretch; so its values at the ends are
compared with those of the interpolating polynomial too, and the stretch is halved until they
agree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from allocsolve.models.arrays import FloatArray

__all__ = ["ACCURACY", "Survival", "integrate"]

Survival: TypeAlias = Callable[[FloatArray], FloatArray]

ACCURACY = 1e-10
"""Relative error that the adaptive rule goes for."""

_MOST_ROUNDS = 60
_MOST_PIECES = 50_000
"""Stretches after which no more are halved; the error then says what is left."""

_SHORT = 40
"""Stretches from which on the small pair of rules is tried first."""

_ROUNDING = 2e-15
_EQUAL = 1e-13
"""Relative difference of values at an end that rounding leaves."""


class _Pair(NamedTuple):
    """A Kronrod rule and the Gauss rule within it on [-1, 1]; ``ends`` extrapolates to both."""

    points: FloatArray
    weights: FloatArray
    gauss: FloatArray
    ends: FloatArray

    @classmethod
    def of(cls, points: Sequence[float], weights: Sequence[float], gauss: Sequence[float]) -> _Pair:
        """Mirror the points from 0 on, with the weights of both rules."""
        half = np.array(points)
        whole = np.concatenate([-half[:0:-1], half])
        fine, rough = (np.concatenate([side[:0:-1], side]) for side in (weights, gauss))
        return cls(whole, fine, rough, _extrapolation(whole))


def _extrapolation(points: FloatArray) -> FloatArray:
    """Return weights, (points, 2), of the values of the interpolating polynomial at -1 and 1."""
    apart = points[:, None] - points + np.eye(len(points))
    ends = np.array([-1.0, 1.0])
    factors = (ends[:, None, None] - points) / apart
    index = np.arange(len(points))
    factors[:, index, index] = 1.0
    found: FloatArray = factors.prod(axis=2).T
    return found


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


def integrate(
    survival: Survival, low: FloatArray, high: FloatArray, known: FloatArray, centre: float
) -> tuple[FloatArray, FloatArray]:
    """Integrate S and ``2 (t - c) (S - [t < c])``, halving stretches whose error is too large.

    Parameters
    ----------
    low, high
        float64 (k,), the stretches; ``centre`` lies within none of them.
    known
        float64 (2,), what has been integrated before; errors are relative to the whole.
    centre
        The c about which the second moment is taken.

    Returns
    -------
    tuple of float64 (2,)
        The integrals and the bounds of their errors.
    """
    total, error = np.zeros(2), np.zeros(2)
    pieces = len(low)
    for number in range(_MOST_ROUNDS):
        pair = _QUICK if number == 0 and pieces > _SHORT else _FINE
        value, fault, noise = _rule(survival, low, high, pair, centre)
        whole = known + total + value.sum(axis=0)
        allowed = np.maximum(ACCURACY * whole / max(pieces, 1), noise)
        bad = (fault > allowed).any(axis=1) & (high - low > 4e-14 * high)
        if number == _MOST_ROUNDS - 1 or pieces > _MOST_PIECES:
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
    survival: Survival, low: FloatArray, high: FloatArray, pair: _Pair, centre: float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Apply a pair of rules to each stretch: integrals, error estimates and rounding, (k, 2)."""
    half = (high - low) / 2
    inner = (low + half)[:, None] + half[:, None] * pair.points
    times = np.concatenate([inner, low[:, None], (high * (1 - 4e-14))[:, None]], axis=1)
    values = survival(times.ravel()).reshape(times.shape)
    ends, values = values[:, -2:], values[:, :-2]
    past = (high <= centre)[:, None]
    both = np.stack([values, 2 * (inner - centre) * (values - past)], axis=2)
    fine = half[:, None] * np.einsum("kpf,p->kf", both, pair.weights)
    rough = half[:, None] * np.einsum("kpf,p->kf", both, pair.gauss)
    fault = _scaled(fine, np.abs(fine - rough), both, half, pair)
    apart = np.abs(values @ pair.ends - ends).sum(axis=1)
    apart[apart < _EQUAL * values.max(axis=1)] = 0.0
    missed = apart * half * (1 - pair.points[-1])
    lever = 2 * np.maximum(np.abs(low - centre), np.abs(high - centre))
    # Rounding of S itself, and of t where S falls steeply.
    top = values.max(axis=1)
    noise = _ROUNDING * (top * (high - low) + (top - values.min(axis=1)) * high)
    return (
        fine,
        fault + np.stack([missed, missed * lever], axis=1),
        np.stack([noise, noise * lever], axis=1),
    )


def _scaled(
    fine: FloatArray, difference: FloatArray, both: FloatArray, half: FloatArray, pair: _Pair
) -> FloatArray:
    """Return the error estimate of QUADPACK, or the plain difference of the small rules."""
    if pair is _QUICK:
        return difference
    average = fine / np.maximum(2 * half, 1e-300)[:, None]
    apart = np.abs(both - average[:, None, :])
    around = half[:, None] * np.einsum("kpf,p->kf", apart, pair.weights)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = around * np.minimum(1.0, (200 * difference / around) ** 1.5)
    return np.where(around > 0, np.minimum(difference, scaled), difference)
