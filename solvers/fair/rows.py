"""The methods for fair division: what each can do and where it is; importing loads none."""

from __future__ import annotations

from typing import NamedTuple

from allocsolve.models.fair.problem import FairFeature
from allocsolve.models.fair.settings import LEXICOGRAPHIC, OBJECTIVE_NAMES

__all__ = ["LEVELS", "ROWS", "WELFARE", "Row"]

WELFARE = ("nash", "nash_sharing_incentive", "alpha_fair")
"""Objectives that add up gains."""

LEVELS = ("max_min", "makespan", "equal_throughput", "finish_time_fairness")
"""Objectives that raise one level, or a sequence of them."""


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

_LINEAR = ("total_throughput", "cost")

_EXCHANGING = _FAIR - {FairFeature.DEMANDS, FairFeature.PAIRS}

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
        objectives=(*LEVELS, *WELFARE),
        target="interior_point:solve",
        description="compiled interior point method whose systems have the size of the types",
    ),
    Row(
        name="price_box",
        honours=_EXCHANGING,
        objectives=("nash", *LEVELS),
        target="by_box:solve",
        description="large divisions, reduced exactly by a box around their prices",
    ),
    Row(
        name="linear",
        honours=_EXCHANGING,
        objectives=_LINEAR,
        target="linear:solve",
        description="total throughput and cost as linear programs with HiGHS, large ones reduced",
    ),
    Row(
        name="leximin",
        honours=_EXCHANGING,
        objectives=LEXICOGRAPHIC,
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
        objectives=(*LEXICOGRAPHIC, *LEVELS, *WELFARE, *_LINEAR, "envy_free_efficiency"),
        target="convex:solve",
        description="the readable convex program of each objective, for any solver of cvxpy",
    ),
)
"""Every method, ``auto`` first."""
