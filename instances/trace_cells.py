"""Cells and columns of measured durations, with errors that name row and column."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from allocsolve.instances.text import shorten
from allocsolve.models.errors import InputError, UsageError, suggest

__all__ = ["bad_cell", "checked", "chosen", "is_numeral", "position", "signed", "terms"]

_USUAL = "duration"
_NUMERAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def is_numeral(cell: str) -> bool:
    """Whether a cell is written as a number."""
    return _NUMERAL.fullmatch(cell) is not None


def chosen(names: Sequence[str], column: str | None) -> str:
    """Return the column of durations: the one asked for, ``duration``, or the only one.

    Raises
    ------
    UsageError
        If it is not clear which column is meant.
    """
    if column is not None:
        return column
    if _USUAL in names or len(names) == 1:
        return _USUAL if _USUAL in names else names[0]
    raise UsageError(
        f"the file has {len(names)} columns: name that of the durations "
        f"(columns: {', '.join(names)})"
    )


def terms(names: Sequence[str], column: str) -> tuple[int, int | None]:
    """Return the position of a column, or those of both terms of ``"end - start"``.

    Raises
    ------
    UsageError
        If a column is not there.
    """
    end, minus, start = column.partition(" - ")
    if column in names or not minus:
        return position(names, column), None
    return position(names, end.strip()), position(names, start.strip())


def position(names: Sequence[str], name: str) -> int:
    """Return the position of a column.

    Raises
    ------
    UsageError
        If it is not there, with the closest name.
    """
    if name not in names:
        hint = suggest(name, list(names))
        raise UsageError(f"there is no column '{name}'{hint} (columns: {', '.join(names)})")
    return list(names).index(name)


def signed(cell: str, line: int, where: str) -> float:
    """Return the number in a cell.

    Raises
    ------
    InputError
        If the cell is empty or holds no number.
    """
    if not cell:
        raise bad_cell(f"{where}: the cell is empty", line)
    if not is_numeral(cell):
        raise bad_cell(f"{where}: '{shorten(cell)}' is not a number", line)
    return float(cell)


def checked(value: float, token: str, line: int, where: str) -> float:
    """Return a duration.

    Raises
    ------
    InputError
        If it is negative or not finite.
    """
    if value < 0:
        raise bad_cell(f"{where}: the duration {shorten(token)} is negative", line)
    if not math.isfinite(value):
        raise bad_cell(f"{where}: the duration {shorten(token)} is not finite", line)
    return value


def bad_cell(what: str, line: int) -> InputError:
    """Return the error of a cell that holds no duration."""
    return InputError(
        what,
        allowed="finite numbers of at least 0, one in every cell",
        remedy="correct the cell, or delete its row",
        line=line,
    )
