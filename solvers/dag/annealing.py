"""Method ``annealing``: rounds of simulated annealing on nodes of any mix.

Every thread has a chain of its own; after each round the best schedule of all is known to
all. A chain goes on from its own best schedule, every third round from random nodes, every
fourth from the best of all. Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated
annealing", Science 220, 1983.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.node_windows import NodeTable
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import ANNEALING
from allocsolve.models.errors import UsageError
from allocsolve.models.kernels import paced, uncompiled
from allocsolve.models.result import SolverInfo, Termination
from allocsolve.models.threads import ContextPool
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag.compiling import UNCOMPILED, is_worth_compiling, loads_in_time
from allocsolve.solvers.dag.node_start import begin
from allocsolve.solvers.dag.settings import Choice, read_settings, shown
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.loading import loops, make_ready

if TYPE_CHECKING:
    from allocsolve.models.dag.list_build import Placement

__all__ = [
    "SETTINGS",
    "Annealing",
    "is_affordable",
    "plain_seconds",
    "search",
    "search_loops",
    "solve",
]

SETTINGS = {"rounds": Choice(0, 0, 10**6)}
"""``rounds``: coolings of each chain; 0 until the time limit, or 30 without one."""

_ROUNDS = 30
"""Coolings without a time limit."""

_MOVES = 1000
"""Moves for each task in the first round; later rounds are longer."""

_FEWEST = 20_000
"""Moves of the first round if there is a time limit, and the fewest of later ones."""

_ROUND_SHARE = 0.25
"""Share of the time left that a round takes at most."""

_HOT, _COLD = 0.5, 0.02
"""First and last temperature as shares of the mean duration."""


@contextmanager
def search_loops(graph: CommGraph, control: Control[Schedule], rounds: int) -> Iterator[bool]:
    """Give a block the loops of annealing; it is told whether they do all that is asked.

    Without a time limit they do, compiled or not; with one, loops that are not in the cache are
    compiled if the search then lasts long enough, and else run slowly as plain Python.
    """
    if control.limits.deadline is None:
        seconds = plain_seconds(graph, control.limits.threads, rounds)
        with loops(control, ANNEALING, plain=seconds) as can_run, uncompiled(when=not can_run):
            yield can_run
        return
    quick = is_affordable(control)
    with uncompiled(when=not quick):  # what is not loaded must not wait for a compiler
        yield quick


def is_affordable(control: Control[Schedule]) -> bool:
    """Make the loops ready, if the search then lasts long enough; tell whether they are."""
    cached = loads_in_time(control, ANNEALING)
    return (cached or is_worth_compiling(control, ANNEALING)) and make_ready(control, ANNEALING)


def plain_seconds(graph: CommGraph, chains: int, rounds: int) -> float:
    """Return how long so many rounds take as plain Python, chain after chain, roughly."""
    from allocsolve.models.dag.anneal_chain import plain_seconds as chain_seconds

    moves = sum(_planned(graph.n, done) for done in range(rounds))
    return max(1, chains) * chain_seconds(graph, moves)


def _planned(tasks: int, done: int) -> int:
    """Return the moves of a round after so many others."""
    return _MOVES * tasks * (1 + done // 2)


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Anneal until value and bound meet, all rounds are done or a limit ends it."""
    settings = read_settings("annealing", control.limits.options, SETTINGS)
    own = own_solver(control, shown(settings, SETTINGS), control.limits.threads)
    return search(problem, control, own, settings["rounds"])


def search(
    problem: DagProblem, control: Control[Schedule], own: SolverInfo, rounds: int
) -> Outcome:
    """Carry out the method; ``own`` is what is said of it, ``rounds`` as in ``SETTINGS``."""
    start = begin(problem, control)
    if start.reason is not None:
        return infeasible(own, start.reason)
    ended_by = control.stopped()
    warnings: tuple[str, ...] = ()
    complete = True
    if ended_by is None and control.answer is not None:
        if not rounds and control.limits.deadline is None:
            rounds = _ROUNDS
        with search_loops(start.table.graph, control, rounds) as is_quick:
            complete = _anneal(start.table, control, rounds)
            warnings = () if is_quick or control.token.cancelled else (UNCOMPILED,)
    ended_by = control.stopped() or Termination.FINISHED
    return finished(control, own, ended_by, deterministic=complete, warnings=warnings)


def _anneal(table: NodeTable, control: Control[Schedule], rounds: int) -> bool:
    """Anneal until a limit ends it; tell whether all rounds were done."""
    control.phase("annealing")
    annealing = Annealing(table, control)
    return annealing.run(rounds or None, lambda: control.stopped() is not None)


class Annealing:
    """Chains of annealing that offer what they find.

    Parameters
    ----------
    table
        Its tails tell early that a move is refused.
    control
        Holds a schedule to start from.
    """

    def __init__(self, table: NodeTable, control: Control[Schedule]) -> None:
        from allocsolve.models.dag.anneal_chain import Chain, sites_of

        self._graph = table.graph
        self._control = control
        tail = np.where(table.possible, table.tail, 0)
        self._sites = sites_of(table.graph, tail)
        self._mean = float(np.mean(table.graph.duration[table.possible])) if table.graph.n else 0.0
        self._sources = [
            random.Random(control.limits.seed * 1009 + chain)
            for chain in range(max(1, control.limits.threads))
        ]
        start = self._best_known()
        self._chains = [
            Chain(self._sites, start, source.randrange(2**31)) for source in self._sources
        ]
        self._round = 0
        self._pace = 0.0
        self._is_shortened = False
        self._until = float("inf")
        self._is_free = table.graph.fully_linked and not table.graph.limits_memory

    def run(
        self, rounds: int | None, stop: Callable[[], bool], seconds: float | None = None
    ) -> bool:
        """Do so many rounds (without end if None); tell whether the clock had no say in them.

        Parameters
        ----------
        stop
            Asked at least every tenth of a second.
        seconds
            After which ``stop`` will say so, by default the time that is left.
        """
        if self._mean <= 0.0:
            return True  # nothing takes time
        self._until = time.monotonic() + (self._control.remaining() if seconds is None else seconds)
        last = None if rounds is None else self._round + rounds
        with ContextPool(len(self._chains)) as pool:
            while last is None or self._round < last:
                began, moves = time.monotonic(), self._moves()
                cool = partial(self._cool, moves, stop)
                ended = list(pool.map(cool, range(len(self._chains))))
                self._pace = moves / max(time.monotonic() - began, 1e-3)
                self._offer()
                if not all(ended):
                    return False
                self._round += 1
                if self._control.is_proven():
                    break
        return not self._is_shortened

    def _cool(self, moves: int, stop: Callable[[], bool], which: int) -> bool:
        """Carry out a round of one chain; False if it was stopped before its end."""
        from allocsolve.models.dag.anneal_chain import Cooling

        chain = self._chains[which]
        kind = (self._round + which) % 12
        if self._round and kind % 3 == 1 and self._is_free:
            chain.restart(self._scattered(which))
        elif kind % 4 == 3:
            chain.restart(self._best_known())
        else:
            chain.restart()
        cooling = Cooling(_HOT * self._mean, _COLD * self._mean, moves)
        target = 0 if self._control.bound is None else self._control.bound.value
        return chain.cool(cooling, target, stop)

    def _moves(self) -> int:
        """Return the moves of this round; with a time limit, so few that it ends in time."""
        from allocsolve.models.dag.anneal import anneal

        planned = _planned(self._graph.n, self._round)
        if self._control.limits.deadline is None:
            return planned
        if not self._pace:
            moves = min(planned, paced(anneal, _FEWEST))
            self._is_shortened |= moves < min(planned, _FEWEST)
            return moves
        seconds = _ROUND_SHARE * max(self._until - time.monotonic(), 0.0)
        fewest = min(planned, paced(anneal, _FEWEST))
        moves = max(min(planned, int(self._pace * seconds)), fewest)
        self._is_shortened |= moves < planned
        return moves

    def _offer(self) -> None:
        for chain in self._chains:
            if self._control.value is None or chain.value < self._control.value:
                best = chain.best()
                self._control.offer(best.schedule(), best.makespan, "annealing")

    def _best_known(self) -> Placement:
        from allocsolve.models.dag.list_build import Placement

        schedule = self._control.answer
        if schedule is None:
            raise UsageError("annealing needs a schedule to start from")
        node = self._graph.problem.arrays.mode_node[schedule.mode]
        return Placement(self._graph, schedule.start.copy(), node.copy())

    def _scattered(self, which: int) -> Placement:
        """Return a placement on random nodes, tasks in topological order."""
        from allocsolve.models.dag.list_build import Placement

        graph, source = self._graph, self._sources[which]
        rank = np.empty(graph.n, np.int64)
        rank[graph.order] = np.arange(graph.n)
        able = [np.flatnonzero(row).tolist() for row in graph.eligible]
        node = np.array([source.choice(row) for row in able], np.int64)
        inside = np.flatnonzero(graph.group >= 0)
        _, first, of = np.unique(graph.group[inside], return_index=True, return_inverse=True)
        node[inside] = node[inside[first]][of]
        return Placement(graph, rank, node)
