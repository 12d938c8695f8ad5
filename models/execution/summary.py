"""Statistics of samples: means, quantiles and probabilities, each with an interval.

All intervals have level 95 %. Samples may be infinite (work that never ends).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.execution.outcome import Comparison, Interval, Simulation
from allocsolve.models.execution.ranks import quantile

__all__ = [
    "Moments",
    "Summary",
    "compare",
    "compare_all",
    "mean_interval",
    "moments",
    "quantile",
    "quantile_interval",
    "replications_needed",
    "summarize",
    "wilson_interval",
]

_LEVEL = 0.95
_NORMAL = 1.959963984540054
"""Quantile 0.975 of the standard normal law."""


class Moments(NamedTuple):
    """Mean and standard deviation of samples, infinite if a sample is."""

    mean: float
    std: float
    size: int


def moments(samples: FloatArray) -> Moments:
    """Return mean and standard deviation (with n - 1) of at least one sample."""
    if not np.isfinite(samples).all():
        return Moments(math.inf, math.inf, len(samples))
    mean = float(samples.mean())
    spread = float(samples.std(ddof=1)) if len(samples) > 1 else 0.0
    return Moments(mean, spread, len(samples))


def mean_interval(of: Moments) -> Interval | None:
    """Return the interval of the mean by Student's law, None if the samples are not finite."""
    if not math.isfinite(of.std) or of.size < 2:
        return None
    half = _student(of.size - 1) * of.std / math.sqrt(of.size)
    return of.mean - half, of.mean + half


def _student(freedom: int) -> float:
    """Return quantile 0.975 of Student's law."""
    from scipy.special import stdtrit

    return float(stdtrit(freedom, (1 + _LEVEL) / 2))


def quantile_interval(ordered: FloatArray, q: float) -> Interval:
    """Return an interval of the quantile between two order statistics.

    The number of samples below the quantile is binomial, whatever their law (David and
    Nagaraja, "Order Statistics", 2003, section 7.1). Where the samples are too few for an end,
    it is 0 or infinite; samples are not negative.
    """
    n = len(ordered)
    low = _binomial_rank(n, q, (1 - _LEVEL) / 2)
    high = _binomial_rank(n, q, (1 + _LEVEL) / 2) + 1
    return (
        float(ordered[low - 1]) if low >= 1 else 0.0,
        float(ordered[high - 1]) if high <= n else math.inf,
    )


def _binomial_rank(n: int, q: float, p: float) -> int:
    """Return the least ``k`` with ``P(B <= k) >= p`` for a binomial ``B`` of ``n`` and ``q``."""
    from scipy.special import bdtr

    k = round(n * q + (_NORMAL if p > 0.5 else -_NORMAL) * math.sqrt(n * q * (1 - q)))
    k = min(max(k, 0), n)
    while k > 0 and bdtr(k - 1, n, q) >= p:
        k -= 1
    while k < n and bdtr(k, n, q) < p:
        k += 1
    return k


def wilson_interval(successes: int, trials: int) -> Interval:
    """Return the interval of a probability (Wilson, J. Amer. Statist. Assoc. 22, 1927)."""
    z2 = _NORMAL**2
    share, weight = successes / trials, 1 + z2 / trials
    centre = (share + z2 / (2 * trials)) / weight
    half = _NORMAL * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2)) / weight
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    return low, 1.0 if successes == trials else min(1.0, centre + half)


def replications_needed(pilot: Moments, precision: float) -> int:
    """Return how many samples the interval of the mean needs for a relative half width.

    It is the number at which the interval is narrow enough if mean and variance stay what they
    were in the samples so far (Stein, Ann. Math. Statist. 16, 1945).

    Returns
    -------
    int
        At least the size of the pilot; the pilot's size if its moments are not finite.
    """
    if not math.isfinite(pilot.std) or pilot.mean == 0:
        return pilot.size
    wanted = (_student(pilot.size - 1) * pilot.std / (precision * abs(pilot.mean))) ** 2
    return max(pilot.size, math.ceil(wanted))


def compare(names: tuple[str, str], first: FloatArray, second: FloatArray) -> Comparison:
    """Compare two plans by samples of the same replications."""
    better = float(np.mean(first < second) + np.mean(first == second) / 2)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return Comparison(*names, None, None, better, math.nan)
    difference = moments(first - second)
    apart = moments(first).std ** 2 + moments(second).std ** 2
    paired = difference.std**2
    reduction = apart / paired if paired > 0 else math.inf
    return Comparison(*names, difference.mean, mean_interval(difference), better, reduction)


def compare_all(
    found: Sequence[Simulation], samples: Sequence[FloatArray | None]
) -> tuple[Comparison, ...] | None:
    """Compare every two simulations, in their order, by the replications that both have.

    Differences of infinite means are not told; those of exact ones are exact.

    Returns
    -------
    tuple of Comparison or None
        Each pair once; None if there is none.
    """
    pairs = []
    for (first, mine), (second, theirs) in combinations(zip(found, samples, strict=True), 2):
        if mine is None or theirs is None or not len(mine) or not len(theirs):
            continue
        common = min(len(mine), len(theirs))
        pair = compare((first.name, second.name), mine[:common], theirs[:common])
        if first.infinite or second.infinite:
            pair = replace(pair, mean_difference=None, ci=None)
        elif first.method == second.method == "exact":
            pair = replace(pair, mean_difference=first.mean - second.mean, ci=None)
        pairs.append(pair)
    return tuple(pairs) or None


@dataclass(frozen=True)
class Summary:
    """Statistics of the samples of one plan; see :class:`Simulation` for the meaning."""

    mean: float
    std: float
    mean_ci: Interval | None
    quantiles: dict[float, float]
    quantile_cis: dict[float, Interval]
    deadline_probability: float | None
    deadline_ci: Interval | None


def summarize(
    samples: FloatArray,
    quantiles: Sequence[float],
    deadline: float | None,
    *,
    finite_mean: bool = True,
    finite_variance: bool = True,
) -> Summary:
    """Return the statistics of samples.

    Parameters
    ----------
    samples
        float64 (n,), n >= 1.
    finite_mean, finite_variance
        What is known of the law; an infinite mean is reported as such, whatever the samples.
    """
    ordered = np.sort(samples)
    found = moments(samples)
    mean = found.mean if finite_mean else math.inf
    std = found.std if finite_mean and finite_variance else math.inf
    met = None if deadline is None else int(np.searchsorted(ordered, deadline, side="right"))
    return Summary(
        mean=mean,
        std=std,
        mean_ci=_of_time(mean_interval(found)) if math.isfinite(std) else None,
        quantiles={q: quantile(ordered, q) for q in quantiles},
        quantile_cis={q: quantile_interval(ordered, q) for q in quantiles},
        deadline_probability=None if met is None else met / len(samples),
        deadline_ci=None if met is None else wilson_interval(met, len(samples)),
    )


def _of_time(interval: Interval | None) -> Interval | None:
    """Return an interval without the part below 0, where no time is."""
    return None if interval is None else (max(0.0, interval[0]), interval[1])
