"""Projects in the format of PSPLIB (Kolisch and Sprecher 1997): ``.sm`` and ``.mm``.

A head with the numbers of jobs and resources, then the sections PRECEDENCE RELATIONS,
REQUESTS/DURATIONS and RESOURCEAVAILABILITIES. Jobs count from 1; the first and the last are
dummies. The release date of the project is that of its first job; horizon, due date and
tardiness cost describe how the file was generated and are not used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from allocsolve.instances.draft import Draft
from allocsolve.instances.project import project_of
from allocsolve.instances.psplib_writer import psplib_text
from allocsolve.instances.resources import read_resources, resource_ids
from allocsolve.instances.text import Row, Span, amount, lines, plural, shorten, whole, wrong_length
from allocsolve.models.dag.data import DagDocument, Edge, Mode, Resource, Task
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number

__all__ = ["fits", "parse", "render"]

_PRECEDENCE = "PRECEDENCE RELATIONS"
_REQUESTS = "REQUESTS/DURATIONS"
_CAPACITIES = "RESOURCEAVAILABILITIES"
_INFORMATION = "PROJECT INFORMATION"
_NEEDED = (_PRECEDENCE, _REQUESTS, _CAPACITIES)
_HEAD = "head"
_RULE = re.compile(r"[*\-=_\s]+")
_LABEL = re.compile(r"([RND])\s*(\d+)")
_COUNTS = ("projects", "jobs", "- renewable", "- nonrenewable", "- doubly constrained")
_MOST = 10**7
_HONOURED = frozenset({Feature.PROJECT, Feature.MODES, Feature.RENEWABLE, Feature.NONRENEWABLE})


def fits(text: str) -> bool:
    """Whether one of the sections is there."""
    upper = text[:100_000].upper()
    return any(section in upper for section in _NEEDED)


def parse(text: str, index_base: int = 1) -> Draft:
    """Read a project with one or several modes a job.

    Raises
    ------
    InputError
        If a section is missing or comes twice, or disagrees with the head or another section.
    """
    sections = _sections(text)
    head = _head(sections[_HEAD], index_base)
    numbered = _numbers(sections[_PRECEDENCE])
    _check_jobs(numbered, head, sections[_PRECEDENCE])
    modes = [_mode_count(row, i, head) for i, row in enumerate(numbered)]
    tasks, task_lines = _requests(_numbers(sections[_REQUESTS]), modes, head, sections[_REQUESTS])
    release = _release(sections.get(_INFORMATION))
    if release and tasks:
        tasks[0] = msgspec.structs.replace(tasks[0], release=release)
    edges: list[Edge] = []
    edge_lines: list[int] = []
    for i, row in enumerate(numbered):
        found = _successors(row, i, head)
        edges.extend(found)
        edge_lines.extend([row.line] * len(found))
    document = DagDocument(
        schema="allocsolve.instance/1",
        kind="dag",
        tasks=tasks,
        edges=edges,
        resources=_capacities(sections[_CAPACITIES], head),
    )
    return Draft(document, {"tasks": task_lines, "edges": edge_lines})


@dataclass(frozen=True)
class _Section:
    line: int
    rows: list[Row]


@dataclass(frozen=True)
class _Head:
    jobs: int
    renewable: int
    nonrenewable: int
    base: int

    @property
    def resources(self) -> list[str]:
        """The ids of all resources."""
        return resource_ids(self.renewable, self.nonrenewable)

    @property
    def numbers(self) -> Span:
        """The numbers of the jobs."""
        return Span(self.base, self.base + self.jobs - 1)

    def job(self, i: int) -> str:
        """Return what errors call a job."""
        return f"job {self.base + i}"


def _sections(text: str) -> Mapping[str, _Section]:
    current = _Section(1, [])
    sections = {_HEAD: current}
    number = 1
    for number, line in lines(text):
        if _RULE.fullmatch(line):
            continue
        title = _title(line)
        if title is None:
            current.rows.append(Row(number, line.split()))
            continue
        if title in sections:
            raise InputError(
                f"the section {title} comes twice (first in line {sections[title].line})",
                allowed="each section once, one project a file",
                remedy="delete one of the two, or split the file",
                line=number,
            )
        current = sections[title] = _Section(number, [])
    for title in _NEEDED:
        if title not in sections:
            raise InputError(
                f"the section {title} is missing",
                allowed=f"the sections {', '.join(_NEEDED)}",
                remedy="complete the file, or name its format with --format",
                line=number if len(sections) > 1 else None,
            )
    return sections


def _title(line: str) -> str | None:
    squeezed = re.sub(r"\s*/\s*", "/", " ".join(line.upper().split())).rstrip(" :")
    squeezed = squeezed.replace("RESOURCE AVAILABILITIES", _CAPACITIES)
    return squeezed if squeezed in (*_NEEDED, _INFORMATION) else None


def _head(section: _Section, base: int) -> _Head:
    values: dict[str, int] = {}
    for row in section.rows:
        label, colon, rest = " ".join(row.tokens).rpartition(":")
        key = next((key for key in _COUNTS if label.lower().startswith(key)), None)
        if not colon or key is None:
            continue
        if key in values:
            raise InputError(
                f"the head gives the number of '{key}' twice",
                allowed="each number once",
                remedy="delete one of the two lines",
                line=row.line,
            )
        token = (rest.split() or [""])[0]
        values[key] = whole(token, row.line, f"head: number of {key.strip('- ')}", Span(0, _MOST))
    for key in ("jobs", "- renewable"):
        if key not in values:
            raise InputError(
                f"the head has no line '{key}'",
                allowed="'jobs (incl. supersource/sink ): N' and '- renewable : K R'",
                remedy="complete the head of the file",
                line=section.line,
            )
    _refuse_unsupported(values)
    return _Head(values["jobs"], values["- renewable"], values.get("- nonrenewable", 0), base)


def _refuse_unsupported(values: Mapping[str, int]) -> None:
    if values.get("- doubly constrained"):
        raise InputError(
            "doubly constrained resources cannot be read",
            allowed="renewable and non-renewable resources",
            remedy="write each of them as one renewable and one non-renewable resource",
        )
    if values.get("projects", 1) != 1:
        raise InputError(
            f"the file holds {values['projects']} projects",
            allowed="one project a file",
            remedy="split the file into one file for each project",
        )


def _release(section: _Section | None) -> Number:
    """Return the third number of PROJECT INFORMATION: the release date of the project."""
    rows = [] if section is None else [row for row in section.rows if row.tokens[0].isdigit()]
    if not rows or len(rows[0].tokens) < 3:
        return 0
    return amount(rows[0].tokens[2], rows[0].line, f"{_INFORMATION}: release date")


def _numbers(section: _Section) -> list[Row]:
    """Return the rows of a section without the headings of its columns."""
    return [row for row in section.rows if not row.tokens[0].lower().startswith("jobnr")]


def _check_jobs(numbered: Sequence[Row], head: _Head, section: _Section) -> None:
    for i, row in enumerate(numbered[: head.jobs]):
        _job_number(row, i, head, _PRECEDENCE)
    if len(numbered) != head.jobs:
        too_many = len(numbered) > head.jobs
        last = numbered[head.jobs] if too_many else (numbered or [Row(section.line, [])])[-1]
        raise InputError(
            f"{_PRECEDENCE}: the head says {plural(head.jobs, 'job')}, but there are "
            f"{len(numbered)}",
            allowed=f"one line for each of {plural(head.jobs, 'job')}",
            remedy="correct the number of jobs in the head, or the lines of the section",
            line=last.line,
        )


def _job_number(row: Row, i: int, head: _Head, section: str) -> None:
    number = head.base + i
    remedy = "number the jobs in order, each once; a line may be missing or stand twice"
    if i == 0 and row.tokens[0] == str(1 - head.base):
        remedy = f"if the file counts jobs from {1 - head.base}, give --index-base {1 - head.base}"
    whole(row.tokens[0], row.line, f"{section}: job number", Span(number, number), remedy)


def _mode_count(row: Row, i: int, head: _Head) -> int:
    owner = f"{_PRECEDENCE}: {head.job(i)}"
    if len(row.tokens) < 3:
        raise wrong_length(row, owner, "job number, number of modes, number of successors")
    return whole(row.tokens[1], row.line, f"{owner}: number of modes", Span(1, _MOST))


def _successors(row: Row, i: int, head: _Head) -> list[Edge]:
    owner = f"{_PRECEDENCE}: {head.job(i)}"
    count = whole(row.tokens[2], row.line, f"{owner}: number of successors", Span(0, _MOST))
    if len(row.tokens) != 3 + count:
        found = len(row.tokens) - 3
        raise InputError(
            f"{owner} announces {plural(count, 'successor')}, but lists {found}",
            allowed="as many successors as announced",
            remedy="correct the number of successors or the list",
            line=row.line,
        )
    other = 1 - head.base
    remedy = f"correct the number; if the file counts jobs from {other}, give --index-base {other}"
    targets = [
        whole(token, row.line, f"{owner}: successor", head.numbers, remedy)
        for token in row.tokens[3:]
    ]
    return [Edge(source=str(head.base + i), target=str(target)) for target in targets]


def _requests(
    table: Sequence[Row], modes: Sequence[int], head: _Head, section: _Section
) -> tuple[list[Task], list[int]]:
    tasks: list[Task] = []
    places: list[int] = []
    position = 0
    for i, count in enumerate(modes):
        block = table[position : position + count]
        if len(block) < count:
            raise InputError(
                f"{_REQUESTS}: {head.job(i)} has {plural(len(block), 'mode')}, "
                f"{_PRECEDENCE} says {count}",
                allowed="a line for each mode of each job",
                remedy="complete the section",
                line=(table[-1].line if table else section.line),
            )
        _job_number(block[0], i, head, _REQUESTS)
        first = Row(block[0].line, block[0].tokens[1:])
        found = [_mode(row, k, i, head) for k, row in enumerate([first, *block[1:]])]
        tasks.append(Task(id=str(head.base + i), modes=found))
        places.append(block[0].line)
        position += count
    if position < len(table):
        raise InputError(
            f"{_REQUESTS}: {plural(len(table) - position, 'line')} after the last mode of the "
            f"last job, the first begins with '{shorten(table[position].tokens[0])}'",
            allowed=f"as many lines as {_PRECEDENCE} announces modes: {position}",
            remedy="correct the numbers of modes, or delete the surplus lines",
            line=table[position].line,
        )
    return tasks, places


def _mode(row: Row, k: int, i: int, head: _Head) -> Mode:
    owner = f"{_REQUESTS}: {head.job(i)}, mode {k + 1}"
    names = head.resources
    if len(row.tokens) != 2 + len(names):
        raise wrong_length(row, owner, f"mode number, duration and {plural(len(names), 'request')}")
    whole(
        row.tokens[0],
        row.line,
        f"{_REQUESTS}: {head.job(i)}: mode number",
        Span(k + 1, k + 1),
        f"number the modes of a job from 1, as many as {_PRECEDENCE} announces",
    )
    duration = amount(row.tokens[1], row.line, f"{owner}: duration")
    requests = {
        name: amount(token, row.line, f"{owner}: request of {name}")
        for name, token in zip(names, row.tokens[2:], strict=True)
    }
    return Mode(duration=duration, demand={name: used for name, used in requests.items() if used})


def _capacities(section: _Section, head: _Head) -> list[Resource]:
    values: list[tuple[str, int]] = []
    for row in section.rows:
        if row.tokens[0][0] in "RND":
            _check_labels(row, head)
        else:
            values.extend((token, row.line) for token in row.tokens)
    names = head.resources
    if len(values) != len(names):
        raise InputError(
            f"{_CAPACITIES}: {plural(len(values), 'value')} for "
            f"{plural(len(names), 'resource')} ({', '.join(names)})",
            allowed="one value for each resource that the head announces",
            remedy="correct the numbers of resources in the head, or the values",
            line=values[-1][1] if values else section.line,
        )
    return read_resources(names, values, f"{_CAPACITIES}:")


def _check_labels(row: Row, head: _Head) -> None:
    found = [letter + number for letter, number in _LABEL.findall(" ".join(row.tokens))]
    if found != head.resources:
        raise InputError(
            f"{_CAPACITIES}: the columns are {', '.join(found) or 'not readable'}, the head "
            f"announces {', '.join(head.resources) or 'no resources'}",
            allowed="renewable resources R 1, R 2, ..., then non-renewable N 1, N 2, ...",
            remedy="correct the numbers of resources in the head, or the columns",
            line=row.line,
        )


def render(problem: DagProblem) -> tuple[str, list[str]]:
    """Write a project with one or several modes a job.

    Raises
    ------
    UsageError
        If the problem is not such a project.
    """
    project = project_of(problem, "psplib", _HONOURED, base=1)
    return psplib_text(project), project.losses
