"""The jobs of a fair division as columns of numbers, from records or straight from arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import overload

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.errors import InputError, suggest
from allocsolve.models.exact import Number
from allocsolve.models.fair.data import Entity, Job
from allocsolve.models.fields import Known, is_real

__all__ = [
    "DEFAULTS",
    "JobColumns",
    "JobTable",
    "Numbered",
    "columns_from",
    "columns_of",
    "float_array",
    "table_of",
]


DEFAULTS: Mapping[str, float] = MappingProxyType(
    {
        "weight": 1.0,
        "gang": 1.0,
        "elapsed": 0.0,
        "remaining": np.nan,
        "isolated": np.nan,
        "arrival": 0.0,
        "deadline": np.inf,
    }
)
"""Each column of one number for a job, and what stands there if nothing is said."""


@dataclass(frozen=True, eq=False)
class JobColumns:
    """One row for each of n jobs.

    Attributes
    ----------
    throughput
        float64 (n, m), progress per unit of time on each of m types.
    demand
        float64 (n, m), amount held per unit of progress; None if no job demands anything.
    weight, gang, elapsed, remaining, isolated, arrival, deadline
        float64 (n,); NaN where ``remaining`` or ``isolated`` is not given, infinity where
        there is no ``deadline``.
    entity
        int64 (n,), position of the entity, -1 for none.
    """

    throughput: FloatArray
    demand: FloatArray | None
    weight: FloatArray
    gang: FloatArray
    elapsed: FloatArray
    remaining: FloatArray
    isolated: FloatArray
    arrival: FloatArray
    deadline: FloatArray
    entity: IntArray

    def __post_init__(self) -> None:
        for name in (field.name for field in fields(self)):
            array = getattr(self, name)
            if array is not None:
                array.setflags(write=False)


def float_array(values: object, name: str, shape: tuple[int, ...]) -> FloatArray:
    """Return a read-only float64 copy of an array.

    Raises
    ------
    InputError
        If it holds anything but numbers or has another shape.
    """
    try:
        if np.iscomplexobj(np.asarray(values)):
            raise TypeError("its numbers are complex")
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name}: not an array of numbers ({error})",
            allowed=f"an array of numbers of shape {shape}",
            remedy=f"correct {name}",
        ) from None
    if array.shape != shape:
        raise InputError(
            f"{name} has shape {array.shape}", allowed=f"an array of shape {shape}", path=name
        )
    array.setflags(write=False)
    return array


def table_of(throughput: object) -> npt.NDArray[np.generic]:
    """Return throughputs as an array of two axes, not copied.

    Raises
    ------
    InputError
        If it has another shape.
    """
    try:
        table: npt.NDArray[np.generic] = np.asarray(throughput)
    except ValueError:
        raise InputError(
            "throughput: its rows differ in length", allowed="an array of shape (jobs, types)"
        ) from None
    if table.ndim != 2:
        raise InputError(
            f"throughput has {table.ndim} axes", allowed="an array of shape (jobs, types)"
        )
    return table


def columns_from(
    table: npt.NDArray[np.generic], given: Mapping[str, object], entities: int
) -> JobColumns:
    """Return the columns that arrays describe, with the defaults of a job.

    Parameters
    ----------
    table
        (n, m), throughputs.
    given
        Columns by name, as :meth:`allocsolve.models.fair.problem.FairProblem.from_arrays` says.
    entities
        How many there are.

    Raises
    ------
    InputError
        If a column is unknown, or no array of numbers of its shape.
    """
    shape = table.shape
    n = shape[0]
    demand, entity = given.get("demand"), given.get("entity")
    known = [*DEFAULTS, "entity", "demand"]
    unknown = sorted(set(given) - set(known))
    if unknown:
        hint = suggest(unknown[0], known)
        raise InputError(f"unknown column '{unknown[0]}'{hint}", allowed=", ".join(known))
    columns = {
        name: float_array(given[name], name, (n,)) if name in given else np.full(n, value)
        for name, value in DEFAULTS.items()
    }
    places = np.full(n, -1) if entity is None else np.array(entity)
    wrong = places.shape != (n,) or not np.issubdtype(places.dtype, np.integer)
    if wrong or (n and (places.min() < -1 or places.max() >= entities)):
        raise InputError(
            "entity is no (jobs,) array of positions in entities",
            allowed=f"whole numbers, -1 (none) .. {entities - 1}",
            remedy="correct entity, or give the entities",
        )
    return JobColumns(
        throughput=float_array(table, "throughput", shape),
        demand=None if demand is None else float_array(demand, "demand", shape),
        entity=places.astype(np.int64),
        **columns,
    )


class Numbered(Sequence[str]):
    """The ids "0", "1", ... of n jobs, written only when they are read."""

    def __init__(self, count: int) -> None:
        self._range = range(count)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...
    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        """Return the id at a place, or the ids of a slice."""
        if isinstance(place, slice):
            return [str(i) for i in self._range[place]]
        return str(self._range[place])

    def __len__(self) -> int:
        return len(self._range)

    def __iter__(self) -> Iterator[str]:
        return map(str, self._range)


class JobTable(Sequence[Job]):
    """Jobs that are kept as columns; a record is made only when it is asked for."""

    def __init__(
        self,
        types: Sequence[str],
        columns: JobColumns,
        ids: Sequence[str] | None = None,
        entities: Sequence[Entity] = (),
    ) -> None:
        self.columns = columns
        self.ids: Sequence[str] = Numbered(len(columns.weight)) if ids is None else tuple(ids)
        self._types = tuple(types)
        self._entities = tuple(entity.id for entity in entities)

    @overload
    def __getitem__(self, place: int) -> Job: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Job]: ...
    def __getitem__(self, place: int | slice) -> Job | Sequence[Job]:
        """Return the record of a job, or those of a slice."""
        if isinstance(place, slice):
            return [self._record(i) for i in range(len(self))[place]]
        return self._record(range(len(self))[place])

    def __len__(self) -> int:
        return len(self.columns.weight)

    def _record(self, i: int) -> Job:
        columns, entity = self.columns, int(self.columns.entity[i])
        deadline = float(columns.deadline[i])
        return Job(
            id=self.ids[i],
            throughput=self._amounts(columns.throughput, i),
            demand={} if columns.demand is None else self._amounts(columns.demand, i),
            weight=float(columns.weight[i]),
            gang=int(columns.gang[i]),
            entity=None if entity < 0 else self._entities[entity],
            elapsed=float(columns.elapsed[i]),
            remaining=_given(columns.remaining[i]),
            isolated=_given(columns.isolated[i]),
            arrival=float(columns.arrival[i]),
            deadline=None if np.isinf(deadline) else deadline,
        )

    def _amounts(self, table: FloatArray, i: int) -> dict[str, Number]:
        return {self._types[j]: float(table[i, j]) for j in np.flatnonzero(table[i])}


def _given(value: np.float64) -> float | None:
    return None if np.isnan(value) else float(value)


def columns_of(jobs: Sequence[Job], types: Known, entities: Known) -> JobColumns:
    """Return the columns of records.

    Raises
    ------
    InputError
        If a type or an entity is unknown or a value is no number.
    """
    n, m = len(jobs), len(types.ids)
    return JobColumns(
        throughput=_table(jobs, "throughput", types, (n, m)),
        demand=_table(jobs, "demand", types, (n, m)) if any(job.demand for job in jobs) else None,
        weight=_column(jobs, "weight", lambda job: job.weight),
        gang=_column(jobs, "gang", lambda job: job.gang),
        elapsed=_column(jobs, "elapsed", lambda job: job.elapsed),
        remaining=_column(jobs, "remaining", lambda job: job.remaining, np.nan),
        isolated=_column(jobs, "isolated", lambda job: job.isolated, np.nan),
        arrival=_column(jobs, "arrival", lambda job: job.arrival),
        deadline=_column(jobs, "deadline", lambda job: job.deadline, np.inf),
        entity=_entities(jobs, entities),
    )


def _column(
    jobs: Sequence[Job], name: str, read: Callable[[Job], object], missing: float | None = None
) -> FloatArray:
    values = [read(job) for job in jobs]
    if missing is not None:
        values = [missing if value is None else value for value in values]
    try:
        return _floats(values)
    except ValueError:
        i = next(i for i, value in enumerate(values) if not _is_number(value))
        raise _no_number(jobs[i].id, name, values[i], f"$.jobs[{i}].{name}") from None


def _table(jobs: Sequence[Job], name: str, types: Known, shape: tuple[int, int]) -> FloatArray:
    """Scatter the numbers of all jobs into a table in one go."""
    places: list[int] = []
    values: list[object] = []
    index, width = types.index, shape[1]
    for i, job in enumerate(jobs):
        row: dict[str, object] = getattr(job, name)
        try:
            places.extend([i * width + index[token] for token in row])
        except KeyError:
            for token in row:
                types.require(token, f"$.jobs[{i}].{name}", f"job '{job.id}'")
        values.extend(row.values())
    table = np.zeros(shape)
    try:
        table.reshape(-1)[np.array(places, dtype=np.int64)] = _floats(values)
    except ValueError:
        k = next(k for k, value in enumerate(values) if not _is_number(value))
        i, j = divmod(places[k], width)
        where, path = f"{name} on '{types.ids[j]}'", f"$.jobs[{i}].{name}.{types.ids[j]}"
        raise _no_number(jobs[i].id, where, values[k], path) from None
    return table


def _floats(values: Sequence[object]) -> FloatArray:
    """Return numbers as float64; ValueError if one is none."""
    sorts = {type(value) for value in values}
    if not sorts <= {int, float} and not all(map(is_real, values)):
        raise ValueError("not a number")
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:
        raise ValueError("beyond the range of floating-point numbers") from None


def _is_number(value: object) -> bool:
    try:
        _floats([value])
    except ValueError:
        return False
    return True


def _no_number(job: str, field: str, value: object, path: str) -> InputError:
    return InputError(
        f"job '{job}': {field} {value!r} is not a number that a float can hold",
        allowed="a finite number",
        remedy=f"correct {field}",
        path=path,
    )


def _entities(jobs: Iterable[Job], entities: Known) -> IntArray:
    places = [
        -1
        if job.entity is None
        else entities.require(job.entity, f"$.jobs[{i}].entity", f"job '{job.id}'")
        for i, job in enumerate(jobs)
    ]
    return np.array(places, dtype=np.int64)
