"""Tables of durations in CSV: with or without names of columns, one duration in every cell."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from allocsolve.instances.source import load
from allocsolve.instances.trace_cells import checked, chosen, is_numeral, position, signed, terms
from allocsolve.models.errors import InputError, UsageError

__all__ = ["Table", "load_table"]


@dataclass(frozen=True)
class Table:
    """The cells of a CSV file.

    Attributes
    ----------
    label
        Name of the file.
    names
        Names of the columns, None if the file has no line of names.
    rows
        The other rows with their lines.
    """

    label: str
    names: list[str] | None
    rows: list[tuple[int, list[str]]]

    def all_cells(self) -> list[list[float]]:
        """Return every cell of a table, row by row, as a duration.

        Raises
        ------
        InputError
            With line and column of the first cell that is not a duration.
        """
        width = len(self.names or (self.rows[0][1] if self.rows else ()))
        return [list(self._row(line, cells, width)) for line, cells in self.rows]

    def _row(self, line: int, cells: Sequence[str], width: int) -> Iterator[float]:
        _check_width(line, cells, width)
        for i, cell in enumerate(cells):
            where = f"column '{self.names[i]}'" if self.names else f"column {i + 1}"
            yield checked(signed(cell, line, where), cell, line, where)

    def column(self, column: str | None, where: Mapping[str, str]) -> tuple[list[float], str]:
        """Return one column of durations with its name, of the rows with certain texts.

        Raises
        ------
        UsageError
            If a column is not there, or it is not clear which one is meant.
        InputError
            With line and column of the first cell that is not a duration.
        """
        if self.names is None:
            raise UsageError("the file has no line of column names, so none can be chosen")
        name = chosen(self.names, column)
        end, start = terms(self.names, name)
        kept = {position(self.names, key): text for key, text in where.items()}
        return list(self._column(f"column '{name}'", end, start, kept)), name

    def _column(
        self, label: str, end: int, start: int | None, kept: Mapping[int, str]
    ) -> Iterator[float]:
        width = len(self.names or ())
        for line, cells in self.rows:
            _check_width(line, cells, width)
            if any(cells[i] != text for i, text in kept.items()):
                continue
            value, token = signed(cells[end], line, label), cells[end]
            if start is not None:
                value -= signed(cells[start], line, label)
                token = f"{cells[end]} - {cells[start]}"
            yield checked(value, token, line, label)


def _check_width(line: int, cells: Sequence[str], width: int) -> None:
    if len(cells) != width:
        raise InputError(
            f"the row has {len(cells)} cells, the first one has {width}",
            allowed=f"{width} cells in every row",
            remedy="complete the row, or delete it",
            line=line,
        )


def load_table(source: str | os.PathLike[str] | BinaryIO) -> Table:
    """Read a CSV file; commas, semicolons or tabs separate cells, ``#`` begins a comment line.

    The first row holds the names of the columns if no cell of it is a number.

    Raises
    ------
    InputError
        If the file cannot be read or is not CSV text.
    """
    try:
        loaded = load(source)
    except InputError as error:
        raise InputError(
            error.what,
            allowed="a readable file of durations in CSV (UTF-8)",
            remedy="check the path, and that the file was written completely",
            source=error.source,
            line=error.line,
        ) from None
    try:
        rows = _rows(loaded.text)
    except csv.Error as error:
        raise InputError(
            f"the file is not CSV: {error}",
            allowed="rows of cells, quotes closed",
            remedy="correct the quotes",
            source=loaded.label,
        ) from None
    if rows and not any(is_numeral(cell) for cell in rows[0][1]):
        return Table(loaded.label, rows[0][1], rows[1:])
    return Table(loaded.label, None, rows)


def _rows(text: str) -> list[tuple[int, list[str]]]:
    """Return the rows with their lines.

    An empty line is a missing cell of a table of one column, unless it is at the end.
    """
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("#"))
    first = next(lines, "")
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = [(reader.line_num, [cell.strip() for cell in cells]) for cells in reader]
    rows = [(line, cells) for line, cells in rows if not "".join(cells[:1]).startswith("#")]
    while rows and not rows[-1][1]:
        rows.pop()
    if all(len(cells) <= 1 for _, cells in rows):
        return [(line, cells or [""]) for line, cells in rows]
    return [(line, cells) for line, cells in rows if cells]
