"""Columns of durations in Parquet files, for which pyarrow is loaded when one is read."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, cast

from allocsolve.instances.text import shorten
from allocsolve.instances.trace_cells import bad_cell, checked, chosen, position, terms
from allocsolve.models.errors import InputError, SolverMissing

__all__ = ["load_column"]

_ERRORS = (OSError, ValueError, KeyError, NotImplementedError)
"""What pyarrow raises: its own exceptions are kinds of these."""


class _Column(Protocol):
    """What is asked of a column of pyarrow."""

    def to_pylist(self) -> list[object]: ...


class _Cells(Protocol):
    """What is asked of a table of pyarrow."""

    def column(self, name: str) -> _Column: ...


def load_column(
    label: str, column: str | None, where: Mapping[str, str]
) -> tuple[list[float], str]:
    """Return one column of durations with its name, of the rows with certain texts.

    Errors name the row as the line, counted from 1.

    Raises
    ------
    SolverMissing
        If pyarrow is not installed.
    UsageError
        If a column is not there, or it is not clear which one is meant.
    InputError
        If the file cannot be read, or a cell is not a duration.
    """
    names = _names(label)
    name = chosen(names, column)
    end, start = terms(names, name)
    picked = [names[end]] if start is None else [names[end], names[start]]
    for key in where:
        position(names, key)
    cells = _read(label, [*picked, *where])
    rows = [
        i
        for i in range(len(cells[picked[0]]))
        if all(str(cells[key][i]) == text for key, text in where.items())
    ]
    return list(_differences(cells, rows, picked, f"column '{name}'")), name


def _differences(
    cells: Mapping[str, Sequence[object]], rows: Sequence[int], picked: Sequence[str], where: str
) -> Iterator[float]:
    for i in rows:
        values = [_number(cells[key][i], i + 1, where) for key in picked]
        token = " - ".join(f"{value:g}" for value in values)
        value = values[0] if len(values) == 1 else values[0] - values[1]
        yield checked(value, token, i + 1, where)


def _number(cell: object, row: int, where: str) -> float:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        raise bad_cell(f"{where}: the cell is empty", row)
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        raise bad_cell(f"{where}: '{shorten(str(cell))}' is not a number", row)
    return float(cell)


def _names(label: str) -> list[str]:
    parquet = _parquet()
    try:
        return [str(name) for name in parquet.read_schema(label).names]
    except _ERRORS as error:
        raise _unreadable(label, error) from None


def _read(label: str, columns: Sequence[str]) -> dict[str, list[object]]:
    parquet = _parquet()
    try:
        table = parquet.read_table(label, columns=list(dict.fromkeys(columns)))
    except _ERRORS as error:
        raise _unreadable(label, error) from None
    return {name: table.column(name).to_pylist() for name in columns}


def _unreadable(label: str, error: Exception) -> InputError:
    number = getattr(error, "errno", None)
    cause = os.strerror(number).lower() if number else (str(error).splitlines() or [""])[0]
    return InputError(
        f"cannot be read as Parquet: {shorten(cause)}",
        allowed="a readable Parquet file",
        remedy="check the path, and that the file was written completely",
        source=label,
    )


class _Parquet(Protocol):
    """What is asked of the module ``pyarrow.parquet``."""

    def read_schema(self, where: str) -> _Schema: ...

    def read_table(self, source: str, *, columns: list[str]) -> _Cells: ...


class _Schema(Protocol):
    """What is asked of the schema of a file."""

    names: Sequence[str]


def _parquet() -> _Parquet:
    try:
        module = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise SolverMissing(
            "reading Parquet needs pyarrow: pip install 'allocsolve[frames]', or give a CSV file"
        ) from None
    return cast("_Parquet", module)
