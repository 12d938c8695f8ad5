"""Measured durations from files, and the files that instances name for a law."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import BinaryIO, TypeVar, cast

import msgspec
import numpy as np

from allocsolve.instances.trace_csv import load_table
from allocsolve.instances.trace_parquet import load_column
from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.exact import exact
from allocsolve.models.nodes import Law

__all__ = ["Trace", "read_trace", "resolve_files", "resolve_path"]

RecordT = TypeVar("RecordT", bound=msgspec.Struct)

_OUTSIDE = "a file below the folder of the instance, named relative to it"


@dataclass(frozen=True, eq=False)
class Trace:
    """Measured durations.

    Attributes
    ----------
    samples
        The durations in the order of the file, at least one, all finite and at least 0.
    label
        Name of the file.
    column
        Name of the column, None for a table without names.
    """

    samples: FloatArray
    label: str
    column: str | None


def read_trace(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    column: str | None = None,
    where: Mapping[str, str] | None = None,
) -> Trace:
    """Read measured durations.

    Parameters
    ----------
    source
        A CSV file (also as ``.gz``; ``"-"`` is standard input) or a file ``*.parquet``. In CSV
        without names of columns every cell is a duration (a table of rounds by nodes, say).
    column
        Column of the durations; ``"end - start"`` takes the difference of two. By default it
        is ``duration``, or the only column.
    where
        Only rows with these texts in these columns count.

    Raises
    ------
    InputError
        If the file cannot be read, holds no duration, or a cell is empty, no number, not finite
        or negative; it names line and column.
    UsageError
        If a column is not there, or it is not clear which one is meant.
    SolverMissing
        If the file is Parquet and pyarrow is not installed.
    """
    label = os.fspath(source) if isinstance(source, str | os.PathLike) else "<stdin>"
    try:
        samples, name = _durations(source, label, column, where or {})
    except InputError as error:
        raise error.located(label) from None
    array = np.array(samples, dtype=np.float64)
    if not array.size:
        raise InputError(
            "there is no duration",
            allowed="at least one duration",
            remedy="check the file, and which rows were asked for",
            source=label,
        )
    array.setflags(write=False)
    return Trace(array, label, name)


def _durations(
    source: str | os.PathLike[str] | BinaryIO,
    label: str,
    column: str | None,
    where: Mapping[str, str],
) -> tuple[list[float], str | None]:
    if label.lower().endswith(".parquet"):
        return load_column(label, column, where)
    table = load_table(source)
    if table.names is None and column is None and not where:
        return [cell for row in table.all_cells() for cell in row], None
    return table.column(column, where)


def resolve_files(document: RecordT, folder: str | os.PathLike[str] | None) -> RecordT:
    """Return a document in which the files that it names are replaced by what they hold.

    These are the ``file`` of laws of nodes (``runtime``, ``process``; one duration in each cell)
    and that of ``scenarios`` (a table; rows are joint draws, columns are nodes).

    Parameters
    ----------
    document
        An instance document of any kind, or one record of it.
    folder
        The folder of the instance; None if the instance is not a file.

    Raises
    ------
    InputError
        If a file lies outside of the folder (links are followed), cannot be read, or holds a cell
        that is not a duration.
    """
    return cast(RecordT, _resolved(document, folder, "$"))


_SKIPPED = ("tasks", "edges", "links", "jobs", "resources", "durations")
"""Tables without laws, which may be long."""


def _resolved(value: object, folder: str | os.PathLike[str] | None, path: str) -> object:
    if isinstance(value, list):
        return _resolved_list(value, folder, path)
    if not isinstance(value, msgspec.Struct):
        return value
    changes = {}
    for field in value.__struct_fields__:
        inner = getattr(value, field)
        if field not in _SKIPPED and isinstance(inner, list | msgspec.Struct):
            changes[field] = _resolved(inner, folder, f"{path}.{field}")
    changed = {key: new for key, new in changes.items() if new is not getattr(value, key)}
    named = getattr(value, "file", None)
    if isinstance(named, str) and getattr(value, "samples", None) is None:
        changed |= {"file": None, "samples": _contents(value, named, folder, f"{path}.file")}
    return msgspec.structs.replace(value, **changed) if changed else value


def _resolved_list(
    values: list[object], folder: str | os.PathLike[str] | None, path: str
) -> list[object]:
    if not values or not isinstance(values[0], msgspec.Struct):
        return values
    found = [_resolved(value, folder, f"{path}[{i}]") for i, value in enumerate(values)]
    same = all(new is old for new, old in zip(found, values, strict=True))
    return values if same else found


def _contents(
    record: msgspec.Struct, named: str, folder: str | os.PathLike[str] | None, path: str
) -> object:
    """Return the numbers of a file: a list for a law, a table for anything else."""
    file = resolve_path(named, folder, path=path)
    if isinstance(record, Law):
        try:
            return [exact(float(value)) for value in read_trace(file).samples]
        except UsageError as error:
            raise _refused(f"'{named}' cannot be used: {error}", path) from None
    try:
        cells = load_table(file).all_cells()
    except InputError as error:
        raise error.located(str(file)) from None
    return [[exact(cell) for cell in row] for row in cells]


def resolve_path(named: str, folder: str | os.PathLike[str] | None, *, path: str) -> Path:
    """Return the file that an instance names, if it may.

    Parameters
    ----------
    named
        The name in the instance, relative to ``folder``.
    folder
        The folder of the instance; None if the instance is not a file.
    path
        Place of the name in the document, for errors.

    Raises
    ------
    InputError
        If the name is absolute or leaves the folder, by ``..`` or by a link, or if there is no
        such regular file.
    """
    if folder is None:
        raise _refused(f"'{named}' is relative to nothing: the instance is not a file", path)
    if _leaves(named):
        raise _refused(f"'{named}' is not below the folder of the instance", path)
    root = Path(folder)
    try:
        file = (root / named).resolve(strict=True)
        if not file.is_relative_to(root.resolve(strict=True)):
            raise _refused(f"'{named}' leads out of the folder of the instance", path)
        if not file.is_file():
            raise _refused(f"'{named}' is not a regular file", path)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise _refused(f"'{named}' cannot be read: {_cause(error)}", path) from None
    return file


def _leaves(named: str) -> bool:
    """Whether a name is empty, absolute, or climbs up, on any system."""
    posix, windows = PurePosixPath(named), PureWindowsPath(named)
    climbs = ".." in posix.parts or ".." in windows.parts
    return not named or posix.is_absolute() or bool(windows.anchor) or climbs


def _cause(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return (reason or type(error).__name__).lower()


def _refused(what: str, path: str) -> InputError:
    return InputError(f"the file {what}", allowed=_OUTSIDE, remedy="put the file there", path=path)
