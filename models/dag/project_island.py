"""One island of a genetic search on a project: slices of work, the best schedule, guests."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.project_data import Project
from allocsolve.models.dag.project_genetic import evolve
from allocsolve.models.dag.project_lists import bench_of
from allocsolve.models.dag.project_population import (
    BEST,
    EMPTY,
    FILLED,
    child_of,
    population_of,
)
from allocsolve.models.dag.search_kernels import PROJECTS as KERNELS

__all__ = ["KERNELS", "Island", "Member", "population_size", "warm"]

_PER_CHILD = 3
"""Schedules that are built for a child."""

_FEWEST, _MOST = 40, 1500
"""Members of a population."""


class Member(NamedTuple):
    """A member on its way to another island."""

    order: IntArray
    way: IntArray
    value: int
    sign: int


def population_size(children: float) -> int:
    """Return how many members suit a search that makes so many children.

    About 0.8 times the root of the schedules built: a smaller population converges too early,
    a larger one never does.
    """
    return int(min(_MOST, max(_FEWEST, 0.8 * math.sqrt(_PER_CHILD * children))))


class Island:
    """A population that can be taken up again; the same calls give the same bytes.

    Parameters
    ----------
    size
        Members, at least 2.
    seed
        Any integer; islands with different seeds go different ways.
    """

    def __init__(self, project: Project, size: int, seed: int) -> None:
        self._project = project
        self._bench = bench_of(project)
        self._child = child_of(project)
        self._population = population_of(project, size, seed)

    @property
    def value(self) -> int:
        """Makespan of the best schedule in ticks, larger than any if there is none."""
        return int(self._population.field[BEST])

    def run(self, children: int, target: int) -> int:
        """Make children until there are so many or a makespan is met; return how many."""
        return int(
            evolve(self._project, self._bench, self._population, self._child, children, target)
        )

    def schedule(self, problem: DagProblem) -> Schedule:
        """Return the best schedule; there must be one."""
        project, population = self._project, self._population
        start, mode = np.zeros_like(population.best_start), np.zeros_like(population.best_way)
        start[project.task] = population.best_start
        mode[project.task] = project.way_mode[population.best_way]
        return Schedule(problem, start, mode)

    def emissary(self) -> Member:
        """Return a copy of the best member."""
        population = self._population
        best = int(np.argmin(population.value))
        return Member(
            population.order[best].copy(),
            population.way[best].copy(),
            int(population.value[best]),
            int(population.sign[best]),
        )

    def receive(self, guest: Member) -> None:
        """Let a guest take the place of the worst member, unless it is worse or known."""
        population = self._population
        worst = int(np.argmax(population.value))
        is_full = population.field[FILLED] == len(population.value)
        if not is_full or not guest.value <= population.value[worst] < EMPTY:
            return
        if bool((population.sign == guest.sign).any()):
            return
        population.order[worst], population.way[worst] = guest.order, guest.way
        population.value[worst], population.sign[worst] = guest.value, guest.sign


def warm() -> None:
    """Call every kernel of the search once."""
    from allocsolve.models.dag.data import Mode, Resource, Task
    from allocsolve.models.dag.network import build_network
    from allocsolve.models.dag.project_data import project_of

    modes = [Mode(duration=2, demand={"r": 1}), Mode(duration=1, demand={"r": 1})]
    problem = DagProblem(
        tasks=[Task(id="a", modes=modes), Task(id="b", modes=modes)],
        resources=[Resource(id="r", capacity=1)],
    )
    Island(project_of(problem, build_network(problem)), 2, 0).run(10, 0)
