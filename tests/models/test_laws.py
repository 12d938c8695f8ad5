"""Runtime laws: exact functions, agreement with SciPy, generalized inverses, and refusals."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.nodes import (
    LAW_CODES,
    LAWS,
    Bimodal,
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Law,
    Lognormal,
    Mixture,
    Pareto,
    RuntimeLaw,
    ShiftedExponential,
    Weibull,
    law_from,
    parse_law,
)

NESTED = Mixture((Gamma(0.7, 2.0), Mixture((Deterministic(1.5), Pareto(3.0, 4.0)), (2, 1))), (3, 1))
EXAMPLES: list[RuntimeLaw] = [
    Deterministic(2.0),
    Exponential(0.3),
    ShiftedExponential(1.0, 2.0),
    Weibull(0.5, 2.0, 1.0),
    Weibull(3.0, 0.1),
    Pareto(2.5, 1.5),
    Pareto(0.8, 1.0),
    Lognormal(-0.3, 0.7),
    Gamma(0.05, 3.0),
    Gamma(2.5, 3.0),
    Bimodal(1.0, 10.0, 0.1),
    Bimodal(4.0, 0.25, 0.3),
    Empirical.of([3.0, 1.0, 2.0, 2.0, 0.0]),
    Mixture((Exponential(1.0), Bimodal(2.0, 3.0, 0.5)), (1.0, 2.0)),
    NESTED,
]
PEERS = [
    (Exponential(0.3), stats.expon(scale=1 / 0.3)),
    (ShiftedExponential(1.0, 2.0), stats.expon(loc=1.0, scale=0.5)),
    (Weibull(0.5, 2.0, 1.0), stats.weibull_min(0.5, loc=1.0, scale=2.0)),
    (Pareto(2.5, 1.5), stats.pareto(2.5, scale=1.5)),
    (Lognormal(-0.3, 0.7), stats.lognorm(0.7, scale=math.exp(-0.3))),
    (Gamma(0.05, 3.0), stats.gamma(0.05, scale=3.0)),
    (Gamma(40.0, 0.1), stats.gamma(40.0, scale=0.1)),
]
NAMES = [f"{law.name} {i}" for i, law in enumerate(EXAMPLES)]
each = pytest.mark.parametrize("law", EXAMPLES, ids=NAMES)
beside = pytest.mark.parametrize(("law", "peer"), PEERS, ids=[law.name for law, _ in PEERS])


def array(*values: float) -> FloatArray:
    return np.array(values, dtype=np.float64)


def test_every_law_of_the_documents_has_a_row_and_an_example() -> None:
    """A law without a row could not be named; one without an example would not be tested."""
    assert list(LAWS) == list(LAW_CODES)
    assert {law.name for law in EXAMPLES} == set(LAWS)


@beside
def test_functions_agree_with_scipy(law: RuntimeLaw, peer: stats.rv_continuous) -> None:
    """An independent implementation of the same law must give the same numbers."""
    p = np.concatenate([[1e-12, 1e-6], np.linspace(0.001, 0.999, 333), [1 - 1e-9]])
    t = peer.ppf(p)
    np.testing.assert_allclose(law.quantile(p), t, rtol=1e-12)
    np.testing.assert_allclose(law.upper_quantile(p), peer.isf(p), rtol=1e-12)
    np.testing.assert_allclose(law.cdf(t), peer.cdf(t), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(law.survival(t), peer.sf(t), rtol=1e-11)
    assert law.mean() == pytest.approx(peer.mean(), rel=1e-12)
    assert law.variance() == pytest.approx(peer.var(), rel=1e-11)


@each
@settings(max_examples=60, deadline=None)
@given(p=st.floats(0.0, 1.0), q=st.floats(0.0, 1.0))
def test_quantile_is_the_generalized_inverse(law: RuntimeLaw, p: float, q: float) -> None:
    """``quantile(p) <= t`` exactly where ``p <= cdf(t)``, up to rounding, and it rises."""
    low, high = sorted((p, q))
    at_low, at_high = law.quantile(array(low, high))
    assert 0 <= at_low <= at_high
    assert law.cdf(array(at_high * (1 + 1e-15)))[0] >= high * (1 - 1e-12) - 1e-15
    below = at_high * (1 - 1e-9) - 1e-300
    lower_end = law.quantile(array(0.0))[0]
    if math.isfinite(below) and at_high > lower_end:
        assert law.cdf(array(below))[0] <= high * (1 + 1e-12)


@each
@settings(max_examples=40, deadline=None)
@given(t=st.floats(0.0, 1e6), u=st.floats(0.0, 1e6))
def test_cdf_rises_and_complements_the_survival(law: RuntimeLaw, t: float, u: float) -> None:
    """Exact completion laws multiply both, so they must add up to 1."""
    low, high = sorted((t, u))
    cdf, survival = law.cdf(array(low, high)), law.survival(array(low, high))
    assert 0 <= cdf[0] <= cdf[1] <= 1
    np.testing.assert_allclose(cdf + survival, 1.0, rtol=1e-12)


@each
def test_ends_of_the_range(law: RuntimeLaw) -> None:
    """Quadratures start and end there; what is no probability has no quantile."""
    assert law.cdf(array(-1.0, math.inf)).tolist() == [0.0, 1.0]
    assert law.survival(array(-1.0, math.inf)).tolist() == [1.0, 0.0]
    least, greatest = law.quantile(array(0.0, 1.0))
    assert 0 <= least <= greatest
    assert law.upper_quantile(array(1.0, 0.0)).tolist() == [least, greatest]
    assert np.isnan(law.quantile(array(-0.1, 1.1, math.nan))).all()


@each
def test_mean_and_variance_are_those_of_the_cdf(law: RuntimeLaw) -> None:
    """``E X`` is the integral of the quantile; closed forms and cdf must tell the same."""
    if law.tail_index() <= 2:
        pytest.skip("a moment is infinite")
    ends = sorted({0.0, 1.0, *law.cdf(array(*law.breakpoints())).tolist()})
    first, second = (
        math.fsum(_moment(law, k, low, high) for low, high in pairwise(ends)) for k in (1, 2)
    )
    assert law.mean() == pytest.approx(first, rel=1e-7)
    assert law.variance() == pytest.approx(second - first**2, rel=1e-5, abs=1e-7)


def _moment(law: RuntimeLaw, power: int, low: float, high: float) -> float:
    """Integrate a power of the quantile over ``low..high``.

    The substitution by ``w^10`` flattens its growth at the upper end.
    """

    def curve(w: float) -> float:
        above = 1.0 - high + (high - low) * w**10
        return float(law.upper_quantile(array(above))[0]) ** power * 10 * w**9 * (high - low)

    return float(integrate.quad(curve, 0.0, 1.0, epsabs=0, epsrel=1e-10, limit=200)[0])


@each
def test_samples_follow_the_cdf(law: RuntimeLaw) -> None:
    """The sampler must not have another law than the exact functions."""
    u = (np.arange(20_000) + 0.5) / 20_000
    draws = np.sort(law.sample(u))
    points = np.unique(np.concatenate([draws[::100], law.breakpoints()]))
    shares = np.searchsorted(draws, points, side="right") / draws.size
    np.testing.assert_allclose(shares, law.cdf(points), atol=4e-4)


@each
def test_breakpoints_hold_every_jump(law: RuntimeLaw) -> None:
    """A quadrature that does not know a jump loses its accuracy."""
    points = law.breakpoints()
    assert list(points) == sorted(set(points))
    t = np.linspace(0.0, 12.0, 4001)
    jumps = t[1:][np.diff(law.cdf(t)) > 0.04]
    step = t[1] - t[0]
    for jump in jumps:
        assert any(jump - step <= point <= jump for point in points)


@each
def test_records_and_laws_turn_into_each_other(law: RuntimeLaw) -> None:
    """An instance that is written and read again must have the same law, to the last bit."""
    assert law_from(law.to_record(), path="$") == law


def test_values_of_small_laws_by_hand() -> None:
    """Numbers that can be checked with a pencil."""
    assert Weibull(0.5, 1.0).mean() == 2.0
    assert Pareto(3.0, 2.0).mean() == 3.0
    assert Pareto(3.0, 2.0).variance() == pytest.approx(3.0)
    assert Bimodal(1.0, 10.0, 0.1).mean() == pytest.approx(1.9)
    assert Empirical.of([1, 2, 4]).quantile(array(1 / 3, 0.34, 1.0)).tolist() == [1, 2, 4]
    mixture = Mixture((Deterministic(1.0), Deterministic(3.0)), (3.0, 1.0))
    assert (mixture.mean(), mixture.variance()) == (1.5, 0.75)
    assert mixture.quantile(array(0.75, 0.7500001)).tolist() == [1.0, 3.0]


def test_the_least_of_eight_weibull_times() -> None:
    """Heavy tails vanish in a minimum: shape 1/2 and scale 1 give 2/64 instead of 2."""
    law = Weibull(0.5, 1.0)
    value, _ = integrate.quad(
        lambda s: law.survival(array(s**4))[0] ** 8 * 4 * s**3, 0, 3, epsabs=0, epsrel=1e-12
    )
    assert value == pytest.approx(0.03125, rel=1e-9)
    assert Weibull(0.5, 1.0 / 64).mean() == 0.03125


@pytest.mark.parametrize("k", [20, 40])
def test_exponential_order_statistics(k: int) -> None:
    """The mean of the seventh of ten Exp(1) times is 2761/2520, by the beta law of its rank."""
    law = Exponential(1.0)
    curve = lambda p: law.quantile(array(p))[0] * stats.beta.pdf(p, 7, 4)  # noqa: E731  # a curve
    value, _ = integrate.quad(curve, 0, 1, epsabs=0, epsrel=1e-12, limit=10 * k)
    assert value == pytest.approx(2761 / 2520, rel=1e-10)
    ninety_nine = law.quantile(array(stats.beta.ppf(0.99, 7, 4)))[0]
    assert ninety_nine == pytest.approx(2.3728593346, abs=1e-10)


@pytest.mark.parametrize(
    ("law", "mean", "variance"),
    [
        pytest.param(Pareto(1.0, 1.0), math.inf, math.inf, id="shape 1"),
        pytest.param(Pareto(0.5, 1.0), math.inf, math.inf, id="shape below 1"),
        pytest.param(Pareto(2.0, 1.0), 2.0, math.inf, id="finite mean, infinite variance"),
        pytest.param(
            Mixture((Exponential(1.0), Pareto(1.0, 1.0)), (9.0, 1.0)),
            math.inf,
            math.inf,
            id="one part of a mixture",
        ),
        pytest.param(
            Mixture((Exponential(1.0), Pareto(1.0, 1.0)), (1.0, 0.0)), 1.0, 1.0, id="weight 0"
        ),
    ],
)
def test_infinite_moments_are_infinite(law: RuntimeLaw, mean: float, variance: float) -> None:
    """A number in place of an infinite mean would be believed."""
    assert (law.mean(), law.variance()) == (mean, variance)
    assert (law.tail_index() <= 1) == math.isinf(mean)


@pytest.mark.parametrize(
    "law",
    [
        pytest.param(Weibull(0.003, 1.0), id="weibull"),
        pytest.param(Lognormal(0.0, 60.0), id="lognormal"),
    ],
)
def test_moments_beyond_the_floats_are_infinite(law: RuntimeLaw) -> None:
    """They are finite on paper, but no float holds them; an overflow must not end the run."""
    assert law.mean() == math.inf
    assert law.variance() == math.inf
    assert np.isfinite(law.quantile(array(0.5))[0])


def test_a_steep_weibull_law_keeps_its_variance() -> None:
    """The difference of two gamma functions cancels for large shapes; the limit is Gumbel's."""
    for shape in (999.0, 1001.0, 1e6):
        expected = (math.pi**2 / 6) / shape**2
        assert Weibull(shape, 1.0).variance() == pytest.approx(expected, rel=3e-3, abs=0)
    below, above = Weibull(999.999, 1.0).variance(), Weibull(1000.001, 1.0).variance()
    assert below == pytest.approx(above, rel=1e-5, abs=0)


@pytest.mark.parametrize(
    ("record", "place", "words"),
    [
        pytest.param(Law(law="weibul"), "$.r.law", "did you mean 'weibull'", id="unknown"),
        pytest.param(Law(law="exponential"), "$.r", "rate is missing", id="missing"),
        pytest.param(Law(law="exponential", rate=1, shape=2), "$.r.shape", "not shape", id="extra"),
        pytest.param(Law(law="exponential", rate=0), "$.r.rate", "greater than 0", id="rate 0"),
        pytest.param(Law(law="deterministic", value=-1), "$.r.value", "at least 0", id="negative"),
        pytest.param(Law(law="weibull", shape=-1, scale=1), "$.r.shape", "greater", id="shape"),
        pytest.param(Law(law="pareto", shape=1, scale=0), "$.r.scale", "greater", id="scale"),
        pytest.param(
            Law(law="lognormal", log_mean=0, log_std=0), "$.r.log_std", "greater", id="log_std"
        ),
        pytest.param(
            Law(law="gamma", shape=1, scale=math.nan), "$.r.scale", "not a finite", id="NaN"
        ),
        pytest.param(
            Law(law="bimodal", base=1, slowdown=2, probability=1.5),
            "$.r.probability",
            "0..1",
            id="probability",
        ),
        pytest.param(Law(law="empirical", samples=[]), "$.r.samples", "empty", id="no samples"),
        pytest.param(
            Law(law="empirical", samples=[1, -2]), "$.r.samples[1]", "at least 0", id="sample"
        ),
        pytest.param(Law(law="empirical", file="x.csv"), "$.r.file", "not been read", id="file"),
        pytest.param(
            Law(law="mixture", parts=[], weights=[]), "$.r.parts", "0 parts", id="no parts"
        ),
        pytest.param(
            Law(law="mixture", parts=[Law(law="exponential", rate=1)], weights=[1, 2]),
            "$.r.weights",
            "1 parts and 2 weights",
            id="weights",
        ),
        pytest.param(
            Law(law="mixture", parts=[Law(law="exponential", rate=1)], weights=[0]),
            "$.r.weights",
            "sum to 0",
            id="weights of sum 0",
        ),
        pytest.param(
            Law(law="mixture", parts=[Law(law="exponential", rate=-1)], weights=[1]),
            "$.r.parts[0].rate",
            "greater than 0",
            id="part",
        ),
    ],
)
def test_impossible_records_name_the_place(record: Law, place: str, words: str) -> None:
    """Whoever writes an instance by hand has to find the field at once."""
    with pytest.raises(InputError, match=words) as caught:
        law_from(record, path="$.r")
    assert caught.value.path == place
    assert caught.value.allowed


def test_mixtures_nested_without_end_are_refused() -> None:
    """A document must not be able to exhaust the stack."""
    record = Law(law="exponential", rate=1)
    for _ in range(200):
        record = Law(law="mixture", parts=[record], weights=[1])
    with pytest.raises(InputError, match="nested too deeply"):
        law_from(record, path="$")


def test_options_name_laws() -> None:
    """The command line takes the laws of the documents, with exact decimal numbers."""
    law = Law(law="weibull", shape=Fraction(1, 2), scale=Fraction(2))
    assert parse_law("weibull:shape=.5,scale=2") == law
    samples = parse_law("empirical:samples=1:2.5").samples
    assert samples == [1, Fraction(5, 2)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("weibul:shape=1", "did you mean 'weibull'", id="unknown law"),
        pytest.param("weibull:shape=1", "scale is missing", id="missing"),
        pytest.param("exponential:rat=1", "did you mean 'rate'", id="unknown key"),
        pytest.param("exponential:rate=one", "'one' is not a finite number", id="text"),
        pytest.param("exponential:rate=nan", "'nan' is not a finite number", id="NaN"),
        pytest.param("exponential:rate=1,rate=2", "rate is given twice", id="twice"),
        pytest.param("exponential:rate", "'rate' is not KEY=VALUE", id="no value"),
        pytest.param("exponential:rate=-1", "greater than 0", id="impossible"),
        pytest.param("empirical:file=x.csv", "cannot be written in an option", id="file"),
        pytest.param("", "unknown runtime law", id="empty"),
    ],
)
def test_unusable_options_say_why(text: str, words: str) -> None:
    """A wrong option is a matter of usage, not of the instance."""
    with pytest.raises(UsageError, match=words):
        parse_law(text)


def test_messages_about_options_lead_to_the_mistake() -> None:
    """An unknown name is told before its keys, and a wrong key beside those of its law."""
    for text, lines in {
        "gama:shpe=one,scale=2": [
            "law 'gama:shpe=one,scale=2': unknown runtime law 'gama', did you mean 'gamma'?",
            "  allowed: NAME:key=value,... with NAME one of deterministic, exponential, "
            "shifted_exponential, weibull, pareto, lognormal, gamma, bimodal, empirical; or @FILE",
        ],
        "gamma:mean=2": [
            "law 'gamma:mean=2': law 'gamma' has no key 'mean'",
            "  allowed: shape, scale",
        ],
        "gamma:shape=2": [
            "law 'gamma:shape=2': law 'gamma' takes shape, scale, but scale is missing",
            "  allowed: shape, scale",
            "  remedy: add scale",
        ],
    }.items():
        with pytest.raises(UsageError) as caught:
            parse_law(text)
        assert str(caught.value).splitlines() == lines


@pytest.mark.parametrize("text", ["mixture", "mixture:parts=1", "mixture:weights=1"])
def test_the_refusal_of_a_mixture_does_not_allow_it(text: str) -> None:
    """No option can be written for it; the message says what can be done instead."""
    with pytest.raises(UsageError, match=r"allowed: @FILE, or one of .*\n  remedy: ") as caught:
        parse_law(text)
    assert "mixture" not in str(caught.value).partition("allowed:")[2]
