"""Serial schedule generation in plain Python: a first answer within milliseconds.

Kolisch (1996), Serial and parallel resource-constrained project scheduling methods
revisited: tasks are taken in the order of a priority rule and each is started as early
as precedence, releases and the capacity left over allow; with several modes or nodes the
one that completes first is taken (insertion-based list scheduling on nodes).

No compiled code and no engine is loaded, so that an answer exists under any time limit.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.arrays import NO_LIMIT
from allocsolve.models.dag.network import Network, Way, build_network
from allocsolve.models.dag.node_choice import choose_nodes
from allocsolve.models.dag.packing import Packing, pack
from allocsolve.models.dag.priorities import latest_start
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.timelines import FOREVER, line

__all__ = ["Plan", "generate", "serial_schedule"]

_REPAIR_WORK = 5000
"""Tasks placed in repeated passes before generation gives up on upper bounds of starts."""

_ALWAYS, _CLOCK_STEP = 1024, 128
"""Tasks that are always placed, and tasks placed between two looks at the clock after them."""

Stop = Callable[[], bool]


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Plan:
    """A complete schedule as plain lists: a start and a way for every task."""

    start: list[int]
    way: list[Way]

    @property
    def end(self) -> list[int]:
        """End of each task."""
        return [s + way.duration for s, way in zip(self.start, self.way, strict=True)]

    @property
    def makespan(self) -> int:
        """Latest end, 0 without tasks."""
        return max(self.end, default=0)

    def schedule(self, problem: DagProblem) -> Schedule:
        """Return the plan as a schedule of its problem."""
        return Schedule.of(problem, self.start, [way.mode for way in self.way])


def serial_schedule(
    problem: DagProblem, priority: Sequence[float] | None = None
) -> Schedule | None:
    """Return the schedule that serial generation builds, None if it finds none.

    Parameters
    ----------
    priority
        One key for each task, smaller first; None takes the latest-start rule. Among
        the tasks whose predecessors are placed the one with the smallest key is next.

    Notes
    -----
    Without maximum or negative lags, deadlines, non-renewable resources and missing links
    an answer is found whenever there is one. With them, and with memory that can run out,
    generation tries.
    """
    network = build_network(problem)
    plan = generate(network, latest_start(network) if priority is None else priority)
    return None if plan is None else plan.schedule(problem)


def generate(network: Network, priority: Sequence[float], stop: Stop = _never) -> Plan | None:
    """Build a plan; None if none was found or ``stop`` became true on the way.

    ``stop`` is asked between passes, and again and again after a thousand tasks.
    """
    if not all(network.ways):
        return None
    plan = _generate(network, priority, stop)
    if plan is None and network.communicates and not stop():
        narrowed = choose_nodes(network, stop)
        plan = None if narrowed is None else _generate(narrowed, priority, stop)
    if plan is None and network.packed and not stop():
        narrowed = pack(network)
        plan = None if narrowed is None else _generate(narrowed, priority, stop)
    return plan


def _generate(network: Network, priority: Sequence[float], stop: Stop) -> Plan | None:
    """Build a plan; with upper bounds, begin again with later floors where one was missed.

    A start that comes later than another task's upper bound allows moves the floor of that
    other task, and the pass is repeated (a simple form of the unscheduling step of Franck,
    Neumann and Schwindt 2001).
    """
    floor = list(network.release)
    passes = max(20, _REPAIR_WORK // max(1, len(network))) if network.bounded else 1
    for _ in range(passes):
        attempt = _Pass(network, floor, stop)
        if attempt.run(priority):
            return Plan(attempt.start, attempt.way)
        if not attempt.late or stop():
            return None
        for task, delay in attempt.late.items():
            floor[task] += delay
    return None


class _Pass:
    """One pass over all tasks.

    Attributes
    ----------
    start
        Start of each task, -1 as long as it is not placed.
    late
        After a failed pass: tasks that would have to start later, and by how much.
    """

    def __init__(self, network: Network, floor: list[int], stop: Stop) -> None:
        n = len(network)
        self.network = network
        self.start = [-1] * n
        self.end = [0] * n
        self.way: list[Way] = [ways[0] for ways in network.ways]
        self.late: dict[int, int] = {}
        self._floor = floor
        self._stop = stop
        self._lines = [line(capacity) for capacity in network.capacity]
        self._purse = _Purse(network) if network.budget else None
        self._packing = Packing(network) if network.packed else None

    def run(self, priority: Sequence[float]) -> bool:
        """Place every task; tell whether that worked."""
        ahead = self.network.ahead
        missing = [0] * len(ahead)
        for after in ahead:
            for j in after:
                missing[j] += 1
        ready = [(priority[i], i) for i, count in enumerate(missing) if not count]
        heapq.heapify(ready)
        for placed in range(1, len(ahead) + 1):
            task = heapq.heappop(ready)[1]
            if not self._place(task) or self._is_over(placed):
                return False
            for j in ahead[task]:
                missing[j] -= 1
                if not missing[j]:
                    heapq.heappush(ready, (priority[j], j))
        return True

    def _is_over(self, placed: int) -> bool:
        return placed >= _ALWAYS and placed % _CLOCK_STEP == 0 and self._stop()

    def _place(self, task: int) -> bool:
        """Book the way that completes first; False if there is none."""
        ways = self.network.ways[task]
        if self._purse is not None:
            ways = self._purse.affordable(task)
        if self._packing is not None:
            ways = self._packing.open_to(task, ways)
        choose = self._within_bounds if self.network.bounded else self._earliest
        found = choose(task, ways)
        if found is None:
            return False
        start, way = found
        self.start[task], self.end[task], self.way[task] = start, start + way.duration, way
        for index, amount in way.uses:
            self._lines[index].reserve(start, way.duration, amount)
        if self._purse is not None:
            self._purse.spend(task, way)
        if self._packing is not None:
            self._packing.take(task, way)
        return True

    def _earliest(self, task: int, ways: Sequence[Way]) -> tuple[int, Way] | None:
        ready, arrival = self._ready(task)
        best, best_end = None, FOREVER
        for way in ways:
            begin = ready
            if arrival is not None and way.node >= 0 and arrival[way.node] > ready:
                begin = arrival[way.node]
            if begin + way.duration >= best_end:
                continue
            start = self._fit(begin, way)
            if start + way.duration < best_end:
                best, best_end = (start, way), start + way.duration
        return best

    def _ready(self, task: int) -> tuple[int, list[int] | None]:
        """Return the earliest start by precedence, and by the arrival of data on each node."""
        ready = self._floor[task]
        arrival: list[int] | None = None
        for source, min_lag, _, from_start, data in self.network.incoming[task]:
            moment = (self.start[source] if from_start else self.end[source]) + min_lag
            ready = max(ready, moment)
            node = self.way[source].node
            if data and node >= 0 and self.network.communicates:
                row = self._arrivals(node, moment, data)
                arrival = row if arrival is None else list(map(max, arrival, row))
        return ready, arrival

    def _arrivals(self, node: int, moment: int, data: int) -> list[int]:
        """Return when data sent at a moment reaches each node, FOREVER without a link."""
        network = self.network
        row = [
            moment + latency + data * unit if linked else FOREVER
            for latency, unit, linked in zip(
                network.latency[node], network.data_time[node], network.linked[node], strict=True
            )
        ]
        row[node] = moment
        return row

    def _fit(self, ready: int, way: Way) -> int:
        """Return the first start >= ready at which everything the way uses is free."""
        lines, duration = self._lines, way.duration
        while True:
            start = ready
            for index, amount in way.uses:
                start = lines[index].earliest(start, duration, amount)
            if start == ready:
                return start
            ready = start

    def _within_bounds(self, task: int, ways: Sequence[Way]) -> tuple[int, Way] | None:
        """Like ``_earliest`` under upper bounds; without a way, note who is in the way."""
        best, best_end = None, FOREVER
        closest: tuple[int, int, Way] | None = None
        for way in ways:
            low, high = self._window(task, way)
            if low >= FOREVER or low + way.duration >= best_end:
                continue
            start = self._fit(low, way)
            if start > high:
                if closest is None or start - high < closest[0]:
                    closest = (start - high, start, way)
            elif start + way.duration < best_end:
                best, best_end = (start, way), start + way.duration
        if best is None and closest is not None:
            self._blame(task, *closest[1:])
        return best

    def _window(self, task: int, way: Way) -> tuple[int, int]:
        """Return the earliest and latest start that the tasks already placed allow."""
        low, high = self._floor[task], self.network.deadline[task] - way.duration
        for arc in self.network.incoming[task]:
            if self.start[arc.other] < 0:
                continue
            delay = self.network.delay(arc.data, self.way[arc.other].node, way.node)
            base = (self.start if arc.from_start else self.end)[arc.other]
            low = max(low, FOREVER if delay is None else base + arc.min_lag + delay)
            high = min(high, base + arc.max_lag)
        for other, earliest, latest in self._after(task, way):
            high = min(high, self.start[other] - earliest)
            low = max(low, self.start[other] - latest)
        return low, high

    def _after(self, task: int, way: Way) -> list[tuple[int, int, int]]:
        """Return for each successor already placed its least and greatest distance."""
        found = []
        for arc in self.network.outgoing[task]:
            if self.start[arc.other] >= 0:
                delay = self.network.delay(arc.data, way.node, self.way[arc.other].node)
                shift = 0 if arc.from_start else way.duration
                least = NO_LIMIT if delay is None else shift + arc.min_lag + delay
                found.append((arc.other, least, shift + arc.max_lag))
        return found

    def _blame(self, task: int, start: int, way: Way) -> None:
        """Note which tasks already placed would have to start later, and by how much."""
        for arc in self.network.incoming[task]:
            if self.start[arc.other] >= 0:
                base = (self.start if arc.from_start else self.end)[arc.other]
                self._delay(arc.other, start - (base + arc.max_lag))
        for other, earliest, _ in self._after(task, way):
            self._delay(other, start - (self.start[other] - earliest))

    def _delay(self, task: int, ticks: int) -> None:
        if 0 < ticks < NO_LIMIT // 2:
            self.late[task] = max(ticks, self.late.get(task, 0))


class _Purse:
    """What is left of the non-renewable resources, and what the other tasks need at least."""

    def __init__(self, network: Network) -> None:
        self._ways = network.ways
        self._least = [
            [min(amounts) for amounts in zip(*(way.consumes for way in ways), strict=True)]
            for ways in network.ways
        ]
        needed = [sum(amounts) for amounts in zip(*self._least, strict=True)]
        self._spare = [have - need for have, need in zip(network.budget, needed, strict=True)]

    def affordable(self, task: int) -> list[Way]:
        """Return the ways that leave each other task its cheapest way, resource by resource."""
        limits = [a + b for a, b in zip(self._spare, self._least[task], strict=True)]
        return [
            way
            for way in self._ways[task]
            if all(amount <= limit for amount, limit in zip(way.consumes, limits, strict=True))
        ]

    def spend(self, task: int, way: Way) -> None:
        """Book the amounts of a way."""
        for k, (amount, least) in enumerate(zip(way.consumes, self._least[task], strict=True)):
            self._spare[k] -= amount - least
