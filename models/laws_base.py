"""What a runtime law is: its record in documents, and what every law can be asked."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import msgspec
import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number, exact

__all__ = [
    "LAW_CODES",
    "Law",
    "RuntimeLaw",
    "finite",
    "non_negative",
    "positive",
    "product",
    "total",
    "unit",
    "vector",
]

LAW_CODES = {
    "deterministic": 0,
    "exponential": 1,
    "shifted_exponential": 1,
    "weibull": 2,
    "pareto": 3,
    "lognormal": 4,
    "gamma": 5,
    "bimodal": 6,
    "empirical": 7,
    "mixture": 8,
}
"""Codes of the laws in compiled samplers, and what the vector ``a`` beside a code holds.

``u`` is a uniform number in (0, 1); every draw but that of a mixture rises with it.

==  ===================  =========================================  ==============================
0   deterministic        value                                      a[0]
1   (shifted) exp.       shift, 1 / rate                            a[0] - a[1] log1p(-u)
2   weibull              shift, scale, 1 / shape                    a[0] + a[1] (-log1p(-u))^a[2]
3   pareto               scale, 1 / shape                           a[0] (1 - u)^-a[1]
4   lognormal            log_mean, log_std                          exp(a[0] + a[1] N(u))
5   gamma                lowest z, cells per unit of z, cells m,    exp(polynomial of the cell of
                         then six coefficients for each cell        z = N(u))
6   bimodal              low, high, P(low)                          a[0] if u <= a[2] else a[1]
7   empirical            n, then n samples in rising order          a[ceil(n u)], at least a[1]
8   mixture              m, then m cumulated weights (the last 1),  see below
                         m codes, m + 1 offsets, then the vectors
==  ===================  =========================================  ==============================

``N`` is the quantile of the standard normal law (Wichura's AS 241 to 1e-15). In a gamma law cell
``i = clip(floor((z - a[0]) a[1]), 0, m - 1)`` holds ``c = a[3 + 6 i : 9 + 6 i]``, and with
``x = (z - a[0]) a[1] - i`` the logarithm of the draw is ``c[0] + c[1] x + ... + c[5] x^5``.
In a mixture part ``j`` is the first whose cumulated weight ``w[j] >= u``; its vector is
``a[o[j] : o[j + 1]]`` (offsets count from ``a[0]``), its code ``c[j]`` is never that of a mixture,
and it is drawn with ``(u - w[j - 1]) / (w[j] - w[j - 1])``, which is again uniform.
"""


class Law(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True
):
    """A runtime law: its name and the parameters that the law takes."""

    law: str
    value: Number | None = None
    rate: Number | None = None
    shift: Number | None = None
    shape: Number | None = None
    scale: Number | None = None
    log_mean: Number | None = None
    log_std: Number | None = None
    base: Number | None = None
    slowdown: Number | None = None
    probability: Number | None = None
    samples: list[Number] | None = None
    file: str | None = None
    parts: list[Law] | None = None
    weights: list[Number] | None = None


@dataclass(frozen=True)
class RuntimeLaw(ABC):
    """The law of a non-negative random time.

    Methods take and return float64 arrays of any one shape; parameters are checked when the
    law is made (:class:`InputError` names the field). No method raises whatever the parameters:
    what lies beyond the range of floats is infinite, or 0.
    """

    name: ClassVar[str]
    """Name in documents."""

    fields: ClassVar[tuple[str, ...]]
    """The parameters, as in documents."""

    defaults: ClassVar[dict[str, float]] = {}
    """Parameters that may be left out."""

    @abstractmethod
    def cdf(self, t: FloatArray) -> FloatArray:
        """Return ``P(X <= t)``; ``t`` may be infinite."""

    @abstractmethod
    def quantile(self, p: FloatArray) -> FloatArray:
        """Return the least ``t`` with ``P(X <= t) >= p``.

        Parameters
        ----------
        p
            Probabilities in [0, 1]; 0 gives the least time that is possible, and 1 the
            greatest, which may be infinite. Outside of [0, 1] the answer is NaN.
        """

    @abstractmethod
    def mean(self) -> float:
        """Return the mean; ``math.inf`` where it is infinite."""

    @abstractmethod
    def variance(self) -> float:
        """Return the variance; ``math.inf`` where it, or the mean, is infinite."""

    @abstractmethod
    def breakpoints(self) -> tuple[float, ...]:
        """Return, rising, where the cdf jumps or is not smooth, with the ends of its range."""

    @abstractmethod
    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and parameters for compiled samplers, see :data:`LAW_CODES`."""

    def survival(self, t: FloatArray) -> FloatArray:
        """Return ``P(X > t)``, accurate also where it is tiny."""
        return np.asarray(1.0 - self.cdf(t))

    def upper_quantile(self, p: FloatArray) -> FloatArray:
        """Return the least ``t`` with ``P(X > t) <= p``, accurate also for tiny ``p``."""
        return self.quantile(1.0 - np.asarray(p, dtype=np.float64))

    def tail_index(self) -> float:
        """Return the ``a`` for which ``P(X > t)`` falls as ``t^-a``; infinite for light tails.

        The mean is infinite for ``a <= 1``. That of the least of several independent times has
        the sum of their indices.
        """
        return math.inf

    def sample(self, uniform: FloatArray) -> FloatArray:
        """Return the draws that belong to uniform numbers in (0, 1): the quantiles there.

        They rise with the uniform numbers, so that common random numbers correlate.
        """
        return self.quantile(uniform)

    def to_record(self) -> Law:
        """Return the record of documents."""
        return msgspec.structs.replace(
            Law(law=self.name), **{key: exact(getattr(self, key)) for key in self.fields}
        )


def vector(values: Sequence[float] | FloatArray) -> FloatArray:
    """Return numbers as a read-only float64 vector."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def product(*factors: float) -> float:
    """Return a product of non-negative numbers, infinite only if it is beyond the range of floats.

    The order of the factors does not matter: 1e300 * 1e300 * 1e-300 is 1e300. A product with a
    factor 0 is 0, also with an infinite one.
    """
    if not all(factors):
        return 0.0
    if math.inf in factors:
        return math.inf
    fraction, exponent = 1.0, 0
    for factor in factors:
        part, power = math.frexp(factor)
        fraction, exponent = fraction * part, exponent + power
    try:
        return math.ldexp(fraction, exponent)
    except OverflowError:
        return math.inf


def total(numbers: Iterable[float]) -> float:
    """Return the sum of numbers, infinite where it, or a part of it, is beyond floats."""
    try:
        return math.fsum(numbers)
    except OverflowError:
        return math.inf


def unit(p: FloatArray) -> FloatArray:
    """Return probabilities as float64, NaN outside of [0, 1]."""
    array = np.asarray(p, dtype=np.float64)
    return np.where((array >= 0) & (array <= 1), array, np.nan)


def finite(law: str, field: str, value: float) -> None:
    """Refuse a parameter that is not a finite number.

    Raises
    ------
    InputError
        Naming the law and the field.
    """
    if not math.isfinite(value):
        raise _wrong(law, field, value, "a finite number")


def non_negative(law: str, field: str, value: float) -> None:
    """Refuse a parameter that is not finite and at least 0.

    Raises
    ------
    InputError
        Naming the law and the field.
    """
    if not (math.isfinite(value) and value >= 0):
        raise _wrong(law, field, value, "a finite number of at least 0")


def positive(law: str, field: str, value: float) -> None:
    """Refuse a parameter that is not finite and greater than 0.

    Raises
    ------
    InputError
        Naming the law and the field.
    """
    if not (math.isfinite(value) and value > 0):
        raise _wrong(law, field, value, "a finite number greater than 0")


def _wrong(law: str, field: str, value: float, allowed: str) -> InputError:
    return InputError(
        f"law '{law}': {field} is {value:g}, it must be {allowed}",
        allowed=allowed,
        remedy=f"correct {field}",
        path=f"$.{field}",
    )
