"""Maximum-likelihood estimates of each runtime law, and densities."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.laws_base import RuntimeLaw
from allocsolve.models.nodes import (
    Bimodal,
    Deterministic,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    ShiftedExponential,
    Weibull,
)

__all__ = ["FAMILIES", "Data", "Family"]

_MANY = 5_000
"""Durations beyond which an iteration begins with a part of them."""


@dataclass(frozen=True, eq=False)
class Data:
    """Durations, some of which may be censored.

    Attributes
    ----------
    times
        float64 (n,), each finite and at least 0.
    seen
        bool (n,): whether the duration was measured to its end; otherwise it is longer.
    """

    times: FloatArray
    seen: BoolArray

    @classmethod
    def complete(cls, times: FloatArray) -> Data:
        """Return durations that were all measured to their end."""
        return cls(times, np.ones(times.shape, dtype=np.bool_))

    @property
    def ended(self) -> FloatArray:
        """The durations measured to their end."""
        return self.times[self.seen]

    @property
    def is_complete(self) -> bool:
        """Whether no duration is censored."""
        return bool(self.seen.all())


@dataclass(frozen=True)
class Family:
    """How a law is estimated.

    Attributes
    ----------
    name
        Name of the law.
    parameters
        Number of parameters that are estimated.
    estimate
        Returns the law of greatest likelihood; the second argument is where an iteration may
        begin.
    log_density
        Logarithm of the density; None for laws made of atoms, which have none.
    least
        Fewest different durations, measured to their end, that it needs.
    needs_positive
        Whether durations of 0 are impossible.
    begins_at_least
        Whether the law begins at the least duration, which then says nothing of the fit.
    takes_censored
        Whether censored durations can be used.
    by_default
        Whether it is tried when no families are named.
    """

    name: str
    parameters: int
    estimate: Callable[[Data, RuntimeLaw | None], RuntimeLaw]
    log_density: Callable[[RuntimeLaw, FloatArray], FloatArray] | None
    least: int = 2
    needs_positive: bool = True
    begins_at_least: bool = False
    takes_censored: bool = True
    by_default: bool = True


def _exponential(data: Data, _: RuntimeLaw | None) -> RuntimeLaw:
    return Exponential(data.ended.size / math.fsum(data.times))


def _exponential_density(law: RuntimeLaw, t: FloatArray) -> FloatArray:
    rate = cast(Exponential, law).rate
    return math.log(rate) - rate * t


def _shifted(data: Data, _: RuntimeLaw | None) -> RuntimeLaw:
    shift = float(data.ended.min())
    beyond = math.fsum(np.maximum(data.times - shift, 0.0))
    return ShiftedExponential(shift, data.ended.size / beyond)


def _shifted_density(law: RuntimeLaw, t: FloatArray) -> FloatArray:
    shifted = cast(ShiftedExponential, law)
    inside = math.log(shifted.rate) - shifted.rate * (t - shifted.shift)
    return np.where(t >= shifted.shift, inside, -np.inf)


def _weibull(data: Data, _: RuntimeLaw | None) -> RuntimeLaw:
    """Solve the equation of the shape; its left side rises from -infinity."""
    from scipy.optimize import brentq

    logs, count = np.log(data.times), data.ended.size
    middle, top = float(logs[data.seen].mean()), float(logs.max())

    def slope(log_shape: float) -> float:
        shape = math.exp(log_shape)
        weights = np.exp(shape * (logs - top))
        return float((weights * logs).sum() / weights.sum()) - 1.0 / shape - middle

    high = 1.0
    while slope(high) < 0 and high < 60:
        high += 3.0
    shape = math.exp(brentq(slope, -12.0, high, xtol=1e-14, rtol=1e-14))
    total = float(np.exp(shape * (logs - top)).sum())
    return Weibull(shape, math.exp(top + math.log(total / count) / shape))


def _weibull_density(law: RuntimeLaw, t: FloatArray) -> FloatArray:
    weibull = cast(Weibull, law)
    scaled = np.log(t / weibull.scale)
    slope = math.log(weibull.shape / weibull.scale) + (weibull.shape - 1.0) * scaled
    return np.asarray(slope - np.exp(weibull.shape * scaled))


def _pareto(data: Data, _: RuntimeLaw | None) -> RuntimeLaw:
    scale = float(data.ended.min())
    return Pareto(data.ended.size / math.fsum(np.log(np.maximum(data.times / scale, 1.0))), scale)


def _pareto_density(law: RuntimeLaw, t: FloatArray) -> FloatArray:
    pareto = cast(Pareto, law)
    inside = math.log(pareto.shape / pareto.scale) - (pareto.shape + 1) * np.log(t / pareto.scale)
    return np.where(t >= pareto.scale, inside, -np.inf)


def _lognormal(data: Data, _: RuntimeLaw | None) -> RuntimeLaw:
    logs = np.log(data.ended)
    first = Lognormal(float(logs.mean()), float(logs.std()))
    if data.is_complete:
        return first
    start = np.array([first.log_mean, math.log(first.log_std)])
    return _climb(data, start, lambda x: Lognormal(float(x[0]), math.exp(x[1])), _lognormal_density)


def _lognormal_density(law: RuntimeLaw, t: FloatArray) -> FloatArray:
    normal = cast(Lognormal, law)
    score = (np.log(t) - normal.log_mean) / normal.log_std
    return np.asarray(
        -(score**2) / 2 - np.log(t) - math.log(normal.log_std) - math.log(2 * math.pi) / 2
    )


def _gamma(data: Data, _: RuntimeLaw | None) -> RuntimeLaw:
    """Solve ``log(shape) - digamma(shape) = log(mean) - mean(log)``; its left side falls."""
    from scipy.optimize import brentq
    from scipy.special import digamma

    ended = data.ended
    mean = float(ended.mean())
    gap = float(_above_log1p(ended / mean - 1.0).mean())

    def excess(log_shape: float) -> float:
        shape = math.exp(log_shape)
        if shape > 1e3:  # where the difference cancels; the next term is below 1e-20
            return 1 / (2 * shape) + 1 / (12 * shape**2) - 1 / (120 * shape**4) - gap
        return float(log_shape - digamma(shape)) - gap

    # 1/(2 shape) < log(shape) - digamma(shape) < 1/shape
    low, high = -math.log(2 * gap) - 1e-9, -math.log(gap) + 1e-9
    shape = math.exp(brentq(excess, low, high, xtol=1e-14, rtol=1e-14))
    if data.is_complete:
        return Gamma(shape, mean / shape)
    start = np.log([shape, mean / shape])
    return _climb(data, start, lambda x: Gamma(math.exp(x[0]), math.exp(x[1])), _gamma_density)


def _gamma_density(law: RuntimeLaw, t: FloatArray) -> FloatArray:
    gamma = cast(Gamma, law)
    x = t / gamma.scale
    if gamma.shape < 100:
        slope = (gamma.shape - 1.0) * np.log(x) - x
        return np.asarray(slope - math.lgamma(gamma.shape) - math.log(gamma.scale))
    # Stirling's series: the large terms cancel
    rest = 1 / (12 * gamma.shape) - 1 / (360 * gamma.shape**3) + 1 / (1260 * gamma.shape**5)
    slope = -gamma.shape * _above_log1p(x / gamma.shape - 1.0) - np.log(t)
    return np.asarray(slope + (math.log(gamma.shape) - math.log(2 * math.pi)) / 2 - rest)


def _above_log1p(x: FloatArray) -> FloatArray:
    """Return ``x - log(1 + x)``, accurate also where the two are nearly equal."""
    series = x * x * (1 / 2 - x * (1 / 3 - x * (1 / 4 - x * (1 / 5 - x / 6))))
    with np.errstate(divide="ignore"):
        return np.where(np.abs(x) < 1e-3, series, x - np.log1p(x))


def _climb(
    data: Data,
    start: FloatArray,
    law_at: Callable[[FloatArray], RuntimeLaw],
    log_density: Callable[[RuntimeLaw, FloatArray], FloatArray],
) -> RuntimeLaw:
    """Maximise the likelihood of censored durations numerically (Nelder and Mead)."""
    from scipy.optimize import minimize

    ended, open_ = data.ended, data.times[~data.seen]

    def loss(x: FloatArray) -> float:
        law = law_at(np.clip(x, -600.0, 600.0))
        with np.errstate(divide="ignore"):
            known = float(log_density(law, ended).sum())
            beyond = float(np.log(law.survival(open_)).sum())
        return -(known + beyond)

    options = {"xatol": 1e-9, "fatol": 1e-9, "maxiter": 4000}
    found = minimize(loss, start, method="Nelder-Mead", options=options)
    return law_at(np.clip(found.x, -600.0, 600.0))  # away from where exp overflows


def _deterministic(data: Data, _: RuntimeLaw | None) -> RuntimeLaw:
    x = np.sort(data.times)
    low, high = float(x[(x.size - 1) // 2]), float(x[x.size // 2])
    return Deterministic(low + (high - low) / 2)


def _bimodal(data: Data, _: RuntimeLaw | None) -> RuntimeLaw:
    """Split the sorted durations where the squared distances from two means are least."""
    x = np.sort(data.times)
    ranks = np.arange(1, x.size)
    sums = np.cumsum(x)
    low, high = sums[:-1] / ranks, (sums[-1] - sums[:-1]) / (x.size - ranks)
    gain = ranks * low**2 + (x.size - ranks) * high**2
    cut = int(np.argmax(np.where(np.diff(x) > 0, gain, -np.inf)))
    base = float(_level(x[: cut + 1], low[cut]))
    slow = float(_level(x[cut + 1 :], high[cut]))
    return Bimodal(base, _factor(base, slow), float(1 - ranks[cut] / x.size))


def _level(cluster: FloatArray, mean: float) -> float:
    return cluster[0] if cluster[0] == cluster[-1] else mean


def _factor(base: float, slow: float) -> float:
    """Return the factor whose product with ``base`` is the float nearest to ``slow``."""
    factor = slow / base
    around = (factor, math.nextafter(factor, math.inf), math.nextafter(factor, 0.0))
    return min(around, key=lambda x: abs(base * x - slow))


def _mixture(data: Data, start: RuntimeLaw | None) -> RuntimeLaw:
    """Fit two lognormal parts by expectation-maximisation (Dempster, Laird and Rubin, 1977).

    Without a law to begin at it tries three splits of the sorted durations, of many durations
    with a part of them, and keeps the most likely end; then it takes some steps with all durations.
    No part may be narrower than a thousandth of the whole, since the likelihood has no bound there.
    """
    logs = np.sort(np.log(data.times))
    floor = 1e-3 * float(logs.std())
    if isinstance(start, Mixture):
        begin = _numbers(start)
    else:
        begin = _likeliest(logs[:: 1 + logs.size // _MANY], floor)
    _, best = _expect_maximise(logs, _expect(logs, begin)[1], floor, steps=40)
    weight, mean_1, std_1, mean_2, std_2 = best
    return Mixture((Lognormal(mean_1, std_1), Lognormal(mean_2, std_2)), (weight, 1.0 - weight))


def _likeliest(logs: FloatArray, floor: float) -> _Numbers:
    """Return the most likely end of three beginnings, which split the sorted durations."""
    cuts = [round(logs.size * share) for share in (0.5, 0.8, 0.95)]
    begins = [(np.arange(logs.size) < cut).astype(np.float64) for cut in cuts]
    ends = [_expect_maximise(logs, share, floor, steps=500) for share in begins]
    return max(ends, key=lambda end: end[0])[1]


_Numbers = tuple[float, float, float, float, float]


def _numbers(law: Mixture) -> _Numbers:
    first, second = (cast(Lognormal, part) for part in law.parts)
    return law.weights[0], first.log_mean, first.log_std, second.log_mean, second.log_std


def _expect_maximise(
    logs: FloatArray, share: FloatArray, floor: float, steps: int
) -> tuple[float, _Numbers]:
    """Return the mean log-likelihood of the logarithms, up to a constant, and the parameters."""
    before = -math.inf
    for _ in range(steps):
        numbers = _maximise(logs, share, floor)
        likelihood, share = _expect(logs, numbers)
        if likelihood - before <= 1e-8:
            break
        before = likelihood
    return likelihood, numbers


def _maximise(logs: FloatArray, share: FloatArray, floor: float) -> _Numbers:
    found = []
    for part in (share, 1.0 - share):
        total = max(float(part.sum()), 1e-12)
        mean = float((part * logs).sum()) / total
        spread = math.sqrt(max(float((part * (logs - mean) ** 2).sum()) / total, 0.0))
        found += [mean, max(spread, floor)]
    weight = min(max(float(share.mean()), 1e-9), 1.0 - 1e-9)
    return weight, found[0], found[1], found[2], found[3]


def _expect(logs: FloatArray, numbers: _Numbers) -> tuple[float, FloatArray]:
    """Return the mean log-likelihood, and how much each duration belongs to the first part."""
    first, second = _log_parts(logs, numbers)
    total = np.logaddexp(first, second)
    return float(total.mean()), np.exp(first - total)


def _log_parts(logs: FloatArray, numbers: _Numbers) -> tuple[FloatArray, FloatArray]:
    weight, mean_1, std_1, mean_2, std_2 = numbers
    first = math.log(weight / std_1) - ((logs - mean_1) / std_1) ** 2 / 2
    second = math.log((1 - weight) / std_2) - ((logs - mean_2) / std_2) ** 2 / 2
    return first, second


def _mixture_density(law: RuntimeLaw, t: FloatArray) -> FloatArray:
    logs = np.log(t)
    parts = _log_parts(logs, _numbers(cast(Mixture, law)))
    return np.asarray(np.logaddexp(*parts) - logs - math.log(2 * math.pi) / 2)


_ROWS = (
    Family("exponential", 1, _exponential, _exponential_density, needs_positive=False, least=1),
    Family(
        "shifted_exponential",
        2,
        _shifted,
        _shifted_density,
        needs_positive=False,
        begins_at_least=True,
    ),
    Family("weibull", 2, _weibull, _weibull_density),
    Family("pareto", 2, _pareto, _pareto_density, begins_at_least=True),
    Family("lognormal", 2, _lognormal, _lognormal_density),
    Family("gamma", 2, _gamma, _gamma_density),
    Family("mixture", 5, _mixture, _mixture_density, least=8, takes_censored=False),
    Family(
        "deterministic",
        1,
        _deterministic,
        None,
        least=1,
        needs_positive=False,
        takes_censored=False,
        by_default=False,
    ),
    Family("bimodal", 3, _bimodal, None, takes_censored=False, by_default=False),
)

FAMILIES: Mapping[str, Family] = MappingProxyType({row.name: row for row in _ROWS})
"""The laws that can be fitted; ``mixture`` is one of two lognormal parts."""
