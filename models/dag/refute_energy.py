"""Energetic reasoning on a line: what must lie in an interval, and what no longer fits there.

For a left end a the energy that must lie in [a, b] is a sum of ramps over b: task i comes in at
max(a, its latest start) and is in completely min(duration, earliest end - a) later. The sum
minus the capacity is largest where a ramp ends, so one sweep over the sorted ramps looks at all
b. Baptiste, Le Pape and Nuijten (1999), Annals of Operations Research 92, propositions 5 and 6.
"""

from __future__ import annotations

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.refute_state import Facts, Windows
from allocsolve.models.kernels import inlined, kernel

__all__ = ["look_at_energy", "sort_by"]


@kernel
def sort_by(order: IntArray, key: IntArray, size: int) -> None:
    """Write the numbers below ``size`` into ``order``, sorted by their keys."""
    for k in range(size):
        order[k] = k
    _sort_again(order, key, size)


@kernel
def _sort_again(order: IntArray, key: IntArray, size: int) -> None:
    """Sort an order that is nearly sorted."""
    for place in range(1, size):
        item = order[place]
        value = key[item]
        at = place
        while at > 0 and key[order[at - 1]] > value:
            order[at] = order[at - 1]
            at -= 1
        order[at] = item


@kernel
def look_at_energy(facts: Facts, windows: Windows, line: int) -> int:
    """Narrow the windows on a line: 1 if something changed, -1 if there is no room."""
    begin = facts.line_offset[line]
    size = facts.line_offset[line + 1] - begin
    largest = 0
    for k in range(size):
        task = facts.line_task[begin + k]
        windows.length[k] = facts.duration[task]
        windows.low[k], windows.high[k] = windows.head[task], windows.latest[task]
        windows.by_first[k] = k
        windows.by_last[k] = k
        largest = max(largest, facts.line_demand[begin + k] * facts.duration[task])
    changes = 0
    for cut in range(_fill_cuts(windows, size)):
        change = _sweep(facts, windows, line, windows.cuts[cut], largest)
        if change < 0:
            return -1
        changes = max(changes, change)
    return changes


@kernel
def _fill_cuts(windows: Windows, size: int) -> int:
    """Write the distinct left ends in increasing order: least and latest starts."""
    cuts = windows.cuts
    for k in range(size):
        cuts[2 * k] = windows.low[k]
        cuts[2 * k + 1] = windows.high[k] - windows.length[k]
    cuts[: 2 * size].sort()
    count = 0
    for place in range(2 * size):
        if count == 0 or cuts[place] > cuts[count - 1]:
            cuts[count] = cuts[place]
            count += 1
    return count


@inlined
def _fill_ramps(windows: Windows, size: int, left: int) -> None:
    for k in range(size):
        end = windows.low[k] + windows.length[k]
        windows.work[k] = min(windows.length[k], max(0, end - left))
        windows.first[k] = max(left, windows.high[k] - windows.length[k])
        windows.last[k] = windows.first[k] + windows.work[k]


@kernel
def _sweep(facts: Facts, windows: Windows, line: int, left: int, largest: int) -> int:
    """Look at all intervals from a left end on: 1 after a change, -1 if there is no room."""
    begin = facts.line_offset[line]
    size = facts.line_offset[line + 1] - begin
    capacity = facts.line_capacity[line]
    _fill_ramps(windows, size, left)
    by_first, by_last = windows.by_first, windows.by_last
    _sort_again(by_first, windows.first, size)
    _sort_again(by_last, windows.last, size)
    energy, slope, now, come, changes = 0, 0, left, 0, 0
    for place in range(size):
        going = by_last[place]
        right = windows.last[going]
        while come < size and windows.first[by_first[come]] < right:
            other = by_first[come]
            energy += slope * (windows.first[other] - now)
            now = windows.first[other]
            if windows.work[other] > 0:
                slope += facts.line_demand[begin + other]
            come += 1
        if windows.work[going] == 0:
            continue
        energy += slope * (right - now)
        now = right
        slope -= facts.line_demand[begin + going]
        spare = capacity * (right - left) - energy
        if spare < 0:
            return -1
        if spare < largest and _adjust(facts, windows, line, left, right, spare):
            changes = 1
    return changes


@kernel
def _adjust(facts: Facts, windows: Windows, line: int, left: int, right: int, spare: int) -> bool:
    """Move windows whose tasks, shifted to one end, no longer fit into an interval."""
    begin = facts.line_offset[line]
    size = facts.line_offset[line + 1] - begin
    has_changed = False
    for k in range(size):
        task, demand = facts.line_task[begin + k], facts.line_demand[begin + k]
        length, low, high = windows.length[k], windows.low[k], windows.high[k]
        own = max(0, min(windows.work[k], right - windows.first[k]))
        most = (spare + demand * own) // demand
        early = min(low + length, right) - max(low, left)
        if early > most and right - most > windows.head[task]:
            windows.head[task] = right - most
            windows.changed[task] = windows.clock[0]
            has_changed = True
        late = min(high, right) - max(high - length, left)
        if late > most and left + most < windows.latest[task]:
            windows.latest[task] = left + most
            windows.changed[task] = windows.clock[0]
            has_changed = True
    return has_changed
