"""Runtime laws from measured durations: maximum likelihood, ranking, goodness of fit.

The laws are ranked by the Bayesian information criterion. How well one fits is tested with the
statistics of Kolmogorov-Smirnov and Anderson-Darling. Since parameters are estimated from the same
durations, their published tables do not hold; p-values come from a parametric bootstrap (Stute,
Gonzalez Manteiga and Presedo Quindimil, "Bootstrap based goodness-of-fit tests", Metrika 40, 1993).
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arguments import integer, refused, words
from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.errors import InputError, UsageError, suggest
from allocsolve.models.fitting_families import FAMILIES, Data, Family
from allocsolve.models.laws_base import RuntimeLaw

__all__ = ["Fit", "FitTest", "anderson_darling", "fit", "kolmogorov_smirnov"]

_LARGEST_RESAMPLE = 1000
"""Durations in each sample of the bootstrap, at most."""

_LEAST = 1e-10
"""Probabilities below this count as this in the statistic of Anderson and Darling."""


@dataclass(frozen=True)
class FitTest:
    """A test of the hypothesis that the durations have the fitted law.

    Attributes
    ----------
    statistic
        How far the durations are from the law.
    p_value
        Probability of a statistic at least as large if they have it; None without a bootstrap.
    """

    statistic: float
    p_value: float | None


@dataclass(frozen=True)
class Fit:
    """A law fitted to durations.

    Attributes
    ----------
    law
        The law of greatest likelihood of its family.
    parameters
        Number of estimated parameters.
    count, censored
        Number of durations, and how many of them are censored.
    log_likelihood
        Logarithm of the likelihood. Laws of atoms have no density: infinite if they meet every
        duration, minus infinity otherwise.
    kolmogorov_smirnov, anderson_darling
        Tests of the fit; None with censored durations, and the latter for laws of atoms.
    """

    law: RuntimeLaw
    parameters: int
    count: int
    censored: int
    log_likelihood: float
    kolmogorov_smirnov: FitTest | None
    anderson_darling: FitTest | None

    @property
    def aic(self) -> float:
        """Akaike's information criterion, ``2 k - 2 log(L)``."""
        return 2.0 * self.parameters - 2.0 * self.log_likelihood

    @property
    def bic(self) -> float:
        """The Bayesian information criterion, ``k log(n) - 2 log(L)``."""
        return self.parameters * math.log(self.count) - 2.0 * self.log_likelihood


def fit(
    samples: Sequence[float] | FloatArray,
    families: Sequence[str] | None = None,
    seed: int = 0,
    *,
    censored: Sequence[bool] | BoolArray | None = None,
    resamples: int = 199,
) -> list[Fit]:
    """Fit runtime laws to durations, best first by the Bayesian information criterion.

    Parameters
    ----------
    samples
        Durations, finite and at least 0.
    families
        Names of laws; by default all that have a density and can be fitted, a deterministic law
        if all durations are equal, and a bimodal one if there are two different ones. Of these a
        law whose estimate leaves the range of floats is left out.
    seed
        Of the bootstrap. A p-value does not depend on which other families are fitted.
    censored
        For each duration whether it was cut off, so that the true one is longer.
    resamples
        Samples of the bootstrap, at most 1000 durations each; 0 gives no p-values.

    Raises
    ------
    InputError
        If a duration is impossible, or a named family cannot be fitted to them.
    UsageError
        If a family is unknown, or an argument is out of range.
    """
    resamples, seed = integer("resamples", resamples, 0, 10**6), integer("seed", seed, 0, 2**64 - 1)
    families = None if families is None else words("families", families)
    data = _checked(samples, censored)
    names = _names(data, families)
    found = {name: _fit(data, FAMILIES[name], seed, resamples) for name in names}
    fits = [one for one in found.values() if one is not None]
    beyond = [name for name, one in found.items() if one is None]
    if beyond and (families is not None or not fits):
        raise InputError(
            f"law '{beyond[0]}' cannot be fitted: its estimate leaves the range of floats",
            allowed="durations that are neither so large, so small nor so nearly equal",
            remedy="choose another law, or another unit of time",
        )
    return sorted(fits, key=lambda one: (one.bic, one.parameters))


def _checked(
    samples: Sequence[float] | FloatArray, censored: Sequence[bool] | BoolArray | None
) -> Data:
    try:
        times = np.array(samples, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        raise refused("durations", samples, "finite numbers of at least 0, or a file") from None
    for i in np.flatnonzero(~(np.isfinite(times) & (times >= 0)))[:1]:
        raise InputError(
            f"duration {times[i]:g} (number {i + 1}) is not a finite number of at least 0",
            allowed="finite numbers of at least 0",
            remedy="correct or delete it",
        )
    if censored is None:
        data = Data.complete(times)
    else:
        data = Data(times, ~np.asarray(censored, dtype=np.bool_).ravel())
        if data.seen.shape != times.shape:
            raise UsageError(f"{data.seen.size} marks of censoring for {times.size} durations")
    if not data.ended.size:
        raise InputError(
            "there is no duration that was measured to its end",
            allowed="at least one duration",
            remedy="add durations",
        )
    return data


def _names(data: Data, families: Sequence[str] | None) -> list[str]:
    if families is None:
        return _default_names(data)
    for name in families:
        if name not in FAMILIES:
            known = list(FAMILIES)
            raise UsageError(
                f"law '{name}' cannot be fitted{suggest(name, known)} (laws: {', '.join(known)})"
            )
        trouble = _trouble(data, FAMILIES[name])
        if trouble is not None:
            raise InputError(
                f"law '{name}' cannot be fitted: {trouble}",
                allowed="durations that the law can produce",
                remedy="choose another law, or correct the durations",
            )
    return list(dict.fromkeys(families))


def _default_names(data: Data) -> list[str]:
    levels = np.unique(data.times).size
    if levels == 1 and data.is_complete:
        return ["deterministic"]
    usable = [name for name, row in FAMILIES.items() if _trouble(data, row) is None]
    with_density = [name for name in usable if FAMILIES[name].by_default]
    return with_density + (["bimodal"] if levels == 2 and "bimodal" in usable else [])


def _trouble(data: Data, family: Family) -> str | None:
    """Return why a family cannot be fitted, None if it can."""
    if not data.is_complete and not family.takes_censored:
        return "some durations are censored"
    if family.needs_positive and not data.times.all():
        return "a duration is 0"
    different = np.unique(data.ended).size
    if different < family.least:
        return f"it needs {family.least} different durations, there are {different}"
    return None if data.times.any() or family.log_density is None else "all durations are 0"


def _fit(data: Data, family: Family, seed: int, resamples: int) -> Fit | None:
    """Return the fit of a family, None if its estimate leaves the range of floats."""
    law = _estimate(data, family, None)
    if law is None:
        return None
    with np.errstate(all="ignore"):
        likelihood = _log_likelihood(data, family, law)
        if math.isnan(likelihood) or (family.log_density is not None and math.isinf(likelihood)):
            return None
        tests = _tests(data, family, law, seed, resamples) if data.is_complete else (None, None)
    return Fit(
        law=law,
        parameters=family.parameters,
        count=data.times.size,
        censored=data.times.size - data.ended.size,
        log_likelihood=likelihood,
        kolmogorov_smirnov=tests[0],
        anderson_darling=tests[1],
    )


def _estimate(data: Data, family: Family, start: RuntimeLaw | None) -> RuntimeLaw | None:
    """Return the estimated law, None if a step or a parameter leaves the range of floats."""
    try:
        with np.errstate(all="ignore"):
            return family.estimate(data, start)
    except (ArithmeticError, ValueError, RuntimeError, InputError):
        return None


def _log_likelihood(data: Data, family: Family, law: RuntimeLaw) -> float:
    if family.log_density is None:
        is_met = np.isin(data.times, law.breakpoints())
        return math.inf if is_met.all() else -math.inf
    with np.errstate(divide="ignore"):
        beyond = np.log(law.survival(data.times[~data.seen]))
    terms = np.concatenate([family.log_density(law, data.ended), beyond])
    return math.fsum(terms) if np.isfinite(terms).all() else float(terms.sum())


def _tests(
    data: Data, family: Family, law: RuntimeLaw, seed: int, resamples: int
) -> tuple[FitTest, FitTest | None]:
    distance, area = _statistics(data.times, family, law)
    reference = _resampled(data.times.size, family, law, seed, resamples)
    first = FitTest(distance, _p_value(distance, reference[:, 0]))
    return first, None if math.isnan(area) else FitTest(area, _p_value(area, reference[:, 1]))


def _p_value(statistic: float, reference: FloatArray) -> float | None:
    """Return the share of values at least as large, the observed one among them.

    Statistics are compared to twelve digits, so that equal ones of laws of atoms stay equal.
    """
    known = reference[~np.isnan(reference)]
    if not known.size:
        return None
    above = int(np.count_nonzero(known >= statistic * (1.0 - 1e-12)))
    return (1 + above) / (1 + known.size)


def _resampled(
    count: int, family: Family, law: RuntimeLaw, seed: int, resamples: int
) -> FloatArray:
    """Return both statistics of samples of the law, each fitted anew, shape (resamples, 2).

    A sample to which the family cannot be fitted (durations that underflow to 0) gives NaN. The
    distance of Kolmogorov and Smirnov falls with the square root of the sample's size, to which
    it is scaled.
    """
    size = min(count, _LARGEST_RESAMPLE)
    key = [seed & (2**64 - 1), zlib.crc32(family.name.encode())]
    generator = np.random.Generator(np.random.Philox(np.random.SeedSequence(key)))
    rows = np.full((resamples, 2), np.nan)
    for row in rows:
        times = law.sample(np.clip(generator.random(size), 2.0**-54, None))
        drawn = Data.complete(times)
        if _trouble(drawn, family) is None and np.isfinite(times).all():
            again = _estimate(drawn, family, law)
            row[:] = math.nan if again is None else _statistics(times, family, again)
    rows[:, 0] *= math.sqrt(size / count)
    return rows


def _statistics(times: FloatArray, family: Family, law: RuntimeLaw) -> tuple[float, float]:
    """Return both statistics; that of Anderson and Darling is NaN for laws of atoms.

    Where the law begins at the least duration, that one is left out: given it, the others are
    a sample of the law.
    """
    used = np.sort(times)[1:] if family.begins_at_least else times
    distance = kolmogorov_smirnov(used, law)
    return distance, math.nan if family.log_density is None else anderson_darling(used, law)


def kolmogorov_smirnov(samples: FloatArray, law: RuntimeLaw) -> float:
    """Return the largest distance between the cdf of a sample and that of a law.

    Both are compared at every duration and atom of the law, and just below it.
    """
    x = np.sort(samples)
    points = np.union1d(x, law.breakpoints())
    at = np.searchsorted(x, points, side="right") / x.size - law.cdf(points)
    below = np.nextafter(points, -np.inf)
    under = np.searchsorted(x, points, side="left") / x.size - law.cdf(below)
    return float(max(np.abs(at).max(), np.abs(under).max()))


def anderson_darling(samples: FloatArray, law: RuntimeLaw) -> float:
    """Return the distance that weighs both tails, for laws with a density.

    ``-n - sum((2 i - 1) (log F(x_i) + log S(x_(n + 1 - i)))) / n`` over the sorted durations
    (Anderson and Darling, Annals of Mathematical Statistics 23, 1952).
    """
    x = np.sort(samples)
    odd = 2.0 * np.arange(1, x.size + 1) - 1.0
    lower = np.log(np.maximum(law.cdf(x), _LEAST))
    upper = np.log(np.maximum(law.survival(x), _LEAST))[::-1]
    return float(-x.size - (odd * (lower + upper)).sum() / x.size)
