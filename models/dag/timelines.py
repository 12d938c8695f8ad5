"""Free capacity over time, as event lists: what schedule generation books tasks on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Protocol

__all__ = ["FOREVER", "CumulativeLine", "Line", "UnitLine", "line"]

FOREVER = 2**62
"""End of the last free period."""


class Line(Protocol):
    """Capacity over time of one node or one renewable resource."""

    def earliest(self, ready: int, duration: int, amount: int) -> int:
        """Return the first start >= ready at which ``amount`` is free for ``duration``."""
        ...

    def reserve(self, start: int, duration: int, amount: int) -> None:
        """Take ``amount`` in [start, start + duration)."""
        ...


def line(capacity: int) -> Line:
    """Return an empty line of the given capacity."""
    return UnitLine() if capacity == 1 else CumulativeLine(capacity)


class UnitLine:
    """A line of capacity 1, kept as its free gaps in the order of time."""

    def __init__(self) -> None:
        self._begin = [0]
        self._end = [FOREVER]

    def earliest(self, ready: int, duration: int, amount: int) -> int:  # noqa: ARG002  # same call as CumulativeLine; one unit is all there is
        """Return the first start >= ready at which the line is free for ``duration``."""
        begin, end = self._begin, self._end
        # Ends increase: a gap that ends before the task could end is no use.
        k = bisect_left(end, ready + duration)
        while True:
            start = begin[k]
            if start <= ready:
                return ready
            if start + duration <= end[k]:
                return start
            k += 1

    def reserve(self, start: int, duration: int, amount: int) -> None:  # noqa: ARG002  # same call as CumulativeLine
        """Take [start, start + duration), which must be free."""
        begin, end = self._begin, self._end
        stop = start + duration
        k = bisect_right(begin, start) - 1
        first, last = begin[k], end[k]
        if first < start and stop < last:
            end[k] = start
            begin.insert(k + 1, stop)
            end.insert(k + 1, last)
        elif first < start:
            end[k] = start
        elif stop < last:
            begin[k] = stop
        else:
            del begin[k], end[k]


class CumulativeLine:
    """A line of any capacity, kept as the free amount between events.

    ``_free[k]`` holds from ``_time[k]`` to the next event, the last one for ever.
    """

    def __init__(self, capacity: int) -> None:
        self._time = [0]
        self._free = [capacity]
        # Capacity is only ever taken away, so the first time at which an amount is free
        # never moves back: remembering it spares walking over the full part again.
        self._first: dict[int, int] = {}

    def earliest(self, ready: int, duration: int, amount: int) -> int:
        """Return the first start >= ready at which ``amount`` is free for ``duration``."""
        time, free = self._time, self._free
        first = self._first_free(amount)
        ready = max(ready, first)
        k = bisect_right(time, ready) - 1
        last = len(time) - 1
        while True:
            while free[k] < amount:
                k += 1
            start = time[k] if time[k] > ready else ready
            stop = start + duration
            k += 1
            while k <= last and time[k] < stop and free[k] >= amount:
                k += 1
            if k > last or time[k] >= stop:
                return start

    def _first_free(self, amount: int) -> int:
        time, free = self._time, self._free
        k = bisect_left(time, self._first.get(amount, 0))
        while free[k] < amount:
            k += 1
        self._first[amount] = time[k]
        return time[k]

    def reserve(self, start: int, duration: int, amount: int) -> None:
        """Take ``amount`` in [start, start + duration)."""
        free = self._free
        for k in range(self._split(start), self._split(start + duration)):
            free[k] -= amount

    def _split(self, moment: int) -> int:
        """Make ``moment`` an event and return its position."""
        time = self._time
        k = bisect_left(time, moment)
        if k == len(time) or time[k] != moment:
            time.insert(k, moment)
            self._free.insert(k, self._free[k - 1])
        return k
