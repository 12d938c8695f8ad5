"""Serial schedule generation and double justification over packed words: the compiled loops.

A task is put at the earliest time at which its window fits. A window is looked at from its
right end: where a slot does not fit, the window jumps past it, and what lies behind the jump is
known to fit from there on (the idea of Boyer and Moore for strings). So each slot is looked at
once, and only slots below the last makespan are cleared: the horizon costs nothing.

Kolisch and Hartmann (1999), Heuristic algorithms for the resource-constrained project
scheduling problem: serial generation. Valls, Ballestin and Quintanilla (2005), Justification
and RCPSP, a technique that pays: the two passes after it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.project_data import Project, WordArray
from allocsolve.models.kernels import inlined, kernel

__all__ = ["Bench", "bench_of", "justified", "select_ways"]


class Bench(NamedTuple):
    """What schedule generation writes.

    Attributes
    ----------
    free
        uint64 ((horizon + 1) * w,), what is free at each time; clean from ``used[0]`` on.
    used
        int64 (1,).
    duration, need
        int64 (n,) and uint64 (n, w), of the ways taken.
    start, mirrored
        int64 (n,), starts of the schedule, and of one with time running backwards.
    key, tally
        int64 (n,) and (horizon + 3,), to sort by time.
    order
        int64 (n,), the tasks by their starts.
    """

    free: WordArray
    used: IntArray
    duration: IntArray
    need: WordArray
    start: IntArray
    mirrored: IntArray
    key: IntArray
    tally: IntArray
    order: IntArray


def bench_of(project: Project) -> Bench:
    """Return a bench for a project, for one thread."""
    n = len(project.task)
    first = project.way_offset[:-1]
    return Bench(
        free=np.tile(project.free, project.horizon + 1),
        used=np.zeros(1, np.int64),
        duration=project.way_duration[first].copy(),
        need=np.ascontiguousarray(project.way_need[first]),
        start=np.zeros(n, np.int64),
        mirrored=np.zeros(n, np.int64),
        key=np.zeros(n, np.int64),
        tally=np.zeros(project.horizon + 3, np.int64),
        order=np.arange(n),
    )


@kernel
def select_ways(project: Project, bench: Bench, way: IntArray) -> None:
    """Take these ways, int64 (n,): rows of the project's table."""
    for task in range(way.size):
        bench.duration[task] = project.way_duration[way[task]]
        for word in range(bench.need.shape[1]):
            bench.need[task, word] = project.way_need[way[task], word]


@inlined
def _earliest(
    free: WordArray, need: WordArray, guard: WordArray, task: int, start: int, length: int
) -> int:
    """Return the first time from ``start`` on at which a task fits for so long."""
    if guard.size == 1:
        return _earliest_of_one(free, need[task, 0], guard[0], start, length)
    known = start
    while known < start + length:
        end = start + length
        time = end - 1
        while time >= known and _fits(free, need, guard, task, time):
            time -= 1
        if time >= known:
            start = time + 1
        known = end
    return start


@inlined
def _earliest_of_one(
    free: WordArray, need: np.uint64, guard: np.uint64, start: int, length: int
) -> int:
    """Do the same where one word holds all lines: most projects, and twice as fast."""
    known = start
    while known < start + length:
        end = start + length
        time = end - 1
        while time >= known and ((free[time] - need) & guard) == guard:
            time -= 1
        if time >= known:
            start = time + 1
        known = end
    return start


@inlined
def _fits(free: WordArray, need: WordArray, guard: WordArray, task: int, time: int) -> bool:
    """Whether every word has enough at a time."""
    words = guard.size
    for word in range(words):
        if ((free[time * words + word] - need[task, word]) & guard[word]) != guard[word]:
            return False
    return True


@inlined
def _occupy(free: WordArray, need: WordArray, task: int, start: int, length: int) -> None:
    """Take the need of a task off what is free while it runs."""
    words = need.shape[1]
    if words == 1:
        for time in range(start, start + length):
            free[time] -= need[task, 0]
        return
    for time in range(start, start + length):
        for word in range(words):
            free[time * words + word] -= need[task, word]


@inlined
def _clear(project: Project, bench: Bench) -> None:
    words = project.free.size
    for time in range(bench.used[0]):
        for word in range(words):
            bench.free[time * words + word] = project.free[word]


@kernel
def _forward(project: Project, bench: Bench, order: IntArray) -> int:
    """Append the tasks in an order that keeps precedence; starts into ``bench.start``."""
    _clear(project, bench)
    start, makespan = bench.start, 0
    for place in range(order.size):
        task = order[place]
        length, at = bench.duration[task], project.release[task]
        for row in range(project.pred_offset[task], project.pred_offset[task + 1]):
            before = project.pred_task[row]
            at = max(at, start[before] + bench.duration[before] + project.pred_lag[row])
        at = _earliest(bench.free, bench.need, project.guard, task, at, length)
        _occupy(bench.free, bench.need, task, at, length)
        start[task] = at
        makespan = max(makespan, at + length)
    bench.used[0] = makespan
    return makespan


@kernel
def _backward(project: Project, bench: Bench, order: IntArray) -> int:
    """Append the tasks with time running backwards; starts into ``bench.mirrored``."""
    _clear(project, bench)
    start, makespan = bench.mirrored, 0
    for place in range(order.size):
        task = order[place]
        length, at = bench.duration[task], 0
        for row in range(project.succ_offset[task], project.succ_offset[task + 1]):
            after = project.succ_task[row]
            at = max(at, start[after] + bench.duration[after] + project.succ_lag[row])
        at = _earliest(bench.free, bench.need, project.guard, task, at, length)
        _occupy(bench.free, bench.need, task, at, length)
        start[task] = at
        makespan = max(makespan, at + length)
    bench.used[0] = makespan
    return makespan


@kernel
def _sort(bench: Bench, most: int, from_last: int) -> None:
    """Sort the tasks by ``bench.key`` (0 to ``most``) into ``bench.order``.

    Ties go by number, from the first task or (``from_last`` = 1) from the last.
    """
    tally, n = bench.tally, bench.key.size
    tally[: most + 2] = 0
    for task in range(n):
        tally[bench.key[task] + 1] += 1
    for time in range(most + 1):
        tally[time + 1] += tally[time]
    for rank in range(n):
        task = n - 1 - rank if from_last else rank
        bench.order[tally[bench.key[task]]] = task
        tally[bench.key[task]] += 1


@kernel
def justified(project: Project, bench: Bench, order: IntArray) -> int:
    """Schedule an order, shift everything right, then left again; return the makespan.

    Without deadlines the result is never longer than the schedule of the order alone. Starts
    come into ``bench.start``, the tasks by starts into ``bench.order``.
    """
    n = order.size
    makespan = _forward(project, bench, order)
    for task in range(n):
        bench.key[task] = makespan - bench.start[task] - bench.duration[task]
    _sort(bench, makespan, 1)
    back = _backward(project, bench, bench.order)
    for task in range(n):
        bench.key[task] = back - bench.mirrored[task] - bench.duration[task]
    _sort(bench, back, 0)
    makespan = _forward(project, bench, bench.order)
    for task in range(n):
        bench.key[task] = bench.start[task]
    _sort(bench, makespan, 0)
    return makespan
