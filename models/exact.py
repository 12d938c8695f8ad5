"""Exact rational numbers and the grid on which a set of them is integral."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, TypeAlias

__all__ = ["LARGEST", "Number", "exact", "grid", "plain"]

LARGEST = 2**53
"""Largest integer that every consumer of JSON numbers still represents exactly."""

if TYPE_CHECKING:
    Number: TypeAlias = int | float | Decimal | Fraction
else:
    # msgspec resolves annotations at run time: numbers of documents are decoded
    # by the hook for Fraction, while callers may pass any real number.
    Number = Fraction


def exact(value: Number) -> Fraction:
    """Return ``value`` as a fraction; a float stands for its shortest decimal text.

    Scalars of numpy count as the number that they hold.

    Raises
    ------
    ValueError
        If it is no number, is not finite, or is so large or so small that a reader of JSON
        would see infinity or zero.
    """
    if type(value) is Decimal:  # by far the most of a large document
        return _exact_decimal(value)
    if isinstance(value, Fraction):
        return value
    if type(value) is int and -LARGEST <= value <= LARGEST:
        return Fraction(value)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return _exact_scalar(value)
    return _exact_decimal(Decimal(float.__repr__(value) if isinstance(value, float) else value))


def _exact_scalar(value: object) -> Fraction:
    """Return the number that a scalar of an array library holds."""
    item = getattr(value, "item", None)
    held = item() if callable(item) else value
    if isinstance(held, bool) or not isinstance(held, int | float | Decimal | Fraction):
        raise ValueError(f"{value!r} is not a number")
    return exact(held)


def _exact_decimal(value: Decimal) -> Fraction:
    if not value.is_finite():
        raise ValueError(f"{value} is not finite")
    nearest = float(value)
    if math.isinf(nearest) or (value and not nearest):
        raise ValueError(f"{value:.3E} is beyond the range of floating-point numbers")
    return Fraction(*value.as_integer_ratio())


def grid(values: Iterable[Fraction]) -> Fraction:
    """Return the largest step of which every value is a multiple (1 if all are zero).

    The greatest common divisor of reduced fractions is the gcd of their
    numerators over the lcm of their denominators.
    """
    numerator, denominator = 0, 1
    for value in values:
        numerator = math.gcd(numerator, value.numerator)
        denominator = math.lcm(denominator, value.denominator)
    return Fraction(numerator or 1, denominator)


def plain(value: Fraction | int) -> int | float:
    """Return an integral value as int, any other as the nearest float."""
    fraction = Fraction(value)
    return fraction.numerator if fraction.denominator == 1 else float(fraction)
