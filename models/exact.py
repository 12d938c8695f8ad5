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

_MAX_EXPONENT = 400
"""Decimal exponents beyond this are refused before they are expanded into huge integers."""

if TYPE_CHECKING:
    Number: TypeAlias = int | float | Decimal | Fraction
else:
    # msgspec resolves annotations at run time: numbers of documents are decoded
    # by the hook for Fraction, while callers may pass any real number.
    Number = Fraction


def exact(value: Number) -> Fraction:
    """Return ``value`` as a fraction; a float stands for its shortest decimal text.

    Raises
    ------
    ValueError
        If the number is not finite or its exponent is beyond 1e400.
    """
    if type(value) is Fraction:
        return value
    if isinstance(value, bool):
        raise ValueError(f"{value} is not a number")
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is not finite")
        if value and abs(value.adjusted()) > _MAX_EXPONENT:
            raise ValueError(f"{value:.3E} is beyond 1e{_MAX_EXPONENT}")
    return Fraction(value)


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
