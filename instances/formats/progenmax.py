"""Projects with minimum and maximum lags in the format of ProGen/max (``.sch``).

First line: number of activities without the two dummies, and of renewable, non-renewable and
doubly constrained resources. Then one line an activity, counted from 0: number, number of
modes, number of successors, the successors, and for each a lag from start to start in
brackets; a negative lag towards a predecessor is a maximum lag. Then one line an activity:
number, mode, duration, demands. The last line holds the capacities.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from allocsolve.instances.draft import Draft
from allocsolve.instances.project import project_of
from allocsolve.instances.resources import read_resources, resource_ids
from allocsolve.instances.text import Row, Span, amount, plural, rows, shorten, whole, wrong_length
from allocsolve.models.dag.data import DagDocument, Edge, Mode, Resource, Task
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import InputError

__all__ = ["fits", "parse", "render"]

_LAG = re.compile(r"\[\s*(-?\d[^\]\s]*)\s*\]")
_MOST = 10**7
_HONOURED = frozenset(
    {
        Feature.PROJECT,
        Feature.RENEWABLE,
        Feature.NONRENEWABLE,
        Feature.LAGS,
        Feature.START_LAGS,
        Feature.MAX_LAGS,
    }
)


def fits(text: str) -> bool:
    """Whether the text begins with a number and holds lags in brackets."""
    table = rows(text[:100_000])
    return bool(table) and table[0].tokens[0].isdigit() and _LAG.search(text) is not None


def parse(text: str) -> Draft:
    """Read a single-mode project with lags.

    Raises
    ------
    InputError
        If lines are missing or left over, a number is wrong, or an activity has several modes.
    """
    table = rows(_LAG.sub(r" [\1] ", text))
    header = _header(table)
    size = header.activities
    body = _body(table, header)
    tasks = [_task(row, i, header) for i, row in enumerate(body[size : 2 * size])]
    edges: list[Edge] = []
    edge_lines: list[int] = []
    for i, row in enumerate(body[:size]):
        found = _successors(row, i, header)
        edges.extend(found)
        edge_lines.extend([row.line] * len(found))
    document = DagDocument(
        schema="allocsolve.instance/1",
        kind="dag",
        tasks=tasks,
        edges=edges,
        resources=_resources(body[-1], header),
    )
    return Draft(
        document, {"tasks": [row.line for row in body[size : 2 * size]], "edges": edge_lines}
    )


@dataclass(frozen=True)
class _Header:
    """Number of activities with the dummies, and the resources."""

    activities: int
    renewable: int
    nonrenewable: int

    @property
    def resources(self) -> list[str]:
        """The ids of all resources."""
        return resource_ids(self.renewable, self.nonrenewable)


def _header(table: Sequence[Row]) -> _Header:
    allowed = "activities and renewable, non-renewable, doubly constrained resources: 4 numbers"
    if not table or len(table[0].tokens) != 4:
        found = plural(len(table[0].tokens), "value") if table else "no line of numbers"
        raise InputError(
            f"the header has {found}",
            allowed=allowed,
            remedy="correct the first line, or name the format of the file with --format",
            line=table[0].line if table else None,
        )
    line = table[0].line
    counts = [
        whole(token, line, f"header: number of {what}", Span(0, _MOST))
        for token, what in zip(
            table[0].tokens,
            (
                "activities",
                "renewable resources",
                "non-renewable resources",
                "doubly constrained resources",
            ),
            strict=True,
        )
    ]
    if counts[3]:
        raise InputError(
            f"{plural(counts[3], 'doubly constrained resource')} cannot be read",
            allowed="renewable and non-renewable resources",
            remedy="write each of them as one renewable and one non-renewable resource",
            line=line,
        )
    return _Header(counts[0] + 2, counts[1], counts[2])


def _body(table: Sequence[Row], header: _Header) -> Sequence[Row]:
    body, expected = table[1:], 2 * header.activities + 1
    if header.renewable + header.nonrenewable == 0 and len(body) == expected - 1:
        return [*body, Row(body[-1].line, [])]
    if len(body) != expected:
        too_many = len(body) > expected
        raise InputError(
            f"the header says {header.activities - 2} activities, so with the two dummies "
            f"{expected} lines must follow, but there are {len(body)}",
            allowed="a line of successors and a line of demands for each, then the capacities",
            remedy="correct the header, or complete the file"
            if not too_many
            else "correct the header, or delete the surplus lines",
            line=body[expected].line if too_many else table[-1].line,
        )
    return body


def _numbered(row: Row, i: int, section: str, header: _Header) -> str:
    """Check the number that a line begins with; return how errors call the line."""
    whole(
        row.tokens[0],
        row.line,
        f"{section}: number of the activity",
        Span(i, i),
        f"number the activities 0..{header.activities - 1} in order; a line may be missing",
    )
    return f"activity {i}"


def _successors(row: Row, i: int, header: _Header) -> list[Edge]:
    owner = _numbered(row, i, "successors", header)
    if len(row.tokens) < 3:
        raise wrong_length(row, owner, "its number, modes and number of successors")
    what = f"{owner}: number of modes"
    whole(row.tokens[1], row.line, what, Span(1, 1), "several modes with lags are not supported")
    count = whole(row.tokens[2], row.line, f"{owner}: number of successors", Span(0, _MOST))
    if len(row.tokens) != 3 + 2 * count:
        raise wrong_length(row, owner, f"{plural(count, 'successor')} and as many lags in brackets")
    pairs = zip(row.tokens[3 : 3 + count], row.tokens[3 + count :], strict=True)
    return [_edge(successor, lag, i, row.line, header) for successor, lag in pairs]


def _edge(successor: str, lag: str, i: int, line: int, header: _Header) -> Edge:
    owner = f"activity {i}"
    target = whole(successor, line, f"{owner}: successor", Span(0, header.activities - 1))
    if not (lag.startswith("[") and lag.endswith("]")):
        raise InputError(
            f"{owner}: lag '{shorten(lag)}' of successor {target} is not in brackets",
            allowed="one number in brackets for each successor, e.g. [3] or [-7]",
            remedy="correct the lag or the number of successors",
            line=line,
        )
    length = amount(lag[1:-1], line, f"{owner}: lag to {target}", negative=True)
    return Edge(source=str(i), target=str(target), min_lag=length, lag_from="start")


def _task(row: Row, i: int, header: _Header) -> Task:
    owner = _numbered(row, i, "demands", header)
    names = header.resources
    if len(row.tokens) != 3 + len(names):
        raise wrong_length(row, owner, f"number, mode, duration and {plural(len(names), 'demand')}")
    whole(row.tokens[1], row.line, f"{owner}: mode", Span(1, 1))
    duration = amount(row.tokens[2], row.line, f"{owner}: duration")
    demand = {
        name: amount(token, row.line, f"{owner}: demand of {name}")
        for name, token in zip(names, row.tokens[3:], strict=True)
    }
    used = {name: value for name, value in demand.items() if value}
    return Task(id=str(i), modes=[Mode(duration=duration, demand=used)])


def _resources(row: Row, header: _Header) -> list[Resource]:
    names = header.resources
    if len(row.tokens) != len(names):
        raise wrong_length(row, "the last line", plural(len(names), "capacity value"))
    return read_resources(names, [(token, row.line) for token in row.tokens], "capacity of")


def render(problem: DagProblem) -> tuple[str, list[str]]:
    """Write a single-mode project with lags.

    Raises
    ------
    UsageError
        If the problem is not such a project.
    """
    project = project_of(problem, "progenmax", _HONOURED, base=0)
    text = [
        f"{len(project.activities) - 2}\t{project.renewable}\t{project.nonrenewable}\t0",
    ]
    for i, activity in enumerate(project.activities):
        successors = [str(target) for target, _ in activity.successors]
        lags = [f"[{lag}]" for _, lag in activity.successors]
        text.append("\t".join([str(i), "1", str(len(successors)), *successors, *lags]))
    for i, activity in enumerate(project.activities):
        duration, demand = activity.modes[0]
        text.append("\t".join([str(i), "1", duration, *demand]))
    text.append("\t".join(project.capacities))
    return "\n".join(text) + "\n", project.losses
