"""An allocation as documents hold it: ids and numbers that may be wrong in every way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import InputError
from allocsolve.models.fair.answer import IDLE, FairAnswer, Run
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.utility import sharing_pairs
from allocsolve.models.result import Violation

__all__ = ["Allocation", "JobRun", "JobShares", "PairShares", "Placed", "allocation_of", "place"]


@dataclass(frozen=True)
class JobShares:
    """The shares of one job by type id, with what is claimed of it; types left out have 0."""

    job: str
    shares: Mapping[str, float]
    utility: float | None = None
    time_price: float | None = None
    job_price: float | None = None


@dataclass(frozen=True)
class PairShares:
    """The shares of time in which two jobs share units, by type id."""

    jobs: tuple[str, str]
    shares: Mapping[str, float]


@dataclass(frozen=True)
class JobRun:
    """A job on one type from start to end."""

    job: str
    type: str
    start: float
    end: float


@dataclass(frozen=True)
class Allocation:
    """Shares, prices by type id, levels, rounds (type id of each running job), runs."""

    jobs: tuple[JobShares, ...]
    prices: Mapping[str, float] | None = None
    levels: tuple[float, ...] | None = None
    rounds: tuple[Mapping[str, str], ...] | None = None
    pairs: tuple[PairShares, ...] | None = None
    runs: tuple[JobRun, ...] | None = None


def allocation_of(answer: FairAnswer) -> Allocation:
    """Return an answer by ids; types of share 0 are left out."""
    problem = answer.problem
    types, ids = problem.type_ids, problem.job_ids
    claims = zip(
        ids,
        answer.shares.tolist(),
        answer.utilities.tolist(),
        _or_none(answer.time_prices, len(ids)),
        _or_none(answer.job_prices, len(ids)),
        strict=True,
    )
    prices = answer.prices
    return Allocation(
        jobs=tuple(JobShares(job, _row(types, row), *claimed) for job, row, *claimed in claims),
        prices=None if prices is None else dict(zip(types, prices.tolist(), strict=True)),
        levels=None if answer.levels is None else tuple(answer.levels.tolist()),
        rounds=_rounds_by_id(answer),
        pairs=_pairs_by_id(answer),
        runs=_runs_by_id(answer),
    )


def _or_none(values: FloatArray | None, count: int) -> list[float] | list[None]:
    return [None] * count if values is None else values.tolist()


def _row(types: tuple[str, ...], row: list[float]) -> dict[str, float]:
    return {token: share for token, share in zip(types, row, strict=True) if share}


def _rounds_by_id(answer: FairAnswer) -> tuple[Mapping[str, str], ...] | None:
    if answer.rounds is None:
        return None
    types, ids = answer.problem.type_ids, answer.problem.job_ids
    return tuple(
        {ids[i]: types[row[i]] for i in np.flatnonzero(row != IDLE).tolist()}
        for row in answer.rounds
    )


def _pairs_by_id(answer: FairAnswer) -> tuple[PairShares, ...] | None:
    """Return the pairs that share anything; the others have shares of 0."""
    if answer.pair_shares is None:
        return None
    types, shares = answer.problem.type_ids, answer.pair_shares
    sharing = sharing_pairs(shares).tolist()
    pairs = answer.problem.pairs
    return tuple(PairShares(pairs[q].jobs, _row(types, shares[q].tolist())) for q in sharing)


def _runs_by_id(answer: FairAnswer) -> tuple[JobRun, ...] | None:
    if answer.runs is None:
        return None
    types, ids = answer.problem.type_ids, answer.problem.job_ids
    return tuple(JobRun(ids[r.job], types[r.type], r.start, r.end) for r in answer.runs)


@dataclass(frozen=True)
class Placed:
    """An allocation as arrays, as far as its ids are known.

    Attributes
    ----------
    claimed
        float64 (n,), utilities that are claimed, NaN where none is.
    violations
        Rules ``unknown_job``, ``duplicate_job``, ``missing_job``, ``unknown_type``,
        ``unknown_pair``.
    """

    answer: FairAnswer
    claimed: FloatArray
    violations: tuple[Violation, ...]

    def require(self) -> FairAnswer:
        """Return the answer.

        Raises
        ------
        InputError
            If an id is unknown, missing or comes twice.
        """
        if self.violations:
            raise InputError(f"the allocation does not fit: {self.violations[0].message}")
        return self.answer


def place(problem: FairProblem, allocation: Allocation) -> Placed:
    """Turn ids into positions and say which of them do not fit."""
    return _Placer(problem).place(allocation)


class _Placer:
    """Looks ids up and keeps what is wrong with them."""

    def __init__(self, problem: FairProblem) -> None:
        self._problem = problem
        self._violations: list[Violation] = []

    def place(self, allocation: Allocation) -> Placed:
        n, m = self._problem.arrays.throughput.shape
        shares, claims = np.zeros((n, m)), np.full((3, n), np.nan)
        seen = np.zeros(n, dtype=np.bool_)
        for entry in allocation.jobs:
            i = self._job(entry.job)
            if i is None:
                continue
            if seen[i]:
                self._add("duplicate_job", f"job '{entry.job}' has shares more than once")
            seen[i] = True
            self._fill(shares[i], entry.shares, f"job '{entry.job}'")
            for claim, value in enumerate((entry.utility, entry.time_price, entry.job_price)):
                claims[claim, i] = np.nan if value is None else value
        for i in np.flatnonzero(~seen).tolist():
            self._add("missing_job", f"job '{self._problem.job_ids[i]}' has no entry")
        answer = FairAnswer(
            self._problem,
            shares,
            prices=self._prices(allocation.prices),
            time_prices=_all_given(claims[1]),
            job_prices=_all_given(claims[2]),
            levels=None if allocation.levels is None else np.array(allocation.levels),
            rounds=self._rounds(allocation.rounds),
            pair_shares=self._pairs(allocation.pairs),
            runs=self._runs(allocation.runs),
        )
        return Placed(answer, claims[0], tuple(self._violations))

    def _add(self, rule: str, message: str) -> None:
        self._violations.append(Violation(rule, message))

    def _job(self, token: str) -> int | None:
        found = self._problem.job_index.get(token)
        if found is None:
            self._add("unknown_job", f"there is no job '{token}'")
        return found

    def _type(self, token: str, owner: str) -> int | None:
        found = self._problem.type_index.get(token)
        if found is None:
            self._add("unknown_type", f"{owner}: there is no type '{token}'")
        return found

    def _fill(self, row: FloatArray, values: Mapping[str, float], owner: str) -> None:
        for token, value in values.items():
            j = self._type(token, owner)
            if j is not None:
                row[j] = value

    def _prices(self, prices: Mapping[str, float] | None) -> FloatArray | None:
        if prices is None:
            return None
        row = np.zeros(len(self._problem.types))
        self._fill(row, prices, "prices")
        return row

    def _rounds(self, rounds: tuple[Mapping[str, str], ...] | None) -> np.ndarray | None:
        if rounds is None:
            return None
        table = np.full((len(rounds), len(self._problem.jobs)), IDLE, dtype=np.int64)
        for r, running in enumerate(rounds):
            for job, token in running.items():
                i, j = self._job(job), self._type(token, f"round {r}")
                if i is not None and j is not None:
                    table[r, i] = j
        return table

    def _pairs(self, pairs: tuple[PairShares, ...] | None) -> FloatArray | None:
        if not pairs:
            return None
        known = {frozenset(pair.jobs): q for q, pair in enumerate(self._problem.pairs)}
        table = np.zeros((len(known), len(self._problem.types)))
        for pair in pairs:
            q = known.get(frozenset(pair.jobs))
            if q is None:
                self._add("unknown_pair", f"there is no pair {'-'.join(pair.jobs)}")
            else:
                self._fill(table[q], pair.shares, f"pair {'-'.join(pair.jobs)}")
        return table

    def _runs(self, runs: tuple[JobRun, ...] | None) -> tuple[Run, ...] | None:
        if runs is None:
            return None
        placed = []
        for run in runs:
            i, j = self._job(run.job), self._type(run.type, f"run of job '{run.job}'")
            if i is not None and j is not None:
                placed.append(Run(i, j, run.start, run.end))
        return tuple(placed)


def _all_given(values: FloatArray) -> FloatArray | None:
    """Return claims of every job, 0 where one is missing; None if no job has one."""
    return None if np.isnan(values).all() else np.nan_to_num(values, nan=0.0, posinf=np.inf)
