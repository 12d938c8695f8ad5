"""One chain of annealing: arrays for the kernels, slices of work, the best schedule."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.anneal import anneal
from allocsolve.models.dag.anneal_decode import decode
from allocsolve.models.dag.anneal_state import BEST, CURRENT, DRAWS, FRESH, REFUSED, Sites, State
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_build import Placement
from allocsolve.models.dag.search_kernels import ANNEALING as KERNELS
from allocsolve.models.kernels import paced

__all__ = ["KERNELS", "Chain", "Cooling", "plain_seconds", "sites_of", "warm"]

_SLICE = 2_000_000
"""Tasks and edges that a slice of the work decodes at most: a few hundredths of a second."""

_PER_MOVE, _PER_TASK = 5e-5, 1.6e-6
"""Seconds that plain Python takes for a move, and for each task and edge of it."""

_LARGEST = 2**31 - 500
"""Numbers below it are good states of the generator."""


@dataclass(frozen=True)
class Cooling:
    """How a run goes from hot to cold: temperatures in ticks, and moves."""

    hot: float
    cold: float
    steps: int

    @property
    def factor(self) -> float:
        """What the temperature is multiplied with at each move."""
        return float((self.cold / self.hot) ** (1.0 / self.steps))


def sites_of(graph: CommGraph, tail: IntArray | None = None) -> Sites:
    """Return the arrays of a graph for annealing.

    Parameters
    ----------
    tail
        int64 (n, N), least time from the end of a task on a node to the end of the
        schedule, 0 if it is not known.
    """
    tail = np.zeros_like(graph.duration) if tail is None else tail
    member_offset, member = _members(graph)
    task, node = np.nonzero(graph.eligible)
    choice_offset = np.zeros(graph.n + 1, np.int64)
    np.cumsum(np.bincount(task, minlength=graph.n), out=choice_offset[1:])
    return Sites(
        duration=graph.duration,
        tail=np.ascontiguousarray(tail),
        pred_offset=graph.pred_offset,
        pred_task=graph.pred_task,
        pred_data=graph.edge_data[graph.pred_edge],
        pred_lag=graph.edge_lag[graph.pred_edge],
        succ_offset=graph.succ_offset,
        succ_task=graph.succ_task,
        latency=graph.latency,
        data_time=graph.data_time,
        linked=graph.linked,
        lane_offset=np.concatenate(([0], np.cumsum(graph.slots))),
        release=graph.release,
        memory=graph.memory,
        node_memory=graph.node_memory,
        member_offset=member_offset,
        member=member,
        choice_offset=choice_offset,
        choice=node.astype(np.int64),
        exponential=_exponential(),
        is_partial=not graph.fully_linked,
        limits_memory=graph.limits_memory,
        has_zero=bool((graph.duration == 0).any()),
    )


def _members(graph: CommGraph) -> tuple[IntArray, IntArray]:
    """Return offset and table of the tasks that share a node with each task, itself included."""
    if not graph.has_groups:
        return np.arange(graph.n + 1), np.arange(graph.n)
    mates = [[i] for i in range(graph.n)]
    for group in range(int(graph.group.max()) + 1):
        inside = np.flatnonzero(graph.group == group).tolist()
        for task in inside:
            mates[task] = inside
    offset = np.cumsum([0, *(len(row) for row in mates)])
    return offset.astype(np.int64), np.array([i for row in mates for i in row], np.int64)


def _exponential() -> FloatArray:
    """Return exponential deviates of mean 1; a table, for logarithms differ in their last bit."""
    return np.array([-math.log((i + 0.5) / DRAWS) for i in range(DRAWS)])


class Chain:
    """A run of annealing that can be taken up again; the same calls give the same bytes.

    Parameters
    ----------
    sites
        The instance (see :func:`sites_of`).
    start
        A placement that breaks no rule.
    seed
        Any integer; chains with different seeds go different ways.
    """

    def __init__(self, sites: Sites, start: Placement, seed: int) -> None:
        self.graph = start.graph
        self.sites = sites
        self.state = _new_state(sites, start, seed)
        self.restart(start)

    @property
    def value(self) -> int:
        """Makespan of the best state in ticks."""
        return int(self.state.field[BEST])

    def restart(self, start: Placement | None = None) -> None:
        """Go on from a placement, or from the best state so far."""
        state = self.state
        if start is None:
            state.order[:], state.node[:] = state.best_order, state.best_node
        else:
            length = self.sites.duration[np.arange(self.graph.n), start.node]
            rank = _ranks(self.graph)
            state.order[:] = np.lexsort((rank, start.start + length, start.start))
            state.node[:] = start.node
        self._decode()

    def _decode(self) -> None:
        """Place all tasks again, and sort the order by their starts."""
        state, sites = self.state, self.sites
        state.position[state.order] = np.arange(self.graph.n)
        state.load[:] = 0
        np.add.at(state.load, state.node, sites.memory)
        _, value = decode(sites, state, 0, REFUSED - 1)
        length = sites.duration[np.arange(self.graph.n), state.node]
        state.order[:] = np.lexsort((state.position, state.end, state.end - length))
        state.position[state.order] = np.arange(self.graph.n)
        _, value = decode(sites, state, 0, REFUSED - 1)
        state.field[CURRENT], state.field[FRESH] = value, 0
        if value < state.field[BEST]:
            state.field[BEST] = value
            state.best_order[:], state.best_node[:] = state.order, state.node

    def cool(self, cooling: Cooling, target: int, stop: Callable[[], bool]) -> bool:
        """Make the moves of a cooling; return False if it was stopped before its end.

        Parameters
        ----------
        target
            A value at which there is nothing left to gain.
        stop
            Asked at least every tenth of a second.
        """
        size = self.graph.n + len(self.sites.pred_task)
        temperature, left = cooling.hot, cooling.steps
        while left > 0 and self.value > target:
            if stop():
                return False
            steps = min(left, max(1, paced(anneal, _SLICE) // max(size, 1)))
            temperature = anneal(self.sites, self.state, steps, temperature, cooling.factor, target)
            left -= steps
        return True

    def best(self) -> Placement:
        """Return the best placement so far."""
        state = self.state
        kept = state.order.copy(), state.node.copy()
        state.order[:], state.node[:] = state.best_order, state.best_node
        decode(self.sites, state, 0, REFUSED - 1)
        length = self.sites.duration[np.arange(self.graph.n), state.node]
        placement = Placement(self.graph, state.end - length, state.node.copy())
        state.order[:], state.node[:] = kept
        decode(self.sites, state, 0, REFUSED - 1)
        return placement


def plain_seconds(graph: CommGraph, moves: int) -> float:
    """Return how long so many moves take as plain Python, roughly."""
    return moves * (_PER_MOVE + _PER_TASK * (graph.n + len(graph.pred_task)))


def _ranks(graph: CommGraph) -> IntArray:
    """Return the place of each task in the topological order."""
    rank = np.empty(graph.n, np.int64)
    rank[graph.order] = np.arange(graph.n)
    return rank


def _new_state(sites: Sites, start: Placement, seed: int) -> State:
    n, nodes = sites.duration.shape

    def row(length: int = n) -> IntArray:
        return np.zeros(length, np.int64)

    state = State(
        order=row(),
        position=row(),
        node=start.node.copy(),
        end=row(),
        lane=row(),
        best_order=row(),
        best_node=row(),
        old_end=row(),
        old_lane=row(),
        moved=row(2 * n),
        old_node=row(2 * n),
        critical=row(),
        free=row(int(sites.lane_offset[-1])),
        load=row(nodes),
        random=np.array(_generator(seed), np.int64),
        field=row(7),
    )
    state.field[BEST] = REFUSED
    return state


def _generator(seed: int) -> list[int]:
    """Return a state of the generator that differs much between seeds close to each other."""
    source = random.Random(seed)
    return [source.randrange(1, _LARGEST) for _ in range(2)]


def warm() -> None:
    """Call every kernel of annealing once."""
    from allocsolve.models.dag.data import Edge, Node, Task
    from allocsolve.models.dag.problem import DagProblem

    problem = DagProblem(
        tasks=[Task(id="a", work=1), Task(id="b", work=1)],
        edges=[Edge(source="a", target="b", data=1)],
        nodes=[Node(id="x"), Node(id="y")],
    )
    graph = CommGraph.of(problem)
    start = Placement(graph, np.array([0, 1]), np.array([0, 0]))
    Chain(sites_of(graph), start, 0).cool(Cooling(1.0, 0.1, 10), 0, lambda: False)
