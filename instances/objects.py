"""Problems from objects in memory: graphs of networkx, plain dicts, data frames.

Nothing here imports networkx, pandas or polars: a graph needs ``nodes(data=True)`` and
``edges(data=True)``, a frame needs ``to_dicts()`` (polars) or ``to_dict("records")`` (pandas).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, cast, overload, runtime_checkable

from allocsolve.instances.draft import Draft
from allocsolve.instances.formats.native import SCHEMA, decode
from allocsolve.instances.kinds import Problem, require_kind
from allocsolve.instances.machines import identical_nodes
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.result import InstanceInfo

if TYPE_CHECKING:
    from allocsolve.models.coded.problem import CodedProblem
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.fair.problem import FairProblem

__all__ = ["Frame", "Graph", "from_dict", "from_frames", "from_networkx"]

Row: TypeAlias = dict[str, object]


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
class _PolarsLike(Protocol):
    def to_dicts(self) -> list[Row]:
        """Return the rows."""


@runtime_checkable
class _PandasLike(Protocol):
    def to_dict(self, orient: str) -> list[Row]:
        """Return the rows, with the orient ``records``."""


@runtime_checkable
class _Scalar(Protocol):
    def item(self) -> object:
        """Return the number as Python has it."""


Frame: TypeAlias = object
"""A pandas or polars frame, a mapping of columns, or a sequence of rows (mappings)."""


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


def from_frames(
    tasks: Frame,
    edges: Frame | None = None,
    *,
    nodes: int | Frame = (),
    durations: Frame | None = None,
    resources: Frame | None = None,
    name: str = "",
    **fields: object,
) -> DagProblem:
    """Build a problem from tables; missing values (None, NaN) count as absent.

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
    name, **fields
        Other fields of the instance document.

    Raises
    ------
    InputError
        If a column or a value is wrong.
    """
    document: Row = {
        "name": name,
        "tasks": [_task(row) for row in _rows(tasks, ("id",))],
        "edges": [] if edges is None else _rows(edges, ("from", "to")),
        "nodes": _machines(nodes),
        "resources": [] if resources is None else _rows(resources, ("id",)),
        **fields,
    }
    if durations is not None:
        document["durations"] = _times(durations)
    return from_dict(document, kind="dag")


def _machines(nodes: int | Frame) -> list[Row]:
    if isinstance(nodes, int):
        return [{"id": node.id} for node in identical_nodes(nodes)]
    return _rows(nodes, ("id",))


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
    for i, row in enumerate(_rows(frame, ("task", "node"))):
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


def _rows(frame: Frame, ids: Sequence[str]) -> list[Row]:
    """Return the rows of a table without missing values; the id columns become text."""
    if isinstance(frame, _PolarsLike):
        records: Iterable[object] = frame.to_dicts()
    elif isinstance(frame, Mapping):
        records = _transposed(frame)
    elif isinstance(frame, _PandasLike):
        records = frame.to_dict("records")
    elif isinstance(frame, Iterable) and not isinstance(frame, str | bytes):
        records = frame
    else:
        raise UsageError(f"a table is needed: a frame or rows, not {type(frame).__name__}")
    return [_row(record, ids) for record in records]


def _transposed(columns: Mapping[str, Sequence[object]]) -> Iterable[Row]:
    if len({len(column) for column in columns.values()}) > 1:
        raise UsageError("the columns of a table must have the same length")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _row(record: object, ids: Sequence[str]) -> Row:
    if not isinstance(record, Mapping):
        raise UsageError(f"a row of a table must be a mapping, not {type(record).__name__}")
    present = {str(key): value for key, value in record.items() if not _is_missing(value)}
    return {key: _id(value) if key in ids else value for key, value in present.items()}


def _id(value: object) -> str:
    """Return an id as text; an integral float stands for an integer column with gaps."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _is_missing(value: object) -> bool:
    """Whether a cell is None, NaN, NaT or NA: those do not equal themselves, or cannot tell."""
    if value is None:
        return True
    if isinstance(value, str | list | tuple | dict | int):
        return False
    try:
        return bool(value != value)  # noqa: PLR0124  # only missing values differ from themselves
    except (TypeError, ValueError):
        return type(value).__name__ == "NAType"


def _plain(value: object) -> object:
    """Replace mappings, sequences and scalars of numpy by plain ones."""
    if isinstance(value, str | int | float) and type(value) in (str, int, float, bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(child) for child in value]
    return value.item() if isinstance(value, _Scalar) else value
