"""Optimal schedules of tiny instances by plain enumeration: slow, short and independent.

Two oracles, which check each other:

* :func:`best_schedule` fixes the modes in every possible way. With fixed modes all lags
  are distances between starts, so the earliest start of every task is a longest path.
  If at some moment the running tasks hold too much, then in every schedule two of them
  must not overlap (if each two of them overlapped, all of them would at one moment):
  it tries each ordered pair "i ends before j starts" and repeats. Nothing is cut off but
  what has a positive cycle, misses a deadline or is not better than the best so far.
* :func:`grid_schedule` tries every start on the time grid up to the horizon.

Neither imports a solver, a bound or the checker.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.arrays import NO_LIMIT
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.exact import exact

__all__ = ["best_schedule", "grid_schedule"]

Arc: TypeAlias = tuple[int, int, int]
"""(i, j, lag): start j >= start i + lag."""


def best_schedule(problem: DagProblem) -> Schedule | None:
    """Return a schedule of least makespan, None if there is none."""
    search = _Search(problem)
    for modes in _mode_choices(problem):
        case = _Case.of(problem, modes)
        if case is not None:
            search.run(case, case.arcs)
    return search.best


def grid_schedule(problem: DagProblem, horizon: int) -> Schedule | None:
    """Return a best schedule that ends by the horizon (ticks), trying every start."""
    best: Schedule | None = None
    for modes in _mode_choices(problem):
        case = _Case.of(problem, modes)
        if case is None:
            continue
        for starts in itertools.product(*(range(horizon - d + 1) for d in case.durations)):
            makespan = case.makespan(starts)
            if best is not None and makespan >= best.makespan:
                continue
            if _obeys(case.arcs, starts) and case.in_time(starts) and not case.conflict(starts):
                best = Schedule.of(problem, starts, modes)
    return best


def _obeys(arcs: Sequence[Arc], starts: Sequence[int]) -> bool:
    return all(starts[j] >= starts[i] + lag for i, j, lag in arcs)


def _mode_choices(problem: DagProblem) -> Iterator[tuple[int, ...]]:
    """Yield every choice of modes that does not use up too much in total.

    Memory of nodes and colocation only concern this choice; both are read from the data in
    input units.
    """
    arrays = problem.arrays
    capacity = [int(c) for c in arrays.capacity]
    for modes in itertools.product(*(arrays.modes_of(i) for i in range(len(problem.tasks)))):
        used = [sum(int(arrays.mode_demand[m, r]) for m in modes) for r in range(len(capacity))]
        if all(
            renewable or u <= c
            for u, c, renewable in zip(used, capacity, arrays.renewable, strict=True)
        ):
            nodes = [int(arrays.mode_node[m]) for m in modes]
            if _has_memory(problem, nodes) and _stays_together(problem, nodes):
                yield modes


def _has_memory(problem: DagProblem, nodes: Sequence[int]) -> bool:
    """Whether the tasks on each node need together no more memory than it has."""
    for k, node in enumerate(problem.nodes):
        on_node = [task for task, where in zip(problem.tasks, nodes, strict=True) if where == k]
        needed = sum((exact(task.memory or 0) for task in on_node), Fraction(0))
        if node.memory is not None and needed > exact(node.memory):
            return False
    return True


def _stays_together(problem: DagProblem, nodes: Sequence[int]) -> bool:
    """Whether tasks of one label share a node."""
    place: dict[str, int] = {}
    return all(
        task.colocate is None or place.setdefault(task.colocate, node) == node
        for task, node in zip(problem.tasks, nodes, strict=True)
    )


@dataclass(frozen=True)
class _Pool:
    """A renewable resource, or a node with its slots: what each task holds of it."""

    capacity: int
    held: tuple[int, ...]


@dataclass(frozen=True)
class _Case:
    """The instance with fixed modes."""

    modes: tuple[int, ...]
    durations: tuple[int, ...]
    releases: tuple[int, ...]
    deadlines: tuple[int, ...]
    arcs: tuple[Arc, ...]
    pools: tuple[_Pool, ...]

    @classmethod
    def of(cls, problem: DagProblem, modes: tuple[int, ...]) -> _Case | None:
        """Fix the modes; None if some data would have to pass where no link is."""
        arcs = _arcs(problem, modes)
        if arcs is None:
            return None
        arrays = problem.arrays
        return cls(
            modes=modes,
            durations=tuple(int(arrays.mode_duration[m]) for m in modes),
            releases=tuple(arrays.release.tolist()),
            deadlines=tuple(arrays.deadline.tolist()),
            arcs=tuple(arcs),
            pools=tuple(_pools(problem, modes)),
        )

    def makespan(self, starts: Sequence[int]) -> int:
        """Return the latest end."""
        return max((s + d for s, d in zip(starts, self.durations, strict=True)), default=0)

    def in_time(self, starts: Sequence[int]) -> bool:
        """Whether every task starts at its release or later and ends by its deadline."""
        rows = zip(starts, self.durations, self.releases, self.deadlines, strict=True)
        return all(release <= s and s + d <= deadline for s, d, release, deadline in rows)

    def conflict(self, starts: Sequence[int]) -> list[int]:
        """Return tasks that run at one moment and hold too much together, [] if none do."""
        for moment in sorted(set(starts)):
            running = [
                i
                for i, (s, d) in enumerate(zip(starts, self.durations, strict=True))
                if s <= moment < s + d
            ]
            for pool in self.pools:
                users = [i for i in running if pool.held[i]]
                if sum(pool.held[i] for i in users) > pool.capacity:
                    return users
        return []


def _arcs(problem: DagProblem, modes: Sequence[int]) -> list[Arc] | None:
    arrays = problem.arrays
    duration, node = arrays.mode_duration.tolist(), arrays.mode_node.tolist()
    arcs: list[Arc] = []
    for e in range(len(arrays.edge_source)):
        i, j = int(arrays.edge_source[e]), int(arrays.edge_target[e])
        offset = 0 if arrays.edge_from_start[e] else duration[modes[i]]
        lag = offset + int(arrays.edge_min_lag[e])
        if arrays.edge_max_lag[e] < NO_LIMIT:
            arcs.append((j, i, -offset - int(arrays.edge_max_lag[e])))
        delay = arrays.delay(e, node[modes[i]], node[modes[j]])
        if delay is None:
            return None
        arcs.append((i, j, lag + delay))
    return arcs


def _pools(problem: DagProblem, modes: Sequence[int]) -> Iterator[_Pool]:
    arrays = problem.arrays
    for r, capacity in enumerate(arrays.capacity.tolist()):
        if arrays.renewable[r]:
            yield _Pool(capacity, tuple(int(arrays.mode_demand[m, r]) for m in modes))
    for k, slots in enumerate(arrays.node_slots.tolist()):
        yield _Pool(slots, tuple(int(arrays.mode_node[m] == k) for m in modes))


class _Search:
    """Depth-first search over ordered pairs of conflicting tasks."""

    def __init__(self, problem: DagProblem) -> None:
        self.problem = problem
        self.best: Schedule | None = None
        self.bound = float("inf")

    def run(self, case: _Case, arcs: tuple[Arc, ...]) -> None:
        """Search all schedules of the case that obey the arcs."""
        starts = _earliest(case.releases, arcs)
        if starts is None or not case.in_time(starts) or case.makespan(starts) >= self.bound:
            return
        conflict = case.conflict(starts)
        if not conflict:
            self.best = Schedule.of(self.problem, starts, case.modes)
            self.bound = self.best.makespan
            return
        for i, j in itertools.permutations(conflict, 2):
            self.run(case, (*arcs, (i, j, case.durations[i])))


def _earliest(releases: Sequence[int], arcs: Sequence[Arc]) -> list[int] | None:
    """Return the least starts that obey the arcs, None for a cycle of positive length."""
    starts = list(releases)
    for _ in range(len(starts) + 1):
        changed = False
        for i, j, lag in arcs:
            if starts[i] + lag > starts[j]:
                starts[j] = starts[i] + lag
                changed = True
        if not changed:
            return starts
    return None
