"""Checks of the data of a ``fair`` instance: one message per rule, the id and field named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.exact import Number
from allocsolve.models.fair.arrays import FairArrays
from allocsolve.models.fair.columns import JobColumns
from allocsolve.models.fair.data import Entity, Pair, ResourceType, Rounds
from allocsolve.models.fields import Known, is_real
from allocsolve.models.nodes import law_from

__all__ = [
    "check_columns",
    "check_entity",
    "check_pair",
    "check_rounds",
    "check_type",
    "find_notes",
]

_MOST_ROUNDS = 1_000_000
_LARGEST = 1e150
"""Numbers beyond it, and positive ones below its inverse: their squares are not finite, or 0."""

_NAMED = 5
"""How many ids a warning names before it counts the rest."""


@dataclass(frozen=True)
class _Range:
    """What a number may be."""

    text: str
    least: float
    strict: bool = False

    def holds(self, values: FloatArray) -> BoolArray:
        within: BoolArray = (values == 0) | ((values >= 1 / _LARGEST) & (values <= _LARGEST))
        return within & self._is_inside(values)

    def allowed(self, value: object) -> str:
        """Say what a number that is refused may be."""
        number = float(value) if isinstance(value, (int, float)) else np.nan
        far = self._is_inside(np.array([number]))[0]
        return f"0 or from {1 / _LARGEST:g} to {_LARGEST:g}" if far else self.text

    def _is_inside(self, values: FloatArray) -> BoolArray:
        inside: BoolArray = values > self.least if self.strict else values >= self.least
        return inside & np.isfinite(values)


_AMOUNT = _Range("finite and non-negative", 0.0)
_POSITIVE = _Range("finite and above 0", 0.0, strict=True)


def _fault(owner: str, field: str, value: object, allowed: str, path: str) -> InputError:
    return InputError(
        f"{owner}: {field} is {value}, it must be {allowed}",
        allowed=f"a number that is {allowed}",
        remedy=f"correct {field}",
        path=path,
    )


def _number(value: Number | None, owner: str, path: str, range_: _Range = _AMOUNT) -> float:
    """Return a number of a record as float if it is in its range."""
    field = path.rpartition(".")[2]
    try:
        known = float(value) if is_real(value) and value is not None else np.nan
    except OverflowError:
        known = np.inf
    if not range_.holds(np.array([known]))[0]:
        raise _fault(owner, field, value, range_.allowed(known), path)
    return known


def check_type(kind: ResourceType, path: str) -> tuple[float, float]:
    """Return count and cost of a type.

    Raises
    ------
    InputError
        If one of them is infinite, negative or no number, or the runtime law is wrong.
    """
    owner = f"type '{kind.id}'"
    if kind.runtime is not None:
        law_from(kind.runtime, path=f"{path}.runtime")
    return _number(kind.count, owner, f"{path}.count"), _number(kind.cost, owner, f"{path}.cost")


def check_entity(entity: Entity, path: str) -> float:
    """Return the weight of an entity.

    Raises
    ------
    InputError
        If weight or policy is not allowed.
    """
    if entity.policy not in ("fair", "fifo"):
        raise InputError(
            f"entity '{entity.id}': policy is {entity.policy!r}",
            allowed='"fair" or "fifo"',
            remedy="correct policy",
            path=f"{path}.policy",
        )
    return _number(entity.weight, f"entity '{entity.id}'", f"{path}.weight", _POSITIVE)


def check_columns(columns: JobColumns, ids: Sequence[str], types: Sequence[str]) -> None:
    """Check the range of every number of the jobs.

    Raises
    ------
    InputError
        At the first number out of its range, with job, field and type.
    """
    for name in ("throughput", "demand"):
        table = getattr(columns, name)
        if table is not None:
            _check_table(table, name, ids, types)
    for name, range_ in (("weight", _POSITIVE), ("elapsed", _AMOUNT), ("arrival", _AMOUNT)):
        _check_column(getattr(columns, name), name, range_, ids, np.nan)
        _refuse_nan(getattr(columns, name), name, range_, ids)
    _check_column(columns.remaining, "remaining", _AMOUNT, ids, np.nan)
    _check_column(columns.isolated, "isolated", _POSITIVE, ids, np.nan)
    _check_column(columns.deadline, "deadline", _POSITIVE, ids, np.inf)
    wrong = ~((columns.gang >= 1) & (columns.gang == np.floor(columns.gang)))
    wrong |= ~np.isfinite(columns.gang)
    for i in np.flatnonzero(wrong)[:1]:
        owner, path = f"job '{ids[i]}'", f"$.jobs[{i}].gang"
        raise _fault(owner, "gang", columns.gang[i], "a whole number of at least 1", path)
    _refuse_both(columns, ids, types)


def _check_table(table: FloatArray, name: str, ids: Sequence[str], types: Sequence[str]) -> None:
    if not table.size or (table.min() >= 1 / _LARGEST and table.max() <= _LARGEST):
        return
    for i, j in np.argwhere(~_AMOUNT.holds(table))[:1]:
        field = f"{name} on type '{types[j]}'"
        path = f"$.jobs[{i}].{name}.{types[j]}"
        raise _fault(
            f"job '{ids[i]}'", field, table[i, j], _AMOUNT.allowed(float(table[i, j])), path
        )


def _check_column(
    values: FloatArray, name: str, range_: _Range, ids: Sequence[str], missing: float
) -> None:
    absent = np.isnan(values) if np.isnan(missing) else values == missing
    for i in np.flatnonzero(~(range_.holds(values) | absent))[:1]:
        allowed = range_.allowed(float(values[i]))
        raise _fault(f"job '{ids[i]}'", name, values[i], allowed, f"$.jobs[{i}].{name}")


def _refuse_nan(values: FloatArray, name: str, range_: _Range, ids: Sequence[str]) -> None:
    for i in np.flatnonzero(np.isnan(values))[:1]:
        raise _fault(f"job '{ids[i]}'", name, values[i], range_.text, f"$.jobs[{i}].{name}")


def _refuse_both(columns: JobColumns, ids: Sequence[str], types: Sequence[str]) -> None:
    """Refuse a type that a job can both exchange and not."""
    if columns.demand is None:
        return
    for i, j in np.argwhere((columns.demand > 0) & (columns.throughput > 0))[:1]:
        raise InputError(
            f"job '{ids[i]}': type '{types[j]}' is in throughput and in demand",
            allowed="a type in throughput (exchangeable) or in demand (it cannot be replaced)",
            remedy="delete it from one of the two",
            path=f"$.jobs[{i}].demand.{types[j]}",
        )


def check_pair(
    pair: Pair, path: str, jobs: Known, types: Known, columns: JobColumns
) -> tuple[tuple[int, int], FloatArray]:
    """Return the jobs of a pair and their throughput on each type, float64 (m, 2).

    Raises
    ------
    InputError
        If an id is unknown, a job comes twice, the gangs differ or a number is out of range.
    """
    owner = f"pair {'-'.join(map(str, pair.jobs))}"
    first, second = (jobs.require(job, f"{path}.jobs", owner) for job in pair.jobs)
    gang = columns.gang
    if first == second or gang[first] != gang[second]:
        what = "it names one job twice" if first == second else "the gangs of its jobs differ"
        raise InputError(
            f"{owner}: {what}",
            allowed="two jobs of equal gang",
            remedy="correct or delete the pair",
            path=f"{path}.jobs",
        )
    table = np.zeros((len(types.ids), 2))
    for job in pair.jobs:
        _refuse_demand(columns, jobs.index[job], owner, path)
    for token, values in pair.throughput.items():
        place = f"{path}.throughput.{token}"
        row = types.require(token, f"{path}.throughput", owner)
        table[row] = [_number(value, owner, place) for value in values]
    return (first, second), table


def _refuse_demand(columns: JobColumns, job: int, owner: str, path: str) -> None:
    if columns.demand is not None and columns.demand[job].any():
        raise InputError(
            f"{owner}: a job with demand cannot share units",
            allowed="jobs with throughput only",
            remedy="delete the pair or the demand",
            path=f"{path}.jobs",
        )


def check_rounds(rounds: Rounds, types: Sequence[ResourceType], *, time_cap: bool) -> None:
    """Check that whole-unit rounds make sense.

    Raises
    ------
    InputError
        If a number is out of range.
    UsageError
        If a count is no whole number or there is no time cap.
    """
    whole = isinstance(rounds.count, int) and not isinstance(rounds.count, bool)
    if not whole or not 1 <= rounds.count <= _MOST_ROUNDS:
        allowed = f"a whole number, 1 .. {_MOST_ROUNDS}"
        raise _fault("rounds", "count", rounds.count, allowed, "$.rounds.count")
    length = _number(rounds.length, "rounds", "$.rounds.length", _POSITIVE)
    if _number(rounds.restart, "rounds", "$.rounds.restart") > length:
        allowed = "at most the length of a round"
        raise _fault("rounds", "restart", rounds.restart, allowed, "$.rounds.restart")
    fractional = [kind.id for kind in types if not float(kind.count).is_integer()]
    if fractional or not time_cap:
        why = f"type '{fractional[0]}' has no whole count" if fractional else "time_cap is false"
        raise UsageError(f"rounds hand out whole units: they need whole counts and time_cap; {why}")


def find_notes(arrays: FairArrays, ids: Sequence[str], types: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each thing that is allowed but probably not meant."""
    empty = [types[j] for j in np.flatnonzero(arrays.capacity == 0).tolist()]
    if empty:
        yield f"{_listed(empty)} has no stock: nothing of it can be allocated"
    lost = np.flatnonzero(~arrays.reachable).tolist()
    if lost:
        yield (
            f"{_listed([ids[i] for i in lost[:_NAMED]], len(lost))} cannot get positive "
            "utility: no type in stock gives any; left out of the objective and given nothing"
        )
    most = arrays.gang.max(initial=0)
    large, scarce = np.zeros(len(arrays.gang), dtype=np.bool_), []
    for j in np.flatnonzero((arrays.capacity > 0) & (arrays.capacity < most)).tolist():
        gangs = (arrays.throughput[:, j] > 0) & (arrays.gang > max(arrays.capacity[j], 1))
        if gangs.any():
            large |= gangs
            scarce.append(f"the {arrays.capacity[j]:g} of type {types[j]}")
    if scarce:
        jobs = np.flatnonzero(large).tolist()
        named = _listed([ids[i] for i in jobs[:_NAMED]], len(jobs))
        verb = "need" if len(jobs) > 1 else "needs"
        yield (
            f"{named} {verb} more units at once than {_listed(scarce)}: time shares there are "
            "averages that no whole units give"
        )


def _listed(ids: Sequence[str], count: int | None = None) -> str:
    more = (count or len(ids)) - len(ids[:_NAMED])
    return ", ".join(ids[:_NAMED]) + (f" and {more} more" if more > 0 else "")
