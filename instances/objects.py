"""Problems from objects in memory: graphs of networkx, plain dicts, data frames.

Nothing here imports networkx, pandas or polars: a graph needs ``nodes(data=True)`` and
``edges(data=True)``; see :mod:`allocsolve.instances.frames` for tables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal, Protocol, cast, overload, runtime_checkable

from allocsolve.instances.draft import Draft
from allocsolve.instances.formats.native import SCHEMA, decode
from allocsolve.instances.frames import Frame, Row, rows
from allocsolve.instances.kinds import Problem, require_kind
from allocsolve.instances.machines import identical_nodes
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.result import InstanceInfo

if TYPE_CHECKING:
    from allocsolve.models.coded.problem import CodedProblem
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.fair.data import FairDocument
    from allocsolve.models.fair.problem import FairProblem

__all__ = ["Frame", "Graph", "from_dict", "from_frames", "from_networkx"]


class Graph(Protocol):
    """The part of a networkx graph that is used."""

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        ...

    @property
    def nodes(self) -> object:
        """View that gives (key, attributes) when called with ``data=True``."""
        ...

    @property
    def edges(self) -> object:
        """View that gives (source, target, attributes) when called with ``data=True``."""
        ...


class _View(Protocol):
    def __call__(self, *, data: bool) -> Iterable[tuple[object, ...]]: ...


@runtime_checkable
class _Scalar(Protocol):
    def item(self) -> object:
        """Return the number as Python has it."""


@overload
def from_dict(document: Mapping[str, object], *, kind: Literal["dag"]) -> DagProblem: ...


@overload
def from_dict(document: Mapping[str, object], *, kind: Literal["coded"]) -> CodedProblem: ...


@overload
def from_dict(document: Mapping[str, object], *, kind: Literal["fair"]) -> FairProblem: ...


@overload
def from_dict(document: Mapping[str, object], *, kind: None = ...) -> Problem: ...


def from_dict(document: Mapping[str, object], *, kind: str | None = None) -> Problem:
    """Build a problem from an instance document as plain objects.

    Parameters
    ----------
    document
        As in a native file; ``schema`` may be left out, and ``kind`` too if it is ``"dag"`` or
        given as argument. Numbers may be int, float, Decimal, Fraction or scalars of numpy.
    kind
        The problem kind that is expected, so that type checkers know what comes back.

    Raises
    ------
    InputError
        If the document is wrong or of another kind, with its path and the id of the record.
    """
    raw = _plain({"schema": SCHEMA, "kind": kind or "dag", **document})
    draft = Draft(decode(raw))
    require_kind(draft.document, kind)
    return draft.build(InstanceInfo(name=draft.document.name))


def from_networkx(
    graph: Graph, *, nodes: int | Frame = (), name: str = "", **fields: object
) -> DagProblem:
    """Build a problem from a directed graph of networkx.

    Parameters
    ----------
    graph
        Its nodes are the tasks, with the fields of a task as attributes; its edges carry the
        fields of an edge. Keys become ids through ``str``.
    nodes
        Machines: a count of identical ones, or records with the fields of a node.
    name, **fields
        Other fields of the instance document, e.g. ``resources``, ``durations``, ``links``.

    Raises
    ------
    UsageError
        If the graph is not directed.
    InputError
        If an attribute or a value is wrong.
    """
    if not graph.is_directed():
        raise UsageError("precedence needs a directed graph (networkx.DiGraph)")
    tasks = [
        {**cast(Row, attributes), "id": str(key)}
        for key, attributes in cast(_View, graph.nodes)(data=True)
    ]
    edges = [
        {**cast(Row, attributes), "from": str(source), "to": str(target)}
        for source, target, attributes in cast(_View, graph.edges)(data=True)
    ]
    machines = _machines(nodes)
    tables = {"tasks": tasks, "edges": edges, "nodes": machines}
    return from_dict({"name": name, **tables, **fields}, kind="dag")


@overload
def from_frames(
    *,
    throughput: Frame,
    types: Frame,
    jobs: Frame | None = ...,
    name: str = ...,
    **fields: object,
) -> FairProblem: ...


@overload
def from_frames(
    tasks: Frame,
    edges: Frame | None = ...,
    *,
    nodes: int | Frame = ...,
    durations: Frame | None = ...,
    resources: Frame | None = ...,
    name: str = ...,
    **fields: object,
) -> DagProblem: ...


def from_frames(
    tasks: Frame | None = None,
    edges: Frame | None = None,
    *,
    nodes: int | Frame = (),
    durations: Frame | None = None,
    resources: Frame | None = None,
    throughput: Frame | None = None,
    types: Frame | None = None,
    jobs: Frame | None = None,
    name: str = "",
    **fields: object,
) -> DagProblem | FairProblem:
    """Build a problem from tables; missing values (None, NaN) count as absent.

    ``tasks`` begin a problem of kind ``dag``, ``throughput`` one of kind ``fair``.

    Parameters
    ----------
    tasks
        Columns are fields of a task. A column ``duration`` gives the task one mode, whose
        demand of resource R stands in a column ``demand.R``.
    edges
        Columns ``from``, ``to`` and other fields of an edge.
    nodes
        A count of identical nodes, or a table with the fields of a node.
    durations
        Columns ``task``, ``node``, ``duration``: times on unrelated nodes.
    resources
        Columns ``id``, ``capacity``, ``renewable``.
    throughput
        A column ``job``, and one for each type with what the job makes on it per unit of time;
        or the columns ``job``, ``type``, ``throughput``.
    types
        Columns ``id``, ``count`` and other fields of a type, or a mapping of types to counts.
    jobs
        A column ``job`` and fields of a job; ``demand.TYPE`` is what it holds of a type per unit
        of progress. Jobs that are not in it have the defaults.
    name, **fields
        Other fields of the instance document.

    Raises
    ------
    InputError
        If a column or a value is wrong.
    UsageError
        If something is no table, or it is not clear which kind is meant.
    """
    machines = None if isinstance(nodes, tuple) and not nodes else nodes
    of_tasks = {"edges": edges, "nodes": machines, "durations": durations, "resources": resources}
    _require_one_kind(tasks, throughput, of_tasks, {"types": types, "jobs": jobs})
    if throughput is not None:
        from allocsolve.instances.fair_frames import fair_problem

        return fair_problem(throughput, types, jobs, {"name": name, **fields}, _fair_document)
    document: Row = {
        "name": name,
        "tasks": [_task(row) for row in rows(tasks, ("id",))],
        "edges": [] if edges is None else rows(edges, ("from", "to")),
        "nodes": _machines(nodes),
        "resources": [] if resources is None else rows(resources, ("id",)),
        **fields,
    }
    if durations is not None:
        document["durations"] = _times(durations)
    return from_dict(document, kind="dag")


def _require_one_kind(
    tasks: Frame | None,
    throughput: Frame | None,
    of_tasks: Mapping[str, Frame | None],
    of_jobs: Mapping[str, Frame | None],
) -> None:
    """Refuse tables of two kinds, or of none; those of the other kind would be lost."""
    if (tasks is None) == (throughput is None):
        raise UsageError("from_frames takes either tasks or throughput")
    if throughput is not None and of_jobs["types"] is None:
        raise UsageError("from_frames needs types with their counts beside throughput")
    first, others = ("tasks", of_jobs) if throughput is None else ("throughput", of_tasks)
    strange = next((name for name, table in others.items() if table is not None), None)
    if strange is not None:
        raise UsageError(f"from_frames takes no {strange} beside {first}")


def _fair_document(fields: Mapping[str, object]) -> FairDocument:
    document = decode(_plain({"schema": SCHEMA, "kind": "fair", **fields}))
    return cast("FairDocument", document)


def _machines(nodes: int | Frame) -> list[Row]:
    if isinstance(nodes, int):
        return [{"id": node.id} for node in identical_nodes(nodes)]
    return rows(nodes, ("id",))


def _task(row: Row) -> Row:
    if "duration" not in row:
        return row
    demand = {key[7:]: value for key, value in row.items() if key.startswith("demand.")}
    rest = {
        key: value
        for key, value in row.items()
        if key != "duration" and not key.startswith("demand.")
    }
    return {**rest, "modes": [{"duration": row["duration"], "demand": demand}]}


def _times(frame: Frame) -> dict[str, Row]:
    table: dict[str, Row] = {}
    for i, row in enumerate(rows(frame, ("task", "node"))):
        if set(row) != {"task", "node", "duration"}:
            raise InputError(
                f"durations, row {i}: the columns are {', '.join(row) or 'empty'}",
                allowed="the columns task, node, duration, each filled",
                remedy="rename, fill or delete columns",
            )
        times = table.setdefault(str(row["task"]), {})
        if row["node"] in times:
            raise InputError(
                f"durations, row {i}: task '{row['task']}' has two times on node '{row['node']}'",
                allowed="one row for each task and node",
                remedy="delete one of the two rows",
            )
        times[str(row["node"])] = row["duration"]
    return table


def _plain(value: object) -> object:
    """Replace mappings, sequences and scalars of numpy by plain ones."""
    if isinstance(value, str | int | float) and type(value) in (str, int, float, bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    return value.item() if isinstance(value, _Scalar) else value
