"""The members of a genetic search on a project: what is kept, and the value of a schedule."""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.project_data import Project
from allocsolve.models.dag.project_lists import Bench
from allocsolve.models.kernels import inlined, kernel

__all__ = [
    "BEST",
    "EMPTY",
    "FILLED",
    "STALLED",
    "Child",
    "Population",
    "appraise",
    "child_of",
    "keep",
    "population_of",
]

EMPTY = 2**62
"""Value of a member that is not there yet."""

FILLED, STALLED, BEST = range(3)
"""Fields of ``Population.field``: members there, children since the last better one, the least
makespan of a schedule that breaks no rule."""

_VALUES = 2**61
"""No value is larger."""

_LARGEST = 2**31 - 500
"""Numbers below it are good states of the generator."""


class Population(NamedTuple):
    """P members, and the best schedule of all.

    Attributes
    ----------
    order, way
        int64 (P, n): the tasks by their starts, and the ways taken.
    value, sign
        int64 (P,): see :func:`appraise`, and a number of the starts, to know twins by.
    field
        int64 (3,), see ``FILLED``.
    best_start, best_way
        int64 (n,).
    random
        int64 (2,), state of the generator.
    """

    order: IntArray
    way: IntArray
    value: IntArray
    sign: IntArray
    field: IntArray
    best_start: IntArray
    best_way: IntArray
    random: IntArray


class Child(NamedTuple):
    """A new list in the making: order and ways, int64 (n,), and room for its makers.

    ``excess`` int64 (b,) is what the ways use up beyond each budget.
    """

    order: IntArray
    way: IntArray
    place: IntArray
    excess: IntArray


def population_of(project: Project, size: int, seed: int) -> Population:
    """Return a population without members."""
    n, source = len(project.task), random.Random(seed)
    population = Population(
        order=np.zeros((size, n), np.int64),
        way=np.zeros((size, n), np.int64),
        value=np.full(size, EMPTY, np.int64),
        sign=np.zeros(size, np.int64),
        field=np.zeros(3, np.int64),
        best_start=np.zeros(n, np.int64),
        best_way=np.zeros(n, np.int64),
        random=np.array([source.randrange(1, _LARGEST) for _ in range(2)], np.int64),
    )
    population.field[BEST] = EMPTY
    return population


def child_of(project: Project) -> Child:
    """Return room for a child."""
    n = len(project.task)
    row = [np.zeros(n, np.int64) for _ in range(3)]
    return Child(row[0], row[1], row[2], np.zeros(len(project.budget), np.int64))


@kernel
def appraise(project: Project, bench: Bench, child: Child, makespan: int) -> int:
    """Return the value of the schedule on the bench: least is best.

    First what it exceeds deadlines and budgets by, then its makespan, then the sum of all
    starts: most members have the same makespan, and the earlier one leaves more room.
    """
    excess, starts = 0, 0
    for task in range(bench.start.size):
        starts += bench.start[task]
        excess += max(0, bench.start[task] + bench.duration[task] - project.deadline[task])
    for budget in range(child.excess.size):
        excess += max(0, child.excess[budget])
    most = project.horizon + 1
    step = most * bench.start.size + 1
    excess = min(excess, _VALUES // (most * step) - 1)
    return (excess * most + makespan) * step + starts


@inlined
def _signature(start: IntArray) -> int:
    """Return a number that differs between almost all schedules."""
    mixed = 0
    for task in range(start.size):
        mixed = (mixed * 1000003 + start[task]) % 2147483647
    return mixed


@kernel
def keep(population: Population, bench: Bench, child: Child, value: int, place: int) -> None:
    """Put a child at a place of the population unless an equal one is there already."""
    sign, filled = _signature(bench.start), population.field[FILLED]
    for member in range(filled):
        if population.value[member] == value and population.sign[member] == sign:
            return
    population.value[place], population.sign[place] = value, sign
    for at in range(bench.order.size):
        population.order[place, at] = bench.order[at]
        population.way[place, at] = child.way[at]
    if place == filled:
        population.field[FILLED] += 1
