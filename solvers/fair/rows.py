"""The methods for fair division: what each can do and where it is; importing loads none."""

from __future__ import annotations

from typing import NamedTuple

from allocsolve.models.fair.problem import FairFeature
from allocsolve.models.fair.settings import OBJECTIVE_NAMES

__all__ = ["ROWS", "Row"]


class Row(NamedTuple):
    """A method: features that it honours, its objectives, ``module:function``, one sentence.

    Most end with a proof if no limit ends them first; what does not says so in a warning.
    """

    name: str
    honours: frozenset[str]
    objectives: tuple[str, ...]
    target: str
    description: str


_FAIR = frozenset(
    {
        FairFeature.GANGS,
        FairFeature.ENTITIES,
        FairFeature.DEMANDS,
        FairFeature.PAIRS,
        FairFeature.DEADLINES,
        FairFeature.NO_TIME_CAP,
    }
)
"""Everything but whole-unit rounds."""

_CONVEX = (
    "max_min",
    "nash",
    "nash_sharing_incentive",
    "alpha_fair",
    "finish_time_fairness",
    "makespan",
    "total_throughput",
    "cost",
    "envy_free_efficiency",
    "equal_throughput",
)

_EXCHANGING = _FAIR - {FairFeature.DEMANDS, FairFeature.PAIRS}

_STRUCTURED = (
    "max_min",
    "nash",
    "nash_sharing_incentive",
    "alpha_fair",
    "finish_time_fairness",
    "makespan",
    "equal_throughput",
)

_LEXICOGRAPHIC = ("leximin", "dominant_resource")

ROWS: tuple[Row, ...] = (
    Row(
        name="auto",
        honours=_FAIR,
        objectives=OBJECTIVE_NAMES,
        target="auto:solve",
        description="the fastest method for objective and size; another one where it falls short",
    ),
    Row(
        name="interior_point",
        honours=_EXCHANGING,
        objectives=_STRUCTURED,
        target="interior_point:solve",
        description="compiled interior point method whose systems have the size of the types",
    ),
    Row(
        name="price_box",
        honours=_EXCHANGING,
        objectives=("nash", "max_min", "makespan", "equal_throughput"),
        target="by_box:solve",
        description="large divisions, reduced exactly by a box around their prices",
    ),
    Row(
        name="linear",
        honours=_EXCHANGING,
        objectives=("total_throughput", "cost"),
        target="linear:solve",
        description="total throughput and cost as linear programs with HiGHS, large ones reduced",
    ),
    Row(
        name="leximin",
        honours=_EXCHANGING,
        objectives=_LEXICOGRAPHIC,
        target="leximin:solve",
        description="at most one stage for each type, linear programs with HiGHS",
    ),
    Row(
        name="matching",
        honours=frozenset({FairFeature.GANGS, FairFeature.ENTITIES, FairFeature.DEADLINES}),
        objectives=("completion_time",),
        target="matching:solve",
        description="jobs one after another on each unit by bipartite matching",
    ),
    Row(
        name="partial_allocation",
        honours=_EXCHANGING,
        objectives=("partial_allocation",),
        target="partial:solve",
        description="Nash welfare, each job cut by what the others lose to it; truthful",
    ),
    Row(
        name="cvxpy",
        honours=_FAIR,
        objectives=(*_LEXICOGRAPHIC, *_CONVEX),
        target="convex:solve",
        description="the readable convex program of each objective, for any solver of cvxpy",
    ),
)
"""Every method, ``auto`` first."""
