"""Exact numbers: what people write is what is computed with."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allocsolve.models.exact import Number, exact, grid, plain

fractions = st.fractions(max_denominator=10**6)


@pytest.mark.parametrize(
    ("value", "fraction"),
    [
        (3, Fraction(3)),
        (0.1, Fraction(1, 10)),  # not the binary 3602879701896397 / 2**55
        (1e22, Fraction(10**22)),
        (-2.5, Fraction(-5, 2)),
        (Decimal("0.10000000000000000000000000001"), Fraction(10**28 + 1, 10**29)),
        (Decimal("-0"), Fraction(0)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.5), Fraction(1, 2)),
        (np.int64(2**62), Fraction(2**62)),
        (2**60 + 1, Fraction(2**60 + 1)),
    ],
    ids=repr,
)
def test_exact(value: Number, fraction: Fraction) -> None:
    """A number stands for its decimal text, whatever type it comes in."""
    assert exact(value) == fraction


@pytest.mark.parametrize(
    "value",
    [
        *(math.nan, math.inf, -math.inf, np.float64("nan"), Decimal("NaN"), Decimal("Infinity")),
        *(Decimal("1e309"), Decimal("-1e309"), Decimal("1e-400"), Decimal("1e999999999"), 10**309),
        *(True, np.True_, "1", None, 1 + 2j, [1]),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_not_numbers(value: Number) -> None:
    """What is no number, not finite, or would be written as infinity or zero is refused."""
    with pytest.raises(ValueError, match=r"not finite|beyond|not a number"):
        exact(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_round_trip(value: float) -> None:
    """Exact and back is the same float."""
    assert float(exact(value)) == value


@given(st.lists(fractions))
def test_grid_divides_all(values: list[Fraction]) -> None:
    """Every value is a multiple of the step."""
    step = grid(values)
    assert step > 0
    assert all((value / step).denominator == 1 for value in values)


@given(st.lists(fractions, min_size=1).filter(any))
def test_grid_is_largest(values: list[Fraction]) -> None:
    """The multiples have no common factor left, so no larger step divides all."""
    step = grid(values)
    assert math.gcd(*((value / step).numerator for value in values)) == 1


def test_grid_of_nothing() -> None:
    """Without a value other than zero one unit is the step."""
    assert grid([]) == grid([Fraction(0)]) == 1


@given(fractions)
def test_plain(value: Fraction) -> None:
    """Whole numbers come back as int, others as the nearest float."""
    back = plain(value)
    assert isinstance(back, int) == (value.denominator == 1)
    assert back == value or back == float(value)


def test_plain_keeps_large_integers() -> None:
    """No detour through floats: 2^60 + 1 has no float."""
    assert plain(Fraction(2**60 + 1)) == 2**60 + 1
