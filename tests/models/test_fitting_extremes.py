"""Fits of durations at the ends of what floats can hold: a law is fitted, or left out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from allocsolve.api.fitting import fit as fit_report
from allocsolve.models.errors import InputError
from allocsolve.models.fitting import fit
from allocsolve.models.nodes import Gamma

pytestmark = pytest.mark.filterwarnings("error")

DENSITIES = {"exponential", "shifted_exponential", "weibull", "pareto", "lognormal", "gamma"}


@pytest.mark.parametrize("spread", [1e-3, 1e-4, 1e-5, 1e-6, 1e-7])
def test_nearly_constant_durations_are_fitted(spread: float) -> None:
    """The equation of a gamma law must not cancel: it is a normal law of the same spread."""
    for seed in range(20):
        times = 100.0 * (1.0 + spread * np.random.default_rng(seed).standard_normal(50))
        found = {one.law.name: one for one in fit(times, sorted(DENSITIES), resamples=0)}
        law = found["gamma"].law
        assert isinstance(law, Gamma)
        assert law.mean() == pytest.approx(times.mean(), rel=1e-12)
        assert math.sqrt(law.variance()) == pytest.approx(times.std(), rel=10 * spread + 1e-6)
        likelihood = found["lognormal"].log_likelihood
        assert found["gamma"].log_likelihood == pytest.approx(likelihood, abs=1.0 * spread**0.5)


def test_a_handful_of_nearly_equal_durations_is_fitted() -> None:
    """Rounded measurements differ in the last digit, with all families and the bootstrap."""
    found = fit([100.0, 100.000001, 100.000002, 100.000001], resamples=20)
    assert {one.law.name for one in found} >= DENSITIES
    assert all(math.isfinite(one.bic) for one in found)


@pytest.mark.parametrize(
    "times",
    [
        [1e308, 1.7e308, 1.6e308],
        [1e-300, 1.0, 1e300],
        [1e-308, 1.0, 2.0, 3.0],
        [5e-324, 1e-323],
        [1.0, math.nextafter(1.0, 2.0), 1.0],
        [1.7e308] * 3 + [1.0],
        [5e-324, 1.7e308],
        [0.0, 5e-324, 1.7e308],
        [1.7e308, 1.7e308],
        list(np.geomspace(1e-320, 1e308, 12)),
    ],
    ids=str,
)
def test_a_law_beyond_floats_is_left_out(times: list[float]) -> None:
    """One law that cannot hold the durations must not cost the others."""
    report = fit_report(times, resamples=10)
    assert len(report) >= 1
    assert all(not math.isnan(one.log_likelihood) for one in report)
    assert all(not math.isnan(one.law.mean()) for one in report)
    assert math.isfinite(report.mean)
    assert math.isfinite(report.std)


def test_a_named_law_beyond_floats_is_refused() -> None:
    """Who asks for a law is told why it is not there, in words of durations."""
    with pytest.raises(InputError, match="'exponential' cannot be fitted: its estimate leaves"):
        fit([1e308, 1.7e308, 1.6e308], ["exponential"])
