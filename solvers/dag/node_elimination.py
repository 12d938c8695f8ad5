"""What a length leaves possible: destructive improvement of the bounds on nodes.

Assume a schedule of some length. A task cannot be on a node through which every schedule is
longer; without it heads and tails of other tasks rise, until nothing changes. If then some
task has no node left, or the shared work needs more, no schedule is so short (Klein and
Scholl, "Computing lower bounds by destructive improvement", European Journal of Operational
Research 112, 1999).
"""

from __future__ import annotations

from collections.abc import Callable

from allocsolve.models.dag.narrowing import narrow
from allocsolve.models.dag.node_windows import NodeTable
from allocsolve.solvers.dag.area_lp import area_bound, fits

__all__ = ["destructive_bound", "is_small", "within"]

_CELLS = 20_000
"""Pairs of a task and a node up to which a question takes some hundredths of a second."""


def is_small(table: NodeTable, seconds: float) -> bool:
    """Whether questions are answered quickly enough."""
    return fits(table, seconds) and table.graph.duration.size <= _CELLS


def within(table: NodeTable, length: int, stop: Callable[[], bool]) -> NodeTable:
    """Return a table that holds for all schedules of at most ``length`` ticks.

    The same one if there are none.
    """
    left = narrow(table, length, stop)
    return table if left is None else left


def destructive_bound(
    table: NodeTable, lower: int, upper: int, seconds: Callable[[], float]
) -> int:
    """Return the highest bound from ``lower`` to ``upper`` that a bisection proves.

    Parameters
    ----------
    table
        Holds for all schedules.
    lower
        A bound that is proven.
    seconds
        Returns the seconds left; at 0 the bound so far is returned.
    """
    highest = upper
    while lower < highest and seconds() > 0:
        length = (lower + highest) // 2
        if _is_impossible(table, length, lower, seconds):
            lower = length + 1
        else:
            highest = length
    return lower


def _is_impossible(table: NodeTable, length: int, lower: int, seconds: Callable[[], float]) -> bool:
    """Whether no schedule of at most so many ticks exists, as far as this can tell."""
    inner = narrow(table, length, lambda: seconds() <= 0)
    return inner is None or area_bound(inner, max(lower, inner.value), seconds).value > length
