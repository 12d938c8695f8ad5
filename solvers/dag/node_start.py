"""What the methods for nodes of any mix do first: list schedules, the node table, bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import heads, tails
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.node_windows import NEVER, NodeTable, NodeWindow, plain_table
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import CUT_PATHS, NODE_TABLE
from allocsolve.models.result import Bound, Reason
from allocsolve.solvers.control import Control
from allocsolve.solvers.dag.list_methods import begin as begin_lists
from allocsolve.solvers.dag.list_methods import offer_rules, ready_loops
from allocsolve.solvers.dag.opening import open_run
from allocsolve.solvers.loading import loops

__all__ = ["NodeStart", "begin", "raise_area_bound", "raise_cut_bound", "raise_table_bound"]

_QUICK = ("heft", "one_node", "clusters", "cpop", "peft")
_SLOW = {"dls": 20_000, "min_min": 20_000, "max_min": 20_000, "sufferage": 20_000, "etf": 3000}
"""List schedulers that look at all ready tasks for each task, and the tasks up to which they are
tried: they take a second or so for so many."""


@dataclass(frozen=True, eq=False)
class NodeStart:
    """Where a method for nodes starts from.

    Attributes
    ----------
    reason
        Why there is no schedule, if that is known and there is none.
    is_impossible
        Whether the table proves that there is no schedule.
    """

    table: NodeTable
    reason: Reason | None = None

    @property
    def is_impossible(self) -> bool:
        """Whether some task can run nowhere."""
        return self.table.value >= NEVER


def begin(problem: DagProblem, control: Control[Schedule]) -> NodeStart:
    """Offer list schedules and raise the bounds that need no engine."""
    graph = begin_lists(problem, control)
    rules = (*_QUICK, *(rule for rule, most in _SLOW.items() if graph.n <= most))
    with ready_loops(graph, control, rules) as can_run:
        if can_run:
            offer_rules(graph, control, rules)
    reason = None
    if control.answer is None:
        reason = open_run(problem, control).reason
    return NodeStart(raise_cut_bound(raise_table_bound(graph, control), control), reason)


def raise_table_bound(graph: CommGraph, control: Control[Schedule]) -> NodeTable:
    """Raise the bound of the table of nodes, and return the table."""
    table = _table(graph, control)
    if table.value < NEVER:
        detail = "least times before and after each task, on the best node for it"
        control.raise_bound(Bound(table.value, "node_table", detail))
    return table


def _table(graph: CommGraph, control: Control[Schedule]) -> NodeTable:
    control.phase("bounds on nodes")
    if control.stopped() is None:
        from allocsolve.models.dag.comm_tables import node_table, plain_seconds

        with loops(control, NODE_TABLE, plain=plain_seconds(graph)) as can_run:
            if can_run:
                return node_table(graph, lambda: control.stopped() is not None)
    head, tail = heads(graph.problem), tails(graph.problem)
    nothing = np.zeros(graph.n, np.int64)
    return plain_table(graph, nothing if head is None else head, nothing if tail is None else tail)


def raise_cut_bound(table: NodeTable, control: Control[Schedule]) -> NodeTable:
    """Raise the bound of the cut paths, and return the table with what they say."""
    from allocsolve.models.dag import cut_paths
    from allocsolve.models.dag.narrowing import sharpen

    if control.stopped() is not None or not cut_paths.is_affordable(table.graph):
        return table
    control.phase("cutting paths")
    with loops(control, CUT_PATHS, plain=cut_paths.plain_seconds(table.graph)) as can_run:
        if not can_run:
            return table
        table, value = sharpen(table, lambda: control.stopped() is not None)
    if max(table.value, value) < NEVER:
        detail = "what lies between tasks is cut and sends data, or shares a node and its memory"
        control.raise_bound(Bound(max(table.value, value), "cut_path", detail))
    return table


def raise_area_bound(table: NodeTable, control: Control[Schedule]) -> tuple[NodeWindow, ...]:
    """Raise the bound of the linear program; return the windows of nodes that it rests on."""
    from allocsolve.solvers.dag.area_lp import area_bound, fits

    if table.value >= NEVER or not table.graph.n or not fits(table, control.remaining()):
        return ()
    control.phase("sharing work among nodes")
    least = table.value if control.bound is None else max(table.value, control.bound.value)
    area = area_bound(
        table, least, lambda: 0.0 if control.stopped() is not None else control.remaining()
    )
    detail = f"the nodes share the work, {len(area.windows)} windows of nodes"
    control.raise_bound(Bound(area.value, "area_lp", detail))
    return area.windows
