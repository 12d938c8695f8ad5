"""Exact fractions as decimal text."""

from __future__ import annotations

from fractions import Fraction

from allocsolve.instances.text import plural
from allocsolve.models.exact import Number, exact

__all__ = ["Numerals", "decimal_text"]


def decimal_text(value: Fraction) -> str | None:
    """Return the exact decimal text of a fraction, None if it does not end."""
    rest, digits = value.denominator, 0
    for prime in (2, 5):
        power = 0
        while rest % prime == 0:
            rest //= prime
            power += 1
        digits = max(digits, power)
    if rest != 1:
        return None
    scaled = value.numerator * 10**digits // value.denominator
    whole, part = divmod(abs(scaled), 10**digits)
    sign = "-" if scaled < 0 else ""
    return f"{sign}{whole}.{part:0{digits}d}" if digits else f"{sign}{whole}"


class Numerals:
    """Writes numbers as decimal text and counts those that had to be rounded."""

    def __init__(self) -> None:
        self.rounded = 0

    def __call__(self, value: Number) -> str:
        """Return the decimal text of a number, rounded to a double if it does not end."""
        text = decimal_text(exact(value))
        if text is None:
            self.rounded += 1
            text = repr(float(exact(value)))
        return text

    def losses(self) -> list[str]:
        """Return one sentence if numbers were rounded."""
        if not self.rounded:
            return []
        return [f"{plural(self.rounded, 'number')} without an exact decimal form rounded"]
