"""A steady-state genetic search over activity lists: the compiled loop.

Every child is scheduled and justified; it takes the place of a random one of the worst members
unless an equal one is there. Once nothing gets better for long, all but a few members are
drawn anew. What mattered most when this was tuned is a large population: about 0.8 times the
root of the number of schedules that the run can build.
"""

from __future__ import annotations

from allocsolve.models.dag.anneal_state import draw
from allocsolve.models.dag.project_children import cross, mutate, sample
from allocsolve.models.dag.project_data import Project
from allocsolve.models.dag.project_lists import Bench, justified, select_ways
from allocsolve.models.dag.project_population import (
    BEST,
    EMPTY,
    FILLED,
    STALLED,
    Child,
    Population,
    appraise,
    keep,
)
from allocsolve.models.kernels import inlined, kernel

__all__ = ["evolve"]

_PATIENCE = 60
"""Children for each member without a better schedule after which the population is renewed."""

_SURVIVORS = 2
"""Members that outlive it."""


@kernel
def evolve(
    project: Project, bench: Bench, population: Population, child: Child, children: int, target: int
) -> int:
    """Make so many children, or stop at a makespan of ``target``; return how many were made."""
    field, size = population.field, population.value.size
    for made in range(children):
        if field[BEST] <= target:
            return made
        filled = field[FILLED]
        if filled < size:
            sample(project, child, population.random)
            worst, place = EMPTY, filled
        else:
            one, two = _parents(population)
            cross(population, child, one, two)
            mutate(project, child, population.random)
            worst, place = _worst(population)
        if project.way_duration.size > child.order.size:
            select_ways(project, bench, child.way)
        makespan = justified(project, bench, child.order)
        value = appraise(project, bench, child, makespan)
        _note_best(project, bench, population, child, value)
        if value <= worst:
            keep(population, bench, child, value, place)
        if field[FILLED] == size and field[STALLED] > _PATIENCE * size:
            _renew(population)
    return children


@inlined
def _parents(population: Population) -> tuple[int, int]:
    """Choose two different members, each the better one of two."""
    size, random, value = population.value.size, population.random, population.value
    one, rival = draw(random, size), draw(random, size)
    one = rival if value[rival] < value[one] else one
    two, rival = draw(random, size), draw(random, size)
    two = rival if value[rival] < value[two] else two
    if two == one:
        two = (one + 1 + draw(random, size - 1)) % size
    return one, two


@inlined
def _worst(population: Population) -> tuple[int, int]:
    """Return the largest value, and a random one of the members that have it."""
    worst, seen, place = population.value[0], 1, 0
    for member in range(1, population.value.size):
        value = population.value[member]
        if value > worst:
            worst, seen, place = value, 1, member
        elif value == worst:
            seen += 1
            if draw(population.random, seen) == 0:
                place = member
    return worst, place


@inlined
def _note_best(
    project: Project, bench: Bench, population: Population, child: Child, value: int
) -> None:
    """Keep the schedule on the bench if it breaks no rule and is the best so far."""
    most = project.horizon + 1
    makespan = value // (most * bench.start.size + 1)
    population.field[STALLED] += 1
    if makespan < min(most, population.field[BEST]):
        population.field[BEST], population.field[STALLED] = makespan, 0
        for task in range(bench.start.size):
            population.best_start[task] = bench.start[task]
            population.best_way[task] = child.way[task]


@kernel
def _renew(population: Population) -> None:
    """Keep a few of the best members in front and draw the others anew."""
    for place in range(_SURVIVORS):
        best = place
        for member in range(place + 1, population.value.size):
            if population.value[member] < population.value[best]:
                best = member
        if best != place:
            _move(population, best, place)
            population.value[best] = EMPTY
    population.field[FILLED], population.field[STALLED] = _SURVIVORS, 0


@inlined
def _move(population: Population, member: int, place: int) -> None:
    """Overwrite the member at a place by another one."""
    for at in range(population.order.shape[1]):
        population.order[place, at] = population.order[member, at]
        population.way[place, at] = population.way[member, at]
    population.value[place] = population.value[member]
    population.sign[place] = population.sign[member]
