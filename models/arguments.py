"""Arguments of calls: what is allowed is said when a value, or its type, is not."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import SupportsFloat, SupportsIndex, cast

from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.fields import is_real

__all__ = ["called", "choice", "integer", "number", "numbers", "refused", "share", "words"]


def refused(name: str, value: object, allowed: str) -> UsageError:
    """Return the error of an argument that is not what is allowed."""
    return UsageError(f"{name} is {value!r}\n  allowed: {allowed}")


def integer(name: str, value: object, low: int, high: int) -> int:
    """Return a whole number of a range; texts, truth values and 1.0 are none.

    Raises
    ------
    UsageError
        If it is none.
    """
    if hasattr(value, "__index__") and not isinstance(value, bool):
        found = operator.index(cast("SupportsIndex", value))
        if low <= found <= high:
            return found
    raise refused(name, value, f"an integer from {low} to {high}")


def share(name: str, value: object) -> float:
    """Return a number above 0 and below 1.

    Raises
    ------
    UsageError
        If it is none.
    """
    found = float(cast("SupportsFloat", value)) if is_real(value) else math.nan
    if not 0 < found < 1:
        raise refused(name, value, "a number above 0 and below 1, such as 0.95")
    return found


def number(name: str, value: object) -> float:
    """Return a number, which may be infinite.

    Raises
    ------
    UsageError
        If it is none.
    """
    found = float(cast("SupportsFloat", value)) if is_real(value) else math.nan
    if math.isnan(found):
        raise refused(name, value, "a number")
    return found


def numbers(name: str, values: object) -> list[object]:
    """Return the members of a sequence that is no text.

    Raises
    ------
    UsageError
        If it is none.
    """
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise refused(name, values, "a sequence of numbers, such as (0.5, 0.9)")
    return list(values)


def words(name: str, values: object) -> list[str]:
    """Return the members of a sequence of texts.

    Raises
    ------
    UsageError
        If it is none.
    """
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise refused(name, values, "a sequence of texts, such as ['first', 'second']")
    found = list(values)
    if not all(isinstance(each, str) for each in found):
        raise refused(name, values, "a sequence of texts, such as ['first', 'second']")
    return found


def choice(name: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse a word that is not one of the allowed ones.

    Raises
    ------
    UsageError
        If it is none of them.
    """
    if value not in allowed:
        hint = suggest(value, allowed) if isinstance(value, str) else ""
        raise UsageError(f"{name} is {value!r}{hint}\n  allowed: {', '.join(allowed)}")


def called(name: str, value: object) -> None:
    """Refuse what is neither None nor a function.

    Raises
    ------
    UsageError
        If it is something else.
    """
    if value is not None and not callable(value):
        raise refused(name, value, "a function, or None")
