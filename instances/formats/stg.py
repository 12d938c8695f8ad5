"""Standard task graphs in the layout of Kasahara and Tobita.

The first number is the count of tasks, with or without two dummies. Then one line a task: its
number, its processing time, how many predecessors it has, and their numbers. In the variant
with communication every predecessor is a pair of number and communication time, on the same
line or on a line of its own. Tasks count from 0; lines that begin with ``#`` are comments.

Source: T. Tobita and H. Kasahara, "A standard task graph set for fair evaluation of
multiprocessor scheduling algorithms", Journal of Scheduling 5 (2002).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from allocsolve.instances.draft import Draft
from allocsolve.instances.numerals import Numerals
from allocsolve.instances.task_graph import data_texts, task_graph_losses, work_texts
from allocsolve.instances.text import Row, Span, amount, counts, plural, rows, whole
from allocsolve.models.dag.data import DagDocument, Edge, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError

__all__ = ["fits", "parse", "render"]

_FIXED = 3
_DUMMIES = 2


@dataclass(frozen=True)
class _Record:
    """A line of a task, with the pairs of the lines that follow it."""

    line: int
    tokens: list[str]

    @property
    def predecessors(self) -> str:
        """The token that counts the predecessors."""
        return self.tokens[2]


def fits(text: str) -> bool:
    """Whether there is a count and then lines of tasks numbered from 0."""
    table = rows(text)
    if len(table) < 2 or len(table[0].tokens) != 1 or counts(table[0]) is None:
        return False
    records = _records(table[1:])
    return all(
        len(record.tokens) >= _FIXED and record.tokens[0] == str(i)
        for i, record in enumerate(records)
    )


def parse(text: str) -> Draft:
    """Read a task graph.

    Raises
    ------
    InputError
        If the header and the lines disagree, or a number is wrong.
    """
    table = rows(text)
    header = table[0] if table else Row(1, [""])
    count = whole(header.tokens[0], header.line, "number of tasks", Span(0))
    if len(header.tokens) > 1:
        raise InputError(
            f"the first line has {plural(len(header.tokens), 'value')}",
            allowed="one number: the count of tasks",
            remedy="delete the rest of the line",
            line=header.line,
        )
    records = _records(table[1:])
    _check_count(count, records, header.line)
    return _draft(records, _with_communication(records))


def _records(table: Sequence[Row]) -> list[_Record]:
    """Join lines of two values, which are pairs of the variant with communication."""
    records: list[_Record] = []
    for row in table:
        if len(row.tokens) == 2 and records:
            records[-1].tokens.extend(row.tokens)
        else:
            records.append(_Record(row.line, list(row.tokens)))
    return records


def _check_count(count: int, records: Sequence[_Record], line: int) -> None:
    if len(records) not in (count, count + _DUMMIES):
        raise InputError(
            f"the header announces {plural(count, 'task')}, but there are "
            f"{plural(len(records), 'line')} of tasks",
            allowed=f"{count} lines, or {count + _DUMMIES} with an entry and an exit dummy",
            remedy="correct the first number, or complete the file",
            line=line,
        )


def _with_communication(records: Sequence[_Record]) -> bool:
    """Whether predecessors come with communication times: the first task that has any tells."""
    for record in records:
        if len(record.tokens) > _FIXED:
            return record.tokens[2:3] == [str((len(record.tokens) - _FIXED) // 2)]
    return False


def _draft(records: Sequence[_Record], pairs: bool) -> Draft:
    tasks, edges, lines = [], [], []
    for i, record in enumerate(records):
        tasks.append(_task(record, i, len(records), pairs))
        for edge in _edges(record, i, len(records), pairs):
            edges.append(edge)
            lines.append(record.line)
    document = DagDocument(schema="allocsolve.instance/1", kind="dag", tasks=tasks, edges=edges)
    return Draft(document, {"tasks": [record.line for record in records], "edges": lines})


def _task(record: _Record, i: int, count: int, pairs: bool) -> Task:
    if len(record.tokens) < _FIXED:
        raise InputError(
            f"task {i}: the line has {plural(len(record.tokens), 'value')}",
            allowed="number, processing time, number of predecessors, predecessors",
            remedy="complete the line",
            line=record.line,
        )
    number = whole(record.tokens[0], record.line, "task number", Span(0, count - 1))
    if number != i:
        raise InputError(
            f"task number {number} stands where task {i} is expected",
            allowed="tasks in the order 0, 1, 2, ...",
            remedy="sort or renumber the lines",
            line=record.line,
        )
    _check_width(record, i, count, pairs)
    return Task(id=str(i), work=amount(record.tokens[1], record.line, f"task {i}: time"))


def _check_width(record: _Record, i: int, count: int, pairs: bool) -> None:
    what = f"task {i}: number of predecessors"
    announced = whole(record.predecessors, record.line, what, Span(0, count - 1))
    size = 2 if pairs else 1
    found = len(record.tokens) - _FIXED
    if found != size * announced:
        sort = "(predecessor, communication time) pair" if pairs else "predecessor"
        raise InputError(
            f"task {i} announces {plural(announced, sort)}, but {plural(found, 'value')} follow",
            allowed=f"exactly {plural(size * announced, 'value')}",
            remedy="correct the number of predecessors, or complete the line",
            line=record.line,
        )


def _edges(record: _Record, i: int, count: int, pairs: bool) -> Iterator[Edge]:
    rest = record.tokens[_FIXED:]
    numbers = rest[::2] if pairs else rest
    times = rest[1::2] if pairs else ["0"] * len(rest)
    for token, time in zip(numbers, times, strict=True):
        source = whole(token, record.line, f"task {i}: predecessor", Span(0, count - 1))
        what = f"task {i}: communication time from {source}"
        yield Edge(source=str(source), target=str(i), data=amount(time, record.line, what))


def render(problem: DagProblem) -> tuple[str, list[str]]:
    """Write a task graph, with communication times if an edge has data; no dummies are added.

    Raises
    ------
    UsageError
        If the problem has features that a task graph cannot hold.
    """
    losses = task_graph_losses(problem, "stg")
    numerals = Numerals()
    place = {task.id: i for i, task in enumerate(problem.tasks)}
    renamed = [task.id for i, task in enumerate(problem.tasks) if task.id != str(i)]
    if renamed:
        losses.append(f"task ids replaced by 0..{len(place) - 1}, e.g. '{renamed[0]}'")
    pairs = any(edge.data for edge in problem.edges)
    before: list[list[str]] = [[] for _ in problem.tasks]
    for source, target, data in data_texts(problem, numerals):
        before[place[target]].append(f"{place[source]} {data}" if pairs else f"{place[source]}")
    text = [str(len(before))]
    for i, work in zip(itertools.count(), work_texts(problem, numerals), strict=False):
        text.append(" ".join([str(i), work, str(len(before[i])), *before[i]]))
    return "\n".join(text) + "\n", losses + numerals.losses()
