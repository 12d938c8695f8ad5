"""The list schedulers for communicating tasks: each is an order or a rule, and node preferences.

======================  ============================================================
``heft``, ``cpop``      Topcuoglu, Hariri and Wu, "Performance-effective and low-complexity
                        task scheduling for heterogeneous computing", IEEE Transactions on
                        Parallel and Distributed Systems 13(3), 2002
``peft``                Arabnejad and Barbosa, "List scheduling algorithm for heterogeneous
                        systems by an optimistic cost table", IEEE TPDS 25(3), 2014
``etf``                 Hwang, Chow, Anger and Lee, "Scheduling precedence graphs in systems
                        with interprocessor communication times", SIAM Journal on Computing
                        18(2), 1989
``dls``                 Sih and Lee, "A compile-time scheduling heuristic for interconnection-
                        constrained heterogeneous processor architectures", IEEE TPDS 4(2),
                        1993
``min_min``,            Ibarra and Kim, "Heuristic algorithms for scheduling independent tasks
``max_min``             on nonidentical processors", Journal of the ACM 24(2), 1977, applied
                        to the ready tasks
``sufferage``           Maheswaran, Ali, Siegel, Hensgen and Freund, "Dynamic mapping of a
                        class of independent tasks onto heterogeneous computing systems",
                        Journal of Parallel and Distributed Computing 59(2), 1999, likewise
``one_node``            all tasks on the node that would work least for them
``clusters``            dominant sequence clustering, see :mod:`.list_clusters`
======================  ============================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.dag.graph import NOT_ELIGIBLE, CommGraph
from allocsolve.models.dag.list_board import NO_BIAS
from allocsolve.models.dag.list_clusters import cluster_nodes, clusters
from allocsolve.models.dag.list_ranks import (
    Estimates,
    downward_rank,
    estimated_times,
    median_duration,
    optimistic_cost,
    order_by,
    upward_rank,
)
from allocsolve.models.dag.list_ready import (
    DYNAMIC_LEVEL,
    EARLIEST_START,
    MAX_MIN,
    MIN_MIN,
    SUFFERAGE,
)

__all__ = ["IN_ORDER", "RULES", "Ranks", "Recipe", "fixed_nodes", "preferring"]

IN_ORDER = -1
"""Stands for "no rule": tasks are taken in the order of a recipe."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """How one list scheduler places the tasks of a graph.

    Attributes
    ----------
    allowed
        bool (n, N): where each task may go.
    order, bias
        With ``rule`` IN_ORDER: int64 (n,) and float64 (n, N) or empty; see
        :func:`~allocsolve.models.dag.list_kernels.place_in_order`.
    rule, level
        Else; see :func:`~allocsolve.models.dag.list_ready.place_by_rule`.
    """

    allowed: BoolArray
    order: IntArray
    bias: FloatArray = field(default_factory=lambda: NO_BIAS)
    rule: int = IN_ORDER
    level: FloatArray = field(default_factory=lambda: NO_BIAS)


class Ranks:
    """Priorities of a graph, each computed once when it is first asked for.

    Parameters
    ----------
    statistic
        How times on different nodes are estimated, one of ``STATISTICS``.
    """

    def __init__(self, graph: CommGraph, statistic: str = "mean") -> None:
        self.graph = graph
        self._statistic = statistic

    @cached_property
    def estimates(self) -> Estimates:
        """Durations and delays."""
        return estimated_times(self.graph, self._statistic)

    @cached_property
    def upward(self) -> FloatArray:
        """Upward rank."""
        return upward_rank(self.graph, self.estimates.duration, self.estimates.delay)

    @cached_property
    def level(self) -> FloatArray:
        """Static level: the longest path of durations to the end, without communication."""
        lag = self.graph.edge_lag.astype(np.float64)
        return upward_rank(self.graph, self.estimates.duration, lag)

    @cached_property
    def downhill(self) -> IntArray:
        """Tasks by decreasing upward rank; among equal ones in topological order."""
        position = np.zeros(self.graph.n, np.int64)
        position[self.graph.order] = np.arange(self.graph.n)
        return np.lexsort((position, -self.upward))


Rule = Callable[[CommGraph, Ranks], Recipe]


def _heft(graph: CommGraph, ranks: Ranks) -> Recipe:
    """Take tasks by upward rank, each to where it ends first."""
    return Recipe(graph.eligible, ranks.downhill)


def _cpop(graph: CommGraph, ranks: Ranks) -> Recipe:
    """Give the tasks of a critical path one node, and priority to long paths through a task."""
    times = ranks.estimates
    priority = ranks.upward + downward_rank(graph, times.duration, times.delay)
    path = _critical_path(graph, priority)
    work = graph.duration[path].sum(axis=0)
    able = graph.eligible[path]
    # A node that can run more of the path is better, then one that runs it faster.
    node = int(np.lexsort((work, -able.sum(axis=0)))[0]) if len(path) else 0
    wanted = np.full(graph.n, -1, np.int64)
    wanted[path] = node
    return Recipe(preferring(graph, wanted), order_by(graph, priority))


def _critical_path(graph: CommGraph, priority: FloatArray) -> IntArray:
    """Return a path along which the priority stays greatest."""
    entries = np.flatnonzero(np.diff(graph.pred_offset) == 0)
    path: list[int] = []
    ahead = entries
    while len(ahead):
        path.append(int(ahead[priority[ahead].argmax()]))
        begin, end = graph.succ_offset[path[-1]], graph.succ_offset[path[-1] + 1]
        ahead = graph.succ_task[begin:end]
    return np.array(path, np.int64)


def _peft(graph: CommGraph, ranks: Ranks) -> Recipe:
    """Rank tasks by their mean optimistic cost, and add that cost where nodes are compared."""
    cost = optimistic_cost(graph, ranks.estimates.delay)
    cost[~np.isfinite(cost)] = 0.0
    return Recipe(graph.eligible, order_by(graph, cost.mean(axis=1)), cost)


def _etf(graph: CommGraph, ranks: Ranks) -> Recipe:
    """Take the ready task that can start first; among equal ones the highest static level."""
    return Recipe(graph.eligible, ranks.downhill, rule=EARLIEST_START, level=ranks.level)


def _dls(graph: CommGraph, ranks: Ranks) -> Recipe:
    """Take the pair of greatest level - start + (median duration - duration)."""
    median = median_duration(graph)
    level = upward_rank(graph, median, graph.edge_lag.astype(np.float64)) + median
    return Recipe(graph.eligible, ranks.downhill, rule=DYNAMIC_LEVEL, level=level)


def _by_completion(rule: int) -> Rule:
    def recipe(graph: CommGraph, ranks: Ranks) -> Recipe:
        return Recipe(graph.eligible, ranks.downhill, rule=rule, level=np.zeros(graph.n))

    return recipe


def _one_node(graph: CommGraph, ranks: Ranks) -> Recipe:
    """Put every task on the node that would work least, counting its slots."""
    able = graph.eligible
    work = np.where(able, graph.duration, 0).sum(axis=0) / graph.slots
    node = int(np.lexsort((work, -able.sum(axis=0)))[0]) if graph.nodes else 0
    return Recipe(preferring(graph, np.full(graph.n, node)), ranks.downhill)


def _clusters(graph: CommGraph, ranks: Ranks) -> Recipe:
    """Keep clusters of a dominant sequence on one node each."""
    node = cluster_nodes(graph, clusters(graph, ranks.estimates))
    return Recipe(preferring(graph, node), ranks.downhill)


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "heft": _heft,
        "one_node": _one_node,
        "clusters": _clusters,
        "cpop": _cpop,
        "peft": _peft,
        "etf": _etf,
        "dls": _dls,
        "min_min": _by_completion(MIN_MIN),
        "max_min": _by_completion(MAX_MIN),
        "sufferage": _by_completion(SUFFERAGE),
    }
)
"""Every list scheduler by its name, the quickest first."""


def preferring(graph: CommGraph, node: IntArray) -> BoolArray:
    """Return where tasks may go if each goes to its wanted node where it is eligible there.

    -1 wants nothing; then, and where the wish cannot be met, every eligible node is allowed.
    """
    rows = np.arange(graph.n)
    granted = (node >= 0) & (graph.duration[rows, node] != NOT_ELIGIBLE)
    allowed = graph.eligible.copy()
    allowed[granted] = False
    allowed[rows[granted], node[granted]] = True
    return allowed


def fixed_nodes(graph: CommGraph, ranks: Ranks, node: IntArray) -> Recipe:
    """Return the recipe that takes tasks by upward rank, each to a given node."""
    return Recipe(preferring(graph, node), ranks.downhill)
