"""Rounding of measured numbers whose digits do not fit on the common grid.

Only formats that hold measurements round, only when the exact numbers do not fit, and always
with a note that says how many numbers changed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from allocsolve.instances.text import plural
from allocsolve.models.exact import LARGEST, grid

__all__ = ["Rounding", "rounding"]

_ROOM = 8
"""Share of 2^53 that stays free for sums beyond the estimate."""

_DIGITS = 12
"""Digits of the estimated length of a schedule that are kept when numbers are rounded."""


class Rounding:
    """Rounds to multiples of a unit and counts what changed.

    Attributes
    ----------
    unit
        None if numbers are kept as they are.
    """

    def __init__(self, unit: Fraction | None) -> None:
        self.unit = unit
        self.changed = 0

    def __call__(self, value: Fraction) -> Fraction:
        """Return the multiple of the unit next to the value."""
        if self.unit is None:
            return value
        rounded = round(value / self.unit) * self.unit
        self.changed += rounded != value
        return rounded

    def notes(self) -> tuple[str, ...]:
        """Return a sentence if a number changed."""
        if self.unit is None or not self.changed:
            return ()
        return (
            f"{plural(self.changed, 'number')} rounded to multiples of {float(self.unit):g}: "
            "the exact numbers do not fit on a common grid within 2^53",
        )


def rounding(
    values: Iterable[Fraction], largest: Fraction, fixed: Sequence[Fraction] = ()
) -> Rounding:
    """Choose how to round: not at all if all numbers fit exactly.

    Parameters
    ----------
    values
        The numbers that may be rounded.
    largest
        An upper estimate of the length of a schedule.
    fixed
        Numbers that stay as they are and share the grid.
    """
    if largest <= LARGEST * grid([*values, *fixed]) / _ROOM:
        return Rounding(None)
    digits = _DIGITS - math.ceil(math.log10(largest))
    return Rounding(Fraction(10) ** -digits)
