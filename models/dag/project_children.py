"""How a genetic search on a project makes new lists: sampling, crossing, small changes.

Hartmann (1998), A competitive genetic algorithm for resource-constrained project scheduling:
two-point crossover of activity lists. Hartmann (2001), Project scheduling with multiple modes:
a genetic algorithm: the ways of a child, and how budgets bind them. Drexl (1991), Scheduling of
project networks by job assignment: sampling by regret.
"""

from __future__ import annotations

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.anneal_state import draw
from allocsolve.models.dag.project_data import Project
from allocsolve.models.dag.project_population import Child, Population
from allocsolve.models.kernels import inlined, kernel

__all__ = ["chance", "cross", "mutate", "repair_ways", "sample"]

_SHARES = 2**20
"""Chances are counted in shares of this."""

_GREEDY = 996147
"""Share of the choices (0.95) that follow the regret, where a list is sampled."""

_SWAPS = 10486
"""Chance (0.01) of two neighbours to change places."""

_SHIFTS = 524288
"""Chance (0.5) of a child to have one task moved."""

_REPAIRS = 4
"""Changes of ways tried for each task while a budget is exceeded."""


@inlined
def chance(random: IntArray, share: int) -> bool:
    """Whether an event with a chance of ``share`` in 2^20 happens."""
    return draw(random, _SHARES) < share


@kernel
def sample(project: Project, child: Child, random: IntArray) -> None:
    """Write a random list into a child: mostly tasks with much work behind them come early."""
    n = child.order.size
    ready, waiting, found = child.order, child.place, 0
    for task in range(n):
        waiting[task] = project.pred_offset[task + 1] - project.pred_offset[task]
        if waiting[task] == 0:
            ready[found] = task
            found += 1
    # The list grows from the left; what is ready lies behind it in the same array.
    for place in range(n):
        pick = _pick(project, ready, place, found, random)
        task = ready[pick]
        ready[pick], ready[place] = ready[place], task
        for row in range(project.succ_offset[task], project.succ_offset[task + 1]):
            after = project.succ_task[row]
            waiting[after] -= 1
            if waiting[after] == 0:
                ready[found] = after
                found += 1
    for task in range(n):
        first = project.way_offset[task]
        child.way[task] = first + draw(random, project.way_offset[task + 1] - first)
    repair_ways(project, child, random)


@inlined
def _pick(project: Project, ready: IntArray, first: int, end: int, random: IntArray) -> int:
    """Choose one of ``ready[first:end]``, likelier with a longer tail."""
    if not chance(random, _GREEDY):
        return first + draw(random, end - first)
    least = project.tail[ready[first]]
    for place in range(first + 1, end):
        least = min(least, project.tail[ready[place]])
    total = 0
    for place in range(first, end):
        total += project.tail[ready[place]] - least + 1
    left = draw(random, min(total, 2**31)) if total > 0 else 0
    for place in range(first, end):
        left -= project.tail[ready[place]] - least + 1
        if left < 0:
            return place
    return end - 1


@kernel
def cross(population: Population, child: Child, one: int, two: int) -> None:
    """Write the two-point crossover of two members into a child.

    The first part comes from the one, then what is new in the other, then the rest of the
    one: precedence is kept. A task has the way of the member that gave it its place.
    """
    n = child.order.size
    left, right = draw(population.random, n + 1), draw(population.random, n + 1)
    left, right = min(left, right), max(left, right)
    used = child.place
    for task in range(n):
        used[task] = 0
    for place in range(left):
        _take(population, child, one, place, place)
    end, at = left, 0
    while end < right:
        if used[population.order[two, at]] == 0:
            _take(population, child, two, at, end)
            end += 1
        at += 1
    for place in range(left, n):
        if used[population.order[one, place]] == 0:
            _take(population, child, one, place, end)
            end += 1


@inlined
def _take(population: Population, child: Child, member: int, place: int, end: int) -> None:
    """Append the task at a place of a member to the child."""
    task = population.order[member, place]
    child.order[end] = task
    child.way[task] = population.way[member, task]
    child.place[task] = 1


@kernel
def mutate(project: Project, child: Child, random: IntArray) -> None:
    """Swap some neighbours, move one task, change some ways; precedence and budgets hold."""
    order = child.order
    for place in range(order.size - 1):
        if chance(random, _SWAPS) and not _follows(project, order[place], order[place + 1]):
            order[place], order[place + 1] = order[place + 1], order[place]
    if chance(random, _SHIFTS):
        _shift(project, child, random)
    if project.way_duration.size > order.size:
        task = draw(random, order.size)
        first = project.way_offset[task]
        child.way[task] = first + draw(random, project.way_offset[task + 1] - first)
        repair_ways(project, child, random)


@inlined
def _follows(project: Project, task: int, other: int) -> bool:
    """Whether a task comes right before another one by precedence."""
    for row in range(project.pred_offset[other], project.pred_offset[other + 1]):
        if project.pred_task[row] == task:
            return True
    return False


@inlined
def _shift(project: Project, child: Child, random: IntArray) -> None:
    """Move a random task to a random place between its predecessors and its successors."""
    order, place, n = child.order, child.place, child.order.size
    for at in range(n):
        place[order[at]] = at
    now = draw(random, n)
    task, first, last = order[now], 0, n - 1
    for row in range(project.pred_offset[task], project.pred_offset[task + 1]):
        first = max(first, place[project.pred_task[row]] + 1)
    for row in range(project.succ_offset[task], project.succ_offset[task + 1]):
        last = min(last, place[project.succ_task[row]] - 1)
    to = first + draw(random, last - first + 1)
    step = 1 if to > now else -1
    while now != to:
        order[now] = order[now + step]
        now += step
    order[to] = task


@kernel
def repair_ways(project: Project, child: Child, random: IntArray) -> None:
    """Change ways at random until the budgets hold, for a while; note what exceeds them."""
    excess, n = child.excess, child.way.size
    over = 0
    for budget in range(excess.size):
        excess[budget] = -project.budget[budget]
        for task in range(n):
            excess[budget] += project.way_used_up[child.way[task], budget]
        over += max(0, excess[budget])
    for _ in range(_REPAIRS * n):
        if over == 0:
            return
        task = draw(random, n)
        first = project.way_offset[task]
        way = first + draw(random, project.way_offset[task + 1] - first)
        over = _change_way(project, child, task, way, over)


@inlined
def _change_way(project: Project, child: Child, task: int, way: int, over: int) -> int:
    """Take a way if the budgets are exceeded by no more; return by how much they are."""
    now, after = child.way[task], 0
    for budget in range(child.excess.size):
        more = project.way_used_up[way, budget] - project.way_used_up[now, budget]
        after += max(0, child.excess[budget] + more)
    if after > over:
        return over
    for budget in range(child.excess.size):
        more = project.way_used_up[way, budget] - project.way_used_up[now, budget]
        child.excess[budget] += more
    child.way[task] = way
    return after
