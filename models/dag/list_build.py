"""Carrying out a recipe of list scheduling: loops in slices, room for gaps, repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_assign import assign_nodes
from allocsolve.models.dag.list_board import Board, Tables, new_board, tables_of, widened
from allocsolve.models.dag.list_kernels import (
    DONE,
    FULL,
    STUCK,
    place_in_order,
)
from allocsolve.models.dag.list_pairs import goes_by_pairs, new_pairs, place_by_pair
from allocsolve.models.dag.list_ready import place_by_rule
from allocsolve.models.dag.list_rules import IN_ORDER, RULES, Ranks, Recipe, fixed_nodes
from allocsolve.models.kernels import PLAIN_AT_ONCE, paced, uncompiled

__all__ = ["Builder", "Placement", "plain_seconds", "warm"]

_SLICE = 4_000_000
"""Nodes tried between two looks at the clock, less than a tenth of a second."""

_PER_NODE, _PER_NODE_OF_ALL = 5e-6, 15e-6
"""Seconds that plain Python takes for a node of a task or edge, in a given order and where all
ready tasks are looked at."""


@dataclass(frozen=True, eq=False)
class Placement:
    """A start (ticks) and a node for every task, int64 (n,) each."""

    graph: CommGraph
    start: IntArray
    node: IntArray

    @property
    def makespan(self) -> int:
        """Latest end in ticks, 0 without tasks."""
        rows = np.arange(self.graph.n)
        return int((self.start + self.graph.duration[rows, self.node]).max(initial=0))

    def schedule(self) -> Schedule:
        """Return the schedule of the problem."""
        return self.graph.to_schedule(self.start, self.node)


class Builder:
    """Builds placements of one graph.

    Parameters
    ----------
    stop
        Asked at least every tenth of a second; a run that it ends gives no placement.
    """

    def __init__(self, graph: CommGraph, stop: Callable[[], bool] = lambda: False) -> None:
        self.graph = graph
        self.ranks = Ranks(graph)
        self._tables = tables_of(graph, inserts=True)
        self._stop = stop
        self._assigned: IntArray | None = None

    def build(
        self, rule: str, *, inserts: bool = True, statistic: str = "mean"
    ) -> Placement | None:
        """Return the placement of a rule of ``RULES``, repaired if it gets stuck.

        Parameters
        ----------
        inserts
            Whether a task may start in a gap between tasks placed before it (insertion), or
            only after the last one of a slot (append).
        statistic
            How ranks estimate times on different nodes.
        """
        ranks = self.ranks if statistic == "mean" else Ranks(self.graph, statistic)
        return self.follow(RULES[rule](self.graph, ranks), inserts=inserts)

    def follow(self, recipe: Recipe, *, inserts: bool = True) -> Placement | None:
        """Return the placement of a recipe; None if none was found, or the run was stopped."""
        if not self.graph.eligible.any(axis=1).all():
            return None
        tables = self._tables._replace(inserts=inserts)
        board, ended = self._run(recipe, tables)
        if ended == STUCK and not self._stop():
            board, ended = self._repaired(tables)
        return Placement(self.graph, board.start, board.node) if ended == DONE else None

    def _run(self, recipe: Recipe, tables: Tables) -> tuple[Board, int]:
        """Place tasks until all are placed, one is stuck or the run is stopped."""
        board = new_board(self.graph, recipe.allowed, queued=recipe.rule != IN_ORDER)
        advance = self._loop(recipe, tables)
        seconds = plain_seconds(self.graph, all_ready=recipe.rule != IN_ORDER)
        with uncompiled(when=seconds < PLAIN_AT_ONCE):
            return self._advanced(board, advance)

    def _advanced(self, board: Board, advance: Callable[[Board], int]) -> tuple[Board, int]:
        """Repeat a loop, with more room for gaps where it asks for it."""
        while True:
            ended = advance(board)
            if ended in (DONE, STUCK):
                return board, ended
            if ended == FULL:
                board = widened(board)
            elif self._stop():
                return board, ended

    def _loop(self, recipe: Recipe, tables: Tables) -> Callable[[Board], int]:
        """Return the loop that places some more tasks of a recipe on a board."""
        rule, level = recipe.rule, recipe.level
        if rule == IN_ORDER:
            order, bias = recipe.order, recipe.bias
            return lambda board: place_in_order(
                tables, board, order, bias, paced(place_in_order, _SLICE)
            )
        if goes_by_pairs(rule, inserts=tables.inserts):
            pairs = new_pairs(self.graph)
            return lambda board: place_by_pair(
                tables, board, pairs, rule, level, paced(place_by_pair, _SLICE)
            )
        return lambda board: place_by_rule(tables, board, rule, level, paced(place_by_rule, _SLICE))

    def _repaired(self, tables: Tables) -> tuple[Board, int]:
        """Choose the nodes first, then place the tasks on them."""
        if self._assigned is None:
            self._assigned = assign_nodes(self.graph, self._stop)
        if self._assigned is None:
            return new_board(self.graph, self.graph.eligible, queued=False), STUCK
        return self._run(fixed_nodes(self.graph, self.ranks, self._assigned), tables)


def plain_seconds(graph: CommGraph, *, all_ready: bool) -> float:
    """Return how long a recipe takes as plain Python, roughly.

    Parameters
    ----------
    all_ready
        Whether its rule looks at all ready tasks for each task.
    """
    tried = (graph.n + len(graph.pred_task)) * graph.nodes
    return tried * (_PER_NODE_OF_ALL if all_ready else _PER_NODE)


def warm() -> None:
    """Call every kernel of list scheduling once."""
    from allocsolve.models.dag.data import Edge, Node, Task
    from allocsolve.models.dag.problem import DagProblem

    problem = DagProblem(
        tasks=[Task(id="a", work=1), Task(id="b", work=1)],
        edges=[Edge(source="a", target="b", data=1)],
        nodes=[Node(id="x"), Node(id="y")],
    )
    builder = Builder(CommGraph.of(problem))
    for rule in RULES:
        builder.build(rule)
        builder.build(rule, inserts=False)
