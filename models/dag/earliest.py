"""The earliest schedule of a choice of modes and of an order of some tasks, exactly.

With the modes fixed every lag and every transfer is a distance between two starts, and so is
"task i ends before task j starts": the earliest starts are longest paths.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.arrays import NO_LIMIT
from allocsolve.models.dag.problem import DagProblem

__all__ = ["earliest_schedule"]

Arc: TypeAlias = tuple[int, int, int]
"""(i, j, lag): start j >= start i + lag."""


def earliest_schedule(
    problem: DagProblem, modes: Sequence[int], order: Iterable[tuple[int, int]]
) -> Schedule | None:
    """Return the schedule in which every task starts as early as it can.

    Parameters
    ----------
    modes
        For each task an index into the problem's table of modes.
    order
        Pairs of tasks: the first one ends before the second one starts.

    Returns
    -------
    Schedule or None
        None if the lags and the order contradict each other, if data would have to pass
        where no link is, or if a deadline is missed. Resources are not looked at.
    """
    arrays = problem.arrays
    duration = arrays.mode_duration[list(modes)].tolist()
    arcs = _arcs(problem, modes, duration)
    if arcs is None:
        return None
    arcs.extend((i, j, duration[i]) for i, j in order)
    start = _longest(arrays.release.tolist(), arcs)
    if start is None:
        return None
    ends = zip(start, duration, arrays.deadline.tolist(), strict=True)
    if any(s + d > deadline for s, d, deadline in ends):
        return None
    return Schedule.of(problem, start, modes)


def _arcs(problem: DagProblem, modes: Sequence[int], duration: Sequence[int]) -> list[Arc] | None:
    arcs: list[Arc] = []
    for source, target, least, most in _distances(problem, modes, duration):
        if least is None:
            return None
        arcs.append((source, target, least))
        if most is not None:
            arcs.append((target, source, -most))
    return arcs


def _distances(
    problem: DagProblem, modes: Sequence[int], duration: Sequence[int]
) -> Iterator[tuple[int, int, int | None, int | None]]:
    """Yield source, target and the least and greatest distance of their starts of each edge.

    The least distance is None without a link, the greatest one if there is no limit.
    """
    arrays = problem.arrays
    node = arrays.mode_node[list(modes)].tolist()
    rows = zip(
        arrays.edge_source.tolist(),
        arrays.edge_target.tolist(),
        arrays.edge_min_lag.tolist(),
        arrays.edge_max_lag.tolist(),
        arrays.edge_from_start.tolist(),
        strict=True,
    )
    for edge, (i, j, min_lag, max_lag, from_start) in enumerate(rows):
        origin = 0 if from_start else duration[i]
        delay = arrays.delay(edge, node[i], node[j])
        least = None if delay is None else origin + min_lag + delay
        yield i, j, least, None if max_lag == NO_LIMIT else origin + max_lag


def _longest(release: Sequence[int], arcs: Sequence[Arc]) -> list[int] | None:
    """Return the least starts that obey the arcs, None for a cycle of positive length."""
    outgoing: list[list[tuple[int, int]]] = [[] for _ in release]
    for i, j, lag in arcs:
        outgoing[i].append((j, lag))
    start = list(release)
    rounds = [0] * len(start)
    waiting = [True] * len(start)
    queue = deque(range(len(start)))
    while queue:
        i = queue.popleft()
        waiting[i] = False
        rounds[i] += 1
        if rounds[i] > len(start) + 1:
            return None
        for j, lag in outgoing[i]:
            if start[i] + lag > start[j]:
                start[j] = start[i] + lag
                if not waiting[j]:
                    waiting[j] = True
                    queue.append(j)
    return start
