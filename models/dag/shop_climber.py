"""Runs of tabu search on a shop that can be taken up again, from random or mixed lists."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import SHOPS as KERNELS
from allocsolve.models.dag.shop_data import Shop
from allocsolve.models.dag.shop_lists import arrange, dispatch, mix
from allocsolve.models.dag.shop_state import BEST, ITERATION, orders_of
from allocsolve.models.dag.shop_tabu import begin, tabu

__all__ = ["KERNELS", "Climber", "Peak", "warm"]

_PATIENCE = 4000
"""Moves without a better schedule after which a run is over."""

_TENURE = 10
"""Moves for which what was left stays forbidden, and one more for each job on a machine."""

_OVERFLOW = 2**30
"""Moves after which the counts of forbidden moves begin anew; they have 32 bits."""


class Peak(NamedTuple):
    """The best schedule of a run.

    Attributes
    ----------
    value
        Makespan in ticks.
    listed
        int64 (2, n): the operations by starts, and the machine of each operation.
    start
        int64 (n,), of each operation.
    """

    value: int
    listed: IntArray
    start: IntArray

    def schedule(self, problem: DagProblem, shop: Shop) -> Schedule:
        """Return it as a schedule of the problem."""
        on = np.repeat(self.listed[1], np.diff(shop.way_offset))
        start, mode = np.zeros_like(self.start), np.zeros_like(self.start)
        start[shop.task] = self.start
        mode[shop.task] = shop.way_mode[shop.way_machine == on]
        return Schedule(problem, start, mode)


class Climber:
    """Room for one run after the other; the same calls give the same bytes."""

    def __init__(self, shop: Shop, seed: int) -> None:
        self._shop = shop
        self._orders = orders_of(shop, seed)
        self._listed = np.zeros((2, len(shop.task)), np.int64)
        jobs = len(shop.job_offset) - 1
        self._tenure = _TENURE + jobs // shop.machines

    def start(self, parents: tuple[Peak, Peak] | None = None) -> None:
        """Begin a run from a crossover of two peaks, or from a random schedule."""
        orders, listed = self._orders, self._listed
        if parents is None:
            dispatch(self._shop, listed[0], listed[1], orders.field)
        else:
            mix(parents[0].listed, parents[1].listed, listed, orders.field)
        arrange(orders, listed[0], listed[1])
        if orders.field[ITERATION] > _OVERFLOW:
            orders.field[ITERATION] = 0
            orders.pair_until[:], orders.machine_until[:] = 0, 0
        begin(orders, self._tenure)

    def climb(self, moves: int, target: int) -> bool:
        """Make so many moves at most; tell whether the run is over."""
        return bool(tabu(self._orders, _PATIENCE, moves, self._tenure, target))

    @property
    def moves(self) -> int:
        """Moves made so far, and a few more."""
        return int(self._orders.field[ITERATION])

    @property
    def value(self) -> int:
        """Best makespan of the run in ticks."""
        return int(self._orders.field[BEST])

    def peak(self) -> Peak:
        """Return the best schedule of the run."""
        start, machine = self._orders.best[:, 0].copy(), self._orders.best[:, 1].copy()
        by_start = np.lexsort((np.arange(len(start)), start))
        return Peak(self.value, np.stack([by_start, machine]), start)


def warm() -> None:
    """Call every kernel of the search once."""
    from allocsolve.models.dag.data import Edge, Node, Task
    from allocsolve.models.dag.shop_data import shop_of

    names = ("a", "b", "c", "d")
    problem = DagProblem(
        tasks=[Task(id=name, work=1 + place) for place, name in enumerate(names)],
        edges=[Edge(source="a", target="b"), Edge(source="c", target="d")],
        nodes=[Node(id="x"), Node(id="y")],
    )
    climber = Climber(shop_of(problem), 0)
    climber.start()
    climber.climb(10, 0)
    peak = climber.peak()
    climber.start((peak, peak))
    climber.climb(10, 0)
