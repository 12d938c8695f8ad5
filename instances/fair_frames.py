"""Fair divisions from tables in memory: throughputs, types, and the jobs if need be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.instances.frames import Frame, Row, columns, is_missing, rows, text_id
from allocsolve.instances.text import shorten
from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import InputError, suggest
from allocsolve.models.fair.columns import DEFAULTS, JobColumns, JobTable
from allocsolve.models.fair.data import Entity, FairDocument
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fields import is_real
from allocsolve.models.result import InstanceInfo

__all__ = ["fair_problem"]

_JOB, _TYPE = ("job", "id"), ("type", "id")
_DEMAND = "demand."

Decode = Callable[[Mapping[str, object]], FairDocument]


def fair_problem(
    throughput: Frame,
    types: Frame,
    jobs: Frame | None,
    fields: Mapping[str, object],
    decode: Decode,
) -> FairProblem:
    """Build a fair division.

    Parameters
    ----------
    throughput
        A column ``job`` and one for each type; or the columns ``job``, ``type``,
        ``throughput``. A missing value is no throughput.
    types
        Columns ``id`` (or ``type``), ``count`` and other fields of a type; or a mapping of
        types to counts.
    jobs
        A column ``job`` and fields of a job, ``demand.TYPE`` for amounts per unit of progress.
    fields
        Other fields of the instance document.
    decode
        Turns a plain instance document into records.

    Raises
    ------
    InputError
        If a column or a value is wrong, with the job and the column.
    UsageError
        If something is no table.
    """
    document = decode({**fields, "types": _types(types), "jobs": []})
    names = tuple(kind.id for kind in document.types)
    table = _throughputs(columns(throughput), names)
    entities = tuple(document.entities)
    data = _jobs(None if jobs is None else columns(jobs), table, names, entities)
    return FairProblem(
        types=document.types,
        jobs=JobTable(names, data, table.ids, entities),
        entities=entities,
        pairs=document.pairs,
        rounds=document.rounds,
        time_cap=document.time_cap,
        objective=document.objective,
        name=document.name,
        origin=InstanceInfo(name=document.name),
    )


@dataclass(frozen=True)
class _Table:
    """Jobs with their throughputs, float64 (n, m)."""

    ids: list[str]
    index: dict[str, int]
    values: FloatArray


def _types(frame: Frame) -> list[Row]:
    if isinstance(frame, Mapping) and frame and all(is_real(v) for v in frame.values()):
        return [{"id": text_id(token), "count": count} for token, count in frame.items()]
    found = []
    for i, row in enumerate(rows(frame, _TYPE)):
        name = next((key for key in _TYPE if key in row), None)
        if name is None:
            raise _lacks("types", f"row {i} has no id", "a column id (or type)")
        found.append({"id": row[name], **{k: v for k, v in row.items() if k != name}})
    return found


def _lacks(table: str, what: str, allowed: str) -> InputError:
    return InputError(f"{table}: {what}", allowed=allowed, remedy="name or fill the column")


def _taken(cells: dict[str, list[object]], aliases: Sequence[str], table: str) -> list[str]:
    """Take the column of ids out of a table and return it as text."""
    name = next((key for key in aliases if key in cells), None)
    if name is None:
        raise InputError(
            f"{table}: there is no column '{aliases[0]}'",
            allowed=f"a column {' or '.join(aliases)}; the columns are {_listed(list(cells))}",
            remedy="rename the column (an index of pandas: reset_index)",
        )
    values = cells.pop(name)
    empty = next((i for i, value in enumerate(values) if is_missing(value)), None)
    if empty is not None:
        raise _lacks(table, f"row {empty} has no {name}", f"an id in each cell of '{name}'")
    return [text_id(value) for value in values]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(shorten(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")


def _index(ids: Sequence[str], table: str) -> dict[str, int]:
    index: dict[str, int] = {}
    for i, token in enumerate(ids):
        if index.setdefault(token, i) != i:
            raise InputError(
                f"{table}: job '{shorten(token)}' has two rows, {index[token]} and {i}",
                allowed="one row for each job",
                remedy="delete or rename one of the two",
            )
    return index


def _throughputs(cells: dict[str, list[object]], types: Sequence[str]) -> _Table:
    keys = set(cells)
    if {"type", "throughput"} <= keys and len(keys) == 3:
        return _long(cells, types)
    ids = _taken(cells, _JOB, "throughput")
    _require_types(list(cells), types)
    values = np.zeros((len(ids), len(types)))
    for j, token in enumerate(types):
        values[:, j] = _numbers(cells[token], ids, f"throughput on '{token}'", 0.0)
    return _Table(ids, _index(ids, "throughput"), values)


def _long(cells: dict[str, list[object]], types: Sequence[str]) -> _Table:
    """Return the table of which each row is one cell."""
    owners = _taken(cells, _JOB, "throughput")
    kinds = [text_id(value) for value in cells["type"]]
    ids = list(dict.fromkeys(owners))
    index, place = {token: i for i, token in enumerate(ids)}, {t: j for j, t in enumerate(types)}
    _require_types(list(dict.fromkeys(kinds)), types)
    numbers = _numbers(cells["throughput"], owners, "throughput", 0.0)
    rows_, columns_ = [index[token] for token in owners], [place[token] for token in kinds]
    values, seen = np.zeros((len(ids), len(types))), np.zeros((len(ids), len(types)), dtype=np.int8)
    np.add.at(seen, (rows_, columns_), 1)
    for i, j in np.argwhere(seen > 1)[:1].tolist():
        raise InputError(
            f"throughput: job '{shorten(ids[i])}' has two rows for type '{shorten(types[j])}'",
            allowed="one row for each job and type",
            remedy="delete one of the two rows",
        )
    values[rows_, columns_] = numbers
    return _Table(ids, index, values)


def _require_types(found: Sequence[str], types: Sequence[str]) -> None:
    strange = [token for token in found if token not in types]
    absent = [token for token in types if token not in found]
    if strange:
        raise InputError(
            f"throughput: '{shorten(strange[0])}' is no type{suggest(strange[0], types)}",
            allowed=f"a column of jobs, and the types {_listed(types)}",
            remedy="rename or drop the column, or add the type with its count",
        )
    if absent:
        raise InputError(
            f"throughput: there is nothing of type '{shorten(absent[0])}'",
            allowed=f"throughputs on {_listed(types)}",
            remedy="add them, or drop the type",
        )


def _jobs(
    cells: dict[str, list[object]] | None,
    table: _Table,
    types: Sequence[str],
    entities: Sequence[Entity],
) -> JobColumns:
    n, m = table.values.shape
    filled = {name: np.full(n, value) for name, value in DEFAULTS.items()}
    places, demand = np.full(n, -1, dtype=np.int64), np.zeros((n, m))
    if cells is not None:
        ids = _taken(cells, _JOB, "jobs")
        _index(ids, "jobs")
        where = [_found(token, table) for token in ids]
        for name, values in cells.items():
            if name in DEFAULTS:
                filled[name][where] = _numbers(values, ids, name, DEFAULTS[name])
            elif name == "entity":
                places[where] = _positions(values, ids, entities)
            else:
                j = _demanded(name, types)
                demand[where, j] = _numbers(values, ids, f"demand of '{types[j]}'", 0.0)
    return JobColumns(
        throughput=table.values,
        demand=demand if demand.any() else None,
        entity=places,
        **filled,
    )


def _found(token: str, table: _Table) -> int:
    if token not in table.index:
        raise InputError(
            f"jobs: job '{shorten(token)}' has no throughputs{suggest(token, table.ids)}",
            allowed="jobs of the table of throughputs",
            remedy="correct the id, or add its throughputs",
        )
    return table.index[token]


def _demanded(column: str, types: Sequence[str]) -> int:
    token = column.removeprefix(_DEMAND)
    if column.startswith(_DEMAND) and token in types:
        return list(types).index(token)
    known = ["job", *DEFAULTS, "entity", *(f"{_DEMAND}{token}" for token in types)]
    raise InputError(
        f"jobs: unknown column '{shorten(column)}'{suggest(column, known)}",
        allowed=_listed(known),
        remedy="rename or drop the column",
    )


def _positions(
    values: Sequence[object], ids: Sequence[str], entities: Sequence[Entity]
) -> list[int]:
    index = {entity.id: k for k, entity in enumerate(entities)}
    found = []
    for token, value in zip(ids, values, strict=True):
        name = None if is_missing(value) else text_id(value)
        if name is not None and name not in index:
            raise InputError(
                f"job '{shorten(token)}': unknown entity '{shorten(name)}'"
                f"{suggest(name, list(index))}",
                allowed=_listed(list(index)) or "no entity: there are none",
                remedy="correct it, or add the entity to entities",
            )
        found.append(-1 if name is None else index[name])
    return found


def _numbers(
    values: Sequence[object], ids: Sequence[str], field: str, missing: float
) -> FloatArray:
    """Return a column of numbers; the range is checked with the problem."""
    filled = [missing if is_missing(value) else value for value in values]
    for token, value in zip(ids, filled, strict=True):
        if not is_real(value):
            raise InputError(
                f"job '{shorten(token)}': {field} {shorten(repr(value))} is not a number",
                allowed="a number",
                remedy="correct the cell",
            )
    try:
        return np.array(filled, dtype=np.float64)
    except OverflowError:
        raise InputError(f"{field} holds a number beyond the range of floats") from None
