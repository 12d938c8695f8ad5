"""Tables of comma-separated values: cells with their places, and rows by the names of columns.

Cells with commas stand in double quotes, as RFC 4180 says; ``;`` and tabs separate cells too.
Lines that begin with ``#`` are comments, and blank lines mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from allocsolve.instances.text import plural
from allocsolve.models.errors import InputError

__all__ = ["Cells", "Line", "column_names", "named", "quoted", "table"]

_SEPARATORS = (",", ";", "\t")

Line: TypeAlias = tuple[int, Sequence[tuple[str, int]]]
"""Number of a line, and text and place (column counted from 1) of each of its cells."""


@dataclass(frozen=True, slots=True)
class Cells:
    """A row: text and place (column counted from 1) of each named cell."""

    line: int
    texts: Mapping[str, str]
    places: Mapping[str, int]

    def refusal(self, column: str, what: str, allowed: str, remedy: str) -> InputError:
        """Return the error that points at a column of this row."""
        return InputError(
            what, allowed=allowed, remedy=remedy, line=self.line, column=self.places[column]
        )


def column_names(text: str) -> list[str]:
    """Return the cells of the first line with content as they would be split, never raising."""
    header = next((line for line in text.splitlines() if _has_content(line)), "")
    return [cell.strip().strip('"') for cell in header.split(_separator(header))]


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _separator(header: str) -> str:
    return next((mark for mark in _SEPARATORS if mark in header), ",")


def table(text: str) -> Iterator[Line]:
    """Yield the lines of a table, the first of which names the columns.

    Raises
    ------
    InputError
        If there is no line, or at a line that cannot be split, with line and column.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    numbered = [(i, line) for i, line in enumerate(lines, start=1) if _has_content(line)]
    if not numbered:
        raise InputError("the table is empty", allowed="a line of column names", line=1)
    separator = _separator(numbered[0][1])
    ends = f"(?={re.escape(separator)}|$)"
    cell = re.compile(rf' *"((?:[^"]|"")*)" *{ends}|([^"{re.escape(separator)}]*){ends}')
    for number, line in numbered:
        yield number, _split(number, line, cell)


def _split(number: int, line: str, cell: re.Pattern[str]) -> list[tuple[str, int]]:
    """Return text and place of each cell of a line; blanks within quotes are kept."""
    found, place = [], 0
    while place <= len(line):
        match = cell.match(line, place)
        if match is None:
            raise InputError(
                "the line cannot be split into cells here",
                allowed='cells, or cells in double quotes with "" for a quote',
                remedy="close the quotes, or write a quote twice",
                line=number,
                column=place + 1,
            )
        text = match[2].strip() if match[1] is None else match[1].replace('""', '"')
        found.append((text, place + 1))
        place = match.end() + 1
    return found


def named(line: Line, names: Sequence[str]) -> Cells:
    """Return the cells of a line by the names of their columns.

    Raises
    ------
    InputError
        If there are not as many cells as columns.
    """
    number, cells = line
    if len(cells) != len(names):
        raise InputError(
            f"the row has {plural(len(cells), 'cell')}, the first line has "
            f"{plural(len(names), 'column')}",
            allowed=f"exactly {plural(len(names), 'cell')}, empty ones included",
            remedy="complete the row, or quote cells that hold the separator",
            line=number,
        )
    return Cells(
        number,
        {name: cell for name, (cell, _) in zip(names, cells, strict=True)},
        {name: place for name, (_, place) in zip(names, cells, strict=True)},
    )


def quoted(cell: str) -> str:
    """Return a cell, in quotes if it would be read otherwise without."""
    if cell == cell.strip() and not re.search(r'[,;\t"#]', cell):
        return cell
    return '"' + cell.replace('"', '""') + '"'
