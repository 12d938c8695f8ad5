"""Job shops and flexible job shops: from jobs to an instance, with the errors they share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from allocsolve.instances.draft import Draft
from allocsolve.instances.text import Row, Span, plural, whole
from allocsolve.models.dag.data import DagDocument, Edge, Node, Task
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number

__all__ = ["Header", "Operation", "machine_of", "read_header", "shop_draft", "take_rows"]

_MOST_MACHINES = 4096
_MOST_JOBS = 10**7


@dataclass(frozen=True)
class Header:
    """The first numbers of a shop file; machines are numbered from ``base``."""

    jobs: int
    machines: int
    base: int
    line: int

    @property
    def machine_span(self) -> Span:
        """The machine numbers that the file may use."""
        return Span(self.base, self.base + self.machines - 1)


@dataclass(frozen=True)
class Operation:
    """One operation: the line it stands on and its time on each machine that can do it."""

    line: int
    times: Mapping[str, Number]


def read_header(table: Sequence[Row], base: int, most_tokens: int) -> Header:
    """Read the counts of jobs and machines from the first row.

    Raises
    ------
    InputError
        If there is no such row or its numbers are wrong.
    """
    if not table:
        raise InputError(
            "the file holds no numbers",
            allowed="a first line with the number of jobs and of machines",
            remedy="check that the file was written completely",
        )
    row = table[0]
    if not 2 <= len(row.tokens) <= most_tokens:
        raise InputError(
            f"the header has {plural(len(row.tokens), 'value')}",
            allowed=f"the number of jobs, the number of machines; at most {most_tokens} values",
            remedy="correct the header, or name the format of the file with --format",
            line=row.line,
        )
    return Header(
        jobs=whole(row.tokens[0], row.line, "header: number of jobs", Span(0, _MOST_JOBS)),
        machines=whole(
            row.tokens[1], row.line, "header: number of machines", Span(1, _MOST_MACHINES)
        ),
        base=base,
        line=row.line,
    )


def take_rows(table: Sequence[Row], expected: int, noun: str, header: Header) -> Sequence[Row]:
    """Return the rows, which must be as many as expected.

    Raises
    ------
    InputError
        If there are fewer or more rows, with the place where they end or begin to be too many.
    """
    if len(table) == expected:
        return table
    too_many = len(table) > expected
    end = table[expected].line if too_many else (table[-1].line if table else header.line)
    raise InputError(
        f"the header says {plural(header.jobs, 'job')}, so {plural(expected, noun)} must follow, "
        f"but there are {len(table)}",
        allowed=f"exactly {plural(expected, noun)}, one a line",
        remedy="correct the header, or complete the file"
        if not too_many
        else "correct the header, or delete the surplus lines",
        line=end,
    )


def machine_of(token: str, line: int, owner: str, header: Header) -> str:
    """Return the id of a machine from its number.

    Raises
    ------
    InputError
        If the number is not one of the machines.
    """
    other = 1 - header.base
    number = whole(
        token,
        line,
        f"{owner}: machine",
        header.machine_span,
        f"correct the number; if the file counts machines from {other}, give --index-base {other}",
    )
    return str(number)


def shop_draft(header: Header, jobs: Sequence[Sequence[Operation]]) -> Draft:
    """Build the instance: tasks ``job.operation`` in chains, machines with one slot each."""
    tasks: list[Task] = []
    edges: list[Edge] = []
    durations: dict[str, dict[str, Number]] = {}
    task_lines: list[int] = []
    edge_lines: list[int] = []
    for j, job in enumerate(jobs, start=1):
        for o, operation in enumerate(job, start=1):
            task = f"{j}.{o}"
            tasks.append(Task(id=task))
            task_lines.append(operation.line)
            durations[task] = dict(operation.times)
            if o > 1:
                edges.append(Edge(source=f"{j}.{o - 1}", target=task))
                edge_lines.append(operation.line)
    document = DagDocument(
        schema="allocsolve.instance/1",
        kind="dag",
        tasks=tasks,
        edges=edges,
        nodes=[Node(id=str(header.base + k)) for k in range(header.machines)],
        durations=durations,
    )
    return Draft(document, {"tasks": task_lines, "edges": edge_lines})
