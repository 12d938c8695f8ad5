"""Windows that narrow one another until some task has none: the compiled loops.

A window of a task is a least start and a greatest end. Whatever is said here holds for every
schedule in which each task lies in its window, so a task without room proves that there is none.

* Arcs: a task starts after those before it.
* One machine: edge finding (Carlier and Pinson, "An algorithm for solving the job-shop problem",
  Management Science 35, 1989, in the form of Nuijten, "Time and resource constrained scheduling",
  1994), detectable precedences and "not last" (Vilim, "O(n log n) filtering algorithms for unary
  resource constraint", CPAIOR 2004; here plainly in quadratic time).
* Several at once: energetic reasoning (Baptiste, Le Pape and Nuijten, "Satisfiability tests and
  time-bound adjustments for cumulative scheduling problems", Annals of Operations Research 92,
  1999): what must lie in an interval must fit into it, and what no longer fits moves a window.
"""

from __future__ import annotations

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.refute_energy import look_at_energy, sort_by
from allocsolve.models.dag.refute_state import Facts, Windows
from allocsolve.models.kernels import inlined, kernel

__all__ = ["narrow", "shave"]

_PASSES = 20
"""Passes over the arcs at most; one is enough without arcs that lead back."""

_FAR = 2**62
"""Beyond every time."""


@kernel
def _along_arcs(facts: Facts, windows: Windows) -> bool:
    """Narrow windows along the arcs; False if some task has no room."""
    head, latest, duration = windows.head, windows.latest, facts.duration
    for _ in range(_PASSES):
        is_same = True
        for arc in range(facts.arc_source.size):
            before, after = facts.arc_source[arc], facts.arc_target[arc]
            least = head[before] + facts.arc_weight[arc]
            if least > head[after]:
                head[after] = least
                windows.changed[after] = windows.clock[0]
                is_same = False
        for arc in range(facts.arc_source.size - 1, -1, -1):
            before, after = facts.arc_source[arc], facts.arc_target[arc]
            most = latest[after] - duration[after] - facts.arc_from_end[arc]
            if most < latest[before]:
                latest[before] = most
                windows.changed[before] = windows.clock[0]
                is_same = False
        if is_same:
            break
        for task in range(head.size):
            if head[task] + duration[task] > latest[task]:
                return False
    return _has_room(facts, windows)


@inlined
def _has_room(facts: Facts, windows: Windows) -> bool:
    for task in range(facts.duration.size):
        if windows.head[task] + facts.duration[task] > windows.latest[task]:
            return False
    return True


@kernel
def _read_line(facts: Facts, windows: Windows, line: int, mirrored: bool) -> int:
    """Copy the windows of a line, with time running backwards if so asked; return how many."""
    begin = facts.line_offset[line]
    size = facts.line_offset[line + 1] - begin
    for k in range(size):
        task = facts.line_task[begin + k]
        windows.length[k] = facts.duration[task]
        if mirrored:
            windows.low[k], windows.high[k] = -windows.latest[task], -windows.head[task]
        else:
            windows.low[k], windows.high[k] = windows.head[task], windows.latest[task]
        windows.lift[k] = windows.low[k]
    return int(size)


@kernel
def _write_line(facts: Facts, windows: Windows, line: int, mirrored: bool) -> bool:
    """Raise what was lifted; whether something changed."""
    begin = facts.line_offset[line]
    size = facts.line_offset[line + 1] - begin
    has_changed = False
    for k in range(size):
        if windows.lift[k] > windows.low[k]:
            task = facts.line_task[begin + k]
            if mirrored:
                windows.latest[task] = -windows.lift[k]
            else:
                windows.head[task] = windows.lift[k]
            windows.changed[task] = windows.clock[0]
            has_changed = True
    return has_changed


@kernel
def _find_edges(windows: Windows, size: int) -> bool:
    """Lift starts by edge finding on one machine; False if some tasks do not fit.

    ``by_first`` holds the tasks by least starts.
    """
    low, high, length, order = windows.low, windows.high, windows.length, windows.by_first
    for pivot in range(size):
        limit, work, end = high[pivot], 0, -_FAR
        for place in range(size - 1, -1, -1):
            k = order[place]
            if high[k] <= limit:
                work += length[k]
                end = max(end, low[k] + work)
                if end > limit:
                    return False
            else:
                windows.work[k] = work
                windows.last[k] = end
        reach = -_FAR
        for place in range(size):
            k = order[place]
            if high[k] <= limit:
                reach = max(reach, low[k] + work)
                work -= length[k]
            elif reach + length[k] > limit:
                windows.lift[k] = max(windows.lift[k], end)
            elif low[k] + length[k] + windows.work[k] > limit:
                windows.lift[k] = max(windows.lift[k], windows.last[k])
    return True


@kernel
def _follow_pairs(windows: Windows, size: int) -> None:
    """Lift starts behind all tasks that pairwise must come before, on one machine."""
    low, high, length, order = windows.low, windows.high, windows.length, windows.by_first
    for k in range(size):
        soonest, end = low[k] + length[k], -_FAR
        for place in range(size):
            other = order[place]
            if other != k and soonest > high[other] - length[other]:
                end = max(end, low[other]) + length[other]
        windows.lift[k] = max(windows.lift[k], end)


@kernel
def _not_first(windows: Windows, size: int) -> None:
    """Lift starts of tasks that cannot be the first of some set, on one machine.

    If all of a set without k must begin before k has ended, k comes after the first of them.
    """
    low, high, length, order = windows.low, windows.high, windows.length, windows.by_last
    for k in range(size):
        soonest, begin, least = low[k] + length[k], _FAR, _FAR
        for place in range(size - 1, -1, -1):  # by greatest ends, the last first
            other = order[place]
            if other != k and low[other] + length[other] > low[k]:
                begin = min(begin, high[other]) - length[other]
                least = min(least, low[other] + length[other])
        if least < _FAR and begin < soonest:
            windows.lift[k] = max(windows.lift[k], least)


@kernel
def _look_at_machine(facts: Facts, windows: Windows, line: int) -> int:
    """Narrow the windows on one machine: 1 if something changed, -1 if there is no room."""
    changes = 0
    for side in range(2):
        size = _read_line(facts, windows, line, side == 1)
        sort_by(windows.by_first, windows.low, size)
        sort_by(windows.by_last, windows.high, size)
        if not _find_edges(windows, size):
            return -1
        _follow_pairs(windows, size)
        _not_first(windows, size)
        if _write_line(facts, windows, line, side == 1):
            changes = 1
    return changes


@inlined
def _is_stale(facts: Facts, windows: Windows, line: int) -> bool:
    """Whether a window of a line has changed since it was looked at."""
    for row in range(facts.line_offset[line], facts.line_offset[line + 1]):
        if windows.changed[facts.line_task[row]] > windows.looked[line]:
            return True
    return False


@kernel
def narrow(facts: Facts, windows: Windows, rounds: int) -> bool:
    """Narrow windows until nothing changes, for some rounds; False if a task has no room."""
    if not _along_arcs(facts, windows):
        return False
    for _ in range(rounds):
        has_changed = False
        for line in range(facts.line_capacity.size):
            if not _is_stale(facts, windows, line):
                continue
            windows.looked[line] = windows.clock[0]
            windows.clock[0] += 1
            if facts.line_unary[line] == 1:
                change = _look_at_machine(facts, windows, line)
            else:
                change = look_at_energy(facts, windows, line)
            if change < 0 or (change > 0 and not _along_arcs(facts, windows)):
                return False
            has_changed = has_changed or change > 0
        if not has_changed:
            break
    return True


@kernel
def _try(facts: Facts, windows: Windows, kept: IntArray, task: int, at: int, early: bool) -> bool:
    """Whether a task may start up to (or from) a time; ``windows`` are spoilt."""
    n = facts.duration.size
    for other in range(n):
        windows.head[other], windows.latest[other] = kept[0, other], kept[1, other]
    for line in range(facts.line_capacity.size):
        windows.looked[line] = windows.clock[0]
    windows.clock[0] += 1
    windows.changed[task] = windows.clock[0]
    if early:
        windows.latest[task] = min(kept[1, task], at + facts.duration[task])
    else:
        windows.head[task] = max(kept[0, task], at)
    return narrow(facts, windows, 3)


@kernel
def shave(facts: Facts, windows: Windows, kept: IntArray, task: int) -> int:
    """Cut off starts of a task that nothing can be built upon.

    Both ends of its window are tried, twice as much at a time after each success (Martin and
    Shmoys, "A new approach to computing optimal schedules for the job-shop scheduling problem",
    IPCO 1996; Carlier and Pinson, "Adjustment of heads and tails for the job-shop problem",
    European Journal of Operational Research 78, 1994).

    Parameters
    ----------
    kept
        int64 (2, n), heads and latest ends that hold; changed.

    Returns
    -------
    int
        1 if the window became smaller, 0 if not, -1 if nothing is left.
    """
    changes, duration = 0, facts.duration[task]
    for side in range(2):
        early, step = side == 0, 1
        while step > 0:
            first, last = kept[0, task], kept[1, task] - duration
            if first > last:
                return -1
            step = min(step, last - first + 1)
            at = first + step - 1 if early else last - step + 1
            if _try(facts, windows, kept, task, at, early):
                step //= 4
                continue
            changes, step = 1, 2 * step
            if early:
                kept[0, task] = at + 1
            else:
                kept[1, task] = at + duration - 1
    return changes
