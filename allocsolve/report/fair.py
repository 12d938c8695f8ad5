"""The ``allocation`` of a solution document of kind ``fair``, and the answer that it stands for.

An allocation written by hand needs only ``jobs`` with ``id`` and ``shares``; types that are
left out have share 0.
"""

from __future__ import annotations

from allocsolve.models.fair.allocation import (
    Allocation,
    JobRun,
    JobShares,
    PairShares,
    allocation_of,
)
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.report.codec import Record

__all__ = [
    "AllocationEntry",
    "JobEntry",
    "PairEntry",
    "RunEntry",
    "allocation_entry",
    "read_allocation",
]


class JobEntry(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Shares of a job by type, its utility, and the price of its time and of its utility."""

    id: str
    shares: dict[str, float] | None = None
    utility: float | None = None
    time_price: float | None = None
    job_price: float | None = None


class PairEntry(Record, frozen=True, kw_only=True):
    """Shares of time, by type, in which two jobs share units."""

    jobs: tuple[str, str]
    shares: dict[str, float]


class RunEntry(Record, frozen=True, kw_only=True):
    """A job that runs on one type from start to end."""

    job: str
    type: str
    start: float
    end: float


class AllocationEntry(Record, frozen=True, kw_only=True, omit_defaults=True):
    """Who gets what, and the prices that prove it.

    ``prices`` are d(objective)/d(capacity), at least 0; ``levels`` rise; each of ``rounds``
    says on which type each running job runs.
    """

    types: list[str] | None = None
    jobs: list[JobEntry]
    prices: dict[str, float] | None = None
    levels: list[float] | None = None
    rounds: list[dict[str, str]] | None = None
    pairs: list[PairEntry] | None = None
    runs: list[RunEntry] | None = None


def allocation_entry(answer: FairAnswer) -> AllocationEntry:
    """Return an answer as documents hold it."""
    found = allocation_of(answer)
    return AllocationEntry(
        types=list(answer.problem.type_ids),
        jobs=[_job_entry(job) for job in found.jobs],
        prices=None if found.prices is None else dict(found.prices),
        levels=None if found.levels is None else list(found.levels),
        rounds=None if found.rounds is None else [dict(row) for row in found.rounds],
        pairs=_pair_entries(found),
        runs=_run_entries(found),
    )


def _job_entry(job: JobShares) -> JobEntry:
    return JobEntry(
        id=job.job,
        shares=dict(job.shares),
        utility=job.utility,
        time_price=job.time_price,
        job_price=job.job_price,
    )


def _pair_entries(found: Allocation) -> list[PairEntry] | None:
    if found.pairs is None:
        return None
    return [PairEntry(jobs=pair.jobs, shares=dict(pair.shares)) for pair in found.pairs]


def _run_entries(found: Allocation) -> list[RunEntry] | None:
    if found.runs is None:
        return None
    return [RunEntry(job=r.job, type=r.type, start=r.start, end=r.end) for r in found.runs]


def read_allocation(entry: AllocationEntry) -> Allocation:
    """Return what a document claims; its ids need not fit to any instance."""
    pairs, runs = entry.pairs, entry.runs
    return Allocation(
        jobs=tuple(
            JobShares(job.id, job.shares or {}, job.utility, job.time_price, job.job_price)
            for job in entry.jobs
        ),
        prices=entry.prices,
        levels=None if entry.levels is None else tuple(entry.levels),
        rounds=None if entry.rounds is None else tuple(entry.rounds),
        pairs=None if pairs is None else tuple(PairShares(p.jobs, p.shares) for p in pairs),
        runs=None if runs is None else tuple(JobRun(r.job, r.type, r.start, r.end) for r in runs),
    )
