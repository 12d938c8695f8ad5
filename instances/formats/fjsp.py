"""Flexible job shop in the layout of FJSPLIB.

First line: jobs, machines and, optionally, the mean number of machines per operation. Then one
line a job: its number of operations and, for each, the number of machines that can do it and
as many (machine, time) pairs; machines count from 1.
"""

from __future__ import annotations

from allocsolve.instances.draft import Draft
from allocsolve.instances.shop import (
    Header,
    Operation,
    machine_of,
    read_header,
    shop_draft,
    take_rows,
)
from allocsolve.instances.shop_writer import machine_numbers, shop_of
from allocsolve.instances.text import Row, Span, amount, counts, plural, rows, whole
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number

__all__ = ["fits", "parse", "render"]

_MOST_OPERATIONS = 10**6


def fits(text: str) -> bool:
    """Whether the counts within every line lead exactly to its end."""
    table = rows(text)
    if not table or not 2 <= len(table[0].tokens) <= 3:
        return False
    header = counts(Row(table[0].line, table[0].tokens[:2]))
    if header is None or len(table) - 1 != header[0]:
        return False
    return all(_is_consumed(row.tokens) for row in table[1:])


def _is_consumed(tokens: list[str]) -> bool:
    numbers = [int(t) if t.isascii() and t.isdigit() and len(t) < 10 else -1 for t in tokens]
    position = 1
    for _ in range(min(numbers[0], len(tokens))):
        if position >= len(tokens) or numbers[position] < 1:
            return False
        position += 1 + 2 * numbers[position]
    return numbers[0] >= 0 and position == len(tokens)


def parse(text: str, index_base: int = 1) -> Draft:
    """Read a flexible job shop.

    Raises
    ------
    InputError
        If the counts do not match the values, or a machine or time is wrong.
    """
    table = rows(text)
    header = read_header(table, index_base, most_tokens=3)
    if len(table[0].tokens) == 3:
        amount(table[0].tokens[2], table[0].line, "header: mean number of machines")
    body = take_rows(table[1:], header.jobs, "job line", header)
    return shop_draft(header, [_Line(row, j, header).job() for j, row in enumerate(body, start=1)])


class _Line:
    """Reads the values of one job from left to right."""

    def __init__(self, row: Row, job: int, header: Header) -> None:
        self.row = row
        self.owner = f"job {job}"
        self.header = header
        self.position = 0

    def job(self) -> list[Operation]:
        """Read the operations of a job; nothing may follow them."""
        what = f"{self.owner}: number of operations"
        count = whole(self._next(what), self.row.line, what, Span(0, _MOST_OPERATIONS))
        operations = [self._operation(f"{self.owner}, operation {o + 1}") for o in range(count)]
        unread = len(self.row.tokens) - self.position
        if unread:
            raise InputError(
                f"{self.owner} announces {plural(count, 'operation')}, but after them "
                f"{plural(unread, 'unread value')} follow: "
                f"'{' '.join(self.row.tokens[self.position : self.position + 6])}'",
                allowed=f"a line that ends after {plural(count, 'operation')}",
                remedy="correct the number of operations or of alternatives, or delete the rest",
                line=self.row.line,
            )
        return operations

    def _operation(self, owner: str) -> Operation:
        what = f"{owner}: number of machines"
        count = whole(self._next(what), self.row.line, what, Span(1, self.header.machines))
        times: dict[str, Number] = {}
        for _ in range(count):
            node = machine_of(self._next(f"{owner}: machine"), self.row.line, owner, self.header)
            if node in times:
                raise InputError(
                    f"{owner}: machine {node} comes twice",
                    allowed="each machine once in an operation",
                    remedy="delete one of the two pairs",
                    line=self.row.line,
                )
            what = f"{owner}: time on machine {node}"
            times[node] = amount(self._next(what), self.row.line, what)
        return Operation(self.row.line, times)

    def _next(self, what: str) -> str:
        if self.position == len(self.row.tokens):
            raise InputError(
                f"the line ends where {what} must stand",
                allowed="operations, each with a count and as many (machine, time) pairs",
                remedy="complete the line or correct its counts",
                line=self.row.line,
            )
        self.position += 1
        return self.row.tokens[self.position - 1]


def render(problem: DagProblem) -> tuple[str, list[str]]:
    """Write a job shop, flexible or not.

    Raises
    ------
    UsageError
        If the problem is not a shop.
    """
    shop = shop_of(problem, "fjsp", frozenset({Feature.NODES, Feature.MODES}))
    numbers = machine_numbers(problem, base=1, losses=shop.losses)
    text = [f"{len(shop.jobs)} {len(problem.nodes)}"]
    for job in shop.jobs:
        values = [str(len(job))]
        for operation in job:
            values.append(str(len(operation)))
            values.extend(f"{numbers[k]} {time}" for k, time in operation)
        text.append(" ".join(values))
    return "\n".join(text) + "\n", shop.all_losses()
