"""Throughput tables of comma-separated values: a row for each job, a column for each type.

The first line names the columns. ``job`` (or ``id``, ``model``) holds the id of the job, ``gang``
(or ``scale_factor``) the units that it holds at once, ``count`` how many such jobs there are;
``weight``, ``entity``, ``elapsed``, ``remaining``, ``isolated``, ``arrival``, ``deadline`` are the
fields of a job, ``demand.TYPE`` is what it holds of a type per unit of progress. Every other
column is a type with the throughput of the job. An empty cell says nothing: no throughput. ::

    job,gang,v100,k80
    train,2,20,3.5
    tune,1,6,
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from allocsolve.instances.cells import Cells, Line, column_names, named, quoted, table
from allocsolve.instances.numerals import Numerals
from allocsolve.instances.text import Span, amount, shorten, whole
from allocsolve.instances.throughputs import TableRow, ThroughputTable, row_ids
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.exact import Number
from allocsolve.models.fair.data import Job
from allocsolve.models.fair.problem import FairProblem

__all__ = ["MOST_JOBS", "csv_text", "has_header", "parse_csv"]

MOST_JOBS = 1_000_000
"""Largest number of jobs that a table and its counts may stand for."""

_ALIASES = {"id": "job", "model": "job", "scale_factor": "gang"}
_NUMBERS = ("weight", "elapsed", "remaining", "isolated", "arrival", "deadline")
_KNOWN = ("job", "gang", "count", "entity", *_NUMBERS)
_DEMAND = "demand."
_FIELDS = (*_KNOWN, *_ALIASES)
_ALMOST = 0.83
"""Likeness from which on a name of five letters or more with one wrong or missing is a slip."""


def has_header(text: str) -> bool:
    """Whether the first line names a column of jobs, and is not that of a table of edges."""
    names = [_name(cell) for cell in column_names(text)]
    return "job" in names and len(names) > 1 and not {"from", "to"} <= set(names)


def _name(cell: str) -> str:
    """Return the name of a column: known ones in lower case, types as they are written."""
    lower = cell.lower()
    lower = _ALIASES.get(lower, lower)
    return lower if lower in (*_KNOWN, "from", "to") else cell


def parse_csv(text: str) -> ThroughputTable:
    """Read a table.

    Raises
    ------
    InputError
        If a column or a cell is wrong, with line and column.
    """
    lines = table(text)
    columns = _columns(next(lines))
    rows = [_row(named(line, columns.names), columns) for line in lines]
    if not rows:
        raise InputError(
            "the table has no row",
            allowed="a row for each job",
            remedy="check that the file was written completely",
            line=1,
        )
    _refuse_too_many(rows)
    ids = row_ids([(row.name, row.job.gang) for row in rows])
    first: dict[str, int | None] = {}
    for row, token in zip(rows, ids, strict=True):
        if token in first:
            raise InputError(
                f"job '{shorten(token)}' has two rows (first in line {first[token]})",
                allowed="one row for each job and gang",
                remedy="delete one of the two, rename it, or add a column count",
                line=row.line,
            )
        first[token] = row.line
    return ThroughputTable(
        columns.types,
        tuple(
            TableRow(row.name, _renamed(row.job, token), row.count, row.line)
            for row, token in zip(rows, ids, strict=True)
        ),
    )


def _renamed(job: Job, token: str) -> Job:
    return job if job.id == token else msgspec.structs.replace(job, id=token)


def _refuse_too_many(rows: Iterable[TableRow]) -> None:
    total = 0
    for row in rows:
        total += row.count
        if total > MOST_JOBS:
            raise InputError(
                f"the counts add up to more than {MOST_JOBS} jobs",
                allowed=f"at most {MOST_JOBS} jobs in all",
                remedy="correct count",
                line=row.line,
            )


@dataclass(frozen=True)
class _Columns:
    """The columns of the table, and the types that they name."""

    names: Sequence[str]
    types: tuple[str, ...]
    throughputs: Sequence[str]
    demands: Sequence[str]


def _columns(line: Line) -> _Columns:
    number, cells = line
    names: list[str] = []
    for cell, place in cells:
        name = _name(cell)
        if not name or name == _DEMAND or name in names:
            shown = f"column '{shorten(cell)}' comes twice"
            raise InputError(
                shown if name in names else f"column {len(names) + 1} has no name",
                allowed=f"the columns {', '.join(_KNOWN)}, or a type, each at most once",
                remedy="correct the first line",
                line=number,
                column=place,
            )
        names.append(name)
    throughputs = [n for n in names if n not in _KNOWN and not n.startswith(_DEMAND)]
    for name in throughputs:
        _refuse_misspelt(name, number)
    demands = [name for name in names if name.startswith(_DEMAND)]
    types = [*throughputs, *(name.removeprefix(_DEMAND) for name in demands)]
    if "job" not in names or not types:
        missing = "types" if "job" in names else "column 'job'"
        raise InputError(
            f"the first line has no {missing}",
            allowed="job (or id, model), and a column for each type",
            remedy="name the columns in the first line",
            line=number,
        )
    return _Columns(names, tuple(dict.fromkeys(types)), throughputs, demands)


def _refuse_misspelt(name: str, line: int | None) -> None:
    """Refuse a type that is almost the name of a field: its numbers would pass as throughputs."""
    close = difflib.get_close_matches(name.lower(), _FIELDS, n=1, cutoff=_ALMOST)
    if close:
        raise InputError(
            f"column '{shorten(name)}' is almost '{close[0]}'",
            allowed=f"the columns {', '.join(_KNOWN)}, or names of types unlike them",
            remedy=f"write '{close[0]}', or give the type another name",
            line=line,
        )


def _row(cells: Cells, columns: _Columns) -> TableRow:
    texts, line = cells.texts, cells.line
    name = texts["job"]
    if not name:
        raise cells.refusal("job", "the cell 'job' is empty", "the id of a job", "fill it in")
    numbers = {key: _number(cells, key, name) for key in _NUMBERS if texts.get(key)}
    job = Job(
        id=name,
        gang=_whole(cells, "gang", name),
        throughput={key: _number(cells, key, name) for key in columns.throughputs if texts[key]},
        demand={
            key.removeprefix(_DEMAND): _number(cells, key, name)
            for key in columns.demands
            if texts[key]
        },
        entity=texts.get("entity") or None,
        **numbers,
    )
    return TableRow(name, job, _whole(cells, "count", name), line)


def _number(cells: Cells, column: str, job: str) -> Number:
    try:
        return amount(cells.texts[column], cells.line, column)
    except InputError as error:
        raise _placed(error, cells, column, job) from None


def _whole(cells: Cells, column: str, job: str) -> int:
    text = cells.texts.get(column)
    if not text:
        return 1
    try:
        span = Span(1, MOST_JOBS if column == "count" else None)
        return whole(text, cells.line, column, span)
    except InputError as error:
        raise _placed(error, cells, column, job) from None


def _placed(error: InputError, cells: Cells, column: str, job: str) -> InputError:
    what = f"job '{shorten(job)}': {error.what}"
    return cells.refusal(column, what, error.allowed or "a number", error.remedy or "")


def csv_text(problem: FairProblem, numerals: Numerals) -> str:
    """Write the jobs as a table; columns that say nothing are left out.

    Raises
    ------
    UsageError
        If the id of a type is the name of another column.
    """
    types, jobs = problem.type_ids, problem.jobs
    for token in types:
        if _name(token) in _KNOWN or not token.strip() or token.startswith(_DEMAND):
            raise UsageError(
                f"format 'throughput_table' cannot express a type '{token}' in a column"
                "\n  allowed: other ids of types, or the layout of JSON (a file *.json)"
            )
    plain = Job(id="")
    extra = [
        field
        for field in ("gang", "entity", *_NUMBERS)
        if any(getattr(job, field) != getattr(plain, field) for job in jobs)
    ]
    demands = [token for token in types if any(job.demand.get(token) for job in jobs)]
    header = ["job", *extra, *types, *(f"{_DEMAND}{token}" for token in demands)]
    lines = [header]
    for job in jobs:
        numbers = [job.throughput.get(token) for token in types]
        numbers += [job.demand.get(token) for token in demands]
        fields = [_text(getattr(job, field), numerals) for field in extra]
        lines.append([job.id, *fields, *(_text(value, numerals) for value in numbers)])
    return "".join(",".join(map(quoted, line)) + "\n" for line in lines)


def _text(value: Number | str | None, numerals: Numerals) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return numerals(value)
