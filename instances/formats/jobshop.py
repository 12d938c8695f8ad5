"""Job shop in the layout of JSPLIB.

First line: jobs and machines. Then one line a job: a (machine, time) pair for each of its
operations in order, as many as there are machines; machines count from 0.
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
from allocsolve.instances.text import Row, amount, counts, plural, rows
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import InputError, UsageError

__all__ = ["fits", "parse", "render"]


def fits(text: str) -> bool:
    """Whether the counts of lines and of values in each line are those of a job shop."""
    table = rows(text)
    header = counts(table[0]) if table else None
    if header is None or len(header) != 2 or len(table) - 1 != header[0]:
        return False
    return all(len(row.tokens) == 2 * header[1] for row in table[1:])


def parse(text: str, index_base: int = 0) -> Draft:
    """Read a job shop.

    Raises
    ------
    InputError
        If a line has the wrong number of values, or a machine or time is wrong.
    """
    table = rows(text)
    header = read_header(table, index_base, most_tokens=2)
    body = take_rows(table[1:], header.jobs, "job line", header)
    return shop_draft(header, [_job(row, j, header) for j, row in enumerate(body, start=1)])


def _job(row: Row, j: int, header: Header) -> list[Operation]:
    expected = 2 * header.machines
    if len(row.tokens) != expected:
        raise InputError(
            f"job {j} has {plural(len(row.tokens), 'value')}, but {header.machines} machines "
            f"need {expected}: a (machine, time) pair for each",
            allowed=f"exactly {expected} values",
            remedy="correct the line or the header; alternatives need --format fjsp",
            line=row.line,
        )
    pairs = zip(row.tokens[::2], row.tokens[1::2], strict=True)
    return [
        _operation(machine, time, row.line, f"job {j}, operation {o}", header)
        for o, (machine, time) in enumerate(pairs, start=1)
    ]


def _operation(machine: str, time: str, line: int, owner: str, header: Header) -> Operation:
    node = machine_of(machine, line, owner, header)
    return Operation(line, {node: amount(time, line, f"{owner}: time")})


def render(problem: DagProblem) -> tuple[str, list[str]]:
    """Write a job shop in which every job visits as many machines as there are.

    Raises
    ------
    UsageError
        If the problem is not such a job shop.
    """
    shop = shop_of(problem, "jobshop", frozenset({Feature.NODES}))
    numbers = machine_numbers(problem, base=0, losses=shop.losses)
    text = [f"{len(shop.jobs)} {len(problem.nodes)}"]
    for j, job in enumerate(shop.jobs, start=1):
        if len(job) != len(problem.nodes):
            raise UsageError(
                f"format 'jobshop' cannot express job {j}: it has {plural(len(job), 'operation')} "
                f"for {plural(len(problem.nodes), 'machine')} (format 'fjsp' can)"
            )
        pairs = [(numbers[k], time) for operation in job for k, time in operation]
        text.append("  ".join(f"{machine} {time}" for machine, time in pairs))
    return "\n".join(text) + "\n", shop.all_losses()
