"""Laws with a closed quantile: deterministic, exponential, Weibull, Pareto, bimodal."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import InputError
from allocsolve.models.laws_base import (
    LAW_CODES,
    RuntimeLaw,
    non_negative,
    positive,
    product,
    unit,
    vector,
)

__all__ = ["Bimodal", "Deterministic", "Exponential", "Pareto", "ShiftedExponential", "Weibull"]


def _log_survival(p: FloatArray) -> FloatArray:
    """Return ``-log(1 - p)``, infinite at 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log1p(-unit(p)))


def _minus_log(p: FloatArray) -> FloatArray:
    """Return ``-log(p)``, infinite at 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(unit(p))) + 0.0


def _beyond(t: FloatArray, shift: float) -> FloatArray:
    """Return how far ``t`` lies beyond the shift, at least 0."""
    return np.maximum(np.asarray(t, dtype=np.float64) - shift, 0.0)


@dataclass(frozen=True)
class Deterministic(RuntimeLaw):
    """Always the same time ``value >= 0``."""

    value: float
    name: ClassVar[str] = "deterministic"
    fields: ClassVar[tuple[str, ...]] = ("value",)

    def __post_init__(self) -> None:
        non_negative(self.name, "value", self.value)

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return 1 from ``value`` on."""
        return np.where(np.asarray(t) >= self.value, 1.0, 0.0)

    def quantile(self, p: FloatArray) -> FloatArray:
        """Return ``value`` for every probability."""
        return np.where(np.isnan(unit(p)), np.nan, self.value)

    def mean(self) -> float:
        """Return the value."""
        return self.value

    def variance(self) -> float:
        """Return 0."""
        return 0.0

    def breakpoints(self) -> tuple[float, ...]:
        """Return the value, where the cdf jumps."""
        return (self.value,)

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and ``[value]``."""
        return LAW_CODES[self.name], vector([self.value])


@dataclass(frozen=True)
class ShiftedExponential(RuntimeLaw):
    """``P(X <= t) = 1 - exp(-rate (t - shift))`` for ``t >= shift >= 0``, ``rate > 0``."""

    shift: float
    rate: float
    name: ClassVar[str] = "shifted_exponential"
    fields: ClassVar[tuple[str, ...]] = ("shift", "rate")

    def __post_init__(self) -> None:
        non_negative(self.name, "shift", self.shift)
        positive(self.name, "rate", self.rate)

    @np.errstate(over="ignore")
    def cdf(self, t: FloatArray) -> FloatArray:
        """Return ``P(X <= t)``."""
        return np.asarray(-np.expm1(-self.rate * _beyond(t, self.shift)))

    @np.errstate(over="ignore")
    def survival(self, t: FloatArray) -> FloatArray:
        """Return ``P(X > t)``."""
        return np.asarray(np.exp(-self.rate * _beyond(t, self.shift)))

    @np.errstate(over="ignore")
    def quantile(self, p: FloatArray) -> FloatArray:
        """Return ``shift - log(1 - p) / rate``."""
        return self.shift + _log_survival(p) / self.rate

    @np.errstate(over="ignore")
    def upper_quantile(self, p: FloatArray) -> FloatArray:
        """Return ``shift - log(p) / rate``."""
        return self.shift + _minus_log(p) / self.rate

    def mean(self) -> float:
        """Return ``shift + 1 / rate``."""
        return self.shift + 1.0 / self.rate

    def variance(self) -> float:
        """Return ``1 / rate^2``."""
        return product(1.0 / self.rate, 1.0 / self.rate)

    def breakpoints(self) -> tuple[float, ...]:
        """Return the shift, where the cdf has a kink."""
        return (self.shift,)

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and ``[shift, 1 / rate]``."""
        return LAW_CODES[self.name], vector([self.shift, 1.0 / self.rate])


@dataclass(frozen=True)
class Exponential(RuntimeLaw):
    """``P(X <= t) = 1 - exp(-rate t)``, ``rate > 0``."""

    rate: float
    name: ClassVar[str] = "exponential"
    fields: ClassVar[tuple[str, ...]] = ("rate",)

    def __post_init__(self) -> None:
        positive(self.name, "rate", self.rate)

    @np.errstate(over="ignore")
    def cdf(self, t: FloatArray) -> FloatArray:
        """Return ``P(X <= t)``."""
        return np.asarray(-np.expm1(-self.rate * _beyond(t, 0.0)))

    @np.errstate(over="ignore")
    def survival(self, t: FloatArray) -> FloatArray:
        """Return ``P(X > t)``."""
        return np.asarray(np.exp(-self.rate * _beyond(t, 0.0)))

    @np.errstate(over="ignore")
    def quantile(self, p: FloatArray) -> FloatArray:
        """Return ``-log(1 - p) / rate``."""
        return _log_survival(p) / self.rate

    @np.errstate(over="ignore")
    def upper_quantile(self, p: FloatArray) -> FloatArray:
        """Return ``-log(p) / rate``."""
        return _minus_log(p) / self.rate

    def mean(self) -> float:
        """Return ``1 / rate``."""
        return 1.0 / self.rate

    def variance(self) -> float:
        """Return ``1 / rate^2``."""
        return product(1.0 / self.rate, 1.0 / self.rate)

    def breakpoints(self) -> tuple[float, ...]:
        """Return 0, where the cdf has a kink."""
        return (0.0,)

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and ``[0, 1 / rate]``."""
        return LAW_CODES[self.name], vector([0.0, 1.0 / self.rate])


@dataclass(frozen=True)
class Weibull(RuntimeLaw):
    """``P(X <= t) = 1 - exp(-((t - shift) / scale)^shape)``; a heavy tail for ``shape < 1``."""

    shape: float
    scale: float
    shift: float = 0.0
    name: ClassVar[str] = "weibull"
    fields: ClassVar[tuple[str, ...]] = ("shape", "scale", "shift")
    defaults: ClassVar[dict[str, float]] = {"shift": 0.0}

    def __post_init__(self) -> None:
        positive(self.name, "shape", self.shape)
        positive(self.name, "scale", self.scale)
        non_negative(self.name, "shift", self.shift)

    @np.errstate(over="ignore")
    def _hazard(self, t: FloatArray) -> FloatArray:
        return np.asarray((_beyond(t, self.shift) / self.scale) ** self.shape)

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return ``P(X <= t)``."""
        return np.asarray(-np.expm1(-self._hazard(t)))

    def survival(self, t: FloatArray) -> FloatArray:
        """Return ``P(X > t)``."""
        return np.asarray(np.exp(-self._hazard(t)))

    @np.errstate(over="ignore")
    def quantile(self, p: FloatArray) -> FloatArray:
        """Return ``shift + scale (-log(1 - p))^(1 / shape)``."""
        return np.asarray(self.shift + self.scale * _log_survival(p) ** (1.0 / self.shape))

    @np.errstate(over="ignore")
    def upper_quantile(self, p: FloatArray) -> FloatArray:
        """Return ``shift + scale (-log(p))^(1 / shape)``."""
        return np.asarray(self.shift + self.scale * _minus_log(p) ** (1.0 / self.shape))

    def mean(self) -> float:
        """Return ``shift + scale Gamma(1 + 1 / shape)``, infinite beyond the range of floats."""
        return self.shift + _gamma(1.0 + 1.0 / self.shape, self.scale)

    def variance(self) -> float:
        """Return ``scale^2 (Gamma(1 + 2 / shape) - Gamma(1 + 1 / shape)^2)``."""
        h = 1.0 / self.shape
        if math.isinf(self.mean()):
            return math.inf
        if 1.0 + 2.0 * h >= _LARGEST_GAMMA:  # the square of the mean is negligible
            return _gamma(1.0 + 2.0 * h, self.scale, self.scale)
        if self.shape < 1e3:
            spread = math.gamma(1.0 + 2.0 * h) - math.gamma(1.0 + h) ** 2
        else:
            spread = _steep_variance(h)
        return product(self.scale, self.scale, spread)

    def breakpoints(self) -> tuple[float, ...]:
        """Return the shift, where the cdf has a kink."""
        return (self.shift,)

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and ``[shift, scale, 1 / shape]``."""
        return LAW_CODES[self.name], vector([self.shift, self.scale, 1.0 / self.shape])


_LARGEST_GAMMA = 170.0
"""Where the gamma function is still in the range of floats."""


def _gamma(x: float, *factors: float) -> float:
    """Return ``Gamma(x)`` times some factors, infinite if that is beyond the range of floats."""
    if x < _LARGEST_GAMMA:
        return product(math.gamma(x), *factors)
    try:
        return math.exp(math.lgamma(x) + math.fsum(math.log(factor) for factor in factors))
    except OverflowError:
        return math.inf


def _steep_variance(h: float) -> float:
    """Return ``Gamma(1 + 2h) - Gamma(1 + h)^2`` for small ``h``, where the difference cancels.

    ``log Gamma(1 + 2h) - 2 log Gamma(1 + h)`` is the sum over ``k >= 2`` of
    ``zeta(k) (-h)^k (2^k - 2) / k``.
    """
    zeta = (1.6449340668482264, 1.2020569031595943, 1.0823232337111382, 1.03692775514337)
    terms = (z * (-h) ** k * (2**k - 2) / k for k, z in enumerate(zeta, start=2))
    return math.gamma(1.0 + h) ** 2 * math.expm1(math.fsum(terms))


@dataclass(frozen=True)
class Pareto(RuntimeLaw):
    """``P(X > t) = (scale / t)^shape`` for ``t >= scale > 0``; infinite mean for ``shape <= 1``."""

    shape: float
    scale: float
    name: ClassVar[str] = "pareto"
    fields: ClassVar[tuple[str, ...]] = ("shape", "scale")

    def __post_init__(self) -> None:
        positive(self.name, "shape", self.shape)
        positive(self.name, "scale", self.scale)

    @np.errstate(over="ignore")
    def _hazard(self, t: FloatArray) -> FloatArray:
        ratio = _beyond(t, self.scale) / self.scale
        far = np.log(np.maximum(t, self.scale)) - math.log(self.scale)
        return np.asarray(self.shape * np.where(ratio < 1e15, np.log1p(ratio), far))

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return ``P(X <= t)``."""
        return np.asarray(-np.expm1(-self._hazard(t)))

    def survival(self, t: FloatArray) -> FloatArray:
        """Return ``P(X > t)``."""
        return np.asarray(np.exp(-self._hazard(t)))

    def quantile(self, p: FloatArray) -> FloatArray:
        """Return ``scale (1 - p)^(-1 / shape)``."""
        return self._grown(_log_survival(p))

    def upper_quantile(self, p: FloatArray) -> FloatArray:
        """Return ``scale p^(-1 / shape)``."""
        return self._grown(_minus_log(p))

    @np.errstate(over="ignore")
    def _grown(self, hazard: FloatArray) -> FloatArray:
        power = hazard / self.shape
        far = np.exp(power + math.log(self.scale))
        return np.asarray(np.where(power < 700.0, self.scale * np.exp(power), far))

    def mean(self) -> float:
        """Return ``scale shape / (shape - 1)``, infinite for ``shape <= 1``."""
        return self.scale * (self.shape / (self.shape - 1.0)) if self.shape > 1 else math.inf

    def variance(self) -> float:
        """Return the variance, infinite for ``shape <= 2``."""
        if self.shape <= 2:
            return math.inf
        part = self.scale / (self.shape - 1.0)
        return product(part, part, self.shape / (self.shape - 2.0))

    def tail_index(self) -> float:
        """Return the shape."""
        return self.shape

    def breakpoints(self) -> tuple[float, ...]:
        """Return the scale, where the cdf has a kink."""
        return (self.scale,)

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and ``[scale, 1 / shape]``."""
        return LAW_CODES[self.name], vector([self.scale, 1.0 / self.shape])


@dataclass(frozen=True)
class Bimodal(RuntimeLaw):
    """``base``, or ``base * slowdown`` with the given probability: a node that sometimes lags."""

    base: float
    slowdown: float
    probability: float
    name: ClassVar[str] = "bimodal"
    fields: ClassVar[tuple[str, ...]] = ("base", "slowdown", "probability")

    def __post_init__(self) -> None:
        non_negative(self.name, "base", self.base)
        positive(self.name, "slowdown", self.slowdown)
        non_negative(self.name, "base * slowdown", self.base * self.slowdown)
        if not 0 <= self.probability <= 1:
            raise InputError(
                f"law 'bimodal': probability is {self.probability:g}, it must be in 0..1",
                allowed="a number of at least 0 and at most 1",
                remedy="correct probability",
                path="$.probability",
            )

    def _levels(self) -> tuple[float, float, float]:
        """Return the lower and the higher time, and the probability of the lower one."""
        slow = self.base * self.slowdown
        if slow >= self.base:
            return self.base, slow, 1.0 - self.probability
        return slow, self.base, self.probability

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return a step function with steps at both times."""
        low, high, share = self._levels()
        array = np.asarray(t, dtype=np.float64)
        return np.where(array >= high, 1.0, np.where(array >= low, share, 0.0))

    def survival(self, t: FloatArray) -> FloatArray:
        """Return ``P(X > t)``."""
        low, high, share = self._levels()
        rest = self.probability if self.slowdown >= 1 else 1.0 - share
        array = np.asarray(t, dtype=np.float64)
        return np.where(array >= high, 0.0, np.where(array >= low, rest, 1.0))

    def quantile(self, p: FloatArray) -> FloatArray:
        """Return the lower time up to its probability, then the higher one."""
        low, high, share = self._levels()
        wanted = unit(p)
        least = low if share > 0 else high
        found = np.where(wanted <= share, np.where(wanted > 0, low, least), high)
        return np.where(np.isnan(wanted), np.nan, found)

    def mean(self) -> float:
        """Return ``base (1 + probability (slowdown - 1))``."""
        return self.base * (1.0 + self.probability * (self.slowdown - 1.0))

    def variance(self) -> float:
        """Return ``probability (1 - probability) (base (slowdown - 1))^2``."""
        step = abs(self.base * (self.slowdown - 1.0))
        return product(self.probability, 1.0 - self.probability, step, step)

    def breakpoints(self) -> tuple[float, ...]:
        """Return both times, where the cdf jumps."""
        low, high, _ = self._levels()
        return (low, high) if low < high else (low,)

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and ``[low, high, P(low)]``."""
        return LAW_CODES[self.name], vector(self._levels())
