"""Annealing on identical nodes: rounds from the best schedule and from random nodes."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.anneal_chain import Chain, Cooling, sites_of
from allocsolve.models.dag.anneal_chain import plain_seconds as chain_seconds
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_bounds import ClusterBounds
from allocsolve.models.dag.comm_identical import Identical
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_build import Placement
from allocsolve.solvers.control import Control

__all__ = ["Annealing", "plain_seconds"]

_PER_TASK, _PER_PAIR = 500, 15
"""Moves of the first coolings, the smaller of the two; later coolings are longer."""

_HOT, _COLD = 0.5, 0.02
"""First and last temperature as shares of the mean duration."""


def plain_seconds(graph: CommGraph, rounds: int) -> float:
    """Return how long so many coolings take as plain Python, roughly."""
    return chain_seconds(graph, sum(_moves(graph.n, done) for done in range(rounds)))


def _moves(tasks: int, done: int) -> int:
    """Return the moves of a cooling after so many others."""
    return min(_PER_TASK * tasks, _PER_PAIR * tasks * tasks) * (1 + done // 2)


class Annealing:
    """Rounds of annealing that offer what they find.

    Parameters
    ----------
    seed
        Seed of everything random.
    effort
        Part of the usual moves that a cooling makes.
    """

    def __init__(
        self, bounds: ClusterBounds, control: Control[Schedule], seed: int, effort: float = 1.0
    ) -> None:
        self._effort = effort
        self._instance = bounds.instance
        self._control = control
        self._bounds = bounds
        self._source = random.Random(seed)
        self._mean = sum(self._instance.work) / self._instance.n
        graph = self._instance.graph
        tails = np.repeat(np.array(bounds.tails, np.int64)[:, None], graph.nodes, axis=1)
        self._chain = Chain(sites_of(graph, tails), self._together(), seed)
        self._rounds = 0
        if control.answer is not None:
            self._chain.restart(_placement(self._instance, control.answer))
        self._offer()

    def run(self, rounds: int | None, stop: Callable[[], bool]) -> None:
        """Cool so many times (without end if None), or until it is stopped."""
        if not self._mean or self._instance.nodes == 1 == self._instance.slots:
            return  # nothing to place
        target = 0 if self._control.bound is None else self._control.bound.value
        n, linked = self._instance.n, self._instance.graph.fully_linked
        while rounds is None or self._rounds < rounds:
            steps = max(1, int(self._effort * _moves(n, self._rounds)))
            self._chain.restart(self._scattered() if self._rounds % 3 == 1 and linked else None)
            cooling = Cooling(_HOT * self._mean, _COLD * self._mean, steps)
            finished = self._chain.cool(cooling, target, stop)
            self._offer()
            self._rounds += 1
            if not finished or self._chain.value <= target:
                break

    def _offer(self) -> None:
        if self._control.value is None or self._chain.value < self._control.value:
            best = self._chain.best()
            self._control.offer(best.schedule(), best.makespan, "annealing")

    def _together(self) -> Placement:
        """Return all tasks on one node."""
        return self._on(np.zeros(self._instance.n, np.int64))

    def _scattered(self) -> Placement:
        nodes = range(self._instance.nodes)
        return self._on(np.array(self._source.choices(nodes, k=self._instance.n), np.int64))

    def _on(self, node: IntArray) -> Placement:
        return Placement(self._instance.graph, np.array(self._bounds.heads, np.int64), node)


def _placement(instance: Identical, schedule: Schedule) -> Placement:
    node = instance.graph.problem.arrays.mode_node[schedule.mode]
    return Placement(instance.graph, schedule.start.copy(), node.copy())
