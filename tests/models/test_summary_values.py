"""Statistics of samples whose values are known by hand or from another implementation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from allocsolve.models.execution.estimate import estimate
from allocsolve.models.execution.outcome import Simulation
from allocsolve.models.execution.ranks import quantile
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.summary import (
    compare,
    mean_interval,
    moments,
    quantile_interval,
    replications_needed,
    summarize,
    wilson_interval,
)

TEN = np.arange(1.0, 11.0)


@pytest.mark.parametrize(
    ("q", "sample"), [(0.5, 5), (0.51, 6), (0.1, 1), (0.3, 3), (0.7, 7), (0.01, 1), (0.99, 10)]
)
def test_a_quantile_is_the_least_sample_that_enough_do_not_exceed(q: float, sample: int) -> None:
    """Of ten samples the fifth is the median, not the sixth, and no rounding moves the rank."""
    assert quantile(TEN, q) == sample


def test_ranks_survive_rounding() -> None:
    """0.07 times 100 is a little more than 7 as a float."""
    assert 100 * 0.07 > 7
    assert quantile(np.arange(1.0, 101.0), 0.07) == 7


@pytest.mark.parametrize(
    ("count", "q", "interval"),
    [
        pytest.param(10, 0.5, (2, 9), id="ten"),  # 97.9 %; without an end 93.4 %
        pytest.param(20, 0.5, (6, 15), id="twenty"),
        pytest.param(100, 0.5, (40, 61), id="hundred"),
        pytest.param(5, 0.5, (0, math.inf), id="five are too few"),
        pytest.param(20, 0.9, (15, math.inf), id="upper end beyond the samples"),
        pytest.param(20, 0.1, (0, 6), id="lower end before the samples"),
    ],
)
def test_intervals_of_quantiles_are_those_of_tables(
    count: int, q: float, interval: tuple[float, float]
) -> None:
    """Order statistics by David and Nagaraja; where samples are too few, there is no end."""
    assert quantile_interval(np.arange(1.0, count + 1), q) == interval
    low, high = interval
    part = stats.binom(count, q)
    assert part.cdf(low - 1) <= 0.025
    assert 1 - part.cdf(high - 1) <= 0.025


@pytest.mark.parametrize("q", [0.01, 0.2, 0.5, 0.75, 0.99])
def test_ranks_of_intervals_are_binomial_quantiles(q: float) -> None:
    """Another implementation of the binomial law, for every number of samples up to 300."""
    for count in range(1, 301):
        low, high = stats.binom(count, q).ppf([0.025, 0.975])
        expected = (low, high + 1 if high < count else math.inf)
        assert quantile_interval(np.arange(1.0, count + 1), q) == expected, count


@pytest.mark.parametrize(("successes", "trials"), [(0, 20), (1, 29), (15, 148), (81, 263), (7, 7)])
def test_intervals_of_probabilities_are_those_of_wilson(successes: int, trials: int) -> None:
    """Another implementation of the same formula, to the last digits."""
    known = stats.binomtest(successes, trials).proportion_ci(method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx((known.low, known.high), rel=1e-9)


def test_the_interval_of_a_mean_is_that_of_student() -> None:
    """Of four samples: 2.5 and 3.182446 standard errors, with three degrees of freedom."""
    found = mean_interval(moments(np.array([1.0, 2.0, 3.0, 4.0])))
    half = 3.18244630528 * math.sqrt(5 / 3) / 2
    assert found == pytest.approx((2.5 - half, 2.5 + half), rel=1e-10)


def test_a_pilot_says_how_many_replications_a_precision_takes() -> None:
    """The half width falls with the root of the number, by the law of the pilot."""
    pilot = moments(np.array([1.0, 2.0, 3.0, 4.0]))
    wanted = (3.18244630528 * math.sqrt(5 / 3) / (0.1 * 2.5)) ** 2
    assert replications_needed(pilot, 0.1) == math.ceil(wanted) == 271
    assert replications_needed(pilot, 0.9) == 4


def test_who_ends_at_the_deadline_has_met_it() -> None:
    """The probability is that of T <= t."""
    found = summarize(np.array([3.0, 1.0, 2.0, 2.0]), [], 2.0)
    assert found.deadline_probability == 0.75
    assert found.deadline_ci == wilson_interval(3, 4)


def test_a_heavy_tail_has_no_spread_and_no_interval() -> None:
    """A number would be an accident of the samples, also where the mean is finite."""
    found = summarize(np.array([1.0, 2.0]), [], None, finite_variance=False)
    assert (found.mean, found.std, found.mean_ci) == (1.5, math.inf, None)


def test_pairs_of_equal_replications_count_half() -> None:
    """Wins, and draws as half a win; the reduction compares with independent numbers."""
    first, second = np.array([1.0, 2.0, 3.0, 9.0]), np.array([2.0, 2.0, 2.0, 12.0])
    found = compare(("a", "b"), first, second)
    assert found.probability_first_better == 0.625
    assert found.mean_difference == -0.75
    apart = first.var(ddof=1) + second.var(ddof=1)
    assert found.variance_reduction == pytest.approx(apart / (first - second).var(ddof=1))
    endless = compare(("a", "b"), first, np.array([2.0, 2.0, 2.0, math.inf]))
    assert (endless.mean_difference, endless.ci) == (None, None)
    assert math.isnan(endless.variance_reduction)


def _told(samples: list[float], precision: float) -> Simulation:
    request = SimulationRequest(precision=precision)
    return estimate("dag", np.array(samples), request, random=True, path="plain")


def test_a_precision_that_was_not_reached_is_told_with_the_one_that_was() -> None:
    """The upper half counts where the interval was cut off at 0."""
    half = 3.18244630528 * 4.5 / 2
    cut = _told([0.0, 0.0, 0.0, 9.0], 0.5)
    assert cut.mean_ci == pytest.approx((0.0, 2.25 + half))
    assert any(f"is {half / 2.25:.3g} of it" in line for line in cut.warnings)
    whole = [9.0, 10.0, 10.0, 11.0]
    share = 3.18244630528 * math.sqrt(2 / 3) / 2 / 10
    for factor, told in ((1.01, False), (0.99, True), (0.6, True)):
        warned = any("was not reached" in line for line in _told(whole, factor * share).warnings)
        assert warned == told


def test_what_is_not_random_is_exact_whatever_its_law() -> None:
    """One replication without chance has a mean, no interval, and nothing that was drawn."""
    request = SimulationRequest(deadline=2.0, quantiles=(0.5,))
    found = estimate(
        "dag",
        np.array([2.0]),
        request,
        random=False,
        path="plain",
        finite_mean=False,
        finite_variance=False,
    )
    assert (found.method, found.mean, found.std) == ("exact", 2.0, 0.0)
    assert (found.mean_ci, found.deadline_ci, found.quantile_cis) == (None, None, {})
    assert (found.deadline_probability, found.quantiles) == (1.0, {0.5: 2.0})
    assert (found.replications, found.seed, found.generator) == (None, None, None)
    assert found.warnings == ()
