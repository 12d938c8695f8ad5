"""Task graphs as one table of comma-separated values.

The first line names the columns ``from``, ``to``, ``data`` and ``work`` in any order; only
``from`` and ``to`` must be there. A row with ``from`` and ``to`` is an edge with its ``data``
(0 if empty). A row without ``to`` is the task ``from`` with its ``work``. Without a column
``work`` every task has work 1; with it, every task needs a row of its own. ::

    from,to,data,work
    a,,,3
    b,,,4
    a,b,2.5,

Cells with commas stand in double quotes, as RFC 4180 says; ``;`` and tabs separate cells too.
Lines that begin with ``#`` are comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from allocsolve.instances.draft import Draft
from allocsolve.instances.numerals import Numerals
from allocsolve.instances.task_graph import (
    Arc,
    Graph,
    Vertex,
    data_texts,
    task_graph_draft,
    task_graph_losses,
    work_texts,
)
from allocsolve.instances.text import plural, shorten
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError, suggest

__all__ = ["fits", "parse", "render"]

_COLUMNS = ("from", "to", "data", "work")
_SEPARATORS = (",", ";", "\t")


@dataclass(frozen=True, slots=True)
class _Cells:
    """A row: text and place (column counted from 1) of each named cell."""

    line: int
    texts: Mapping[str, str]
    places: Mapping[str, int]

    def refusal(self, column: str, what: str, allowed: str, remedy: str) -> InputError:
        """Return the error that points at a column of this row."""
        return InputError(
            what, allowed=allowed, remedy=remedy, line=self.line, column=self.places[column]
        )


def fits(text: str) -> bool:
    """Whether the first line names the columns ``from`` and ``to``."""
    header = next((line for line in text.splitlines() if _has_content(line)), "")
    names = [cell.strip().lower() for cell in header.split(_separator(header))]
    return "from" in names and "to" in names


def parse(text: str) -> Draft:
    """Read a table of edges and tasks.

    Raises
    ------
    InputError
        If a column or a cell is wrong, with line and column.
    """
    vertices: dict[str, Vertex] = {}
    arcs: list[Arc] = []
    mentioned: dict[str, _Cells] = {}
    has_work = False
    for row in _table(text):
        has_work = "work" in row.texts
        if row.texts["to"]:
            arcs.append(_arc(row))
            mentioned.setdefault(row.texts["from"], row)
            mentioned.setdefault(row.texts["to"], row)
        else:
            vertices[row.texts["from"]] = _vertex(row, vertices)
    for key, row in mentioned.items():
        if key not in vertices:
            vertices[key] = _unlisted(key, row, has_work)
    return task_graph_draft(Graph("", list(vertices.values()), arcs))


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _separator(header: str) -> str:
    return next((mark for mark in _SEPARATORS if mark in header), ",")


def _table(text: str) -> Iterator[_Cells]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    numbered = [(i, line) for i, line in enumerate(lines, start=1) if _has_content(line)]
    if not numbered:
        raise InputError("the table is empty", allowed="a line of column names", line=1)
    separator = _separator(numbered[0][1])
    names = _header(*numbered[0], separator)
    for number, line in numbered[1:]:
        yield _cells(number, line, names, separator)


def _split(number: int, line: str, separator: str) -> list[tuple[str, int]]:
    """Return text and place of each cell of a line; blanks within quotes are kept."""
    ends = f"(?={re.escape(separator)}|$)"
    cell = re.compile(rf' *"((?:[^"]|"")*)" *{ends}|([^"{re.escape(separator)}]*){ends}')
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


def _header(number: int, line: str, separator: str) -> list[str]:
    names: list[str] = []
    for cell, place in _split(number, line, separator):
        name = cell.lower()
        if name not in _COLUMNS or name in names:
            what = "comes twice" if name in names else f"is unknown{suggest(name, _COLUMNS)}"
            raise InputError(
                f"column '{shorten(cell)}' {what}",
                allowed=f"the columns {', '.join(_COLUMNS)}, each at most once",
                remedy="correct the first line",
                line=number,
                column=place,
            )
        names.append(name)
    missing = [name for name in _COLUMNS[:2] if name not in names]
    if missing:
        raise InputError(
            f"the first line has no column '{missing[0]}'",
            allowed=f"the columns {', '.join(_COLUMNS)}; from and to must be there",
            remedy="name the columns in the first line",
            line=number,
        )
    return names


def _cells(number: int, line: str, names: list[str], separator: str) -> _Cells:
    cells = _split(number, line, separator)
    if len(cells) != len(names):
        raise InputError(
            f"the row has {plural(len(cells), 'cell')}, the first line has "
            f"{plural(len(names), 'column')}",
            allowed=f"exactly {plural(len(names), 'cell')}, empty ones included",
            remedy="complete the row, or quote cells that hold the separator",
            line=number,
        )
    texts = {name: cell for name, (cell, _) in zip(names, cells, strict=True)}
    row = _Cells(number, texts, {n: place for n, (_, place) in zip(names, cells, strict=True)})
    if not texts["from"]:
        raise row.refusal("from", "the cell 'from' is empty", "the id of a task", "fill it in")
    return row


def _vertex(row: _Cells, known: Mapping[str, Vertex]) -> Vertex:
    key = row.texts["from"]
    if key in known:
        raise row.refusal(
            "from",
            f"task '{key}' has two rows (first in line {known[key].line})",
            "one row for each task",
            "delete or rename one of the two",
        )
    if row.texts.get("data"):
        raise row.refusal(
            "data",
            f"task '{key}': a row without 'to' is a task and has no data",
            "data in rows with from and to",
            "empty the cell, or fill in 'to'",
        )
    work = row.texts.get("work")
    if "work" in row.texts and not work:
        raise row.refusal(
            "work", f"task '{key}' has no work", "a number", "fill in the cell 'work'"
        )
    attributes = {"work": work} if work else {}
    return Vertex(key, row.line, attributes, row.places.get("work"))


def _arc(row: _Cells) -> Arc:
    source, target = row.texts["from"], row.texts["to"]
    if row.texts.get("work"):
        raise row.refusal(
            "work",
            f"edge '{source}' -> '{target}': a row with 'to' is an edge and has no work",
            "work in rows without 'to'",
            f"empty the cell, and give the work of '{source}' in a row of its own",
        )
    data = row.texts.get("data")
    attributes = {"data": data} if data else {}
    return Arc(source, target, row.line, attributes, row.places.get("data"))


def _unlisted(key: str, row: _Cells, has_work: bool) -> Vertex:
    """Return a task that only edges name; without a column of work that is enough."""
    if has_work:
        column = "from" if row.texts["from"] == key else "to"
        raise row.refusal(
            column,
            f"task '{key}' has no row of its own with its work",
            "a row without 'to' for every task",
            f"add the row of task '{key}', or delete the column 'work' for unit work",
        )
    return Vertex(key, row.line, {})


def render(problem: DagProblem) -> tuple[str, list[str]]:
    """Write tasks and edges as a table; nodes and links are left out.

    Raises
    ------
    UsageError
        If the problem has features that such a table cannot hold.
    """
    losses = task_graph_losses(problem, "csv")
    numerals = Numerals()
    text = [",".join(_COLUMNS)]
    for task, work in zip(problem.tasks, work_texts(problem, numerals), strict=True):
        text.append(f"{_quoted(task.id)},,,{work}")
    for source, target, data in data_texts(problem, numerals):
        text.append(f"{_quoted(source)},{_quoted(target)},{data},")
    return "\n".join(text) + "\n", losses + numerals.losses()


def _quoted(cell: str) -> str:
    """Return a cell, in quotes if it would be read otherwise without."""
    if cell == cell.strip() and not re.search(r'[,"#]', cell):
        return cell
    return '"' + cell.replace('"', '""') + '"'
