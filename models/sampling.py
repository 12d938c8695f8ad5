"""Draws of runtime laws in compiled loops, one group of replications at a time.

Each draw is the upper quantile of the law at a uniform number ``v`` of
:mod:`allocsolve.models.random`, that is the quantile at ``u = 1 - v``; in double precision
``1 - v`` is exact. Small ``v`` are known precisely, so the upper tail is too.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.elementary import exponential32, raise_e, take_minus_log
from allocsolve.models.kernels import kernel
from allocsolve.models.normal import normal_quantile
from allocsolve.models.random import Place, Single, Words, fill_uniform64

__all__ = ["SCRATCH", "draw32", "draw64", "invert"]

SCRATCH = 5
"""Rows of scratch memory that a draw needs."""

_TINY = 2.0**-53
_DETERMINISTIC, _EXPONENTIAL, _WEIBULL, _PARETO, _LOGNORMAL, _GAMMA, _BIMODAL, _EMPIRICAL = range(8)
_MIXTURE = 8
_HEAD, _TERMS = 3, 6


@kernel
def draw64(
    out: FloatArray,
    scratch: FloatArray,
    words: Words,
    keys: Words,
    group: int,
    place: Place,
    code: int,
    a: FloatArray,
) -> None:
    """Write the draws of one group in double precision.

    Parameters
    ----------
    out
        float64 (GROUP,).
    scratch, words
        float64 (SCRATCH, GROUP) and uint32 (2, GROUP), memory that is overwritten.
    keys, group, place
        Where the numbers come from, see :func:`allocsolve.models.random.fill_uniform64`.
    code, a
        The law, see :data:`allocsolve.models.laws_base.LAW_CODES`.
    """
    if code == _DETERMINISTIC:
        out[:] = a[0]
        return
    fill_uniform64(out, words, keys, group, place)
    if code == _MIXTURE:
        _invert_mixture(out, scratch, a)
    else:
        invert(out, scratch, code, a)


@kernel
def draw32(
    out: Single,
    wide: FloatArray,
    scratch: FloatArray,
    words: Words,
    keys: Words,
    group: int,
    place: Place,
    code: int,
    a: FloatArray,
) -> None:
    """Write the draws of one group in single precision.

    Exponential draws are made in single precision throughout; those of other laws are made in
    double precision in ``wide``, float64 (GROUP,), and rounded.
    """
    if code == _EXPONENTIAL:
        exponential32(out, words, keys, group, place)
        shift, scale = np.float32(a[0]), np.float32(a[1])
        for i in range(out.size):
            out[i] = shift + scale * out[i]
        return
    draw64(wide, scratch, words, keys, group, place, code, a)
    for i in range(out.size):
        out[i] = np.float32(wide[i])


@kernel
def invert(v: FloatArray, scratch: FloatArray, code: int, a: FloatArray) -> None:
    """Replace uniform numbers by the upper quantiles of a law that is no mixture.

    Parameters
    ----------
    v
        float64 (k,), in (0, 1), at least 2^-53.
    scratch
        float64 (3, k), memory that is overwritten.
    """
    if code == _DETERMINISTIC:
        v[:] = a[0]
    elif code <= _PARETO:
        _invert_exponential(v, scratch, code, a)
    elif code <= _GAMMA:
        _invert_normal(v, scratch, code, a)
    elif code == _BIMODAL:
        _choose(v, a[0], a[1], a[2])
    else:
        count = int(a[0])
        for i in range(v.size):
            rank = int(np.ceil((1.0 - v[i]) * count))
            v[i] = a[rank if rank > 1 else 1]


@kernel
def _choose(v: FloatArray, low: float, high: float, share: float) -> None:
    for i in range(v.size):
        v[i] = low if 1.0 - v[i] <= share else high


@kernel
def _invert_exponential(v: FloatArray, scratch: FloatArray, code: int, a: FloatArray) -> None:
    """Draw the laws that are functions of an exponential variable."""
    take_minus_log(v, scratch)
    if code == _EXPONENTIAL:
        _shift_and_scale(v, a[0], a[1])
    elif code == _PARETO:
        _shift_and_scale(v, 0.0, a[1])
        raise_e(v, scratch)
        _shift_and_scale(v, 0.0, a[0])
    else:
        take_minus_log(v, scratch)
        _shift_and_scale(v, 0.0, -a[2])
        raise_e(v, scratch)
        _shift_and_scale(v, a[0], a[1])


@kernel
def _shift_and_scale(v: FloatArray, shift: float, scale: float) -> None:
    for i in range(v.size):
        v[i] = shift + scale * v[i]


@kernel
def _invert_normal(v: FloatArray, scratch: FloatArray, code: int, a: FloatArray) -> None:
    """Draw the laws that are functions of a normal variable."""
    tail = scratch[2]
    for i in range(v.size):
        tail[i] = v[i] if v[i] < 0.5 else 1.0 - v[i]
        v[i] = 1.0 - v[i]
    take_minus_log(tail, scratch)
    normal_quantile(v, tail)
    if code == _LOGNORMAL:
        _shift_and_scale(v, a[0], a[1])
    else:
        for i in range(v.size):
            v[i] = _gamma_logarithm(v[i], a)
    raise_e(v, scratch)


@kernel
def _gamma_logarithm(z: float, a: FloatArray) -> float:
    """Return the logarithm of a gamma draw from the table of its law."""
    place = (z - a[0]) * a[1]
    last = int(a[2]) - 1
    cell = int(np.floor(place))
    cell = cell if cell > 0 else 0
    cell = cell if cell < last else last
    x, at = place - cell, _HEAD + _TERMS * cell
    p = a[at + 5] * x + a[at + 4]
    p = p * x + a[at + 3]
    p = p * x + a[at + 2]
    p = p * x + a[at + 1]
    return float(p * x + a[at])


@kernel
def _invert_mixture(v: FloatArray, scratch: FloatArray, a: FloatArray) -> None:
    """Draw each part for all numbers and keep the draws whose numbers belong to the part."""
    parts = int(a[0])
    drawn, kept = scratch[3], scratch[4]
    below = 0.0
    for j in range(parts):
        above, code = a[1 + j], int(a[1 + parts + j])
        vector = a[int(a[1 + 2 * parts + j]) : int(a[2 + 2 * parts + j])]
        if above > below:
            for i in range(v.size):
                rest = (above - (1.0 - v[i])) / (above - below)
                rest = rest if rest > _TINY else _TINY
                drawn[i] = rest if rest < 1.0 - _TINY else 1.0 - _TINY
            invert(drawn, scratch, code, vector)
            for i in range(v.size):
                if below < 1.0 - v[i] <= above:
                    kept[i] = drawn[i]
        below = above
    v[:] = kept
