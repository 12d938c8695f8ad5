"""What at most so much of can run at once: the lines of which refutation reads windows.

A line is a capacity and the tasks that need some of it: a renewable resource, nodes to which
tasks are bound, tasks no two of which can overlap. A *dual feasible function* f makes new lines
of a resource: whatever fits into the capacity C still fits after f (Fekete and Schepers, "New
classes of fast lower bounds for bin packing problems", Mathematical Programming 91, 2001; Carlier
and Neron, "On linear lower bounds for the resource constrained project scheduling problem",
European Journal of Operational Research 149, 2003). On these lines energetic reasoning finds more
(Haouari, Kooli and Neron, "Enhanced energetic reasoning-based lower bounds for the resource
constrained project scheduling problem", Computers and Operations Research 39, 2012).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.disjunctive import cliques
from allocsolve.models.dag.relaxation import Relaxation
from allocsolve.models.dag.windows import SAFE

__all__ = ["Line", "lines_of", "reshaped"]

_KEPT = 3
"""Lines that dual feasible functions may add to a resource: those with the highest load."""

_THRESHOLDS = 64
"""Demands of a resource from which thresholds of dual feasible functions are taken."""

_LARGEST = 10**6
"""Capacities above are left as they are."""


@dataclass(frozen=True, eq=False)
class Line:
    """A capacity and what needs it, for a person as well.

    Attributes
    ----------
    what
        Name of the line in a sentence.
    tasks, demand
        int64 (k,), tasks that take time, and what each needs at least, positive.
    capacity
        Positive.
    """

    what: str
    tasks: IntArray
    demand: IntArray
    capacity: int

    @property
    def is_unary(self) -> bool:
        """Whether no two tasks of it can overlap."""
        least = np.partition(self.demand, 1)[:2] if len(self.demand) > 1 else self.demand
        return bool(len(least) > 1 and int(least.sum()) > self.capacity)


def lines_of(relaxation: Relaxation) -> list[Line]:
    """Return the lines of a problem of which some can bind, without repetitions."""
    found: list[Line] = []
    known: set[tuple[bytes, bytes, int]] = set()
    for line in _all_lines(relaxation):
        key = (line.tasks.tobytes(), line.demand.tobytes(), line.capacity)
        if _can_bind(line) and key not in known:
            known.add(key)
            found.append(line)
    return found


def _can_bind(line: Line) -> bool:
    return len(line.tasks) > 1 and int(line.demand.sum()) > line.capacity


def _all_lines(relaxation: Relaxation) -> Iterator[Line]:
    for line in _resources(relaxation):
        yield line
        if line.capacity <= _LARGEST and not line.is_unary:
            yield from _reshaped_lines(line, relaxation.min_duration)
    yield from _nodes(relaxation)
    for clique in cliques(relaxation):
        tasks = np.sort(clique).astype(np.int64)
        yield Line("tasks that exclude each other", tasks, np.ones_like(tasks), 1)


def _resources(relaxation: Relaxation) -> Iterator[Line]:
    arrays, problem = relaxation.arrays, relaxation.problem
    busy = relaxation.min_duration > 0
    for r in np.flatnonzero(arrays.renewable & (arrays.capacity > 0)).tolist():
        demand = relaxation.least_demand(r)
        tasks = np.flatnonzero(busy & (demand > 0))
        capacity = int(arrays.capacity[r])
        yield Line(f"resource '{problem.resources[r].id}'", tasks, demand[tasks], capacity)


def _nodes(relaxation: Relaxation) -> Iterator[Line]:
    """Yield the sets of nodes that some task is bound to, with all tasks bound within them."""
    arrays, problem = relaxation.arrays, relaxation.problem
    for nodes in _node_sets(relaxation):
        within = relaxation.only_within(np.array(nodes, np.int64))
        has_mode = np.diff(arrays.mode_offset) > 0
        tasks = np.flatnonzero(within & has_mode & (relaxation.min_duration > 0))
        names = ", ".join(f"'{problem.nodes[k].id}'" for k in nodes[:4])
        what = f"node {names}" if len(nodes) == 1 else f"{len(nodes)} nodes ({names} ...)"
        slots = int(arrays.node_slots[list(nodes)].sum())
        yield Line(what, tasks, np.ones_like(tasks), slots)


_NODE_SETS = 64
"""Sets of nodes that are looked at."""


def _node_sets(relaxation: Relaxation) -> list[tuple[int, ...]]:
    arrays = relaxation.arrays
    sets: dict[tuple[int, ...], None] = {}
    usable, node = relaxation.usable, arrays.mode_node
    for task in range(len(arrays.release)):
        own = sorted({int(node[m]) for m in arrays.modes_of(task) if usable[m]})
        if own and own[0] >= 0:
            sets.setdefault(tuple(own))
    return list(sets)[:_NODE_SETS]


def _reshaped_lines(line: Line, duration: IntArray) -> Iterator[Line]:
    """Yield the lines of highest load that dual feasible functions make of one."""
    length = duration[line.tasks].astype(np.float64)
    base = float(line.demand @ length) / line.capacity
    loads: dict[tuple[bytes, int], tuple[float, IntArray, int]] = {}
    for demand, capacity in reshaped(line.demand, line.capacity):
        load = float(demand @ length) / capacity
        if load > base and capacity * float(length.sum()) < SAFE:
            loads.setdefault((demand.tobytes(), capacity), (load, demand, capacity))
    best = sorted(loads.values(), key=lambda row: -row[0])[:_KEPT]
    for _, demand, capacity in best:
        needs = demand > 0
        yield Line(f"{line.what}, reshaped", line.tasks[needs], demand[needs], capacity)


def reshaped(demand: IntArray, capacity: int) -> Iterator[tuple[IntArray, int]]:
    """Yield demands and a capacity for each dual feasible function.

    Parameters
    ----------
    demand
        int64 (k,), from 1 to ``capacity``.
    """
    distinct = np.unique(np.minimum(demand, capacity - demand))
    for k in distinct[distinct > 0][:_THRESHOLDS].tolist():
        # Small demands vanish, large ones fill everything.
        kept = np.where(demand > capacity - k, capacity, np.where(demand < k, 0, demand))
        yield kept, capacity
    for k in range(2, min(capacity // 2, _THRESHOLDS) + 1):
        parts = capacity // k
        large = 2 * (parts - (capacity - demand) // k)
        half = np.where(2 * demand == capacity, parts, 2 * (demand // k))
        yield np.where(2 * demand > capacity, large, half), 2 * parts
    for k in range(1, min(capacity - 1, 12) + 1):
        scaled = (k + 1) * demand
        whole = scaled % capacity == 0
        yield np.where(whole, k * demand, scaled // capacity * capacity), k * capacity
