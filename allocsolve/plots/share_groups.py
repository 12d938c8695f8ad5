"""Rows of a picture of shares: jobs, classes of jobs alike, or the largest and the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.classes import classes_of

__all__ = ["ShareRow", "rows_of", "times_together"]


@dataclass(frozen=True, eq=False)
class ShareRow:
    """One bar: some jobs, and the means of what they have.

    Attributes
    ----------
    label
        The job, or how many there are.
    shares
        float64 (m,).
    utility, ratio
        Mean utility, and mean utility over the equal split.
    """

    label: str
    shares: FloatArray
    utility: float
    ratio: float


def rows_of(answer: FairAnswer, ratio: FloatArray, most: int) -> tuple[Sequence[ShareRow], str]:
    """Return at most ``most`` rows, and in words what they stand for.

    Jobs one by one if there are not more; else classes of jobs of equal data; else the jobs
    that hold the largest parts of the stock, and all others as one row.

    Parameters
    ----------
    ratio
        float64 (n,), utility of each job over its equal split.
    """
    count, shares = len(answer), times_together(answer)
    ids = answer.problem.job_ids
    if count <= most:
        groups = [(ids[i], np.array([i])) for i in range(count)]
        return _rows(answer, shares, ratio, groups), ""
    arrays = answer.problem.arrays
    columns = [arrays.throughput, arrays.weight, arrays.gang]
    alike = classes_of(*columns, *(() if arrays.demand is None else (arrays.demand,)))
    if len(alike.first) <= most:
        members = np.split(np.argsort(alike.member, kind="stable"), np.cumsum(alike.count)[:-1])
        groups = [(_alike(ids[rows[0]], len(rows)), rows) for rows in members]
        return _rows(answer, shares, ratio, groups), f"in {len(groups)} classes of jobs alike"
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(arrays.capacity > 0, shares / arrays.capacity, 0.0).sum(axis=1)
    ranked = np.argsort(-parts * arrays.gang, kind="stable")
    groups = [(ids[i], np.array([i])) for i in ranked[: most - 1].tolist()]
    groups.append((f"{count - most + 1} others, on average", ranked[most - 1 :]))
    return _rows(answer, shares, ratio, groups), f"the {most - 1} that hold most, and the others"


def times_together(answer: FairAnswer) -> FloatArray:
    """Return the shares of each job, with those that it spends beside another one on a unit."""
    pairs = answer.pair_shares
    if pairs is None or not len(pairs):
        return answer.shares
    total = answer.shares.copy()
    for side in (0, 1):
        np.add.at(total, answer.problem.arrays.pair_jobs[:, side], pairs)
    return total


def _alike(name: str, count: int) -> str:
    return name if count == 1 else f"{name} and {count - 1} alike"


def _rows(
    answer: FairAnswer,
    shares: FloatArray,
    ratio: FloatArray,
    groups: Sequence[tuple[str, IntArray]],
) -> list[ShareRow]:
    return [
        ShareRow(
            label,
            shares[rows].mean(axis=0),
            float(answer.utilities[rows].mean()),
            float(ratio[rows].mean()),
        )
        for label, rows in groups
    ]
