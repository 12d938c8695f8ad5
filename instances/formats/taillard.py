"""Job shop in the layout of Taillard (1993).

A line with jobs and machines (seeds and bounds may follow), a matrix of times and a matrix of
machines, one row a job; machines count from 1. The headings ``Times`` and ``Machines`` and the
heading of the first line may be there or not.
"""

from __future__ import annotations

from collections.abc import Sequence

from allocsolve.instances.draft import Draft
from allocsolve.instances.shop import (
    Header,
    Operation,
    machine_of,
    read_header,
    shop_draft,
    take_rows,
)
from allocsolve.instances.text import Row, amount, counts, plural, rows
from allocsolve.models.errors import InputError

__all__ = ["fits", "parse"]

_HEADINGS = ("times", "machines")
_MOST_HEADER = 6


def fits(text: str) -> bool:
    """Whether there are two matrices of the size that the first line announces."""
    table = rows(text)
    if any(_heading(row) for row in table):
        return True
    header = counts(table[0]) if table else None
    if header is None or not 2 <= len(header) <= _MOST_HEADER:
        return False
    return len(table) - 1 == 2 * header[0] and all(
        len(row.tokens) == header[1] for row in table[1:]
    )


def parse(text: str, index_base: int = 1) -> Draft:
    """Read a job shop.

    Raises
    ------
    InputError
        If a matrix is missing, has the wrong size, or a machine or time is wrong.
    """
    table = [row for row in rows(text) if not _is_caption(row)]
    header, times, machines = _sections(table, index_base)
    _check_width(times, "Times", header)
    _check_width(machines, "Machines", header)
    jobs = [
        _job(time, machine, j, header)
        for j, (time, machine) in enumerate(zip(times, machines, strict=True), start=1)
    ]
    return shop_draft(header, jobs)


def _heading(row: Row) -> str | None:
    word = row.tokens[0].rstrip(":").lower()
    return word if len(row.tokens) == 1 and word in _HEADINGS else None


def _is_caption(row: Row) -> bool:
    """Whether the row is the heading ``Nb of jobs, Nb of Machines, ...`` of the first line."""
    return row.tokens[0].lower() in ("nb", "number")


def _sections(table: Sequence[Row], base: int) -> tuple[Header, Sequence[Row], Sequence[Row]]:
    headings = [(i, name) for i, row in enumerate(table) if (name := _heading(row))]
    if not headings:
        header = read_header(table, base, _MOST_HEADER)
        body = take_rows(table[1:], 2 * header.jobs, "matrix row", header)
        return header, body[: header.jobs], body[header.jobs :]
    _check_headings(headings, table)
    (first, _), (second, _) = headings
    header = read_header(table[:first], base, _MOST_HEADER)
    if first != 1:
        raise InputError(
            f"the heading Times comes after {first} lines of numbers",
            allowed="one line of numbers before the heading Times",
            remedy="delete the surplus lines",
            line=table[first].line,
        )
    times = take_rows(table[first + 1 : second], header.jobs, "row of times", header)
    return header, times, take_rows(table[second + 1 :], header.jobs, "row of machines", header)


def _check_headings(headings: Sequence[tuple[int, str]], table: Sequence[Row]) -> None:
    names = [name for _, name in headings]
    for position, name in headings:
        first = next(i for i, other in headings if other == name)
        if first != position:
            raise InputError(
                f"the section '{name.capitalize()}' comes twice (first in line "
                f"{table[first].line})",
                allowed="one instance a file: Times once, Machines once",
                remedy="split the file into one file for each instance",
                line=table[position].line,
            )
    if names != ["times", "machines"]:
        raise InputError(
            f"the sections are {', '.join(name.capitalize() for name in names)}",
            allowed="the section Times, then the section Machines",
            remedy="complete the file",
            line=table[headings[-1][0]].line,
        )


def _check_width(matrix: Sequence[Row], section: str, header: Header) -> None:
    for j, row in enumerate(matrix, start=1):
        if len(row.tokens) != header.machines:
            raise InputError(
                f"{section}: job {j} has {plural(len(row.tokens), 'value')}, the header says "
                f"{plural(header.machines, 'machine')}",
                allowed=f"exactly {plural(header.machines, 'value')} a row",
                remedy="correct the row or the header",
                line=row.line,
            )


def _job(times: Row, machines: Row, j: int, header: Header) -> list[Operation]:
    operations = []
    for o, (time, machine) in enumerate(zip(times.tokens, machines.tokens, strict=True), start=1):
        owner = f"job {j}, operation {o}"
        node = machine_of(machine, machines.line, owner, header)
        operations.append(Operation(times.line, {node: amount(time, times.line, f"{owner}: time")}))
    return operations
