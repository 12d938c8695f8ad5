"""Throughput tables: how fast each job runs on each type, in JSON or in CSV.

Stock and the choice of jobs come from the option ``nodes``
(:mod:`allocsolve.instances.stock`); a table by itself is no instance yet.
"""

from __future__ import annotations

from collections.abc import Iterator

from allocsolve.instances.draft import Draft
from allocsolve.instances.json_dialects import dialect
from allocsolve.instances.numerals import Numerals
from allocsolve.instances.text import plural
from allocsolve.instances.throughput_csv import csv_text, has_header, parse_csv
from allocsolve.instances.throughput_json import json_text, parse_json
from allocsolve.instances.throughputs import TableDraft
from allocsolve.models.errors import UsageError
from allocsolve.models.fair.problem import FairProblem

__all__ = ["fits", "parse", "render"]


def fits(text: str) -> bool:
    """Whether the text is JSON with the keys of such a table, or CSV with a column of jobs."""
    found = dialect(text)
    return found == "throughput_table" if found is not None else has_header(text)


def parse(text: str) -> Draft:
    """Read a table.

    Raises
    ------
    InputError
        If a job, a type or a number is wrong, with JSON path or line and column.
    """
    table = parse_json(text) if dialect(text) is not None else parse_csv(text)
    return TableDraft(document=table.document(), lines={}, table=table)


def render(problem: FairProblem, suffix: str = "") -> tuple[str, list[str]]:
    """Write the throughputs; stock is left out.

    Parameters
    ----------
    suffix
        Ending of the file: ``.json`` for the layout of Gavel, CSV for any other.

    Raises
    ------
    UsageError
        If jobs demand resources that cannot be exchanged, and the layout is JSON.
    """
    numerals = Numerals()
    if suffix == ".json":
        if any(job.demand for job in problem.jobs):
            raise UsageError(
                "format 'throughput_table' in JSON cannot express: demands "
                "(format 'native' can express everything)"
            )
        losses = [*_losses(problem), *_losses_of_jobs(problem)]
        return json_text(problem, numerals), losses + numerals.losses()
    losses = [*_losses(problem)]
    if problem.pairs:
        losses.append(f"{plural(len(problem.pairs), 'pair')} of jobs that share units left out")
    return csv_text(problem, numerals), losses + numerals.losses()


def _losses(problem: FairProblem) -> Iterator[str]:
    """Yield what no layout holds."""
    yield "counts of types left out: give them by --nodes"
    lost = [
        ("prices of types", any(kind.cost for kind in problem.types)),
        ("runtime laws of types", any(kind.runtime is not None for kind in problem.types)),
        (
            "weights and policies of entities",
            any(e.weight != 1 or e.policy != "fair" for e in problem.entities),
        ),
        ("the absence of a time cap", not problem.time_cap),
        ("rounds", problem.rounds is not None),
        ("the objective", problem.objective is not None),
    ]
    yield from (f"{what} left out" for what, present in lost if present)


def _losses_of_jobs(problem: FairProblem) -> Iterator[str]:
    """Yield what the layout of JSON does not hold of jobs."""
    jobs = problem.jobs
    lost = [
        ("weights of jobs", any(job.weight != 1 for job in jobs)),
        ("entities of jobs", any(job.entity is not None for job in jobs)),
        ("arrivals and elapsed times", any(job.arrival or job.elapsed for job in jobs)),
        ("remaining work", any(job.remaining is not None for job in jobs)),
        ("times in isolation", any(job.isolated is not None for job in jobs)),
        ("deadlines", any(job.deadline is not None for job in jobs)),
    ]
    yield from (f"{what} left out" for what, present in lost if present)
