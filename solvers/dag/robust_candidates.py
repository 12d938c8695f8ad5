"""Schedules among which a robust one is chosen: all that methods find on their way."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from allocsolve.models.arrays import FloatArray, frozen
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.dispatch import generate
from allocsolve.models.dag.graph import CommGraph, has_graph
from allocsolve.models.dag.justification import justify
from allocsolve.models.dag.list_build import Builder, Placement
from allocsolve.models.dag.network import build_network
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.nodes import RuntimeLaw
from allocsolve.solvers.control import Control, Event, Limits, Token
from allocsolve.solvers.dag import list_methods
from allocsolve.solvers.dag.improve import priorities

__all__ = ["Candidate", "Pool", "PoolControl", "add_expected", "add_lists"]

_MOST = 48
"""Schedules that are kept, the best as planned."""

_SAMPLES, _LEAST_SAMPLES, _PLACEMENTS = 64, 8, 20_000
"""Sampled schedules at most and at least, and tasks placed for them."""

_RULES = ("heft", "cpop", "peft", "etf", "dls", "min_min", "sufferage")
_FINEST = 2**40
"""Largest duration in a graph whose times are expected ones; beyond it they are not used."""


@dataclass(frozen=True)
class Candidate:
    """A schedule and what found it."""

    schedule: Schedule
    source: str


class Pool:
    """Different schedules: the best as planned, at most some dozens, and those that must stay."""

    def __init__(self) -> None:
        self._kept: dict[bytes, Candidate] = {}
        self._stay: dict[bytes, Candidate] = {}

    def add(self, schedule: Schedule, source: str, *, stays: bool = False) -> None:
        """Keep a schedule that is not there yet.

        Parameters
        ----------
        stays
            Keep it although others are shorter as planned.
        """
        key = schedule.start.tobytes() + schedule.mode.tobytes()
        if key in self._stay:
            return
        (self._stay if stays else self._kept).setdefault(key, Candidate(schedule, source))
        if len(self._kept) > 2 * _MOST:
            self._kept = dict(sorted(self._kept.items(), key=_planned)[:_MOST])

    def candidates(self) -> list[Candidate]:
        """Return the schedules, the shortest first; equal ones in the order of their arrival."""
        kept = dict(sorted(self._kept.items(), key=_planned)[:_MOST])
        return [one for _, one in sorted((kept | self._stay).items(), key=_planned)]


def _planned(item: tuple[bytes, Candidate]) -> int:
    return item[1].schedule.makespan


class PoolControl(Control[Schedule]):
    """The control of a method whose every offer goes into a pool."""

    def __init__(
        self,
        pool: Pool,
        limits: Limits,
        token: Token,
        listener: Callable[[Event], None] | None = None,
    ) -> None:
        super().__init__(limits, token, listener)
        self._pool = pool

    def offer(self, answer: Schedule, value: int, source: str) -> bool:
        """Keep the answer in the pool, and as the best one if it is."""
        with self._lock:
            self._pool.add(answer, source)
            return super().offer(answer, value, source)


def add_lists(problem: DagProblem, control: Control[Schedule], pool: Pool) -> None:
    """Add the schedules of every list scheduler that suits the instance, and sampled ones."""
    if has_graph(problem):
        own = PoolControl(pool, replace(control.limits, options={}), control.token)
        list_methods.portfolio(problem, own)
    _add_samples(problem, control, pool)


def _add_samples(problem: DagProblem, control: Control[Schedule], pool: Pool) -> None:
    """Add schedules of priority rules and of random changes of them, justified.

    Not where starts are bounded from above, since one schedule costs many passes there.
    """
    network = build_network(problem)
    if network.bounded:
        return

    def is_over() -> bool:
        return control.token.cancelled or control.remaining() <= 0

    count = min(_SAMPLES, max(_LEAST_SAMPLES, _PLACEMENTS // max(1, len(problem.tasks))))
    for priority in itertools.islice(priorities(network, control.limits.seed), count):
        plan = generate(network, priority, is_over)
        if plan is None or is_over():
            return
        pool.add(justify(network, plan, is_over).schedule(problem), "list")


def add_expected(
    problem: DagProblem,
    control: Control[Schedule],
    pool: Pool,
    laws: Sequence[RuntimeLaw | None],
    q: float,
) -> None:
    """Add list schedules for the times that are to be expected of each node.

    Where nodes straggle differently, durations are multiplied by the mean of the node's law (its
    quantile ``q`` where the mean is infinite), and list schedulers choose nodes and order by
    these. Start times are then those of the plan.
    """
    factors = np.array([_expected(law, q) for law in laws])
    if not has_graph(problem) or len(set(factors.tolist())) < 2 or not np.isfinite(factors).all():
        return
    graph = CommGraph.of(problem)
    expected = _scaled(graph, factors)
    if expected is None:
        return
    with list_methods.ready_loops(expected, control, _RULES) as can_run:
        for rule, found in _built(expected, control) if can_run else ():
            pool.add(_as_planned(graph, found), f"{rule}_expected", stays=True)


def _built(graph: CommGraph, control: Control[Schedule]) -> Iterator[tuple[str, Placement]]:
    """Yield what each rule builds, until the run is over."""

    def is_over() -> bool:
        return control.token.cancelled or control.remaining() <= 0

    builder = Builder(graph, stop=is_over)
    for rule in _RULES:
        found = builder.build(rule, inserts=rule not in list_methods.APPENDING)
        if is_over():
            return
        if found is not None:
            yield rule, found


def _expected(law: RuntimeLaw | None, q: float) -> float:
    if law is None:
        return 1.0
    mean = law.mean()
    return mean if math.isfinite(mean) else float(law.quantile(np.array([q]))[0])


def _scaled(graph: CommGraph, factors: FloatArray) -> CommGraph | None:
    """Return the graph with durations multiplied by node, None if they get too large."""
    times = np.where(graph.duration < 0, -1.0, np.rint(graph.duration * factors))
    if times.max(initial=0.0) > _FINEST:
        return None
    return replace(graph, duration=frozen(times.astype(np.int64)))


def _as_planned(graph: CommGraph, found: Placement) -> Schedule:
    """Return the schedule with nodes and order of a placement, started as early as planned."""
    rank = {task: k for k, task in enumerate(graph.order.tolist())}
    order = sorted(range(graph.n), key=lambda i: (int(found.start[i]), rank[i]))
    node = found.node.tolist()
    free = [[0] * slots for slots in graph.slots.tolist()]
    start, end = [0] * graph.n, [0] * graph.n
    for task in order:
        moment = max(int(graph.release[task]), _arrival(graph, task, node, end))
        length = int(graph.duration[task, node[task]])
        if length:
            lane = free[node[task]]
            first = min(range(len(lane)), key=lane.__getitem__)
            moment = max(moment, lane[first])
            lane[first] = moment + length
        start[task], end[task] = moment, moment + length
    return graph.to_schedule(start, node)


def _arrival(graph: CommGraph, task: int, node: Sequence[int], end: Sequence[int]) -> int:
    """Return when all data of a task is on its node."""
    ready = 0
    for k in range(int(graph.pred_offset[task]), int(graph.pred_offset[task + 1])):
        source, edge = int(graph.pred_task[k]), int(graph.pred_edge[k])
        moment, data = end[source] + int(graph.edge_lag[edge]), int(graph.edge_data[edge])
        here, there = node[source], node[task]
        if here != there and data:
            moment += int(graph.latency[here, there]) + data * int(graph.data_time[here, there])
        ready = max(ready, moment)
    return ready
