"""Logarithm and exponential of whole rows, as polynomials of our own.

Loops over them run on the vector units, and the same operations in plain Python give the same
bytes: no product and sum is fused. The polynomials interpolate at Chebyshev nodes; their
coefficients were computed with 40 digits.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.kernels import kernel
from allocsolve.models.random import GROUP, Place, Single, Words, philox

__all__ = ["exponential32", "raise_e", "take_minus_log"]

Bits32: TypeAlias = npt.NDArray[np.int32]

_ROOT32 = np.int32(0x3F3504F3)
_ROOT64 = np.int64(0x3FE6A09E667F3BCD)
"""The bits of sqrt(1/2): mantissas are taken from there to sqrt(2)."""

_ONE32, _HALF32 = np.float32(1.0), np.float32(0.5)
_STEP32 = np.float32(2.0**-32)
_LN2 = np.float32(0.6931471805599453)
_A0, _A1 = np.float32(0.3333341540), np.float32(-0.2500070255)
_A2, _A3 = np.float32(0.1998422325), np.float32(-0.1660271885)
_A4, _A5 = np.float32(0.1470389917), np.float32(-0.1403089220)
_A6 = np.float32(0.09048784427)
_MANTISSA32 = np.int32(23)
_MANTISSA64 = np.int64(52)
_LN2_HIGH, _LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10
_LARGEST, _SMALLEST = 709.0, -708.0


@kernel
def exponential32(out: Single, words: Words, keys: Words, group: int, place: Place) -> None:
    """Write one group of standard exponential draws, ``-log(v)`` with 32 random bits.

    Parameters
    ----------
    out
        float32 (GROUP,).
    words
        uint32 (2, GROUP), scratch memory.
    """
    quarter = GROUP // 4
    flat, spare = words[0], words[1]
    philox(flat.reshape((4, quarter)), keys, group * quarter, place[0], place[1], place[2])
    # Each loop reads and writes memory of one type, else it would not be vectorized.
    _to_unit(spare.view(np.float32), flat)
    _split32(flat.view(np.int32), out, spare.view(np.int32))
    _join_log32(out, flat.view(np.float32))


@kernel
def _to_unit(out: Single, words: Words) -> None:
    for i in range(out.size):
        out[i] = (np.float32(words[i]) + _HALF32) * _STEP32


@kernel
def _split32(mantissa: Bits32, scale: Single, bits: Bits32) -> None:
    """Split positive numbers into a mantissa near 1 and a power of 2."""
    for i in range(bits.size):
        power = np.int32(np.int32(bits[i] - _ROOT32) >> _MANTISSA32)
        mantissa[i] = np.int32(bits[i] - np.int32(power << _MANTISSA32))
        scale[i] = np.float32(power)


@kernel
def _join_log32(out: Single, mantissa: Single) -> None:
    for i in range(out.size):
        out[i] = _minus_log32(mantissa[i], out[i])


@kernel
def _minus_log32(mantissa: np.float32, scale: np.float32) -> np.float32:
    """Return ``-log(mantissa 2^scale)`` to 1.5e-7 of its value, 1/sqrt(2) <= mantissa < sqrt(2)."""
    m = mantissa - _ONE32
    z = m * m
    p = _A6 * m + _A5
    p = p * m + _A4
    p = p * m + _A3
    p = p * m + _A2
    p = p * m + _A1
    p = p * m + _A0
    return -(((p * m) * z - _HALF32 * z) + (m + scale * _LN2))


@kernel
def take_minus_log(out: FloatArray, scratch: FloatArray) -> None:
    """Replace positive normal numbers by ``-log`` of them, to 1e-15 of its value.

    Parameters
    ----------
    out
        float64 (k,).
    scratch
        float64 (2, k), memory that is overwritten.
    """
    scratch[0, :] = out
    _split64(scratch[1].view(np.int64), out, scratch[0].view(np.int64))
    _join_log64(out, scratch[1])


@kernel
def _split64(mantissa: IntArray, scale: FloatArray, bits: IntArray) -> None:
    for i in range(bits.size):
        power = (bits[i] - _ROOT64) >> _MANTISSA64
        mantissa[i] = bits[i] - (power << _MANTISSA64)
        scale[i] = np.float64(power)


@kernel
def _join_log64(out: FloatArray, mantissa: FloatArray) -> None:
    for i in range(out.size):
        out[i] = _minus_log64(mantissa[i], out[i])


@kernel
def _minus_log64(mantissa: float, scale: float) -> float:
    """Return ``-log(mantissa 2^scale)``, 1/sqrt(2) <= mantissa < sqrt(2)."""
    f = mantissa - 1.0
    s = float(np.divide(f, 2.0 + f))  # the operator would test for zero, and not vectorize
    z = s * s
    p = 0.0730822484252170293 * z + 0.0766586080027802063
    p = p * z + 0.0909144456263086104
    p = p * z + 0.111111055673975399
    p = p * z + 0.142857143129877425
    p = p * z + 0.199999999999497522
    p = p * z + 0.333333333333333484
    half = 0.5 * f * f  # log(1 + f) = f - (f^2/2 - s (f^2/2 + 2 z p)), 2 atanh(s) rearranged
    return -scale * _LN2_HIGH - (f - (half - s * (half + 2.0 * z * p) - scale * _LN2_LOW))


@kernel
def raise_e(out: FloatArray, scratch: FloatArray) -> None:
    """Replace numbers by ``exp`` of them, to 3e-16 of its value; infinite above 709.

    Parameters
    ----------
    out
        float64 (k,).
    scratch
        float64 (1, k), memory that is overwritten.
    """
    _binary_powers(scratch[0].view(np.int64), out)
    _join_exponential(out, scratch[0])


@kernel
def _binary_powers(bits: IntArray, exponents: FloatArray) -> None:
    """Write the bits of 2 to the rounded binary logarithm of ``exp``."""
    for i in range(bits.size):
        bits[i] = (np.int64(_rounded(exponents[i])) + 1023) << _MANTISSA64


@kernel
def _rounded(exponent: float) -> float:
    x = exponent if exponent < _LARGEST else _LARGEST
    x = x if x > _SMALLEST else _SMALLEST
    return float(np.floor(x * 1.4426950408889634 + 0.5))


@kernel
def _join_exponential(out: FloatArray, power: FloatArray) -> None:
    for i in range(out.size):
        value = _exponential(out[i]) * power[i]
        out[i] = np.inf if out[i] > _LARGEST else value


@kernel
def _exponential(number: float) -> float:
    """Return ``exp(number) / 2^k`` with ``k`` the rounded binary logarithm."""
    k = _rounded(number)
    x = number if number > _SMALLEST else _SMALLEST
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    p = 2.09146793765839351e-9 * r + 2.51052063739570111e-8
    p = p * r + 2.75572736613486362e-7
    p = p * r + 2.75572554257464343e-6
    p = p * r + 0.0000248015873255333638
    p = p * r + 0.00019841269874800492
    p = p * r + 0.00138888888888837524
    p = p * r + 0.00833333333332614088
    p = p * r + 0.0416666666666666698
    p = p * r + 0.16666666666666671
    p = p * r + 0.5
    return 1.0 + (r + (r * r) * p)
