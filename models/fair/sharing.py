"""Classes of jobs and pairs that are alike, so that space sharing needs few variables.

Jobs of equal data whose partners are alike form a class, and pairs whose ends are in the same
classes and lose the same by sharing form another one: the coarsest equitable partition of the
graph of pairs. Each job of a class is in equally many pairs of each class, so averaging shares
over a class keeps stocks and time caps and, by concavity, loses nothing of any objective.
Sources: Grohe, Kersting, Mladenov, Selman, "Dimension Reduction via Colour Refinement", ESA
2014; Narayanan et al., OSDI 2020, section 3.1 (space sharing).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.classes import JobClasses, classes_of
from allocsolve.models.fair.objectives import counted, isolated, required
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.split import equal_split

__all__ = ["SharingClasses", "sharing_classes"]

_Keys = npt.NDArray[np.uint64]

_ODD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_TABLE = 1 << 24
"""Numbers up to which what is different is counted in a table."""


@dataclass(frozen=True, eq=False)
class SharingClasses:
    """Classes of the counted jobs and of the pairs between them.

    Attributes
    ----------
    rows
        int64 (n,), positions of the counted jobs.
    jobs
        Their classes, k of them.
    pair_member
        int64 (q,), class of each pair; -1 where a job is not counted.
    pair_first
        int64 (c,), a pair of each class.
    pair_count
        int64 (c,), how many there are.
    ends
        int64 (c, 2), the classes of the two jobs.
    each
        float64 (c, 2), in how many of these pairs each job of the first and of the second
        class is; where both are one class, as the first and as the second job.
    """

    rows: IntArray
    jobs: JobClasses
    pair_member: IntArray
    pair_first: IntArray
    pair_count: IntArray
    ends: IntArray
    each: FloatArray


def sharing_classes(problem: FairProblem) -> SharingClasses:
    """Return the coarsest classes.

    Partners are compared by sums of 64 mixed bits; that two unlike jobs have the same ones is
    left to chance (once in 2^64). What is found with the classes is judged without them.
    """
    arrays, rows = problem.arrays, counted(problem.arrays, problem.goal.name)
    place = np.full(len(arrays.gang), -1)
    place[rows] = np.arange(len(rows))
    kept, kind = np.arange(len(arrays.pair_jobs)), arrays.pair_kind
    first, second = place[arrays.pair_jobs[:, 0]], place[arrays.pair_jobs[:, 1]]
    if len(rows) < len(place):
        kept = np.flatnonzero((first >= 0) & (second >= 0))
        first, second, kind = first[kept], second[kept], kind[kept]
    own, most = _losses(arrays.pair_rates)
    lost = own[kind, 0], own[kind, 1]
    jobs = _refined(_alike(problem, rows), (first, second), lost)
    # The first end is the one of the lower class or, within a class, of the lower loss.
    ends = jobs.member[first], jobs.member[second]
    turned = (ends[0] > ends[1]) | ((ends[0] == ends[1]) & (lost[0] > lost[1]))
    low, high = np.minimum(*ends), np.maximum(*ends)
    key = (low * len(jobs.first) + high) * most + np.where(turned, lost[1], lost[0])
    at, member, count = _numbered(key, len(jobs.first) ** 2 * most)
    pair_member = np.full(len(arrays.pair_jobs), -1)
    pair_member[kept] = member
    classes = np.column_stack([ends[0][at], ends[1][at]])
    each = count[:, None] / jobs.count[classes]
    return SharingClasses(rows, jobs, pair_member, kept[at], count, classes, each)


def _numbered(key: IntArray, most: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return a position of each different key below ``most``, the number of each, and counts."""
    if most > _TABLE:
        _, at, member, count = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        return at, member, count
    count = np.bincount(key, minlength=most)
    there = np.flatnonzero(count)
    number, at = np.zeros(most, dtype=np.int64), np.zeros(most, dtype=np.int64)
    number[there] = np.arange(len(there))
    at[key] = np.arange(len(key))
    return at[there], number[key], count[there]


def _alike(problem: FairProblem, rows: IntArray) -> IntArray:
    """Return the classes of jobs by their own data: all that an objective may ask for."""
    arrays, settings = problem.arrays, problem.settings
    jobs = arrays.jobs
    columns = [
        arrays.throughput,
        arrays.weight,
        arrays.gang,
        jobs.remaining,
        jobs.elapsed,
        isolated(arrays, settings),
        required(problem),
        equal_split(arrays, settings),
    ]
    if arrays.demand is not None:
        columns.append(arrays.demand)
    return classes_of(*(column[rows] for column in columns)).member


def _losses(rates: FloatArray) -> tuple[IntArray, int]:
    """Return a number for what each end of each kind of pair gains and leaves, and how many."""
    table = np.zeros((len(rates), 2), dtype=np.uint64)
    for j in range(rates.shape[1]):
        bits = np.ascontiguousarray(rates[:, j] + 0.0).view(np.uint64)
        table = _mixed(table ^ bits) ^ _mixed(bits[:, ::-1] + _ODD)
    found, number = np.unique(table, return_inverse=True)
    return number.reshape(table.shape).astype(np.int64), len(found)


def _mixed(keys: _Keys) -> _Keys:
    """Mix the bits of each number (splitmix64)."""
    mixed = keys * _ODD
    mixed ^= mixed >> np.uint64(31)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(29)
    return mixed


def _refined(
    colour: IntArray, ends: tuple[IntArray, IntArray], lost: tuple[IntArray, IntArray]
) -> JobClasses:
    """Split classes until all jobs of one have the same partners."""
    found = classes_of(colour.astype(np.float64))
    losses = int(max((each.max(initial=0) for each in lost), default=0)) + 1
    while True:
        sums = np.zeros((len(colour), 2))
        for own, other in ((0, 1), (1, 0)):
            code = found.member[ends[other]] * losses + lost[own]
            key = _mixed(code.astype(np.uint64) + _ODD)
            for half, bits in enumerate((key >> _HALF, key & np.uint64(0xFFFFFFFF))):
                # Sums of up to 2^21 halves are exact in 53 bits.
                sums[:, half] += np.bincount(ends[own], bits, len(colour))
        finer = classes_of(found.member.astype(np.float64), sums)
        if len(finer.first) == len(found.first):
            return finer
        found = finer
