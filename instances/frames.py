"""Tables in memory, of pandas, of polars or plain, as rows and as columns.

Neither library is imported: a frame of polars has ``to_dicts()``, one of pandas
``to_dict("records")``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, TypeAlias, cast, runtime_checkable

from allocsolve.models.errors import UsageError

__all__ = ["Frame", "Row", "columns", "is_missing", "rows", "text_id"]

Row: TypeAlias = dict[str, object]

Frame: TypeAlias = object
"""A pandas or polars frame, a mapping of columns, or a sequence of rows (mappings)."""


@runtime_checkable
class _PolarsLike(Protocol):
    def to_dicts(self) -> list[Row]:
        """Return the rows."""


@runtime_checkable
class _PandasLike(Protocol):
    def to_dict(self, orient: str) -> object:
        """Return the rows with the orient ``records``, the columns with ``list``."""


def rows(frame: Frame, ids: Sequence[str]) -> list[Row]:
    """Return the rows of a table without missing values; the id columns become text.

    Raises
    ------
    UsageError
        If it is no table.
    """
    if isinstance(frame, _PolarsLike):
        records: Iterable[object] = frame.to_dicts()
    elif isinstance(frame, Mapping):
        records = _transposed(frame)
    elif isinstance(frame, _PandasLike):
        records = cast("list[Row]", frame.to_dict("records"))
    elif isinstance(frame, Iterable) and not isinstance(frame, str | bytes):
        records = frame
    else:
        raise _no_table(frame)
    return [_row(record, ids) for record in records]


def columns(frame: Frame) -> dict[str, list[object]]:
    """Return the columns of a table; what is missing is None or does not equal itself.

    Raises
    ------
    UsageError
        If it is no table.
    """
    if isinstance(frame, _PolarsLike):
        found = {str(name): list(frame[name]) for name in frame.columns}  # type: ignore[attr-defined,index]  # a frame of polars has both
    elif isinstance(frame, Mapping):
        _require_equal_lengths(frame)
        found = {str(name): list(column) for name, column in frame.items()}
    elif isinstance(frame, _PandasLike):
        lists = cast("dict[object, list[object]]", frame.to_dict("list"))
        found = {str(name): column for name, column in lists.items()}
    else:
        records = rows(frame, ())
        names = dict.fromkeys(key for record in records for key in record)
        found = {name: [record.get(name) for record in records] for name in names}
    return found


def _no_table(frame: object) -> UsageError:
    return UsageError(f"a table is needed: a frame or rows, not {type(frame).__name__}")


def _transposed(frame: Mapping[str, Sequence[object]]) -> Iterable[Row]:
    _require_equal_lengths(frame)
    return [dict(zip(frame, row, strict=True)) for row in zip(*frame.values(), strict=True)]


def _require_equal_lengths(frame: Mapping[str, Sequence[object]]) -> None:
    try:
        lengths = {len(column) for column in frame.values()}
    except TypeError:
        raise _no_table(frame) from None
    if len(lengths) > 1:
        raise UsageError("the columns of a table must have the same length")


def _row(record: object, ids: Sequence[str]) -> Row:
    if not isinstance(record, Mapping):
        raise UsageError(f"a row of a table must be a mapping, not {type(record).__name__}")
    present = {str(key): value for key, value in record.items() if not is_missing(value)}
    return {key: text_id(value) if key in ids else value for key, value in present.items()}


def text_id(value: object) -> str:
    """Return an id as text; an integral float stands for an integer column with gaps."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def is_missing(value: object) -> bool:
    """Whether a cell is None, NaN, NaT or NA: those do not equal themselves, or cannot tell."""
    if value is None:
        return True
    if isinstance(value, str | list | tuple | dict | int):
        return False
    try:
        return bool(value != value)  # noqa: PLR0124  # only missing values differ from themselves
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"
