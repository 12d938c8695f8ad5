"""Rows and numbers of plain-text formats, with errors that name line and token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number, exact

__all__ = [
    "Row",
    "Span",
    "amount",
    "counts",
    "lines",
    "plural",
    "rows",
    "shorten",
    "whole",
    "wrong_length",
]

_NUMERAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
_COMMENT = re.compile(r"#|//")
_LONGEST = 400


@dataclass(frozen=True, slots=True)
class Row:
    """The tokens of one line of a file; lines count from 1."""

    line: int
    tokens: list[str]


@dataclass(frozen=True, slots=True)
class Span:
    """The whole numbers that are allowed somewhere, both ends included."""

    low: int
    high: int | None = None

    def __contains__(self, value: int) -> bool:
        return self.low <= value and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        if self.high is None:
            return f"at least {self.low}"
        if self.low == self.high:
            return str(self.low)
        return f"{self.low}..{self.high}" if self.low < self.high else "none (there are none)"


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and stripped text of every line that is not blank or a ``#`` comment."""
    normal = text.replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(normal.split("\n"), start=1):
        content = line.strip()
        if content and not content.startswith("#"):
            yield number, content


def rows(text: str) -> list[Row]:
    """Return the tokens of every line, without comments (``#`` or ``//`` to the line's end)."""
    found = [Row(number, _COMMENT.split(line, 1)[0].split()) for number, line in lines(text)]
    return [row for row in found if row.tokens]


def shorten(token: str) -> str:
    """Return a token as an error message shows it: printable and at most 40 characters."""
    shown = token if token.isprintable() else ascii(token)[1:-1]
    return shown if len(shown) <= 40 else f"{shown[:37]}..."


def plural(count: int, noun: str) -> str:
    """Return ``"1 operation"`` or ``"2 operations"``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def amount(token: str, line: int, what: str, *, negative: bool = False) -> Number:
    """Return a finite number exactly; an integer if it is written as one.

    Parameters
    ----------
    what
        What the number is, with its owner, e.g. ``"job 2: duration"``.
    negative
        Whether negative numbers are allowed.

    Raises
    ------
    InputError
        If the token is not a finite number, or is negative where that is not allowed.
    """
    kind = "finite" if negative else "finite, non-negative"
    try:
        value = _number(token)
    except ValueError:
        raise InputError(
            f"{what} '{shorten(token)}' is not a {kind} number",
            allowed=f"a {kind} number",
            remedy="correct the number, or check that no value before it is missing",
            line=line,
        ) from None
    if value.numerator < 0 and not negative:  # much faster than to compare fractions
        raise InputError(
            f"{what} {shorten(token)} is negative, it must be finite and non-negative",
            allowed="a finite, non-negative number",
            remedy="correct the number",
            line=line,
        )
    return value


def _number(token: str) -> int | Fraction:
    if len(token) > _LONGEST:
        raise ValueError("too long")
    if len(token) < 300 and token.isascii() and token.isdigit():
        return int(token)
    if not _NUMERAL.fullmatch(token):
        raise ValueError("not a numeral")
    value = exact(Decimal(token))
    return value.numerator if value.denominator == 1 else value


def whole(token: str, line: int, what: str, span: Span, remedy: str | None = None) -> int:
    """Return a whole number within ``span``.

    Raises
    ------
    InputError
        If the token is not a whole number or is not within the span.
    """
    sign, digits = (-1, token[1:]) if token.startswith("-") else (1, token)
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _LONGEST):
        raise InputError(
            f"{what} '{shorten(token)}' is not a whole number",
            allowed=f"a whole number, {span}",
            remedy=remedy or "correct the number, or check that no value before it is missing",
            line=line,
        )
    value = sign * int(digits)
    if value not in span:
        raise InputError(
            f"{what} {shorten(token)} is not allowed: it must be {span}",
            allowed=f"a whole number, {span}",
            remedy=remedy or "correct the number",
            line=line,
        )
    return value


def counts(row: Row) -> list[int] | None:
    """Return the row as non-negative whole numbers, None if one of its tokens is not one."""
    short = (token.isascii() and token.isdigit() and len(token) < 10 for token in row.tokens)
    return [int(token) for token in row.tokens] if all(short) else None


def wrong_length(row: Row, owner: str, expected: str) -> InputError:
    """Return the error of a line that holds more or fewer values than its counts announce."""
    return InputError(
        f"{owner} has {plural(len(row.tokens), 'value')} ('{shorten(' '.join(row.tokens))}'), "
        f"expected: {expected}",
        allowed=expected,
        remedy="complete the line, correct its counts, or delete what is left over",
        line=row.line,
    )
