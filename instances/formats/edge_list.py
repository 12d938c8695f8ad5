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

from collections.abc import Iterator, Mapping

from allocsolve.instances.cells import Cells, Line, column_names, named, quoted, table
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
from allocsolve.instances.text import shorten
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError, suggest

__all__ = ["fits", "parse", "render"]

_COLUMNS = ("from", "to", "data", "work")


def fits(text: str) -> bool:
    """Whether the first line names the columns ``from`` and ``to``."""
    names = [name.lower() for name in column_names(text)]
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
    mentioned: dict[str, Cells] = {}
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


def _table(text: str) -> Iterator[Cells]:
    lines = table(text)
    names = _header(next(lines))
    for line in lines:
        row = named(line, names)
        if not row.texts["from"]:
            raise row.refusal("from", "the cell 'from' is empty", "the id of a task", "fill it in")
        yield row


def _header(line: Line) -> list[str]:
    names: list[str] = []
    number, cells = line
    for cell, place in cells:
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


def _vertex(row: Cells, known: Mapping[str, Vertex]) -> Vertex:
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


def _arc(row: Cells) -> Arc:
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


def _unlisted(key: str, row: Cells, has_work: bool) -> Vertex:
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
        text.append(f"{quoted(task.id)},,,{work}")
    for source, target, data in data_texts(problem, numerals):
        text.append(f"{quoted(source)},{quoted(target)},{data},")
    return "\n".join(text) + "\n", losses + numerals.losses()
