"""Task graphs as plain graphs with weights: what DOT, GXL and CSV files have in common.

The weight of a vertex is the work of a task, the weight of an arc is the data that it sends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from allocsolve.instances.draft import Draft
from allocsolve.instances.losses import common_losses, refuse_inexpressible
from allocsolve.instances.numerals import Numerals
from allocsolve.instances.strict_json import is_printable
from allocsolve.instances.text import amount, plural, shorten
from allocsolve.models.dag.data import DagDocument, Edge, Task
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number

__all__ = [
    "Arc",
    "Graph",
    "Vertex",
    "data_texts",
    "located",
    "task_graph_draft",
    "task_graph_losses",
    "work_texts",
]

_WEIGHTS = ("weight", "work")
_DATA = ("weight", "data")
_LABEL = "label"


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex with its attributes; names of attributes are in lower case."""

    id: str
    line: int
    attributes: Mapping[str, str]
    column: int | None = None


@dataclass(frozen=True, slots=True)
class Arc:
    """An arc with its attributes; names of attributes are in lower case."""

    source: str
    target: str
    line: int
    attributes: Mapping[str, str]
    column: int | None = None


@dataclass(frozen=True)
class Graph:
    """A directed graph as a file describes it."""

    name: str
    vertices: Sequence[Vertex]
    arcs: Sequence[Arc]
    notes: list[str] = field(default_factory=list)


def task_graph_draft(graph: Graph) -> Draft:
    """Turn the weights of a graph into work and data.

    Attributes ``weight`` or ``work`` of vertices and ``weight`` or ``data`` of arcs count, in
    any case of letters. A graph without any weight takes them from numeric labels. Without
    those too, every task has work 1. Arcs without weight send nothing. Each of the two
    assumptions is a note.

    Raises
    ------
    InputError
        If a weight is not a finite, non-negative number, or only some vertices have one.
    """
    for vertex in graph.vertices:
        _require_printable(vertex)
    notes = list(graph.notes)
    names = _names(graph, notes)
    works = _works(graph.vertices, (*_WEIGHTS, *names), notes)
    tasks = [
        Task(id=vertex.id, work=work) for vertex, work in zip(graph.vertices, works, strict=True)
    ]
    edges = [
        Edge(source=arc.source, target=arc.target, data=_data(arc, (*_DATA, *names)))
        for arc in graph.arcs
    ]
    document = DagDocument(
        schema="allocsolve.instance/1", kind="dag", name=graph.name, tasks=tasks, edges=edges
    )
    lines = {
        "tasks": [vertex.line for vertex in graph.vertices],
        "edges": [arc.line for arc in graph.arcs],
    }
    return Draft(document, lines, tuple(notes))


def _require_printable(vertex: Vertex) -> None:
    if not is_printable(vertex.id):
        raise InputError(
            f"the id '{shorten(vertex.id)}' holds a character that cannot be shown",
            allowed="ids without control characters",
            remedy="rename the task",
            line=vertex.line,
            column=vertex.column,
        )


def _names(graph: Graph, notes: list[str]) -> tuple[str, ...]:
    """Return the label as a further source of weights if nothing else gives any."""
    if any(_value(vertex, _WEIGHTS) is not None for vertex in graph.vertices):
        return ()
    labels = [vertex.attributes.get(_LABEL, "") for vertex in graph.vertices]
    if not labels or not all(map(_is_number, labels)):
        return ()
    notes.append("no task has a weight: labels are taken as weights")
    return (_LABEL,)


def _is_number(token: str) -> bool:
    try:
        amount(token, 0, "label")
    except InputError:
        return False
    return True


def _value(item: Vertex | Arc, names: Sequence[str]) -> str | None:
    return next((item.attributes[name] for name in names if name in item.attributes), None)


def _works(vertices: Sequence[Vertex], names: Sequence[str], notes: list[str]) -> list[Number]:
    texts = [_value(vertex, names) for vertex in vertices]
    if vertices and not any(text is not None for text in texts):
        notes.append(f"no task has a weight: each of the {plural(len(texts), 'task')} has work 1")
        return [1] * len(vertices)
    return [_work(vertex, text) for vertex, text in zip(vertices, texts, strict=True)]


def _work(vertex: Vertex, text: str | None) -> Number:
    if text is None:
        raise InputError(
            f"task '{vertex.id}' has no weight, but other tasks have one",
            allowed="a weight for every task, or for none (then each has work 1)",
            remedy=f"give task '{vertex.id}' a weight",
            line=vertex.line,
            column=vertex.column,
        )
    return located(vertex.column, lambda: amount(text, vertex.line, f"task '{vertex.id}': weight"))


def _data(arc: Arc, names: Sequence[str]) -> Number:
    text = _value(arc, names)
    if text is None:
        return 0
    owner = f"edge '{arc.source}' -> '{arc.target}'"
    return located(arc.column, lambda: amount(text, arc.line, f"{owner}: weight"))


def located(column: int | None, read: Callable[[], Number]) -> Number:
    """Return what ``read`` returns; an error that it raises gets the column.

    Raises
    ------
    InputError
        If ``read`` does.
    """
    try:
        return read()
    except InputError as error:
        raise InputError(
            error.what,
            allowed=error.allowed,
            remedy=error.remedy,
            line=error.line,
            column=column,
        ) from None


def task_graph_losses(problem: DagProblem, format_name: str) -> list[str]:
    """Return what a file of tasks and edges leaves out of a problem.

    Raises
    ------
    UsageError
        If the meaning of the problem would change: durations that depend on the node other
        than by its speed, eligibility, resources, lags and other features.
    """
    honours = frozenset({Feature.MODES, Feature.NODES, Feature.COMMUNICATION})
    refuse_inexpressible(problem, format_name, honours, _obstacles(problem))
    losses = common_losses(problem, data=False)
    if problem.nodes:
        losses.append("nodes and links left out: give --nodes when the file is read")
    return losses


def _obstacles(problem: DagProblem) -> tuple[str, ...]:
    tasks = problem.tasks
    found = [
        ("tasks with modes", any(task.modes is not None for task in tasks)),
        ("durations that depend on the node", bool(problem.durations)),
        ("eligibility", any(task.eligible is not None for task in tasks)),
    ]
    return tuple(name for name, present in found if present)


def work_texts(problem: DagProblem, numerals: Numerals) -> list[str]:
    """Return the work of every task in decimal text."""
    return [numerals(task.work if task.work is not None else 0) for task in problem.tasks]


def data_texts(problem: DagProblem, numerals: Numerals) -> list[tuple[str, str, str]]:
    """Return source, target and data in decimal text of every edge; repeated edges once."""
    largest: dict[tuple[str, str], Number] = {}
    for edge in problem.edges:
        key = (edge.source, edge.target)
        largest[key] = max(edge.data, largest.get(key, 0))
    return [(source, target, numerals(data)) for (source, target), data in largest.items()]
