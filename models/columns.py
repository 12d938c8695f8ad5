"""Columns of exact numbers: one field of many records, handled at once.

A hundred thousand fractions cost seconds one by one. Here they are two integers each, in
int64 where that holds every step of the calculation, and Python integers where it does not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import IntArray
from allocsolve.models.exact import LARGEST, Number, exact

__all__ = ["Column", "are_finite", "largest_multiple"]

WholeNumbers: TypeAlias = npt.NDArray[np.int64]
"""int64, or Python integers in an array of objects, on which numpy does the same exactly."""

_SAFE = 2**62
_NUMERATOR, _DENOMINATOR = attrgetter("numerator"), attrgetter("denominator")


@dataclass(frozen=True, eq=False)
class Column:
    """Exact numbers as reduced fractions.

    Attributes
    ----------
    numerator, denominator
        (k,); denominators are positive.
    """

    numerator: WholeNumbers
    denominator: WholeNumbers

    @classmethod
    def of(cls, values: Sequence[Number]) -> Column:
        """Read numbers as :func:`allocsolve.models.exact.exact` does."""
        kinds = set(map(type, values))
        if not kinds <= {int, Fraction}:
            values = [exact(value) for value in values]
            kinds = {Fraction}
        if kinds <= {int}:
            return cls(_whole(cast("Sequence[int]", values)), np.ones(len(values), np.int64))
        return cls(_whole(list(map(_NUMERATOR, values))), _whole(list(map(_DENOMINATOR, values))))

    def __len__(self) -> int:
        return len(self.numerator)

    def grid(self) -> Fraction:
        """Return the largest step of which every number is a multiple, 0 if all are zero."""
        numerator = int(np.gcd.reduce(self.numerator)) if len(self) else 0
        return Fraction(abs(numerator), math.lcm(*set(self.denominator.tolist())))

    def multiples(self, unit: Fraction) -> WholeNumbers:
        """Return ``number / unit``; the unit divides every number."""
        most = largest_multiple(self.numerator) * unit.denominator
        divisor = largest_multiple(self.denominator) * unit.numerator
        numerator, denominator = self.numerator, self.denominator
        if max(most, divisor, unit.denominator, unit.numerator) >= _SAFE:
            numerator, denominator = numerator.astype(object), denominator.astype(object)
        return numerator * unit.denominator // (denominator * unit.numerator)


def are_finite(values: Sequence[Number | None], *, least: int | None = None) -> bool:
    """Tell quickly whether all are numbers, and none is below ``least``.

    False only means that somebody has to look at them one by one.
    """
    kinds = set(map(type, values))
    if kinds <= {int, Fraction}:
        numerators = list(map(_NUMERATOR, values))
        if max(map(abs, numerators), default=0) > LARGEST:
            return False
        return least is None or min(numerators, default=least) >= least
    if kinds <= {int, float}:
        numbers = np.array(values, np.float64)
        inside = np.isfinite(numbers) & (abs(numbers) <= LARGEST)
        return bool(inside.all() and (least is None or (numbers >= least).all()))
    return False


def _whole(values: Sequence[int]) -> WholeNumbers:
    largest = max(max(values, default=0), -min(values, default=0))
    array: WholeNumbers = np.array(values, np.int64 if largest < _SAFE else np.object_)
    return array


def largest_multiple(values: WholeNumbers) -> int:
    """Return the largest absolute value, 0 for none."""
    return int(abs(values).max(initial=0)) if values.dtype != object else _largest_object(values)


def _largest_object(values: IntArray) -> int:
    return max((abs(value) for value in values.tolist()), default=0)
