"""Problems as projects: numbered activities between a dummy start and a dummy end.

The writers of PSPLIB, Patterson and ProGen/max files share this: they number the tasks, put
renewable resources first and add the dummy activities that these formats ask for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from allocsolve.instances.losses import common_losses, refuse_inexpressible
from allocsolve.instances.numerals import Numerals
from allocsolve.instances.resources import resource_ids
from allocsolve.models.dag.arrays import NO_LIMIT, DagArrays
from allocsolve.models.dag.problem import DagProblem, Feature

__all__ = ["Activity", "Project", "project_of"]


@dataclass
class Activity:
    """One activity: its modes as decimal text and its successors with lags.

    Attributes
    ----------
    modes
        For each mode its duration and its demand of every resource, as decimal text.
    successors
        Position of each successor and the lag from start to start, as decimal text.
    """

    modes: list[tuple[str, list[str]]]
    successors: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Project:
    """A problem ready to be written; the first and last activities are dummies."""

    activities: list[Activity]
    capacities: list[str]
    renewable: int
    losses: list[str]

    @property
    def nonrenewable(self) -> int:
        """Number of non-renewable resources; they come after the renewable ones."""
        return len(self.capacities) - self.renewable

    @property
    def resource_ids(self) -> list[str]:
        """Names that the formats give to the resources: R1, R2, ..., N1, ..."""
        return resource_ids(self.renewable, self.nonrenewable)


def project_of(
    problem: DagProblem, format_name: str, honours: frozenset[str], base: int
) -> Project:
    """Take a problem apart into activities; their numbers begin with ``base``.

    Raises
    ------
    UsageError
        If the problem has features outside ``honours``, or tasks that run on nodes.
    """
    obstacles = () if problem.tasks else ("a problem without tasks",)
    if any(not problem.arrays.modes_of(i) for i in range(len(problem.tasks))):
        obstacles = (*obstacles, "tasks that can run nowhere")
    refuse_inexpressible(problem, format_name, honours, obstacles)
    numerals = Numerals()
    losses = common_losses(problem)
    order = sorted(range(len(problem.resources)), key=lambda r: not problem.resources[r].renewable)
    activities = _activities(problem, order, numerals)
    capacities = [numerals(problem.resources[r].capacity) for r in order]
    renewable = sum(resource.renewable for resource in problem.resources)
    if not _has_dummies(problem):
        with_lags = Feature.LAGS in honours
        activities = _with_dummies(problem, activities, len(order), numerals, with_lags=with_lags)
        losses.append("dummy start and end activities added")
    elif [task.id for task in problem.tasks] != [str(base + i) for i in range(len(problem.tasks))]:
        losses.append("task ids replaced by numbers in the order of the instance")
    ids = [problem.resources[r].id for r in order]
    if ids != resource_ids(renewable, len(order) - renewable):
        losses.append("resource ids replaced by R1, R2, ... and N1, N2, ...")
    if problem.nodes:
        losses.append("nodes left out: no task runs on one")
    return Project(activities, capacities, renewable, losses + numerals.losses())


def _activities(problem: DagProblem, order: list[int], numerals: Numerals) -> list[Activity]:
    arrays = problem.arrays
    activities = [
        Activity([_mode(problem, mode, order, numerals) for mode in arrays.modes_of(task)])
        for task in range(len(problem.tasks))
    ]
    for e in range(len(arrays.edge_source)):
        source, target = int(arrays.edge_source[e]), int(arrays.edge_target[e])
        lag = int(arrays.start_lag[e])
        activities[source].successors.append((target, numerals(problem.units(lag))))
        if arrays.edge_max_lag[e] < NO_LIMIT:
            longest = int(arrays.edge_max_lag[e]) + _from_end(arrays, e, source)
            activities[target].successors.append((source, numerals(problem.units(-longest))))
    return activities


def _from_end(arrays: DagArrays, edge: int, source: int) -> int:
    """Return what turns a lag into one from the start; maximum lags come with one mode only."""
    return 0 if arrays.edge_from_start[edge] else int(arrays.min_duration[source])


def _mode(
    problem: DagProblem, mode: int, order: list[int], numerals: Numerals
) -> tuple[str, list[str]]:
    arrays = problem.arrays
    demand = [numerals(int(arrays.mode_demand[mode, r]) * arrays.resource_unit[r]) for r in order]
    return numerals(problem.units(int(arrays.mode_duration[mode]))), demand


def _has_dummies(problem: DagProblem) -> bool:
    """Whether the first task precedes all, the last follows all, and both cost nothing."""
    arrays, n = problem.arrays, len(problem.tasks)
    if n < 2 or not (_is_dummy(arrays, 0) and _is_dummy(arrays, n - 1)):
        return False
    preceded, followed = set(arrays.edge_target.tolist()), set(arrays.edge_source.tolist())
    return preceded >= set(range(1, n)) and followed >= set(range(n - 1))


def _is_dummy(arrays: DagArrays, task: int) -> bool:
    modes = arrays.modes_of(task)
    return (
        len(modes) == 1
        and int(arrays.mode_duration[modes[0]]) == 0
        and not arrays.mode_demand[modes[0]].any()
    )


def _with_dummies(
    problem: DagProblem,
    activities: list[Activity],
    resources: int,
    numerals: Numerals,
    *,
    with_lags: bool,
) -> list[Activity]:
    """Put a dummy start before and a dummy end after all activities.

    Without lags only those without predecessor (successor) are tied to them; with lags all
    are, because an edge with a negative lag orders nothing.
    """
    n, arrays = len(activities), problem.arrays
    preceded = set() if with_lags else set(arrays.edge_target.tolist())
    followed = set() if with_lags else set(arrays.edge_source.tolist())
    for activity in activities:
        activity.successors = [(target + 1, lag) for target, lag in activity.successors]
    for i in range(n):
        if i not in followed:
            duration = problem.units(int(arrays.max_duration[i]))
            activities[i].successors.append((n + 1, numerals(duration)))
    nothing = ("0", ["0"] * resources)
    start = Activity([nothing], [(i + 1, "0") for i in range(n) if i not in preceded])
    return [start, *activities, Activity([nothing])]
