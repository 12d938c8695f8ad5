"""The residual of the optimality conditions: nothing at an optimum, what is wrong elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.kkt import kkt_residuals
from allocsolve.models.fair.problem import FairProblem

NASH = np.array([[17 / 18, 1 / 18], [1 / 18, 17 / 18]])


def _answer(**changes: object) -> FairAnswer:
    """Return the Nash shares of two jobs and two types, known in fractions."""
    problem = FairProblem.from_arrays([[10.0, 1.0], [6.0, 3.0]], [1.0, 2.0])
    known: dict[str, object] = {
        "shares": NASH,
        "prices": np.array([18 / 19, 0.0]),
        "time_prices": np.array([2 / 19, 18 / 19]),
    }
    return FairAnswer(problem, **(known | changes))  # type: ignore[arg-type]  # the fields of the answer


def test_an_optimum_in_fractions_leaves_nothing() -> None:
    """All conditions hold to rounding where shares and prices are exact."""
    found = kkt_residuals(_answer(), "nash")
    assert found is not None
    assert found.worst < 1e-14


@pytest.mark.parametrize(
    ("changes", "field", "size"),
    [
        pytest.param({"prices": [1.8 / 19, 0.0]}, "stationarity", 0.4, id="price too low"),
        pytest.param({"prices": [180 / 19, 0.0]}, "complementarity", 0.8, id="price too high"),
        pytest.param({"time_prices": [0.0, 18 / 19]}, "stationarity", 0.05, id="no time price"),
        pytest.param({"prices": [18 / 19, 1.0]}, "complementarity", 0.2, id="price of the idle"),
        pytest.param({"shares": NASH * 1.1}, "feasibility", 0.099, id="too much is held"),
        pytest.param({"shares": NASH * 0.9}, "complementarity", 0.04, id="time is wasted"),
    ],
)
def test_each_condition_is_seen(changes: dict[str, object], field: str, size: float) -> None:
    """A price that is too low, one that is too high, and shares that do not fit."""
    arrays = {name: np.asarray(value) for name, value in changes.items()}
    found = kkt_residuals(_answer(**arrays), "nash")
    assert found is not None
    assert getattr(found, field) >= size
    assert found.worst >= getattr(found, field)


def test_prices_in_another_unit_are_seen() -> None:
    """Bounds of levels do not care for the unit of prices; d(level)/d(stock) does."""
    problem = FairProblem.from_arrays([[1.0], [1.0]], [1.0])
    shares, prices = np.full((2, 1), 0.5), np.array([1.0])  # the level is U / E = 2 U
    times = np.zeros(2)
    right = kkt_residuals(FairAnswer(problem, shares, prices, times), "max_min")
    wrong = kkt_residuals(FairAnswer(problem, shares, 2 * prices, times), "max_min")
    assert right is not None
    assert wrong is not None
    assert right.worst < 1e-15
    assert wrong.stationarity == pytest.approx(1.0)


def test_nothing_is_said_without_prices() -> None:
    """No prices, no certificate; nor for objectives that have none."""
    assert kkt_residuals(_answer(prices=None), "nash") is None
    assert kkt_residuals(_answer(), "envy_free_efficiency") is None
    assert kkt_residuals(_answer(time_prices=None), "nash") is None
