"""Throughput tables in JSON, in the layout of Gavel (Narayanan et al., OSDI 2020).

``{type: {job: {"null": alone, other job: [own, its]}}}``, where a job is a name, or a name with
the units of its gang written as Python writes a pair: ``"('ResNet-18 (batch size 16)', 2)"``. A
plain number may stand for ``{"null": number}``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias

from allocsolve.instances.numerals import Numerals
from allocsolve.instances.strict_json import NotANumber, Steps, loads, path_text
from allocsolve.instances.text import shorten
from allocsolve.instances.throughputs import SharedRow, TableRow, ThroughputTable, row_ids
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number, exact
from allocsolve.models.fair.data import Job
from allocsolve.models.fair.problem import FairProblem

__all__ = ["json_text", "parse_json"]

ALONE = "null"
"""The key under which the throughput of a job that shares with nobody stands."""

_KEY = re.compile(r"\(\s*(?P<quote>['\"])(?P<name>.*)(?P=quote)\s*,\s*(?P<gang>\d{1,9})\s*\)")
_ESCAPE = re.compile(r"\\([\\'\"])")

_Row: TypeAlias = tuple[str, int]
_Both: TypeAlias = tuple[Fraction, Fraction]


def parse_json(text: str) -> ThroughputTable:
    """Read a table.

    Raises
    ------
    InputError
        If the text is not JSON or not such a table, with the JSON path.
    """
    raw = loads(text)
    if not isinstance(raw, dict) or not raw:
        raise _refusal("the table is no object with types", (), "{type: {job: throughputs}}")
    reader = _Reader()
    for token, jobs in raw.items():
        reader.read_type(token, jobs)
    return reader.table(tuple(raw))


class _Reader:
    """Collects the cells of the table by row and type."""

    def __init__(self) -> None:
        self._alone: dict[_Row, dict[str, Number]] = {}
        self._shared: dict[tuple[_Row, _Row], dict[str, _Both]] = {}
        self._places: dict[tuple[_Row, _Row], Steps] = {}

    def read_type(self, token: str, jobs: object) -> None:
        """Read what the table says of a type."""
        if not isinstance(jobs, dict):
            raise _refusal(f"type '{shorten(token)}' holds no jobs", (token,), "{job: throughputs}")
        seen: dict[_Row, str] = {}
        for key, entry in jobs.items():
            row = _row(key, (token, key))
            if seen.setdefault(row, key) != key:
                what = f"job '{_shown(row)}' comes twice"
                raise _refusal(what, (token, key), "each job once for a type")
            self._read_job(token, key, row, entry)

    def _read_job(self, token: str, key: str, row: _Row, entry: object) -> None:
        alone = entry
        if isinstance(entry, dict):
            if ALONE not in entry:
                what = f"job '{_shown(row)}' has no throughput of its own on '{shorten(token)}'"
                raise _refusal(what, (token, key), f'"{ALONE}": its throughput alone')
            alone = entry[ALONE]
            for other, both in entry.items():
                if other != ALONE:
                    self._read_pair(row, both, (token, key, other))
        steps = (token, key, ALONE) if isinstance(entry, dict) else (token, key)
        self._alone.setdefault(row, {})[token] = _amount(alone, row, steps)

    def _read_pair(self, row: _Row, both: object, steps: tuple[str, str, str]) -> None:
        token, _, name = steps
        other = _row(name, steps)
        if not isinstance(both, list) or len(both) != 2:
            what = f"jobs '{_shown(row)}' and '{_shown(other)}' have no two throughputs"
            raise _refusal(what, steps, "[throughput of the first, of the second]")
        own, its = (_amount(value, row, (*steps, k)) for k, value in enumerate(both))
        # Both jobs may list the pair; the one that comes first in the file counts.
        self._places.setdefault((row, other), steps)
        if (other, row) in self._shared:
            self._shared[other, row].setdefault(token, (its, own))
        else:
            self._shared.setdefault((row, other), {}).setdefault(token, (own, its))

    def table(self, types: tuple[str, ...]) -> ThroughputTable:
        """Return what was read."""
        keys = list(self._alone)
        place = {row: i for i, row in enumerate(keys)}
        rows = [
            TableRow(row[0], Job(id=token, gang=row[1], throughput=self._alone[row]))
            for row, token in zip(keys, row_ids(keys), strict=True)
        ]
        return ThroughputTable(types, tuple(rows), tuple(self._pairs(place)))

    def _pairs(self, place: Mapping[_Row, int]) -> Iterator[SharedRow]:
        for (row, other), cells in self._shared.items():
            if other not in place:
                what = f"job '{_shown(other)}' of a pair has no row of its own"
                raise _refusal(what, self._places[row, other], "jobs of this table")
            gains = {token: both for token, both in cells.items() if any(both)}
            if not gains:
                continue  # two jobs that do not fit together: they share nothing
            first, second = place[row], place[other]
            if first <= second:
                yield SharedRow((first, second), gains)
            else:
                turned = {token: (its, own) for token, (own, its) in gains.items()}
                yield SharedRow((second, first), turned)


def _row(key: str, steps: Steps) -> _Row:
    """Return name and gang of a key."""
    found = _KEY.fullmatch(key)
    if found is None:
        return key, 1
    gang = int(found["gang"])
    if gang < 1:
        what = f"job '{shorten(found['name'])}' has a gang of 0"
        raise _refusal(what, steps, "a gang of at least 1")
    name = found["name"]
    return _ESCAPE.sub(r"\1", name) if "\\" in name else name, gang


def _shown(row: _Row) -> str:
    """Return a row as messages and ids of jobs name it."""
    return shorten(row[0] if row[1] == 1 else f"{row[0]} x{row[1]}")


def _amount(value: object, row: _Row, steps: Steps) -> Fraction:
    try:
        number = exact(value)  # type: ignore[arg-type]  # it raises for anything else
    except ValueError:
        shown = value.token if isinstance(value, NotANumber) else json.dumps(value, default=str)
        raise _refusal(
            f"{_on(row, steps)} {shorten(shown)} is not a finite number", steps
        ) from None
    if number.numerator < 0:  # much faster than to compare fractions
        what = f"{_on(row, steps)} is {float(number):g}, it must be non-negative"
        raise _refusal(what, steps)
    return number


def _on(row: _Row, steps: Steps) -> str:
    return f"job '{_shown(row)}': throughput on '{shorten(str(steps[0]))}'"


def _refusal(what: str, steps: Steps, allowed: str = "a finite, non-negative number") -> InputError:
    return InputError(
        what,
        allowed=allowed,
        remedy="correct the table, see docs/formats.md",
        path=path_text(steps),
    )


def json_text(problem: FairProblem, numerals: Numerals) -> str:
    """Write the throughputs of jobs and pairs in this layout."""
    keys = {job.id: _key(job) for job in problem.jobs}
    table: dict[str, dict[str, dict[str, object]]] = {
        token: {
            keys[job.id]: {ALONE: _number(job.throughput.get(token, 0), numerals)}
            for job in problem.jobs
        }
        for token in problem.type_ids
    }
    for pair in problem.pairs:
        first, second = (keys[job] for job in pair.jobs)
        for token, both in pair.throughput.items():
            own, its = (_number(value, numerals) for value in both)
            table[token][first][second] = [own, its]
            table[token][second][first] = [its, own]
    return json.dumps(table, indent=1, ensure_ascii=False) + "\n"


def _key(job: Job) -> str:
    """Return the key of a job, as Python writes a pair of a text and a number."""
    quote = '"' if "'" in job.id and '"' not in job.id else "'"
    escaped = job.id.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    return f"({quote}{escaped}{quote}, {job.gang})"


def _number(value: Number, numerals: Numerals) -> int | float:
    """Return a number that JSON can hold, and count it if that is not it."""
    text = numerals(value)
    return int(text) if text.isdigit() else float(text)
