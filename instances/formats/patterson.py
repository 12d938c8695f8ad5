"""Projects in the format of Patterson (``.rcp``): one stream of numbers, however it is wrapped.

Number of activities and of resources; the capacities; then for each activity its duration,
its demand of every resource, the number of its successors and these. Activities count from 1;
the first and the last are dummies.
"""

from __future__ import annotations

from collections.abc import Iterator

from allocsolve.instances.draft import Draft
from allocsolve.instances.project import project_of
from allocsolve.instances.text import Row, Span, amount, plural, rows, shorten, whole
from allocsolve.models.dag.data import DagDocument, Edge, Mode, Resource, Task
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number

__all__ = ["fits", "parse", "render"]

_MOST = 10**7


def fits(text: str) -> bool:
    """Whether the counts within the stream lead exactly to its end."""
    tokens = [token for row in rows(text) for token in row.tokens]
    sizes = [int(t) if t.isascii() and t.isdigit() and len(t) < 8 else -1 for t in tokens]
    if len(sizes) < 2 or sizes[0] < 1 or sizes[1] < 0:
        return False
    position = 2 + sizes[1]
    for _ in range(min(sizes[0], len(sizes))):
        position += 1 + sizes[1]
        if position >= len(sizes) or sizes[position] < 0:
            return False
        position += 1 + sizes[position]
    return position == len(sizes)


def parse(text: str, index_base: int = 1) -> Draft:
    """Read a project.

    Raises
    ------
    InputError
        If the stream ends early or goes on too long, or a number is wrong.
    """
    return _Reader(_Stream(rows(text)), index_base).draft()


class _Stream:
    """The tokens of a file one after another, with their lines."""

    def __init__(self, table: list[Row]) -> None:
        self._tokens: Iterator[tuple[str, int]] = (
            (token, row.line) for row in table for token in row.tokens
        )
        self.line = table[0].line if table else 1

    def next(self, what: str) -> str:
        """Return the next number as text; ``what`` names it in errors."""
        token = next(self._tokens, None)
        if token is None:
            raise InputError(
                f"the file ends where {what} must stand",
                allowed="as many numbers as the counts in the file announce",
                remedy="complete the file, or correct its counts",
                line=self.line,
            )
        self.line = token[1]
        return token[0]

    def rest(self) -> list[tuple[str, int]]:
        """Return what is left, with lines."""
        return list(self._tokens)

    def whole(self, what: str, span: Span, remedy: str | None = None) -> int:
        """Return the next number, a whole one within a span."""
        return whole(self.next(what), self.line, what, span, remedy)

    def amount(self, what: str) -> Number:
        """Return the next number, not negative."""
        return amount(self.next(what), self.line, what)


class _Reader:
    """Builds the instance while it reads the stream."""

    def __init__(self, stream: _Stream, base: int) -> None:
        self.stream = stream
        self.base = base
        self.count = stream.whole("the number of activities", Span(1, _MOST))
        count = stream.whole("the number of resources", Span(0, 10_000))
        self.resources = [f"R{k + 1}" for k in range(count)]
        self.capacities = [stream.amount(f"capacity of resource {r}") for r in self.resources]
        self.tasks: list[Task] = []
        self.edges: list[Edge] = []
        self.task_lines: list[int] = []
        self.edge_lines: list[int] = []

    def draft(self) -> Draft:
        """Read every activity and return the document with its lines."""
        for i in range(self.count):
            self._activity(str(self.base + i))
        self._refuse_surplus()
        document = DagDocument(
            schema="allocsolve.instance/1",
            kind="dag",
            tasks=self.tasks,
            edges=self.edges,
            resources=[
                Resource(id=name, capacity=capacity)
                for name, capacity in zip(self.resources, self.capacities, strict=True)
            ],
        )
        return Draft(document, {"tasks": self.task_lines, "edges": self.edge_lines})

    def _activity(self, task: str) -> None:
        owner = f"activity {task}"
        duration = self.stream.amount(f"{owner}: duration")
        self.task_lines.append(self.stream.line)
        demand = {name: self.stream.amount(f"{owner}: demand of {name}") for name in self.resources}
        used = {name: value for name, value in demand.items() if value}
        self.tasks.append(Task(id=task, modes=[Mode(duration=duration, demand=used)]))
        announced = self.stream.whole(f"{owner}: number of successors", Span(0, self.count))
        for _ in range(announced):
            self._successor(task, owner)

    def _successor(self, task: str, owner: str) -> None:
        other = 1 - self.base
        number = self.stream.whole(
            f"{owner}: successor",
            Span(self.base, self.base + self.count - 1),
            f"correct the number; if the file counts from {other}, give --index-base {other}",
        )
        self.edges.append(Edge(source=task, target=str(number)))
        self.edge_lines.append(self.stream.line)

    def _refuse_surplus(self) -> None:
        rest = self.stream.rest()
        if rest:
            token, line = rest[0]
            raise InputError(
                f"{plural(len(rest), 'unread value')} after the last of "
                f"{self.count} activities, the first is '{shorten(token)}'",
                allowed="a file that ends after the last activity",
                remedy="correct the number of activities or of successors, or delete the rest",
                line=line,
            )


def render(problem: DagProblem) -> tuple[str, list[str]]:
    """Write a single-mode project with renewable resources.

    Raises
    ------
    UsageError
        If the problem is not such a project.
    """
    honours = frozenset({Feature.PROJECT, Feature.RENEWABLE})
    project = project_of(problem, "patterson", honours, base=1)
    text = [f"{len(project.activities)} {len(project.capacities)}", " ".join(project.capacities)]
    for activity in project.activities:
        duration, demand = activity.modes[0]
        successors = [str(target + 1) for target, _ in activity.successors]
        text.append(" ".join([duration, *demand, str(len(successors)), *successors]))
    return "\n".join(text) + "\n", project.losses
