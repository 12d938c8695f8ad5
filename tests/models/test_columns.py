"""Columns of exact numbers do what fractions do one by one."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocsolve.models.columns import Column, are_finite, largest_multiple
from allocsolve.models.exact import LARGEST, Number, exact, grid

NUMBERS = st.lists(
    st.integers(-(2**70), 2**70)
    | st.fractions(max_denominator=10**12)
    | st.floats(-1e9, 1e9, allow_subnormal=False).filter(lambda x: not x or abs(x) > 1e-9),
    max_size=8,
)


@given(NUMBERS)
def test_a_column_has_the_grid_and_multiples_of_its_numbers(values: list[Number]) -> None:
    """Neither int64 nor its end may change a number: both ways of counting are compared."""
    numbers, column = [exact(value) for value in values], Column.of(values)
    assert (column.grid() or 1) == grid(numbers)
    unit = column.grid() or Fraction(1)
    assert column.multiples(unit).tolist() == [number / unit for number in numbers]
    expected = max((abs(number / unit) for number in numbers), default=0)
    assert largest_multiple(column.multiples(unit)) == expected


@pytest.mark.parametrize(
    ("values", "least", "fine"),
    [
        pytest.param([], 0, True, id="nothing"),
        pytest.param([0, 3, Fraction(1, 2)], 0, True, id="whole and fractions"),
        pytest.param([0.5, 3], 0, True, id="floats"),
        pytest.param([-1], 0, False, id="below zero"),
        pytest.param([Fraction(-1, 2)], 0, False, id="fraction below zero"),
        pytest.param([-0.5], 0, False, id="float below zero"),
        pytest.param([-1, -0.5], None, True, id="any sign"),
        pytest.param([float("nan")], None, False, id="no number"),
        pytest.param([float("inf")], None, False, id="infinite"),
        pytest.param([LARGEST + 1], 0, False, id="large, to be looked at"),
        pytest.param([None], 0, False, id="missing"),
        pytest.param([True], 0, False, id="truth value"),
        pytest.param(["1"], 0, False, id="text"),
        pytest.param([np.int64(1)], 0, False, id="scalar of an array, to be looked at"),
    ],
)
def test_only_plain_numbers_pass_at_a_glance(
    values: list[Number | None], least: int | None, fine: bool
) -> None:
    """What passes here is not looked at again, so nothing wrong may pass."""
    assert are_finite(values, least=least) is fine


def test_zeros_on_a_fine_grid_are_zeros() -> None:
    """The unit of a grid may be beyond machine integers though no number of the column is."""
    tiny = Fraction(94039548065783, 8 * 10**51)
    assert Column.of([0, 0]).multiples(tiny).tolist() == [0, 0]
