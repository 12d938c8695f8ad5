"""The stock and the jobs that the option ``nodes`` joins to a throughput table.

A count gives that many units of each type, and one job for each row (or as many as its column
``count`` says). A JSON file holds what an instance document of kind ``fair`` has beside
throughputs: ``types`` with their counts, and, if need be, ``jobs``, ``entities``, ``rounds``,
``time_cap`` and ``objective``. A job names its ``row`` of the table, and how many such jobs there
are (``count``). ``"pairs": true`` lets jobs share units as far as the table says how.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import msgspec
import numpy as np

from allocsolve.instances.draft import Draft
from allocsolve.instances.formats.native import SCHEMA, decode
from allocsolve.instances.kinds import Problem
from allocsolve.instances.source import load
from allocsolve.instances.strict_json import loads
from allocsolve.instances.text import plural, shorten
from allocsolve.instances.throughput_csv import MOST_JOBS
from allocsolve.instances.throughputs import TableDraft, TableRow, ThroughputTable
from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.errors import InputError, UsageError, suggest
from allocsolve.models.fair.data import Entity, FairDocument, Job, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.result import InstanceInfo

__all__ = ["MOST_PAIRS", "StockDraft", "with_stock"]

MOST_PAIRS = 5_000_000
"""Largest number of pairs of jobs that share units."""

_MOST_DIGITS = 15
_FIELDS = ("types", "jobs", "pairs", "entities", "rounds", "time_cap", "objective", "name")
_OWN = ("row", "count")
_SHOWN = 5


@dataclass(frozen=True)
class _Stock:
    """What a file of stock says.

    Attributes
    ----------
    document
        Everything but throughputs.
    given
        The jobs as they were written, None if all rows of the table are meant.
    shares
        Whether jobs may share units.
    """

    document: FairDocument
    given: Sequence[Mapping[str, object]] | None
    shares: bool


@dataclass(frozen=True, eq=False)
class _PairColumns:
    """Pairs of jobs as :meth:`FairProblem.with_pairs` takes them."""

    ends: IntArray
    throughput: FloatArray
    kind: IntArray


@dataclass(frozen=True, kw_only=True)
class StockDraft(Draft):
    """A table with its stock; pairs, of which there may be millions, are not in the document."""

    pairs: _PairColumns | None = None

    def build(self, origin: InstanceInfo) -> Problem:
        """Build the problem.

        Raises
        ------
        InputError
            As :meth:`Draft.build`.
        """
        problem = super().build(origin)
        if self.pairs is None:
            return problem
        found = self.pairs
        fair = cast("FairProblem", problem)
        return fair.with_pairs(found.ends, found.throughput, found.kind)


def with_stock(draft: TableDraft, nodes: str | int) -> Draft:
    """Return the instance that a table and its stock describe.

    Parameters
    ----------
    nodes
        Units of each type, also as digits, or the path of a JSON file.

    Raises
    ------
    UsageError
        If the count is no count, or there are too many jobs or pairs.
    InputError
        If the file is wrong; it is named.
    """
    text = str(nodes)
    if text.isascii() and text.isdigit():
        if len(text) > _MOST_DIGITS:
            raise UsageError(f"--nodes {shorten(text)} is not allowed\n  allowed: 0 .. 10^15")
        types = [ResourceType(id=token, count=int(text)) for token in draft.table.types]
        document = msgspec.structs.replace(cast("FairDocument", draft.document), types=types)
        return _joined(draft, _Stock(document, None, shares=False))
    if not text.strip() or text.startswith("-"):
        raise UsageError(
            f"--nodes '{shorten(text)}' is not allowed\n  allowed: a number of units of each type, "
            "or a JSON file with types and their counts"
        )
    source = load(text)
    try:
        return _joined(draft, _stock(loads(source.text), draft.table))
    except InputError as error:
        # What stands in the table has a line, or no place at all; what stands in the file a path.
        raise error.located(source.label) if error.path is not None else error from None


def _stock(raw: object, table: ThroughputTable) -> _Stock:
    if not isinstance(raw, dict) or not isinstance(raw.get("types"), list):
        raise InputError(
            'a file of stock must be an object with "types"',
            allowed='{"types": [{"id": "v100", "count": 8}], "jobs": [...]}',
            remedy="correct the file, or give a number of units of each type",
            path="$",
        )
    known = [*_FIELDS, "schema", "kind"]
    unknown = next((key for key in raw if key not in known), None)
    if unknown is not None:
        raise InputError(
            f"a file of stock has no field '{shorten(unknown)}'{suggest(unknown, known)}",
            allowed=f"the fields {', '.join(_FIELDS)}",
            remedy="delete the field",
            path=f"$.{unknown}",
        )
    shares = raw.get("pairs", False)
    if not isinstance(shares, bool):
        raise InputError(
            "pairs is neither true nor false",
            allowed="true: jobs share units as the table says; false: they do not",
            path="$.pairs",
        )
    given = raw.get("jobs")
    jobs = [] if given is None else _plain_jobs(given)
    rest = {key: value for key, value in raw.items() if key != "pairs"}
    document = decode({**rest, "schema": SCHEMA, "kind": "fair", "jobs": jobs})
    assert isinstance(document, FairDocument)
    _validate(document, table)
    return _Stock(document, given, shares)


def _plain_jobs(given: object) -> list[object]:
    """Return the jobs without what only a file of stock says of them."""
    if not isinstance(given, list):
        raise InputError("jobs is no array", allowed='[{"row": ..., "count": ...}]', path="$.jobs")
    return [_plain_job(job, f"$.jobs[{i}]") for i, job in enumerate(given)]


def _plain_job(job: object, path: str) -> object:
    if not isinstance(job, dict):
        return job  # the decoder says what is wrong
    wrong = next((key for key in ("throughput", "demand") if key in job), None)
    if wrong is not None or not isinstance(job.get("row"), str):
        what = f"{wrong} comes from the table" if wrong else "a job names no row of the table"
        raise InputError(
            what,
            allowed='"row": the name of a job in the table',
            remedy=f"delete {wrong}" if wrong else 'add "row"',
            path=f"{path}.{wrong}" if wrong else path,
        )
    count = job.get("count", 1)
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_JOBS:
        raise InputError(
            f"job '{shorten(job['row'])}': count is no whole number from 1",
            allowed=f"a whole number, 1 .. {MOST_JOBS}",
            remedy="correct count",
            path=f"{path}.count",
        )
    gang = job.get("gang", 1)
    token = job["row"] if gang == 1 else f"{job['row']} x{gang}"
    return {"id": token, **{key: job[key] for key in job if key not in _OWN}}


def _validate(document: FairDocument, table: ThroughputTable) -> None:
    """Find what is wrong with a file of stock while it is known that it is in there."""
    for j, kind in enumerate(document.types):
        if kind.id not in table.types:
            raise InputError(
                f"the table has no type '{shorten(kind.id)}'{suggest(kind.id, table.types)}",
                allowed=f"the types {', '.join(map(shorten, table.types[:20]))}",
                remedy="correct the id, or delete the type",
                path=f"$.types[{j}].id",
            )
    FairProblem.from_document(document)


def _joined(draft: TableDraft, stock: _Stock) -> Draft:
    """Return the draft of the instance, with notes of what was left out of the table."""
    table, kept = draft.table, {kind.id for kind in stock.document.types}
    rows = list(_rows(table, stock))
    _refuse_many(sum(count for _, _, count in rows), MOST_JOBS, "jobs")
    jobs: list[Job] = []
    lines: list[int] = []
    members: dict[int, list[int]] = {}
    for place, job, count in rows:
        jobs += _copies(_on(job, kept), count)
        lines += [table.rows[place].line or 0] * count
        members.setdefault(place, []).extend(range(len(jobs) - count, len(jobs)))
    document = msgspec.structs.replace(
        stock.document,
        name=stock.document.name or draft.document.name,
        jobs=jobs,
        entities=_entities(stock.document.entities, jobs),
    )
    return StockDraft(
        document=document,
        lines={"jobs": lines} if any(lines) else {},
        notes=(*draft.notes, *_left_out(table, kept, shares=stock.shares)),
        pairs=_pairs(table, members, document.types) if stock.shares else None,
    )


def _refuse_many(count: int, most: int, what: str) -> None:
    if count > most:
        raise UsageError(f"the table stands for {count} {what}\n  allowed: at most {most}")


def _rows(table: ThroughputTable, stock: _Stock) -> Iterator[tuple[int, Job, int]]:
    """Yield position of the row, job and count of every sort of job."""
    if stock.given is None:
        for place, row in enumerate(table.rows):
            yield place, row.job, row.count
        return
    known: dict[str, list[int]] = {}
    for place, row in enumerate(table.rows):
        known.setdefault(row.name, []).append(place)
    for i, (raw, job) in enumerate(zip(stock.given, stock.document.jobs, strict=True)):
        place = _place(str(raw["row"]), raw.get("gang"), known, table.rows, f"$.jobs[{i}].row")
        row = table.rows[place]
        stated = {key: getattr(job, key) for key in raw if key not in (*_OWN, "id", "gang")}
        token = job.id if "id" in raw else row.job.id
        count = raw.get("count", 1)
        assert isinstance(count, int)
        yield place, msgspec.structs.replace(row.job, id=token, **stated), count


def _place(
    name: str,
    gang: object,
    known: Mapping[str, list[int]],
    rows: Sequence[TableRow],
    path: str,
) -> int:
    """Return the position of the row of that name; of several that of the gang, which is 1."""
    places = known.get(name, [])
    fitting = places
    if gang is not None or len(places) > 1:
        fitting = [place for place in places if rows[place].job.gang == (gang or 1)]
    if fitting:
        return fitting[0]
    gangs = ", ".join(str(rows[place].job.gang) for place in places)
    what = f"row '{shorten(name)}'" + (f" with gang {gang or 1}" if places else "")
    raise InputError(
        f"the table has no {what}{'' if places else suggest(name, list(known))}",
        allowed=f"the gangs {gangs}" if places else f"a job of the table ({len(known)} known)",
        remedy="correct gang" if places else "correct row",
        path=path,
    )


def _on(job: Job, kept: set[str]) -> Job:
    """Return a job as it is on the types that are there; what it demands stays."""
    if kept.issuperset(job.throughput):
        return job
    inside = {token: value for token, value in job.throughput.items() if token in kept}
    return msgspec.structs.replace(job, throughput=inside)


def _copies(job: Job, count: int) -> list[Job]:
    if count == 1:
        return [job]
    return [msgspec.structs.replace(job, id=f"{job.id}.{k}") for k in range(1, count + 1)]


def _entities(given: Sequence[Entity], jobs: Iterable[Job]) -> list[Entity]:
    """Return the entities; those that only the table names weigh 1."""
    known = {entity.id for entity in given}
    named = dict.fromkeys(job.entity for job in jobs if job.entity is not None)
    return [*given, *(Entity(id=token) for token in named if token not in known)]


def _pairs(
    table: ThroughputTable, members: Mapping[int, list[int]], types: Sequence[ResourceType]
) -> _PairColumns | None:
    """Return every pair of jobs whose rows may share units, None if there is none."""
    total = 0
    ends: list[IntArray] = []
    rates: list[list[tuple[float, float]]] = []
    for shared in table.shared:
        first, second = (members.get(place, []) for place in shared.rows)
        row = [shared.throughput.get(kind.id, (0, 0)) for kind in types]
        gangs = {table.rows[place].job.gang for place in shared.rows}
        if not any(a or b for a, b in row) or len(gangs) > 1:
            continue
        same = shared.rows[0] == shared.rows[1]
        count = len(first) * (len(first) - 1) // 2 if same else len(first) * len(second)
        total += count
        _refuse_many(total, MOST_PAIRS, "pairs of jobs")
        if count:
            ends.append(_within(first) if same else _across(first, second))
            rates.append([(float(a), float(b)) for a, b in row])
    if not ends:
        return None
    kind = np.repeat(np.arange(len(ends)), [len(part) for part in ends])
    return _PairColumns(np.concatenate(ends), np.array(rates), kind)


def _within(jobs: Sequence[int]) -> IntArray:
    """Return each two of some jobs, int64 (q, 2)."""
    places = np.array(jobs, dtype=np.int64)
    first, second = np.triu_indices(len(places), 1)
    return np.column_stack([places[first], places[second]])


def _across(first: Sequence[int], second: Sequence[int]) -> IntArray:
    """Return each job of the first with each of the second, int64 (q, 2)."""
    a, b = np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)
    return np.column_stack([np.repeat(a, len(b)), np.tile(b, len(a))])


def _left_out(table: ThroughputTable, kept: set[str], *, shares: bool) -> Iterator[str]:
    absent = [token for token in table.types if token not in kept]
    if absent:
        more = f" and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
        yield f"types without stock left out of the table: {', '.join(absent[:_SHOWN])}{more}"
    if table.shared and not shares:
        yield (
            f"throughputs of {plural(len(table.shared), 'pair')} of rows that share units left "
            'out ("pairs": true in the file of --nodes takes them)'
        )
