"""Every objective of a fair division: its sense, its source, and the value of an allocation.

U_i is the utility of job i, w_i its weight (after the entities' weights are divided), E_i its
equal-split utility. Jobs that no allocation gives a positive utility, and jobs of weight 0
(waiting in a ``fifo`` entity), are left out of every objective; a deadline is a promise, so that
``cost`` counts those that wait with one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.errors import InputError
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.arrays import FairArrays
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.split import equal_split
from allocsolve.models.fair.utility import loads
from allocsolve.models.result import Sense, relative_gap

__all__ = [
    "OBJECTIVES",
    "FairObjective",
    "alone",
    "counted",
    "evaluate",
    "gap",
    "gap_scale",
    "has_deadlines",
    "isolated",
    "levels",
    "require_columns",
    "required",
    "scale",
    "sense_of",
    "spread",
]

_Value = Callable[[FairAnswer, Settings], float]


@dataclass(frozen=True)
class FairObjective:
    """One objective.

    Attributes
    ----------
    name, sense
        As documents write them.
    definition
        One line of mathematics.
    source
        Where it comes from.
    value
        Value of an allocation under settings.
    needs
        Columns of the jobs that must be given.
    """

    name: str
    sense: Sense
    definition: str
    source: str
    value: _Value
    needs: tuple[str, ...] = ()


def counted(arrays: FairArrays, name: str = "") -> IntArray:
    """Return the positions of the jobs that an objective counts.

    ``cost`` counts jobs with a deadline whatever their weight, every other one those with weight.
    """
    promised = (name == "cost") & np.isfinite(arrays.jobs.deadline)
    return np.flatnonzero(arrays.reachable & ((arrays.weight > 0) | promised))


def spread(rows: IntArray, values: FloatArray, count: int) -> FloatArray:
    """Return the values of some of so many jobs as those of all, float64 (count,), else 0."""
    every = np.zeros(count)
    every[rows] = values
    return every


def alone(arrays: FairArrays) -> FloatArray:
    """Return what each job would gain from the whole stock without a time cap, float64 (n,).

    Its inverse is the dominant share of a unit of progress: for a job with demands only,
    ``max_r gang demand_r / c_r`` (Ghodsi et al., NSDI 2011).
    """
    best: FloatArray = arrays.throughput @ arrays.capacity / arrays.gang
    if arrays.demand is None:
        return best
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = arrays.capacity / (arrays.demand * arrays.gang[:, None])
    rates = np.where(arrays.demand > 0, rates, np.inf)
    best = np.where(arrays.exchanges, best, np.inf)
    least: FloatArray = np.minimum(best, rates.min(axis=1, initial=np.inf))
    return least


def isolated(arrays: FairArrays, settings: Settings) -> FloatArray:
    """Return the time of each job with its equal split: as given, else elapsed + remaining/E.

    A job that has neither waited nor anything to do takes no time: its ratio 0/0 counts as 0,
    for which any time stands, here 1.
    """
    jobs = arrays.jobs
    missing = np.isnan(jobs.isolated)
    if not missing.any():
        return jobs.isolated
    with np.errstate(divide="ignore", invalid="ignore"):
        alone_time = jobs.elapsed + jobs.remaining / equal_split(arrays, settings)
    alone_time[(jobs.elapsed == 0) & (jobs.remaining == 0)] = 1.0
    return np.where(missing, alone_time, jobs.isolated)


def scale(problem: FairProblem, name: str, settings: Settings) -> FloatArray:
    """Return f with the first level ``min_i U_i / f_i``, float64 (n,), of max-min objectives.

    ``leximin`` and ``max_min``: ``w_i E_i``, or ``w_i`` with ``normalise="none"``;
    ``dominant_resource``: ``w_i alone_i``; ``equal_throughput``: ``w_i``; ``makespan``:
    ``remaining_i``.
    """
    arrays = problem.arrays
    if name == "makespan":
        return arrays.jobs.remaining
    if name == "dominant_resource":
        return arrays.weight * alone(arrays)
    if name == "equal_throughput" or settings.normalise == "none":
        return arrays.weight
    return arrays.weight * equal_split(arrays, settings)


def levels(problem: FairProblem, utilities: FloatArray, name: str, by: Settings) -> FloatArray:
    """Return ``U_i / f_i`` of the counted jobs in ascending order, see :func:`scale`."""
    rows = counted(problem.arrays)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = utilities[rows] / scale(problem, name, by)[rows]
    return np.sort(found[~np.isnan(found)])


def required(problem: FairProblem) -> FloatArray:
    """Return the utility that each job needs for its deadline, float64 (n,), 0 without one."""
    jobs = problem.arrays.jobs
    return np.nan_to_num(jobs.remaining, nan=0.0) / jobs.deadline


def require_columns(problem: FairProblem, name: str) -> None:
    """Refuse an objective whose data are not there.

    Raises
    ------
    InputError
        Naming the first counted job without it.
    """
    jobs, rows = problem.arrays.jobs, counted(problem.arrays, name)
    for column in OBJECTIVES[name].needs:
        values: FloatArray = getattr(jobs, column)
        lacking = np.isnan(values)
        if name == "finish_time_fairness" and column == "isolated":
            continue
        if name == "cost":
            lacking &= np.isfinite(jobs.deadline)
        for i in rows[lacking[rows]][:1]:
            raise InputError(
                f"job '{problem.job_ids[i]}' has no {column}, which objective '{name}' needs",
                allowed="a finite, non-negative number",
                remedy=f"add {column} to every job, or choose another objective",
                path=f"$.jobs[{i}].{column}",
            )


def evaluate(answer: FairAnswer, name: str, settings: Settings | None = None) -> float:
    """Return the value of an allocation; infinite values mean that it is worthless.

    Raises
    ------
    InputError
        If the objective is not known or its data are not there.
    """
    if name not in OBJECTIVES:
        raise InputError(f"unknown objective '{name}'", allowed=", ".join(OBJECTIVES))
    require_columns(answer.problem, name)
    return float(OBJECTIVES[name].value(answer, settings or answer.problem.settings))


def gap(problem: FairProblem, name: str, value: float, bound: float) -> float:
    """Return the distance of value and bound as documents report it.

    ``(bound - value) / sum w`` for the two Nash objectives, where it is the mean distance of
    the logarithms; otherwise relative to the larger of the two.
    """
    total = gap_scale(problem, name)
    if total is None:
        return relative_gap(value, bound)
    return (bound - value) / total if total else 0.0


def gap_scale(problem: FairProblem, name: str) -> float | None:
    """Return the sum of the weights where gaps are relative to it, None for other objectives."""
    if name not in ("nash", "nash_sharing_incentive"):
        return None
    return float(problem.arrays.weight[counted(problem.arrays)].sum())


def _counted(answer: FairAnswer) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the counted jobs with their utilities and weights."""
    rows = counted(answer.problem.arrays)
    return rows, answer.utilities[rows], answer.problem.arrays.weight[rows]


def _first_level(name: str) -> _Value:
    def value(answer: FairAnswer, settings: Settings) -> float:
        found = levels(answer.problem, answer.utilities, name, settings)
        return float(found[0]) if len(found) else 0.0

    return value


def _nash(answer: FairAnswer, settings: Settings) -> float:  # noqa: ARG001 - a value has two arguments
    _, utility, weight = _counted(answer)
    with np.errstate(divide="ignore"):
        return float(weight @ np.log(np.maximum(utility, 0.0)))


def _alpha_fair(answer: FairAnswer, settings: Settings) -> float:
    if settings.alpha == 1:
        return _nash(answer, settings)
    _, utility, weight = _counted(answer)
    power = 1.0 - settings.alpha
    with np.errstate(divide="ignore"):
        return float(weight @ (np.maximum(utility, 0.0) ** power / power))


def _finish_time_fairness(answer: FairAnswer, settings: Settings) -> float:
    rows, utility, _ = _counted(answer)
    jobs = answer.problem.arrays.jobs
    time = jobs.elapsed[rows] + _times(jobs.remaining[rows], utility)
    return _largest(time / isolated(answer.problem.arrays, settings)[rows])


def _makespan(answer: FairAnswer, settings: Settings) -> float:  # noqa: ARG001
    rows, utility, _ = _counted(answer)
    return _largest(_times(answer.problem.arrays.jobs.remaining[rows], utility))


def _times(remaining: FloatArray, utility: FloatArray) -> FloatArray:
    """Return remaining / utility; nothing that remains takes no time, whatever the utility."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(remaining > 0, remaining / utility, 0.0)


def _largest(values: FloatArray) -> float:
    return float(values.max(initial=0.0))


def _total(answer: FairAnswer, settings: Settings) -> float:  # noqa: ARG001
    _, utility, weight = _counted(answer)
    return float(weight @ utility)


def _cost(answer: FairAnswer, settings: Settings) -> float:
    arrays = answer.problem.arrays
    spent = float(arrays.cost @ loads(arrays, answer.shares, answer.pair_shares))
    if has_deadlines(answer.problem):
        return spent
    gained = _total(answer, settings)
    if not spent:
        return np.inf if gained else 0.0
    return gained / spent


def has_deadlines(problem: FairProblem) -> bool:
    """Whether a job has a deadline: ``cost`` is least cost then, else best value."""
    return bool(np.isfinite(problem.arrays.jobs.deadline).any())


def _completion_time(answer: FairAnswer, settings: Settings) -> float:  # noqa: ARG001
    if answer.runs is None:
        return np.inf
    ends = [run.end for run in answer.runs]
    return float(np.mean(ends)) if ends else 0.0


def _sum_of_utilities(answer: FairAnswer, settings: Settings) -> float:  # noqa: ARG001
    _, utility, _ = _counted(answer)
    return float(utility.sum())


_OSDI = "Narayanan et al., Heterogeneity-Aware Cluster Scheduling Policies, OSDI 2020"
_OEF = "Optimal Efficiency and Fairness in heterogeneous GPU clusters (OEF)"
_ROWS = (
    FairObjective(
        "leximin",
        Sense.MAX,
        "lexicographic max-min of U_i / (w_i E_i); the value is its first level",
        f"{_OSDI}; Radunovic, Le Boudec, A Unified Framework for Max-Min Fairness, 2007",
        _first_level("leximin"),
    ),
    FairObjective(
        "max_min", Sense.MAX, "max min_i U_i / (w_i E_i)", _OSDI, _first_level("max_min")
    ),
    FairObjective(
        "nash",
        Sense.MAX,
        "max sum_i w_i log U_i",
        "Eisenberg, Gale, Consensus of Subjective Probabilities, 1959; Nash, 1950",
        _nash,
    ),
    FairObjective(
        "nash_sharing_incentive",
        Sense.MAX,
        "max sum_i w_i log U_i subject to U_i >= E_i",
        "Nash welfare with the sharing incentive of Ghodsi et al., NSDI 2011, as a floor",
        _nash,
    ),
    FairObjective(
        "alpha_fair",
        Sense.MAX,
        "max sum_i w_i U_i^(1 - alpha) / (1 - alpha), Nash for alpha = 1",
        "Mo, Walrand, Fair End-to-End Window-Based Congestion Control, 2000",
        _alpha_fair,
    ),
    FairObjective(
        "finish_time_fairness",
        Sense.MIN,
        "min max_i (elapsed_i + remaining_i / U_i) / isolated_i",
        "Mahajan et al., Themis: Fair and Efficient GPU Cluster Scheduling, NSDI 2020",
        _finish_time_fairness,
        ("remaining", "isolated"),
    ),
    FairObjective(
        "makespan", Sense.MIN, "min max_i remaining_i / U_i", _OSDI, _makespan, ("remaining",)
    ),
    FairObjective("total_throughput", Sense.MAX, "max sum_i w_i U_i", _OSDI, _total),
    FairObjective(
        "cost",
        Sense.MIN,
        "min sum_ij cost_j gang_i x_ij s.t. U_i >= remaining_i / deadline_i; without deadlines "
        "max sum_i w_i U_i / cost",
        _OSDI,
        _cost,
        ("remaining",),
    ),
    FairObjective(
        "completion_time",
        Sense.MIN,
        "min mean end of the jobs, each run on one type without interruption",
        "Le et al., AlloX: Compute Allocation in Hybrid Clusters, EuroSys 2020; Bruno, Coffman, "
        "Sethi, Scheduling Independent Tasks to Reduce Mean Finishing Time, 1974",
        _completion_time,
        ("remaining",),
    ),
    FairObjective(
        "envy_free_efficiency",
        Sense.MAX,
        "max sum_i U_i s.t. no job prefers another's shares",
        _OEF,
        _sum_of_utilities,
    ),
    FairObjective(
        "equal_throughput",
        Sense.MAX,
        "max sum_i U_i s.t. U_i / w_i equal for all",
        _OEF,
        _sum_of_utilities,
    ),
    FairObjective(
        "dominant_resource",
        Sense.MAX,
        "lexicographic max-min of the dominant shares U_i / (w_i alone_i); the value is the first",
        "Ghodsi et al., Dominant Resource Fairness, NSDI 2011; with exchangeable types Sun, Le, "
        "Chowdhury, Liu",
        _first_level("dominant_resource"),
    ),
    FairObjective(
        "partial_allocation",
        Sense.MAX,
        "sum_i w_i log U_i of the Nash shares, each scaled by what the others lose to the job",
        "Cole, Gkatzelis, Goel, Mechanism Design for Fair Division, EC 2013",
        _nash,
    ),
)

OBJECTIVES: Mapping[str, FairObjective] = MappingProxyType({row.name: row for row in _ROWS})
"""Every objective by name."""


def sense_of(problem: FairProblem, name: str) -> Sense:
    """Return the direction of an objective; ``cost`` without deadlines is maximised."""
    if name == "cost" and not has_deadlines(problem):
        return Sense.MAX
    return OBJECTIVES[name].sense
