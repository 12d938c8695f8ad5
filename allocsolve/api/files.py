"""Reading and writing: instances, results, conversion between formats."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias, cast

from allocsolve.instances.kinds import Problem
from allocsolve.instances.reading import read
from allocsolve.instances.registry import FORMATS, format_named
from allocsolve.instances.writing import render
from allocsolve.models.dag.answer import DagResult, Schedule
from allocsolve.models.errors import UsageError
from allocsolve.models.result import Result
from allocsolve.report.bounds import BoundReport, encode_bounds
from allocsolve.report.documents import result_bytes
from allocsolve.report.export import schedule_text

if TYPE_CHECKING:
    from allocsolve.models.coded.answer import CodedResult
    from allocsolve.models.execution.outcome import Simulation
    from allocsolve.models.fair.answer import FairResult
    from allocsolve.report.fit import FitReport

__all__ = ["Source", "convert", "output_format", "read", "replace_file", "to_bytes", "write"]

Source: TypeAlias = str | os.PathLike[str] | BinaryIO
Measured: TypeAlias = "Simulation | tuple[Simulation, ...] | FitReport"
Written: TypeAlias = (
    "DagResult | CodedResult | FairResult | Problem | BoundReport | Schedule | Measured"
)


def to_bytes(
    item: Written,
    format: str | None = None,  # noqa: A002
    suffix: str = "",
) -> tuple[bytes, list[str]]:
    """Return the document of an object, and what a format could not hold.

    Parameters
    ----------
    format
        For a problem the name of a format (default native), for a schedule ``csv`` or
        ``chrome`` (default csv), for the schedule of a result the same (default: its document).
    suffix
        Ending of the file, by which a format of several layouts chooses one.

    Raises
    ------
    UsageError
        If an object has no such format.
    NoSolution
        If the schedule of a result without an answer is asked for.
    """
    if isinstance(item, DagResult) and format is not None:
        item = item.schedule
    if isinstance(item, Schedule):
        return schedule_text(item.problem, item.entries(), format or "csv").encode(), []
    if isinstance(item, Result):
        return result_bytes(item), []
    if _is_problem(item):
        text, losses = render(cast("Problem", item), format or "native", suffix)
        return text.encode(), losses
    if format is not None:
        raise UsageError(f"a {type(item).__name__} has one format only, not '{format}'")
    if isinstance(item, BoundReport):
        return encode_bounds(item), []
    return _measured_bytes(cast("Measured", item)), []


def _is_problem(item: Written) -> bool:
    return hasattr(item, "to_document")


def _measured_bytes(item: Measured) -> bytes:
    """Return the document of simulations or of a fit; either loads what the others do not need."""
    from allocsolve.report.fit import FitReport, encode_fit, fit_document
    from allocsolve.report.simulation import encode_simulation, simulation_document

    if isinstance(item, FitReport):
        return encode_fit(fit_document(item))
    return encode_simulation(simulation_document(item))


def write(
    item: Written,
    target: str | os.PathLike[str] | BinaryIO,
    *,
    format: str | None = None,  # noqa: A002
) -> list[str]:
    """Write a result, a problem, bounds, a schedule, simulations, a fit; return what was lost.

    A file is written under another name and renamed, so that it is complete or absent.

    Parameters
    ----------
    format
        As in :func:`to_bytes`; None takes it from the suffix of the file.

    Raises
    ------
    UsageError
        If the format is unknown or cannot be written.
    OSError
        If the file cannot be written.
    """
    wanted, suffix = format, ""
    if isinstance(target, str | os.PathLike):
        suffix = Path(target).suffix.lower()
        wanted = _format_by_suffix(item, Path(target)) if format is None else format
    data, losses = to_bytes(item, wanted, suffix)
    if isinstance(target, str | os.PathLike):
        replace_file(Path(target), data)
    else:
        target.write(data)
    return losses


def _format_by_suffix(item: Written, path: Path) -> str | None:
    if _is_problem(item):
        return output_format(path, cast("Problem", item).kind)
    suffix = path.suffix.lower()
    if isinstance(item, Schedule) and suffix in (".json", ".trace"):
        return "chrome"
    return "csv" if isinstance(item, DagResult) and suffix == ".csv" else None


def output_format(path: Path, kind: str | None = None) -> str:
    """Return the format of a file to be written, by its suffix.

    Parameters
    ----------
    kind
        Of the problem; a format that can hold it goes before others of the same suffix.

    Raises
    ------
    UsageError
        If the suffix belongs to no format that can be written.
    """
    name = path.name.lower().removesuffix(".gz")
    writable = [row for row in FORMATS if row.can_write]
    for row in sorted(writable, key=lambda row: kind is not None and row.kind not in ("any", kind)):
        if any(name.endswith(suffix) for suffix in row.suffixes):
            return row.name
    allowed = ", ".join(f"{'/'.join(row.suffixes)} ({row.name})" for row in writable)
    raise UsageError(f"'{path.name}' names no format that can be written\n  allowed: {allowed}")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file so that it is complete or, after an error, as it was before.

    A link is followed; devices and pipes are written to directly.
    """
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path = Path(os.path.realpath(path))
    draft = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with draft.open("xb") as stream:
            stream.write(data)
        if path.exists():
            draft.chmod(path.stat().st_mode & 0o7777)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def convert(
    source: Source,
    target: str | os.PathLike[str] | BinaryIO,
    *,
    format: str | None = None,  # noqa: A002
    to: str | None = None,
    nodes: str | int | None = None,
    index_base: int | None = None,
) -> list[str]:
    """Read an instance in one format and write it in another; return what was lost.

    Raises
    ------
    InputError
        If the instance is wrong.
    UsageError
        If a format is unknown or cannot be written.
    """
    if to is not None:
        format_named(to)
    problem = read(source, format=format, nodes=nodes, index_base=index_base)
    return write(problem, target, format=to)
