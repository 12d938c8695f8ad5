"""What compiled samplers get: the forms of the laws, drawn here by a plain reading of the table."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import gammainccinv, gammaincinv, ndtri

from allocsolve.models.arrays import FloatArray
from allocsolve.models.laws_gamma import TABLE_ERROR
from allocsolve.models.nodes import (
    LAW_CODES,
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

LAWS: list[RuntimeLaw] = [
    Deterministic(2.0),
    Exponential(0.3),
    ShiftedExponential(1.0, 2.0),
    Weibull(0.5, 2.0, 1.0),
    Pareto(0.8, 1.5),
    Lognormal(-0.3, 0.7),
    Gamma(0.3, 3.0),
    Bimodal(1.0, 10.0, 0.1),
    Bimodal(4.0, 0.25, 0.3),
    Empirical.of([3.0, 1.0, 2.0, 2.0, 0.0]),
    Mixture((Gamma(2.0, 1.0), Mixture((Bimodal(2.0, 3.0, 0.5), Pareto(3, 1)), (1, 1))), (1.0, 2.0)),
]


def draw(code: int, a: FloatArray, u: float) -> float:
    """Draw as the table of :data:`LAW_CODES` says."""
    if code == LAW_CODES["mixture"]:
        return _draw_mixture(a, u)
    rows: dict[int, Callable[[], float]] = {
        0: lambda: a[0],
        1: lambda: a[0] - a[1] * math.log1p(-u),
        2: lambda: a[0] + a[1] * (-math.log1p(-u)) ** a[2],
        3: lambda: a[0] * (1 - u) ** -a[1],
        4: lambda: math.exp(a[0] + a[1] * ndtri(u)),
        5: lambda: _draw_gamma(a, float(ndtri(u))),
        6: lambda: a[0] if u <= a[2] else a[1],
        7: lambda: a[max(math.ceil(a[0] * u), 1)],
    }
    return float(rows[code]())


def _draw_gamma(a: FloatArray, z: float) -> float:
    place = (z - a[0]) * a[1]
    i = min(max(math.floor(place), 0), int(a[2]) - 1)
    x = place - i
    return math.exp(sum(c * x**k for k, c in enumerate(a[3 + 6 * i : 9 + 6 * i])))


def _draw_mixture(a: FloatArray, u: float) -> float:
    m = int(a[0])
    weights, codes = a[1 : m + 1], a[m + 1 : 2 * m + 1]
    offsets = a[2 * m + 1 : 3 * m + 2].astype(int)
    assert weights[-1] == 1
    assert offsets[-1] == a.size
    j = int(np.searchsorted(weights, u))
    before = weights[j - 1] if j else 0.0
    part = a[offsets[j] : offsets[j + 1]]
    return draw(int(codes[j]), part, (u - before) / (weights[j] - before))


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_form_draws_what_the_law_samples(law: RuntimeLaw) -> None:
    """The compiled and the plain path must draw from the same law."""
    u = np.random.default_rng(0).random(500)
    code, numbers = law.kernel_form()
    assert code == LAW_CODES[law.name]
    assert not numbers.flags.writeable
    drawn = [draw(code, numbers, float(x)) for x in u]
    np.testing.assert_allclose(drawn, law.sample(u), rtol=1e-9)


@pytest.mark.parametrize("shape", [1e-3, 0.01, 0.1, 0.5, 1.0, 2.5, 30.0, 1e3, 1e5])
def test_gamma_tables_are_as_exact_as_they_claim(shape: float) -> None:
    """A table that is too coarse would shift quantiles of every simulation."""
    _, table = Gamma(shape, 1.0).kernel_form()
    z = np.random.default_rng(1).uniform(-8.2, 8.2, 400)
    from scipy.special import ndtr

    exact = np.where(z < 0, gammaincinv(shape, ndtr(z)), gammainccinv(shape, ndtr(-z)))
    drawn = np.array([_draw_gamma(table, float(x)) for x in z])
    normal = exact > 1e-290
    np.testing.assert_allclose(drawn[normal], exact[normal], rtol=2 * TABLE_ERROR)


def test_gamma_laws_of_huge_shape_are_right_around_the_mean() -> None:
    """Far out SciPy itself is not exact there, and finer tables would not help."""
    shape = 1e9
    _, table = Gamma(shape, 1.0).kernel_form()
    z = np.linspace(-3.0, 3.0, 41)
    drawn = np.array([_draw_gamma(table, float(x)) for x in z])
    cubes = shape * (1 - 1 / (9 * shape) + z / (3 * math.sqrt(shape))) ** 3  # Wilson and Hilferty
    np.testing.assert_allclose((drawn - cubes) / math.sqrt(shape), 0.0, atol=1e-4)


def test_gamma_draws_that_underflow_are_zero() -> None:
    """A shape of 0.001 has times below every float; they must not become NaN."""
    code, table = Gamma(0.001, 1.0).kernel_form()
    assert np.isfinite(table).all()
    assert draw(code, table, 0.1) == 0.0


def test_a_mixture_rises_within_each_part() -> None:
    """One uniform number chooses the part and draws from it, so that streams stay aligned."""
    law = Mixture((ShiftedExponential(5.0, 1.0), Exponential(1.0)), (1.0, 3.0))
    first, second = law.sample(np.linspace(0.001, 0.249, 50)), law.sample(np.linspace(0.26, 1, 9))
    assert (np.diff(first) > 0).all()
    assert (np.diff(second) > 0).all()
    assert first.min() >= 5.0
