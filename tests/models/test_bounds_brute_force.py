"""Bounds and reasons against the enumeration of all schedules of small instances."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator

import msgspec
import pytest

from allocsolve.models.dag.bounds import heads, latest_starts, lower_bounds, tails
from allocsolve.models.dag.check import verify_reason
from allocsolve.models.dag.data import DefaultLink, Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason

Start = list[tuple[int, int]]
"""Start and mode of the tasks placed so far, in the order of the instance."""


class Enumeration:
    """All schedules of a problem, tick by tick; nothing clever that could be wrong."""

    def __init__(self, problem: DagProblem) -> None:
        arrays = problem.arrays
        self.problem = problem
        self.arrays = arrays
        # Plain lists are read several times faster than arrays, element by element.
        self.duration: list[int] = arrays.mode_duration.tolist()
        self.node: list[int] = arrays.mode_node.tolist()
        self.demand: list[list[int]] = arrays.mode_demand.tolist()
        self.slots: list[int] = arrays.node_slots.tolist()
        self.limits: list[tuple[int, bool]] = list(
            zip(arrays.capacity.tolist(), arrays.renewable.tolist(), strict=True)
        )
        self.edges: list[tuple[int, int]] = list(
            zip(arrays.edge_source.tolist(), arrays.edge_target.tolist(), strict=True)
        )

    def schedules(self, horizon: int) -> Iterator[Start]:
        """Yield every schedule that ends by ``horizon``."""
        yield from self._extend([], horizon)

    def optimum(self) -> int | None:
        """Return the least makespan in ticks, None if there is no schedule."""
        for horizon in range(self.arrays.horizon + 1):
            if next(self.schedules(horizon), None) is not None:
                return horizon
        return None

    def _extend(self, placed: Start, horizon: int) -> Iterator[Start]:
        task = len(placed)
        if task == len(self.problem.tasks):
            yield list(placed)
            return
        latest = min(horizon, int(self.arrays.deadline[task]))
        for mode in self.arrays.modes_of(task):
            last = latest - self._duration(mode)
            for start in range(int(self.arrays.release[task]), last + 1):
                placed.append((start, mode))
                if self._lags_hold(placed) and self._fits(placed):
                    yield from self._extend(placed, horizon)
                placed.pop()

    def _duration(self, mode: int) -> int:
        return self.duration[mode]

    def _lags_hold(self, placed: Start) -> bool:
        last = len(placed) - 1
        for edge, (i, j) in enumerate(self.edges):
            if last in (i, j) and max(i, j) == last and not self._lag_holds(edge, placed, i, j):
                return False
        return True

    def _lag_holds(self, edge: int, placed: Start, i: int, j: int) -> bool:
        (before, mode), (after, other) = placed[i], placed[j]
        end = before + self._duration(mode)
        origin = before if self.arrays.edge_from_start[edge] else end
        lag = after - origin
        delay = self.arrays.delay(edge, self.node[mode], self.node[other])
        arrived = not self.arrays.edge_data[edge] or (delay is not None and after >= end + delay)
        low, high = self.arrays.edge_min_lag[edge], self.arrays.edge_max_lag[edge]
        return bool(low <= lag <= high and arrived)

    def _fits(self, placed: Start) -> bool:
        start, mode = placed[-1]
        ticks = range(start, start + self._duration(mode))
        return self._totals_fit(placed) and all(self._tick_fits(placed, tick) for tick in ticks)

    def _totals_fit(self, placed: Start) -> bool:
        return all(
            renewable or sum(self.demand[mode][r] for _, mode in placed) <= capacity
            for r, (capacity, renewable) in enumerate(self.limits)
        )

    def _tick_fits(self, placed: Start, tick: int) -> bool:
        running = [mode for s, mode in placed if s <= tick < s + self._duration(mode)]
        for r, (capacity, renewable) in enumerate(self.limits):
            if renewable and sum(self.demand[mode][r] for mode in running) > capacity:
                return False
        nodes = [self.node[mode] for mode in running]
        return all(k < 0 or nodes.count(k) <= self.slots[k] for k in nodes)


def _pairs(rng: random.Random, n: int, chance: float) -> list[tuple[str, str]]:
    pairs = itertools.combinations(range(n), 2)
    return [(f"t{i}", f"t{j}") for i, j in pairs if rng.random() < chance]


def _project(rng: random.Random, *, modes: int, stores: int = 0) -> DagProblem:
    """Draw a project with ``modes`` modes a task and ``stores`` non-renewable resources."""
    n = rng.randint(2, 4)
    names = ["R0", "R1", *(f"N{k}" for k in range(stores))]
    tasks = [
        Task(
            id=f"t{i}",
            release=rng.choice([0, 0, 0, 2]),
            deadline=rng.choice([None, None, None, 4, 7]),
            modes=[
                Mode(duration=rng.randint(0, 3), demand={r: rng.randint(0, 3) for r in names})
                for _ in range(rng.randint(1, modes))
            ],
        )
        for i in range(n)
    ]
    resources = [Resource(id=r, capacity=rng.randint(2, 5)) for r in names[:2]]
    resources += [Resource(id=r, capacity=2 * n - 2, renewable=False) for r in names[2:]]
    edges = [Edge(source=i, target=j) for i, j in _pairs(rng, n, 0.3)]
    return DagProblem(tasks=tasks, edges=edges, resources=resources)


def _rcpsp(rng: random.Random) -> DagProblem:
    return _project(rng, modes=1)


def _multimode(rng: random.Random) -> DagProblem:
    return _project(rng, modes=2, stores=1)


def _lags(rng: random.Random) -> DagProblem:
    """Draw a project with minimum, negative and maximum lags from starts and ends."""
    problem = _project(rng, modes=2)
    edges = []
    for source, target in _pairs(rng, len(problem.tasks), 0.6):
        low = rng.randint(-3, 2)
        high = rng.choice([None, low + rng.randint(0, 3)])
        pair = (source, target) if rng.random() < 0.8 else (target, source)
        edges.append(
            Edge(
                source=pair[0],
                target=pair[1],
                min_lag=low,
                max_lag=high,
                lag_from=rng.choice(["start", "end"]),
            )
        )
    # A reversed lag of zero would be a plain edge, which may not lie on a cycle.
    edges = [e for e in edges if e.min_lag != 0 or e.max_lag is not None or e.source < e.target]
    return problem.replace(edges=edges)


def _nodes(rng: random.Random, *, choice: bool, data: bool) -> DagProblem:
    """Draw tasks on nodes with slots, speeds and eligibility."""
    n, places = rng.randint(2, 4), ["a", "b"] if choice else ["a", "b", "c"]
    tasks = [
        Task(
            id=f"t{i}",
            work=rng.choice([0, 2, 2, 4, 6]) if choice else rng.randint(0, 3),
            release=rng.choice([0, 0, 0, 1]),
            deadline=rng.choice([None, None, None, None, 4, 8]),
            eligible=rng.sample(places, rng.randint(1, 2) if choice else 1),
        )
        for i in range(n)
    ]
    nodes = [
        Node(id=p, speed=rng.choice([1, 2]) if choice else 1, slots=rng.choice([1, 1, 2]))
        for p in places
    ]
    edges = [
        Edge(source=i, target=j, data=rng.randint(0, 2) if data else 0)
        for i, j in _pairs(rng, n, 0.35)
    ]
    link = DefaultLink(latency=rng.randint(0, 1), bandwidth=rng.choice([None, 1, 2, 0]))
    return DagProblem(tasks=tasks, edges=edges, nodes=nodes, default_link=link)


def _jobshop(rng: random.Random) -> DagProblem:
    return _nodes(rng, choice=False, data=False)


def _flexible(rng: random.Random) -> DagProblem:
    return _nodes(rng, choice=True, data=False)


def _communication(rng: random.Random) -> DagProblem:
    return _nodes(rng, choice=True, data=True)


def _cluster(rng: random.Random) -> DagProblem:
    """Draw tasks that hold resources (all at once used or used up) while they run on nodes."""
    problem = _nodes(rng, choice=rng.random() < 0.5, data=False)
    tasks = [
        msgspec.structs.replace(task, demand={r: rng.randint(0, 2) for r in ("R0", "N0")})
        for task in problem.tasks
    ]
    resources = [
        Resource(id="R0", capacity=rng.randint(2, 3)),
        Resource(id="N0", capacity=len(tasks) + 1, renewable=False),
    ]
    return problem.replace(tasks=tasks, resources=resources)


FAMILIES: list[Callable[[random.Random], DagProblem]] = [
    _rcpsp,
    _multimode,
    _lags,
    _jobshop,
    _flexible,
    _communication,
    _cluster,
]

families = pytest.mark.parametrize("draw", FAMILIES, ids=lambda draw: draw.__name__[1:])


@families
def test_no_bound_is_above_the_optimum(draw: Callable[[random.Random], DagProblem]) -> None:
    """A bound above the optimum would end a search with a wrong OPTIMAL."""
    met = 0
    for seed in range(60):
        problem = draw(random.Random(seed))
        optimum = Enumeration(problem).optimum()
        bounds = lower_bounds(problem)
        if optimum is not None:
            assert bounds, seed
            assert all(bound.value <= optimum for bound in bounds), (seed, bounds, optimum)
            met += bounds[0].value == optimum
    assert met > 10, "bounds that never meet the optimum would be trivial"


@families
def test_a_reason_is_found_only_where_nothing_is_feasible(
    draw: Callable[[random.Random], DagProblem],
) -> None:
    """A wrong reason would call a feasible instance INFEASIBLE; a right one must convince."""
    for seed in range(60):
        problem = draw(random.Random(1000 + seed))
        reason = find_reason(problem)
        if reason is not None:
            assert Enumeration(problem).optimum() is None, (seed, reason)
            assert verify_reason(problem, reason), (seed, reason)


@families
def test_starts_and_ends_stay_between_heads_and_tails(
    draw: Callable[[random.Random], DagProblem],
) -> None:
    """Start domains of formulations are cut to these values, which may cut off no schedule."""
    for seed in range(25):
        problem = draw(random.Random(2000 + seed))
        enumeration = Enumeration(problem)
        optimum = enumeration.optimum()
        if optimum is None:
            continue
        horizon = optimum + 1
        head, tail, latest = heads(problem), tails(problem), latest_starts(problem, horizon)
        assert head is not None
        assert tail is not None
        assert latest is not None
        for schedule in itertools.islice(enumeration.schedules(horizon), 200):
            ends = [s + int(problem.arrays.mode_duration[mode]) for s, mode in schedule]
            for task, (start, _) in enumerate(schedule):
                assert head[task] <= start <= latest[task], seed
                assert ends[task] + tail[task] <= max(ends), seed
