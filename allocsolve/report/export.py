"""A schedule for other programs: CSV and Chrome trace."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from allocsolve.models.dag.answer import ScheduledTask
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.exact import plain

__all__ = ["EXPORTS", "chrome_trace", "lanes", "schedule_csv", "schedule_text"]

_MICROSECONDS = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "ms": Fraction(1000),
    "s": Fraction(10**6),
    "min": Fraction(60 * 10**6),
    "h": Fraction(3600 * 10**6),
    "d": Fraction(86400 * 10**6),
}


def schedule_csv(_: DagProblem, entries: Sequence[ScheduledTask]) -> str:
    """Return a table with the columns task, start, end, node, mode; one row for each task."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["task", "start", "end", "node", "mode"])
    for entry in entries:
        node = "" if entry.node is None else entry.node
        writer.writerow([entry.task, plain(entry.start), plain(entry.end), node, entry.mode])
    return text.getvalue()


def chrome_trace(problem: DagProblem, entries: Sequence[ScheduledTask]) -> str:
    """Return the schedule in the Trace Event Format, which chrome://tracing and Perfetto show.

    A node is a process with a row for each slot in use; tasks without a node share a
    process ``tasks`` with as many rows as run at once. An unknown time unit counts as
    seconds.
    """
    factor = _MICROSECONDS.get(problem.time_unit, _MICROSECONDS["s"])
    groups: dict[str | None, list[ScheduledTask]] = {}
    for entry in entries:
        groups.setdefault(entry.node, []).append(entry)
    order = {node.id: k for k, node in enumerate(problem.nodes)}
    events: list[dict[str, object]] = []
    ranked = sorted(groups, key=lambda node: order.get(node or "", -1))
    for process, node in enumerate(ranked, 1):
        name = {"name": "tasks" if node is None else node}
        events.append({"name": "process_name", "ph": "M", "pid": process, "args": name})
        events.extend(_slices(groups[node], process, factor))
    document = {"traceEvents": events, "displayTimeUnit": "ms"}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def _slices(
    entries: Sequence[ScheduledTask], process: int, factor: Fraction
) -> list[dict[str, object]]:
    return [
        {
            "name": entry.task,
            "cat": "task",
            "ph": "X",
            "ts": plain(entry.start * factor),
            "dur": plain((entry.end - entry.start) * factor),
            "pid": process,
            "tid": lane + 1,
            "args": {"mode": entry.mode},
        }
        for entry, lane in zip(entries, lanes(entries), strict=True)
    ]


def lanes(entries: Sequence[ScheduledTask]) -> list[int]:
    """Return a row for each entry so that entries of one row do not overlap; few rows."""
    order = sorted(range(len(entries)), key=lambda i: (entries[i].start, entries[i].end))
    free_from: list[Fraction] = []
    chosen = [0] * len(entries)
    for i in order:
        lane = next((k for k, t in enumerate(free_from) if t <= entries[i].start), None)
        if lane is None:
            lane = len(free_from)
            free_from.append(entries[i].end)
        free_from[lane] = entries[i].end
        chosen[i] = lane
    return chosen


EXPORTS: Mapping[str, Callable[[DagProblem, Sequence[ScheduledTask]], str]] = {
    "csv": schedule_csv,
    "chrome": chrome_trace,
}
"""Name of each form that a schedule can take, and the function that writes it."""


def schedule_text(problem: DagProblem, entries: Sequence[ScheduledTask], form: str) -> str:
    """Return a schedule in one of the :data:`EXPORTS`.

    Raises
    ------
    UsageError
        If there is no such form.
    """
    if form not in EXPORTS:
        known = list(EXPORTS)
        raise UsageError(
            f"a schedule cannot be written as '{form}'{suggest(form, known)}"
            f"\n  allowed: {', '.join(known)}"
        )
    return EXPORTS[form](problem, entries)
