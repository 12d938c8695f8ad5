"""Fits of runtime laws: estimates, likelihoods, ranking, and p-values that mean what they say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.fitting import Fit, anderson_darling, fit, kolmogorov_smirnov
from allocsolve.models.fitting_families import FAMILIES
from allocsolve.models.nodes import (
    Bimodal,
    Deterministic,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    RuntimeLaw,
    ShiftedExponential,
    Weibull,
)

TWO_PARTS = Mixture((Lognormal(0.0, 0.1), Lognormal(1.0, 0.2)), (0.9, 0.1))
LAWS: list[RuntimeLaw] = [
    Exponential(2.0),
    ShiftedExponential(1.0, 3.0),
    Weibull(0.7, 2.0),
    Pareto(2.5, 1.0),
    Lognormal(0.2, 0.4),
    Gamma(3.0, 2.0),
    TWO_PARTS,
]
named = pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)


def sample(law: RuntimeLaw, count: int, seed: int = 0) -> FloatArray:
    return law.sample(np.random.default_rng(seed).random(count))


def only(samples: FloatArray, family: str, resamples: int = 0) -> Fit:
    return fit(samples, [family], resamples=resamples)[0]


@named
def test_the_right_family_comes_first(law: RuntimeLaw) -> None:
    """Two thousand durations tell these laws apart."""
    assert fit(sample(law, 2000), resamples=0)[0].law.name == law.name


@named
def test_estimates_are_near_the_truth(law: RuntimeLaw) -> None:
    """With many durations the estimated law is the true one, at every probability."""
    found = only(sample(law, 40_000), law.name).law
    p = np.linspace(0.01, 0.99, 50)
    np.testing.assert_allclose(found.cdf(law.quantile(p)), p, atol=0.01)


def test_both_ways_to_begin_a_mixture_end_alike() -> None:
    """Of many durations the iteration begins with a part; it must not lose the rare mode."""
    samples = sample(TWO_PARTS, 60_000)
    whole, part = only(samples, "mixture").law, only(samples[:15_000], "mixture").law
    assert isinstance(whole, Mixture)
    assert isinstance(part, Mixture)
    assert whole.weights[1] == pytest.approx(0.1, abs=0.005)
    assert part.weights[1] == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize(
    ("family", "peer"),
    [
        pytest.param("gamma", stats.gamma, id="gamma"),
        pytest.param("weibull", stats.weibull_min, id="weibull"),
        pytest.param("lognormal", stats.lognorm, id="lognormal"),
    ],
)
@pytest.mark.parametrize("cut", [math.inf, 5.0], ids=["complete", "censored"])
def test_no_other_estimate_is_likelier(family: str, peer: stats.rv_continuous, cut: float) -> None:
    """SciPy's own maximisation of the same likelihood ends at the same value, never above it."""
    ends = np.random.default_rng(1).gamma(2.0, 3.0, 500)
    limit = np.random.default_rng(2).uniform(2.0, 10.0, 500) if cut < math.inf else ends
    times, is_cut = np.minimum(ends, limit), limit < ends
    found = fit(times, [family], censored=is_cut, resamples=0)[0]
    law = peer(*peer.fit(stats.CensoredData.right_censored(times, is_cut), floc=0))
    best = law.logpdf(times[~is_cut]).sum() + law.logsf(times[is_cut]).sum()
    assert found.log_likelihood == pytest.approx(best, abs=1e-4)
    assert found.log_likelihood >= best - 1e-6
    assert found.censored == np.count_nonzero(is_cut)


@named
def test_likelihoods_are_sums_of_the_density(law: RuntimeLaw) -> None:
    """The criteria compare families, so each density must be the slope of its own cdf."""
    samples = sample(law, 50, seed=3)
    found = only(samples, law.name)
    density = FAMILIES[law.name].log_density
    assert density is not None
    inner = np.sort(samples)[2:-2]
    step = 1e-6 * inner
    slope = (found.law.cdf(inner + step) - found.law.cdf(inner - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(density(found.law, inner)), slope, rtol=1e-5)
    expected = math.fsum(density(found.law, samples))
    assert found.log_likelihood == pytest.approx(expected, rel=1e-12)
    assert found.aic == 2 * found.parameters - 2 * found.log_likelihood
    assert found.bic == found.parameters * math.log(50) - 2 * found.log_likelihood


def test_censored_exponential_durations_by_hand() -> None:
    """Two ends in a total time of ten give the rate 1/5, whatever was cut off."""
    found = fit([1.0, 2.0, 7.0], ["exponential"], censored=[False, False, True], resamples=0)[0]
    assert found.law == Exponential(0.2)
    assert found.log_likelihood == pytest.approx(2 * math.log(0.2) - 0.2 * 10)
    assert (found.censored, found.kolmogorov_smirnov, found.anderson_darling) == (1, None, None)


def test_censored_laws_with_a_beginning_by_hand() -> None:
    """Durations cut off before the least one that ended say nothing of the tail."""
    times, marks = [2.0, 4.0, 1.0, 6.0], [False, False, True, True]
    shifted = fit(times, ["shifted_exponential"], censored=marks, resamples=0)[0].law
    assert shifted == ShiftedExponential(2.0, 2 / 6)
    pareto = fit(times, ["pareto"], censored=marks, resamples=0)[0].law
    assert pareto == Pareto(2 / (math.log(2) + math.log(3)), 2.0)


def test_statistics_agree_with_scipy() -> None:
    """Both statistics are published definitions."""
    x = sample(Gamma(2.0, 1.0), 300)
    law, peer = Gamma(2.2, 1.0), stats.gamma(2.2)
    expected = stats.kstest(x, peer.cdf).statistic
    assert kolmogorov_smirnov(x, law) == pytest.approx(expected, rel=1e-12)
    n, y = x.size, np.sort(x)
    i = np.arange(1, n + 1)
    area = -n - np.mean((2 * i - 1) * (peer.logcdf(y) + peer.logsf(y[::-1])))
    assert anderson_darling(x, law) == pytest.approx(area, rel=1e-9)


@pytest.mark.parametrize(
    "law", [Exponential(2.0), Lognormal(0.2, 0.4), Pareto(2.5, 1.0)], ids=lambda law: law.name
)
def test_p_values_are_uniform_where_the_law_is_right(law: RuntimeLaw) -> None:
    """A table that ignores the estimation would give p-values near 1; these reject 10 % at 10 %."""
    fits = [
        fit(sample(law, 60, seed), [law.name], seed=seed, resamples=59)[0] for seed in range(120)
    ]
    tests = [(found.kolmogorov_smirnov, found.anderson_darling) for found in fits]
    for test in (0, 1):
        p = [pair[test].p_value for pair in tests if pair[test] is not None]  # type: ignore[union-attr]  # checked in the same line
        assert stats.kstest(np.array(p, dtype=np.float64), "uniform").pvalue > 1e-3


def test_a_wrong_law_is_rejected() -> None:
    """Exponential and lognormal durations differ clearly at a thousand."""
    found = only(sample(Lognormal(0.2, 0.4), 1000), "exponential", resamples=99)
    assert found.kolmogorov_smirnov is not None
    assert found.anderson_darling is not None
    assert found.kolmogorov_smirnov.p_value == 0.01
    assert found.anderson_darling.p_value == 0.01


def test_p_values_depend_on_seed_and_family_alone() -> None:
    """The same question has the same answer, whatever else is asked beside it."""
    x = sample(Gamma(3.0, 2.0), 200)
    alone = fit(x, ["gamma"], seed=5, resamples=39)[0]
    beside = next(row for row in fit(x, seed=5, resamples=39) if row.law.name == "gamma")
    assert alone == beside
    other = fit(x, ["gamma"], seed=6, resamples=39)[0]
    assert other.law == alone.law


def test_equal_durations_are_deterministic() -> None:
    """No density fits a single value."""
    found = fit([2.0, 2.0, 2.0])
    assert [row.law for row in found] == [Deterministic(2.0)]
    assert found[0].log_likelihood == math.inf
    assert [row.law for row in fit([0.0, 0.0])] == [Deterministic(0.0)]


def test_two_different_durations_are_bimodal() -> None:
    """Atoms that meet every duration are infinitely likelier than a density."""
    found = fit([0.1] * 7 + [0.7] * 3, resamples=19)
    assert found[0].law.quantile(np.array([0.7, 0.71])).tolist() == [0.1, 0.7]
    assert found[0].kolmogorov_smirnov is not None
    assert found[0].kolmogorov_smirnov.statistic < 1e-12


def test_a_bimodal_law_of_many_durations_is_the_best_split() -> None:
    """Asked for by name it gives two levels, and does not claim to be likely."""
    found = only(np.array([1.0, 1.2, 0.8, 5.0, 5.2]), "bimodal")
    assert isinstance(found.law, Bimodal)
    assert found.law.base == pytest.approx(1.0)
    assert found.law.slowdown == pytest.approx(5.1)
    assert found.law.probability == pytest.approx(0.4)
    assert found.log_likelihood == -math.inf


def test_durations_of_zero_leave_what_can_produce_them() -> None:
    """A logarithm of zero must not end in NaN."""
    names = {row.law.name for row in fit([0.0, 1.0, 2.0, 4.0], resamples=0)}
    assert names == {"exponential", "shifted_exponential"}


@pytest.mark.parametrize(
    ("samples", "families", "words"),
    [
        pytest.param([1.0, -1.0], None, r"duration -1 \(number 2\)", id="negative"),
        pytest.param([1.0, math.nan], None, r"duration nan \(number 2\)", id="NaN"),
        pytest.param([], None, "no duration", id="none"),
        pytest.param([0.0, 1.0], ["gamma"], "a duration is 0", id="zero"),
        pytest.param([1.0, 1.0], ["gamma"], "2 different durations, there are 1", id="one value"),
        pytest.param([0.0], ["exponential"], "all durations are 0", id="all zero"),
    ],
)
def test_impossible_durations_are_refused(
    samples: list[float], families: list[str] | None, words: str
) -> None:
    """The error has to say which duration, or which family and why."""
    with pytest.raises(InputError, match=words):
        fit(samples, families)


def test_impossible_questions_are_refused() -> None:
    """A wrong argument is not a matter of the durations."""
    with pytest.raises(UsageError, match="did you mean 'gamma'"):
        fit([1.0, 2.0], ["gama"])
    with pytest.raises(UsageError, match="2 marks of censoring for 1 durations"):
        fit([1.0], censored=[True, False])
    with pytest.raises(UsageError, match="resamples is -1"):
        fit([1.0, 2.0], resamples=-1)
    with pytest.raises(InputError, match="some durations are censored"):
        fit([1.0, 2.0], ["deterministic"], censored=[False, True])
    with pytest.raises(InputError, match="measured to its end"):
        fit([1.0], censored=[True])
