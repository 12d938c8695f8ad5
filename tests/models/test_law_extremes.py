"""Laws at the ends of what floats can hold: infinite or 0, never an error and never NaN."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from allocsolve.models.errors import InputError
from allocsolve.models.nodes import (
    LAWS,
    Bimodal,
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    RuntimeLaw,
    ShiftedExponential,
    Weibull,
)

pytestmark = pytest.mark.filterwarnings("error")

SIZES = (
    5e-324,
    1e-308,
    1e-300,
    1e-160,
    1e-20,
    1e-12,
    1e-9,
    1e-3,
    0.5,
    1.0,
    2.5,
    1e3,
    1e16,
    1e160,
    1e300,
    1.7e308,
)
LOGS = (-1.7e308, -1e3, 0.0, 1e3, 1.7e308)
TIMES = np.array([-1.0, 0.0, 5e-324, 1e-300, 1.0, 1e16, 1e300, 1.7e308, math.inf])
CHANCES = np.array([0.0, 1e-300, 1e-16, 0.25, 0.5, 1.0 - 2.0**-53, 1.0])


def laws() -> Iterator[RuntimeLaw]:
    """Yield laws of every family with parameters from end to end that it accepts."""
    pairs = list(itertools.product(SIZES, SIZES))
    makers: list[tuple[Callable[..., RuntimeLaw], list[tuple[float, ...]]]] = [
        (Deterministic, [(x,) for x in SIZES]),
        (Exponential, [(x,) for x in SIZES]),
        (ShiftedExponential, [(x, y) for x, y in pairs]),
        (Weibull, [(x, y, shift) for shift in (0.0, 1.7e308) for x, y in pairs]),
        (Pareto, [(x, y) for x, y in pairs]),
        (Lognormal, [(x, y) for x in LOGS for y in SIZES]),
        (Gamma, [(x, y) for x, y in pairs]),
        (Bimodal, [(x, y, p) for x, y in pairs for p in (0.0, 1e-300, 0.5, 1.0)]),
        (lambda *xs: Empirical(xs), [(x, x, y) for x, y in pairs]),
    ]
    for make, rows in makers:
        for row in rows:
            try:
                yield make(*row)
            except InputError:
                continue
    ends: list[RuntimeLaw] = [Gamma(3.0, 1e300), Exponential(1e-300), Pareto(0.5, 1e300)]
    ends += [Lognormal(0.0, 1e300), Empirical((1.7e308, 1.7e308)), Weibull(1e-3, 1e-300)]
    yield from (Mixture((a, b), (1e-300, 1e300)) for a in ends for b in ends)
    yield from (Mixture((a, b), (0.5, 0.5)) for a in ends for b in ends)


def law_of(name: str) -> list[RuntimeLaw]:
    return [law for law in laws() if law.name == name]


@pytest.mark.parametrize("name", LAWS)
def test_no_method_fails_whatever_the_parameters(name: str) -> None:
    """What validation accepts can be asked everything, and rises as it must."""
    for law in law_of(name):
        mean, variance = law.mean(), law.variance()
        assert mean >= 0, law
        assert variance >= 0, law
        assert math.isfinite(mean) or math.isinf(variance), law
        code, numbers = law.kernel_form()
        assert code >= 0
        assert not np.isnan(numbers).any(), law
        for curve in (law.cdf(TIMES), 1.0 - law.survival(TIMES)):
            assert ((curve >= 0) & (curve <= 1)).all(), law
            assert (np.diff(curve) >= 0).all(), law
        for times in (law.quantile(CHANCES), law.upper_quantile(CHANCES)[::-1]):
            assert (times >= 0).all(), law
            assert (times[1:] >= times[:-1]).all(), law


@pytest.mark.parametrize("name", LAWS)
def test_no_time_belongs_to_an_impossible_probability(name: str) -> None:
    """Documented for all laws: NaN outside of [0, 1]."""
    for law in law_of(name)[:40]:
        for times in (law.quantile(np.array([-1.0, 2.0])), law.upper_quantile(np.array([-1.0, 2]))):
            assert np.isnan(times).all(), law


@pytest.mark.parametrize(
    ("law", "mean", "variance"),
    [
        (Exponential(1e-300), 1e300, math.inf),
        (Gamma(3.0, 1e300), 3e300, math.inf),
        (Gamma(1e300, 1e-300), 1.0, 1e-300),
        (Bimodal(1e300, 2.0, 0.5), 1.5e300, math.inf),
        (Empirical((1e308, 1e308, 1e308)), 1e308, 0.0),
        (Empirical((1e160, 3e160)), 2e160, math.inf),
        (Lognormal(0.0, 1e300), math.inf, math.inf),
        (Lognormal(-1000.0, 30.0), math.exp(-550.0), math.exp(-200.0)),
        (Pareto(3.0, 1e200), 1.5e200, math.inf),
        (Weibull(1e-3, 5e-324), math.inf, math.inf),
        (Weibull(0.005, 1e-300), math.exp(math.lgamma(201.0) - 300 * math.log(10)), None),
    ],
    ids=str,
)
def test_moments_are_exact_up_to_the_ends(
    law: RuntimeLaw, mean: float, variance: float | None
) -> None:
    """A step beyond the range of floats must not spoil a result that is within."""
    assert law.mean() == pytest.approx(mean, rel=1e-11, abs=0)
    if variance is not None:
        assert law.variance() == pytest.approx(variance, rel=1e-11, abs=0)


def test_a_wide_pareto_law_keeps_its_tail() -> None:
    """The quotient of time and scale overflows, its logarithm does not."""
    law = Pareto(1e-3, 1e-300)
    assert law.survival(np.array([1e300]))[0] == pytest.approx(10**-0.6)
    assert law.quantile(np.array([1 - 10**-0.6]))[0] == pytest.approx(1e300, rel=1e-9)


def test_weights_beyond_floats_are_refused() -> None:
    """Their sum has no meaning in floats, and the field is named."""
    with pytest.raises(InputError, match="weights sum to inf"):
        Mixture((Exponential(1.0),) * 2, (1.7e308, 1.7e308))


def test_large_gamma_laws_join_the_normal_law() -> None:
    """Both forms agree where one gives way to the other."""
    p = np.array([0.001, 0.3, 0.9])
    below, above = Gamma(1e15, 1e-15), Gamma(1.0000001e15, 1 / 1.0000001e15)
    np.testing.assert_allclose(below.quantile(p) - 1, above.quantile(p) - 1, rtol=1e-5, atol=1e-14)
