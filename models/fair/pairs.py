"""Pairs of jobs that may share units, as columns: millions of them without a record for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.errors import InputError
from allocsolve.models.fair.columns import JobColumns, float_array
from allocsolve.models.fair.data import Pair

__all__ = ["PairTable", "check_pair_table"]

_BITMAP = 64_000_000
"""Products of two numbers of jobs up to which repeated pairs are found by a bitmap."""


class PairTable(Sequence[Pair]):
    """Pairs kept as arrays; a record is made only when it is asked for.

    Parameters
    ----------
    types, jobs
        Ids of the types and of the jobs.
    ends
        int (q, 2), positions of the two jobs of each pair.
    throughput
        float (kinds, m, 2), progress of each of the two on each type while they share.
    kind
        int (q,), row of ``throughput`` of each pair; None if there is one for each.

    Raises
    ------
    InputError
        If a shape does not fit or a position is no job.
    """

    def __init__(
        self,
        types: Sequence[str],
        jobs: Sequence[str],
        ends: object,
        throughput: object,
        kind: object = None,
    ) -> None:
        self.ends = _positions(ends, "ends of pairs", len(jobs))
        if self.ends.ndim != 2 or self.ends.shape[1] != 2:
            raise InputError("the ends of pairs are no (pairs, 2) array")
        table = np.asarray(throughput)
        kinds = len(table) if table.ndim else 0
        self.throughput: FloatArray = float_array(table, "pair throughput", (kinds, len(types), 2))
        self.kind = _positions(
            np.arange(len(self.ends)) if kind is None else kind, "kinds of pairs", kinds
        )
        if self.kind.shape != (len(self.ends),):
            raise InputError("there are not as many kinds as pairs")
        self._types, self._jobs = tuple(types), jobs

    @overload
    def __getitem__(self, place: int) -> Pair: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Pair]: ...
    def __getitem__(self, place: int | slice) -> Pair | Sequence[Pair]:
        """Return the record of a pair, or those of a slice."""
        if isinstance(place, slice):
            return [self._record(q) for q in range(len(self))[place]]
        return self._record(range(len(self))[place])

    def __len__(self) -> int:
        return len(self.ends)

    def _record(self, q: int) -> Pair:
        first, second = self.ends[q].tolist()
        rates = zip(self._types, self.throughput[self.kind[q]].tolist(), strict=True)
        return Pair(
            jobs=(self._jobs[first], self._jobs[second]),
            throughput={token: (a, b) for token, (a, b) in rates if a or b},
        )


def _positions(values: object, name: str, count: int) -> IntArray:
    """Return a read-only array of positions below ``count``."""
    given = np.array(values)
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise InputError(f"the {name} are no whole numbers")
    places: IntArray = given.astype(np.int64, copy=False)
    if places.size and (places.min() < 0 or places.max() >= count):
        raise InputError(f"the {name} name what is not there", allowed=f"0 .. {count - 1}")
    places.setflags(write=False)
    return places


def check_pair_table(table: PairTable, columns: JobColumns, ids: Sequence[str]) -> None:
    """Check every pair of a table.

    Raises
    ------
    InputError
        At the first pair that names one job twice, whose gangs differ, whose jobs demand
        something, that comes twice, or whose throughput is out of range.
    """
    first: IntArray = np.ascontiguousarray(table.ends[:, 0])
    second: IntArray = np.ascontiguousarray(table.ends[:, 1])
    gang, rates = columns.gang, table.throughput
    faults: list[tuple[BoolArray, str, str]] = [
        (first == second, "it names one job twice", "two jobs of equal gang"),
        (gang[first] != gang[second], "the gangs of its jobs differ", "two jobs of equal gang"),
    ]
    if columns.demand is not None:
        asks = np.flatnonzero(columns.demand.any(axis=1))
        either = np.logical_or(np.isin(first, asks), np.isin(second, asks))
        faults.append((either, "a job with demand cannot share units", "jobs with throughput only"))
    if rates.size and not (rates.min() >= 0 and np.isfinite(rates.max())):
        outside = np.nonzero(np.logical_not(np.logical_and(np.isfinite(rates), rates >= 0)))[0]
        faults.append(
            (np.isin(table.kind, outside), "a throughput is out of range", "finite numbers from 0")
        )
    faults.append((_repeated(table.ends, len(ids)), "it comes twice", "each two jobs once"))
    for wrong, what, allowed in faults:
        for q in np.flatnonzero(wrong)[:1]:
            name = f"{ids[first[q]]}-{ids[second[q]]}"
            raise InputError(
                f"pair {name}: {what}",
                allowed=allowed,
                remedy="correct or delete the pair",
                path=f"$.pairs[{q}]",
            )


def _repeated(ends: IntArray, jobs: int) -> BoolArray:
    """Return which pairs came before, in either order, bool (q,)."""
    first, second = np.ascontiguousarray(ends.T)
    key = np.minimum(first, second) * jobs + np.maximum(first, second)
    if jobs * jobs <= _BITMAP:
        seen = np.zeros(jobs * jobs, dtype=np.bool_)
        seen[key] = True
        if int(seen.sum()) == len(key):
            return np.zeros(len(key), dtype=np.bool_)
    again = np.ones(len(key), dtype=np.bool_)
    again[np.unique(key, return_index=True)[1]] = False
    return again
