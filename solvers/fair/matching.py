"""Method ``matching``: least mean completion time of jobs that run on one unit each.

A job that is the k-th from the end on its unit adds k times its duration to the sum of all
ends, so jobs and places (type, k) form an assignment problem. Sources: Bruno, Coffman, Sethi,
"Scheduling Independent Tasks to Reduce Mean Finishing Time", Communications of the ACM 17,
1974; Le et al., "AlloX: Compute Allocation in Hybrid Clusters", EuroSys 2020.
Gangs of equal size run on groups of units in the same way. With gangs of several sizes there is
no such structure: the shortest jobs start first where they end first, without a guarantee.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.errors import UsageError
from allocsolve.models.fair.answer import FairAnswer, Run
from allocsolve.models.fair.objectives import counted, evaluate, require_columns
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Outcome, Proof, RealControl
from allocsolve.solvers.ending import finished, own_solver
from allocsolve.solvers.fair.settings import objective_options, read_words

__all__ = ["SETTINGS", "solve"]

SETTINGS: Mapping[str, Sequence[str]] = {}

_MOST = 20_000_000
"""Pairs of a job and a place up to which the assignment problem is built."""


def solve(problem: FairProblem, control: RealControl[FairAnswer]) -> Outcome:
    """Run every job without interruption.

    Raises
    ------
    UsageError
        If a setting is unknown, a job fits nowhere, or the assignment problem is too large.
    InputError
        If a job has no remaining work given.
    """
    read_words("matching", control.limits.options, SETTINGS)
    require_columns(problem, "completion_time")
    control.phase("matching")
    rows, durations = _durations(problem)
    gangs = np.unique(problem.arrays.gang[rows])
    exact = len(gangs) <= 1
    if exact:
        runs = _matched(problem, rows, durations, float(gangs[0]) if len(gangs) else 1.0)
    else:
        runs = _listed(problem, rows, durations)
    answer = FairAnswer(problem, _shares(problem, runs), runs=tuple(runs))
    control.offer(answer, evaluate(answer, "completion_time"), "matching")
    info = own_solver(control, objective_options(control.limits.options))
    if exact:
        return Outcome(Proof.OPTIMAL, Termination.FINISHED, info)
    warning = "gangs of several sizes: the shortest jobs start first, which need not be best"
    return finished(control, info, Termination.FINISHED, warnings=(warning,))


def _durations(problem: FairProblem) -> tuple[IntArray, FloatArray]:
    """Return the jobs that count and how long each takes on each type, infinite for never."""
    arrays = problem.arrays
    rows = counted(arrays)
    with np.errstate(divide="ignore", invalid="ignore"):
        time = arrays.jobs.remaining[rows, None] / arrays.throughput[rows]
    fits = arrays.gang[rows, None] <= arrays.capacity
    time = np.where(fits & (arrays.throughput[rows] > 0), time, np.inf)
    lost = rows[~np.isfinite(time).any(axis=1)]
    if len(lost):
        raise UsageError(
            f"job '{problem.job_ids[lost[0]]}' fits on no type: its gang is larger than any "
            "stock that serves it"
        )
    return rows, time


def _matched(problem: FairProblem, rows: IntArray, time: FloatArray, gang: float) -> list[Run]:
    """Match jobs with places counted from the end of each group of units."""
    from scipy.optimize import linear_sum_assignment

    n = len(rows)
    groups = np.floor(problem.arrays.capacity / gang).astype(np.int64)
    used = np.flatnonzero(np.isfinite(time).any(axis=0) & (groups > 0)) if n else np.zeros(0, int)
    table = [
        (j, place)
        for j in used.tolist()
        for place in range(1, n + 1)
        for _ in range(min(int(groups[j]), n // place))
    ]
    if n * len(table) > _MOST:
        raise UsageError(
            f"{n} jobs and {len(table)} places are too many for an exact matching "
            f"(at most {_MOST} pairs)"
        )
    kinds = np.array([j for j, _ in table], dtype=np.int64)
    places = np.array([place for _, place in table], dtype=np.int64)
    cost = np.where(np.isfinite(time), time, 1e6 * max(1.0, _largest(time)))[:, kinds] * places
    job, slot = linear_sum_assignment(cost)
    return _runs_of(rows, time, kinds[slot][np.argsort(job)], places[slot][np.argsort(job)])


def _largest(time: FloatArray) -> float:
    return float(time[np.isfinite(time)].max(initial=0.0))


def _runs_of(rows: IntArray, time: FloatArray, kinds: IntArray, places: IntArray) -> list[Run]:
    """Return the runs of jobs with a type and a place from the end; groups are filled in turn."""
    runs = []
    for j in np.unique(kinds).tolist():
        here = np.flatnonzero(kinds == j)
        ends: list[float] = []
        for place in sorted(set(places[here].tolist()), reverse=True):
            line = here[places[here] == place].tolist()
            ends += [0.0] * (len(line) - len(ends))
            for group, i in enumerate(line):
                begin, taken = ends[group], float(time[i, j])
                runs.append(Run(int(rows[i]), j, begin, begin + taken))
                ends[group] = begin + taken
    return runs


def _listed(problem: FairProblem, rows: IntArray, time: FloatArray) -> list[Run]:
    """Start the shortest jobs first, each where it ends first."""
    arrays, runs = problem.arrays, []
    free = [np.zeros(int(count)) for count in np.floor(arrays.capacity).tolist()]
    for i in np.argsort(time.min(axis=1), kind="stable").tolist():
        gang = int(arrays.gang[rows[i]])
        ends = [
            float(free[j][gang - 1] + time[i, j]) if np.isfinite(time[i, j]) else np.inf
            for j in range(len(free))
        ]
        j = int(np.argmin(ends))
        begin = float(free[j][gang - 1])
        free[j][:gang] = begin + time[i, j]
        free[j].sort()
        runs.append(Run(int(rows[i]), j, begin, begin + float(time[i, j])))
    return runs


def _shares(problem: FairProblem, runs: Sequence[Run]) -> FloatArray:
    """Return the part of the whole schedule that each job runs on its type."""
    shares = np.zeros(problem.arrays.throughput.shape)
    last = max((run.end for run in runs), default=0.0)
    for run in runs:
        shares[run.job, run.type] = (run.end - run.start) / last if last > 0 else 0.0
    return shares
