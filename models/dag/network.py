"""A ``dag`` instance as plain Python lists: what schedule generation reads in its loops.

Plain lists and tuples are several times faster than arrays when one element is read at a
time, and building them costs a few milliseconds for a thousand tasks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from allocsolve.models.dag.arrays import NO_LIMIT, DagArrays
from allocsolve.models.dag.ordering import order_along
from allocsolve.models.dag.problem import DagProblem

__all__ = ["Arc", "Network", "Way", "build_network", "mirror"]


class Way(NamedTuple):
    """One way to execute a task.

    Attributes
    ----------
    mode
        Index into the problem's table of modes.
    node
        -1 if it runs on none.
    uses
        Pairs (line, amount) held while it runs; empty for a zero-length task.
    consumes
        Amount of each non-renewable resource.
    """

    mode: int
    duration: int
    node: int
    uses: tuple[tuple[int, int], ...]
    consumes: tuple[int, ...]


class Arc(NamedTuple):
    """An edge seen from one end; ``other`` is the task at the other end."""

    other: int
    min_lag: int
    max_lag: int
    from_start: bool
    data: int


@dataclass(frozen=True)
class Network:
    """The lists of an instance.

    Attributes
    ----------
    ways
        For each task the ways that fit into the capacities and its lags to itself.
    capacity
        Of each line: first the nodes, then the renewable resources.
    budget
        Capacity of each non-renewable resource.
    incoming, outgoing
        Arcs to the predecessors and to the successors.
    ahead
        Successors along arcs that order the tasks (all arcs, unless lags make cycles).
    order
        A topological order along ``ahead``.
    memory, room
        Memory of each task and of each node (see :class:`DagArrays`).
    group
        Tasks with the same number share a node; -1 for a task on its own.
    packed
        Whether memory can run out or some tasks share a node.
    bounded
        Whether starts are also bounded from above (deadlines, maximum or negative lags).
    """

    ways: list[list[Way]]
    release: list[int]
    deadline: list[int]
    capacity: list[int]
    budget: list[int]
    incoming: list[list[Arc]]
    outgoing: list[list[Arc]]
    ahead: list[list[int]]
    order: list[int]
    latency: list[list[int]]
    data_time: list[list[int]]
    linked: list[list[bool]]
    communicates: bool
    memory: list[int]
    room: list[int]
    group: list[int]
    packed: bool
    bounded: bool

    def __len__(self) -> int:
        return len(self.ways)

    def delay(self, data: int, source: int, target: int) -> int | None:
        """Return the ticks that data takes between two nodes, None without a link."""
        if data == 0 or source == target or source < 0 or target < 0:
            return 0
        if not self.linked[source][target]:
            return None
        return self.latency[source][target] + data * self.data_time[source][target]


def build_network(problem: DagProblem) -> Network:
    """Return the lists of a problem."""
    arrays = problem.arrays
    incoming, outgoing = _arcs(arrays)
    ahead, order = _precedence(arrays)
    renewable = arrays.renewable.tolist()
    capacity: list[int] = arrays.capacity.tolist()
    return Network(
        ways=_ways(arrays, incoming),
        release=arrays.release.tolist(),
        deadline=arrays.deadline.tolist(),
        capacity=arrays.node_slots.tolist()
        + [amount for amount, back in zip(capacity, renewable, strict=True) if back],
        budget=[amount for amount, back in zip(capacity, renewable, strict=True) if not back],
        incoming=incoming,
        outgoing=outgoing,
        ahead=ahead,
        order=order,
        latency=arrays.latency.tolist(),
        data_time=arrays.data_time.tolist(),
        linked=arrays.linked.tolist(),
        communicates=arrays.communicates,
        memory=arrays.task_memory.tolist(),
        room=arrays.node_memory.tolist(),
        group=arrays.colocation.tolist(),
        packed=arrays.limits_memory or bool(arrays.groups),
        bounded=_is_bounded(arrays),
    )


def _is_bounded(arrays: DagArrays) -> bool:
    return bool(
        arrays.order is None
        or (arrays.edge_max_lag < NO_LIMIT).any()
        or (arrays.deadline < NO_LIMIT).any()
    )


def _ways(arrays: DagArrays, incoming: Sequence[Sequence[Arc]]) -> list[list[Way]]:
    ways: list[list[Way]] = [[] for _ in arrays.release]
    needs = _Needs(arrays)
    meeting_itself = set(arrays.edge_source[arrays.edge_source == arrays.edge_target].tolist())
    rows = zip(
        arrays.mode_task.tolist(),
        arrays.mode_duration.tolist(),
        arrays.mode_node.tolist(),
        arrays.mode_demand.tolist(),
        strict=True,
    )
    for mode, (task, duration, node, demand) in enumerate(rows):
        if task in meeting_itself and not _agrees_with_itself(incoming[task], task, duration):
            continue
        # A zero-length task occupies nothing.
        place = ((node, 1),) if node >= 0 and duration else ()
        if not demand:
            ways[task].append(Way(mode, duration, node, place, ()))
        elif needs.fit(demand, duration):
            uses = place + needs.held(demand) if duration else ()
            ways[task].append(Way(mode, duration, node, uses, needs.used_up(demand)))
    return ways


def _agrees_with_itself(arcs: Sequence[Arc], task: int, duration: int) -> bool:
    """Whether a duration satisfies the lags that lead from the task to itself."""
    for arc in arcs:
        distance = 0 if arc.from_start else -duration
        if arc.other == task and not arc.min_lag <= distance <= arc.max_lag:
            return False
    return True


class _Needs:
    """Splits the demand of a mode into what it holds and what it uses up."""

    def __init__(self, arrays: DagArrays) -> None:
        capacity, renewable = arrays.capacity.tolist(), arrays.renewable.tolist()
        rows = list(enumerate(zip(capacity, renewable, strict=True)))
        self._renewable = [(k, most) for k, (most, back) in rows if back]
        self._used_up = [(k, most) for k, (most, back) in rows if not back]
        self._first_line = len(arrays.node_slots)

    def fit(self, demand: list[int], duration: int) -> bool:
        """Whether a demand is within what binds a mode of that duration."""
        kept = self._renewable if duration else []
        return all(demand[k] <= most for k, most in (*kept, *self._used_up))

    def held(self, demand: list[int]) -> tuple[tuple[int, int], ...]:
        """Return pairs (line, amount) of what a demand holds."""
        lines = enumerate(self._renewable, start=self._first_line)
        return tuple((line, demand[k]) for line, (k, _) in lines if demand[k])

    def used_up(self, demand: list[int]) -> tuple[int, ...]:
        """Return what a demand uses up of each non-renewable resource."""
        return tuple(demand[k] for k, _ in self._used_up)


def _arcs(arrays: DagArrays) -> tuple[list[list[Arc]], list[list[Arc]]]:
    incoming: list[list[Arc]] = [[] for _ in arrays.release]
    outgoing: list[list[Arc]] = [[] for _ in arrays.release]
    rows = zip(
        arrays.edge_source.tolist(),
        arrays.edge_target.tolist(),
        arrays.edge_min_lag.tolist(),
        arrays.edge_max_lag.tolist(),
        arrays.edge_from_start.tolist(),
        arrays.edge_data.tolist(),
        strict=True,
    )
    for source, target, min_lag, max_lag, from_start, data in rows:
        incoming[target].append(Arc(source, min_lag, max_lag, from_start, data))
        outgoing[source].append(Arc(target, min_lag, max_lag, from_start, data))
    return incoming, outgoing


def _precedence(arrays: DagArrays) -> tuple[list[list[int]], list[int]]:
    """Return the ordering successors of each task and a topological order along them."""
    ahead: list[list[int]] = [[] for _ in arrays.release]
    acyclic = arrays.order is not None
    rows = zip(
        arrays.edge_source.tolist(),
        arrays.edge_target.tolist(),
        arrays.start_lag.tolist(),
        strict=True,
    )
    for source, target, lag in rows:
        if acyclic or lag >= 0:
            ahead[source].append(target)
    order = order_along(ahead)
    position = {task: k for k, task in enumerate(order)}
    kept = [[j for j in after if position[j] > position[i]] for i, after in enumerate(ahead)]
    return kept, order


def mirror(network: Network, chosen: Sequence[Way]) -> Network:
    """Return the network with time running backwards, the ways fixed and releases left out.

    A schedule of the mirror with starts s and length L gives starts ``L - s - duration``.
    An arc that counts from the start of its source turns into one that counts from an
    end, less the duration of what is now its target. Not for bounded networks.
    """
    n = len(network)
    incoming: list[list[Arc]] = [[] for _ in range(n)]
    outgoing: list[list[Arc]] = [[] for _ in range(n)]
    ahead: list[list[int]] = [[] for _ in range(n)]
    for target, arcs in enumerate(network.incoming):
        for source, min_lag, _, from_start, data in arcs:
            lag = min_lag - (chosen[source].duration if from_start else 0)
            incoming[source].append(Arc(target, lag, NO_LIMIT, False, data))
            outgoing[target].append(Arc(source, lag, NO_LIMIT, False, data))
            ahead[target].append(source)
    return replace(
        network,
        ways=[[way] for way in chosen],
        release=[0] * n,
        deadline=[NO_LIMIT] * n,
        budget=[],
        incoming=incoming,
        outgoing=outgoing,
        ahead=ahead,
        order=network.order[::-1],
    )
