"""The table of convex programs: a function for each policy, readable, for any solver of cvxpy.

``build(problem)`` returns a program and the function that reads the answer from its solved
variables. Nothing here runs a solver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from allocsolve.models.fair.convex_levels import (
    equal_throughput,
    finish_time_fairness,
    makespan,
    max_min,
)
from allocsolve.models.fair.convex_linear import cost, envy_free_efficiency, total_throughput
from allocsolve.models.fair.convex_market import Built
from allocsolve.models.fair.convex_welfare import alpha_fair, nash, nash_sharing_incentive
from allocsolve.models.fair.problem import FairProblem

__all__ = ["PROGRAMS"]

PROGRAMS: Mapping[str, Callable[[FairProblem], Built]] = MappingProxyType(
    {
        "max_min": max_min,
        "nash": nash,
        "nash_sharing_incentive": nash_sharing_incentive,
        "alpha_fair": alpha_fair,
        "finish_time_fairness": finish_time_fairness,
        "makespan": makespan,
        "total_throughput": total_throughput,
        "cost": cost,
        "envy_free_efficiency": envy_free_efficiency,
        "equal_throughput": equal_throughput,
    }
)
"""The program of each objective that is a single convex program."""
