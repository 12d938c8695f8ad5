"""The lognormal and the gamma law, whose cdf needs special functions, and their samplers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.laws_base import (
    LAW_CODES,
    RuntimeLaw,
    finite,
    positive,
    product,
    unit,
    vector,
)

__all__ = ["TABLE_ERROR", "Gamma", "Lognormal"]

TABLE_ERROR = 1e-10
"""Largest relative error of the table from which compiled samplers draw a gamma law.

It holds for shapes from 0.001 to 300 000. Beyond, the incomplete gamma function itself is less
exact in the tails: draws are right to 1e-9 standard deviations within 3 of them of the mean, and
to an eighth of one farther out.
"""

_LOWEST, _HIGHEST = -8.5, 8.5
"""Standard normal quantiles of 2^-55 and 1 - 2^-55, rounded outwards: no draw lies beyond."""

_SMALLEST = -745.0
"""Logarithm of the least positive float; what is below counts as zero."""

_NORMAL = 1e15
"""Shape beyond which a gamma law is the normal law of its mean and variance to 1e-8."""

_ZERO = 1e-20
"""Shape below which every draw is below the least positive float."""

_TINY = 1e-13
"""Shape below which the survival is its first term in the shape, to 1e-10 of it."""

_HALF_LOG_2_PI = math.log(2 * math.pi) / 2


@dataclass(frozen=True)
class Lognormal(RuntimeLaw):
    """``exp(log_mean + log_std N)`` with ``N`` standard normal, ``log_std > 0``."""

    log_mean: float
    log_std: float
    name: ClassVar[str] = "lognormal"
    fields: ClassVar[tuple[str, ...]] = ("log_mean", "log_std")

    def __post_init__(self) -> None:
        finite(self.name, "log_mean", self.log_mean)
        positive(self.name, "log_std", self.log_std)

    def _score(self, t: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", over="ignore"):
            logs = np.log(np.maximum(np.asarray(t, dtype=np.float64), 0.0))
            return np.asarray((logs - self.log_mean) / self.log_std)

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return ``P(X <= t)``."""
        from scipy.special import ndtr

        return np.asarray(ndtr(self._score(t)))

    def survival(self, t: FloatArray) -> FloatArray:
        """Return ``P(X > t)``."""
        from scipy.special import ndtr

        return np.asarray(ndtr(-self._score(t)))

    def quantile(self, p: FloatArray) -> FloatArray:
        """Return ``exp(log_mean + log_std N(p))``."""
        return self._at(1.0, p)

    def upper_quantile(self, p: FloatArray) -> FloatArray:
        """Return ``exp(log_mean - log_std N(p))``."""
        return self._at(-1.0, p)

    def _at(self, sign: float, p: FloatArray) -> FloatArray:
        from scipy.special import ndtri

        with np.errstate(over="ignore"):
            score = sign * ndtri(unit(p))
            return np.asarray(np.exp(self.log_mean + self.log_std * score))

    def mean(self) -> float:
        """Return ``exp(log_mean + log_std^2 / 2)``, infinite beyond the range of floats."""
        return _exp(self.log_mean + self.log_std * self.log_std / 2)

    def variance(self) -> float:
        """Return ``(exp(log_std^2) - 1) exp(2 log_mean + log_std^2)``."""
        if math.isinf(self.mean()):
            return math.inf
        square = self.log_std * self.log_std
        if square > 40:
            return _exp(2 * (self.log_mean + square))
        return product(math.expm1(square), _exp(2 * self.log_mean + square))

    def breakpoints(self) -> tuple[float, ...]:
        """Return 0, where the range of times begins."""
        return (0.0,)

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and ``[log_mean, log_std]``."""
        return LAW_CODES[self.name], vector([self.log_mean, self.log_std])


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class Gamma(RuntimeLaw):
    """Density ``t^(shape - 1) exp(-t / scale)`` up to a factor; Erlang for a whole shape."""

    shape: float
    scale: float
    name: ClassVar[str] = "gamma"
    fields: ClassVar[tuple[str, ...]] = ("shape", "scale")

    def __post_init__(self) -> None:
        positive(self.name, "shape", self.shape)
        positive(self.name, "scale", self.scale)

    @np.errstate(over="ignore")
    def _scaled(self, t: FloatArray) -> FloatArray:
        return np.asarray(np.maximum(np.asarray(t, dtype=np.float64), 0.0) / self.scale)

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return ``P(X <= t)``."""
        from scipy.special import gammainc, ndtr

        if self.shape < _TINY:
            return np.asarray(1.0 - self.survival(t))
        if self.shape > _NORMAL:
            return np.asarray(ndtr(self._score(t)))
        return np.asarray(gammainc(self.shape, self._scaled(t)))

    def survival(self, t: FloatArray) -> FloatArray:
        """Return ``P(X > t)``."""
        from scipy.special import exp1, gammaincc, ndtr

        if self.shape < _TINY:  # the first term of the series in the shape
            return np.asarray(np.minimum(self.shape * exp1(self._scaled(t)), 1.0))
        if self.shape > _NORMAL:
            return np.asarray(ndtr(-self._score(t)))
        return np.asarray(gammaincc(self.shape, self._scaled(t)))

    def quantile(self, p: FloatArray) -> FloatArray:
        """Return the inverse of the regularised incomplete gamma function."""
        from scipy.special import gammaincinv, ndtri

        if self.shape > _NORMAL:
            return self._at(ndtri(unit(p)))
        return self._times(gammaincinv(self.shape, unit(p)), p)

    def upper_quantile(self, p: FloatArray) -> FloatArray:
        """Return the inverse of the upper regularised incomplete gamma function."""
        from scipy.special import gammainccinv, ndtri

        if self.shape > _NORMAL:
            return self._at(-ndtri(unit(p)))
        return self._times(gammainccinv(self.shape, unit(p)), p)

    @np.errstate(over="ignore")
    def _times(self, scaled: FloatArray, p: FloatArray) -> FloatArray:
        """Return times; SciPy has no number for those that tiny shapes leave below floats."""
        is_lost = np.isnan(scaled) & ~np.isnan(unit(p))
        return np.asarray(self.scale * np.where(is_lost, 0.0, scaled))

    @np.errstate(over="ignore")
    def _score(self, t: FloatArray) -> FloatArray:
        """Return the standard score of times, for shapes whose law is normal."""
        return np.asarray((self._scaled(t) / self.shape - 1.0) * math.sqrt(self.shape))

    @np.errstate(over="ignore")
    def _at(self, score: FloatArray) -> FloatArray:
        """Return the time of a standard score; a score of -infinity is that of time 0."""
        parts = np.maximum(1.0 + score / math.sqrt(self.shape), 0.0)
        return np.asarray(self.scale * (self.shape * parts))

    def mean(self) -> float:
        """Return ``shape * scale``, infinite beyond the range of floats."""
        return product(self.shape, self.scale)

    def variance(self) -> float:
        """Return ``shape * scale^2``, infinite beyond the range of floats."""
        return product(self.shape, self.scale, self.scale)

    def breakpoints(self) -> tuple[float, ...]:
        """Return 0, where the range of times begins."""
        return (0.0,)

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and a table of polynomials, right to :data:`TABLE_ERROR`."""
        table = np.array(_table(self.shape))
        table[3::6] += math.log(self.scale)
        return LAW_CODES[self.name], vector(table)


@lru_cache(maxsize=64)
def _table(shape: float) -> FloatArray:
    """Return the table of a gamma law of scale 1, fine enough for :data:`TABLE_ERROR`.

    The logarithm of its quantile at the normal probability of ``z`` is a smooth function of
    ``z`` for every shape (nearly linear: Wilson and Hilferty, 1931). In each cell it is
    replaced by the polynomial of degree 5 through its values, slopes and curvatures at both
    ends (Hermite).
    """
    table = _hermite(shape, 8)
    error = _error(shape, table)
    for cells_per_unit in (16, 32, 64, 128):
        if error <= TABLE_ERROR:
            break
        finer = _hermite(shape, cells_per_unit)
        before, error = error, _error(shape, finer)
        if error > before / 2:  # what is left is the error of the incomplete gamma function
            break
        table = finer
    return vector(table)


def _hermite(shape: float, cells_per_unit: int) -> FloatArray:
    cells = round((_HIGHEST - _LOWEST) * cells_per_unit)
    z = _LOWEST + np.arange(cells + 1) / cells_per_unit
    value, slope, bend = _log_quantile(shape, z)
    slope, bend = slope / cells_per_unit, bend / cells_per_unit**2
    y0, y1 = value[:-1], value[1:]
    d0, d1 = slope[:-1], slope[1:]
    s0, s1 = bend[:-1], bend[1:]
    rise, change = y1 - y0 - d0 - s0 / 2, d1 - d0 - s0
    curl = s1 - s0
    c3 = 10 * rise - 4 * change + curl / 2
    c4 = -15 * rise + 7 * change - curl
    c5 = 6 * rise - 3 * change + curl / 2
    rows = np.stack([y0, d0, s0 / 2, c3, c4, c5], axis=1)
    return np.concatenate([[_LOWEST, float(cells_per_unit), float(cells)], rows.ravel()])


def _log_quantile(shape: float, z: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return ``y = log(quantile)`` at the normal probability of ``z``, with two derivatives.

    ``y' = phi(z) / (x f(x))`` with ``x = exp(y)`` and the density ``f`` of the law, and
    ``y'' = y' (-z - y' (shape - x))``.
    """
    y = _log_gamma_inverse(shape, z)
    if shape > _NORMAL:
        return y, np.full(z.shape, 1 / math.sqrt(shape)), np.zeros(z.shape)
    if shape < _ZERO:
        return y, np.zeros(z.shape), np.zeros(z.shape)
    x = np.exp(y)
    slope = np.exp(_log_inverse_density(shape, x, y) - z * z / 2 - _HALF_LOG_2_PI)
    return y, slope, slope * (-z - slope * (shape - x))


def _log_inverse_density(shape: float, x: FloatArray, y: FloatArray) -> FloatArray:
    """Return ``-log(x f(x))``; for a large shape by Stirling's series, where terms cancel."""
    if shape < 100:
        return np.asarray(math.lgamma(shape) + x - shape * y)
    off = x / shape - 1.0
    rest = 1 / (12 * shape) - 1 / (360 * shape**3) + 1 / (1260 * shape**5)
    cancelled = shape * (off - np.log1p(off))
    return np.asarray(cancelled - math.log(shape) / 2 + _HALF_LOG_2_PI + rest)


def _log_gamma_inverse(shape: float, z: FloatArray) -> FloatArray:
    """Return the logarithm of the gamma quantile at the normal probability of ``z``.

    Where the quantile is beyond the range of floats, the first term of the series of the cdf,
    ``P(x) = x^shape / Gamma(shape + 1)``, is exact enough.
    """
    from scipy.special import gammainccinv, gammaincinv, gammaln, log_ndtr, ndtr

    if shape > _NORMAL:
        return math.log(shape) + z / math.sqrt(shape)
    if shape < _ZERO:
        return np.full(z.shape, 10 * _SMALLEST)
    x = np.where(z < 0, gammaincinv(shape, ndtr(z)), gammainccinv(shape, ndtr(-z)))
    series = (log_ndtr(z) + gammaln(shape + 1.0)) / shape
    with np.errstate(divide="ignore"):
        return np.asarray(np.where(series < -60.0, series, np.log(x)), dtype=np.float64)


def _error(shape: float, table: FloatArray) -> float:
    """Return the largest relative error of the draws in the middle and thirds of the cells."""
    cells_per_unit, cells = table[1], int(table[2])
    rows = table[3:].reshape(cells, 6)
    worst = 0.0
    for x in (0.25, 0.5, 0.75):
        z = table[0] + (np.arange(cells) + x) / cells_per_unit
        exact = _log_gamma_inverse(shape, z)
        drawn = rows @ x ** np.arange(6)
        worst = max(worst, float(np.max(np.abs(drawn - exact)[exact > _SMALLEST], initial=0.0)))
    return worst
