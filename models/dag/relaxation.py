"""What holds for every schedule of an instance: least durations, longest paths, windows.

The graph has one arc for each minimum lag and a reverse arc of negative weight for each
maximum lag (Bartusch, Moehring and Radermacher, "Scheduling project networks with resource
constraints and time windows", Annals of Operations Research 16, 1988). It is valid for every
choice of modes: a minimum lag counted from an end takes the shortest duration of the source, a
maximum lag the longest. Communication is free because two tasks may share a node.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray, integers
from allocsolve.models.dag.arrays import NO_LIMIT, DagArrays
from allocsolve.models.dag.paths import Arcs, Paths, forced_order, longest_paths
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.dag.windows import Energy, energies
from allocsolve.models.exact import exact

__all__ = ["Relaxation", "earliest_starts", "heads", "latest_starts", "tails"]


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What holds for every schedule of a problem, whatever the modes; times in ticks."""

    problem: DagProblem

    @property
    def arrays(self) -> DagArrays:
        """The integer arrays of the problem."""
        return self.problem.arrays

    @cached_property
    def excess(self) -> BoolArray:
        """Which modes alone demand more of which resources than there is, bool (m, R).

        A mode of zero length holds no renewable resource.
        """
        arrays = self.arrays
        over = arrays.mode_demand > arrays.capacity
        idle = (arrays.mode_duration == 0)[:, None] & arrays.renewable
        excess: BoolArray = over & ~idle
        return excess

    @cached_property
    def fits(self) -> BoolArray:
        """Which modes demand no more than the capacities, bool (m,)."""
        fits: BoolArray = np.logical_not(self.excess.any(axis=1))
        return fits

    @cached_property
    def usable(self) -> BoolArray:
        """The modes that fit, and all modes of a task none of whose modes fits, bool (m,)."""
        arrays = self.arrays
        served = np.zeros(len(arrays.release), np.bool_)
        served[arrays.mode_task[self.fits]] = True
        usable: BoolArray = self.fits | ~served[arrays.mode_task]
        return usable

    @cached_property
    def all_usable(self) -> bool:
        """Whether every mode is usable."""
        return bool(self.usable.all())

    @cached_property
    def shortest(self) -> IntArray:
        """Shortest duration of each mode, int64 (m,); less than listed for moldable tasks."""
        return self._molded(largest=True)

    @cached_property
    def longest(self) -> IntArray:
        """Longest duration of each mode, int64 (m,)."""
        return self._molded(largest=False)

    def _molded(self, *, largest: bool) -> IntArray:
        arrays = self.arrays
        durations = arrays.mode_duration.copy()
        if Feature.MOLDABLE not in self.problem.features:
            return durations
        for i, task in enumerate(self.problem.tasks):
            if task.speedup:
                factors = [exact(factor) for factor in task.speedup.values()]
                for mode in arrays.modes_of(i):
                    listed = int(durations[mode])
                    shrunk = listed // max(factors) if largest else -(-listed // min(factors))
                    durations[mode] = shrunk
        return durations

    @cached_property
    def min_duration(self) -> IntArray:
        """Shortest duration of each task over its usable modes, int64 (n,); 0 without modes."""
        return self.least(self.shortest)

    @cached_property
    def max_duration(self) -> IntArray:
        """Longest duration of each task over its usable modes, int64 (n,); 0 without modes."""
        return -self.least(-self.longest)

    def least(self, values: IntArray) -> IntArray:
        """Return the least of ``values`` (m,) over the usable modes of each task, 0 for none."""
        offset = self.arrays.mode_offset
        result: IntArray = np.zeros(len(offset) - 1, values.dtype)
        filled = np.flatnonzero(offset[1:] > offset[:-1])
        if len(filled):
            if not self.all_usable:
                values = np.where(self.usable, values, values.max())
            result[filled] = np.minimum.reduceat(values, offset[filled])
        return result

    @cached_property
    def on_node(self) -> BoolArray:
        """The usable modes that are nodes, bool (m,)."""
        on_node: BoolArray = self.usable & (self.arrays.mode_node >= 0)
        return on_node

    @cached_property
    def used_nodes(self) -> IntArray:
        """The nodes that some usable mode runs on, increasing; dead nodes are not among them."""
        counts = np.bincount(self.arrays.mode_node[self.on_node])
        nodes: IntArray = np.flatnonzero(counts)
        return nodes

    @cached_property
    def only_node(self) -> IntArray:
        """The node to which each task is bound, int64 (n,); -1 if it has a choice or none."""
        offset, node = self.arrays.mode_offset, self.arrays.mode_node
        least, greatest = self.least(node), -self.least(-node)
        bound: IntArray = np.where((least == greatest) & (offset[1:] > offset[:-1]), least, -1)
        return bound

    def bound_tasks(self) -> list[tuple[int, IntArray]]:
        """Return each node to which tasks are bound, with these tasks."""
        bound = np.flatnonzero(self.only_node >= 0)
        bound = bound[np.argsort(self.only_node[bound], kind="stable")]
        nodes, first = np.unique(self.only_node[bound], return_index=True)
        groups = np.split(bound, first[1:])
        return list(zip(nodes.tolist(), groups, strict=False))  # no nodes: one empty group

    def only_within(self, nodes: IntArray) -> BoolArray:
        """Return which tasks can run on these nodes only, bool (n,)."""
        allowed = np.zeros(len(self.arrays.node_slots) + 1, np.bool_)
        allowed[nodes] = True  # the last entry stands for "no node" and stays False
        inside = np.ones(len(self.min_duration), np.bool_)
        outside = self.usable & ~allowed[self.arrays.mode_node]
        inside[self.arrays.mode_task[outside]] = False
        return inside

    def lag(self, source: int, target: int) -> int:
        """Return the longest lag of the arcs from one task to another, of which there are some."""
        between = (self.arcs.source == source) & (self.arcs.target == target)
        return int(self.arcs.weight[between].max())

    def least_demand(self, resource: int) -> IntArray:
        """Return the least demand of each task for a resource, int64 (n,)."""
        return self.least(self.arrays.mode_demand[:, resource])

    def least_energy(self, resource: int) -> Energy:
        """Return the least demand times duration of each task, exactly, (n,)."""
        return self.least(energies(self.arrays.mode_demand[:, resource], self.shortest))

    @cached_property
    def arcs(self) -> Arcs:
        """Every arc that the lags imply."""
        arrays = self.arrays
        source, target = arrays.edge_source, arrays.edge_target
        low, high = self.min_duration[source], self.max_duration[source]
        start = arrays.edge_from_start
        bounded = np.flatnonzero(arrays.edge_max_lag < NO_LIMIT)
        back = -(arrays.edge_max_lag + np.where(start, 0, high))[bounded]
        return Arcs(
            source=np.concatenate([source, target[bounded]]),
            target=np.concatenate([target, source[bounded]]),
            weight=np.concatenate([arrays.edge_min_lag + np.where(start, 0, low), back]),
            from_end=np.concatenate(
                [
                    arrays.edge_min_lag - np.where(start, high, 0),
                    back - self.max_duration[target[bounded]],
                ]
            ),
        )

    @cached_property
    def position(self) -> IntArray:
        """Rank of each task in an order that most arcs follow, int64 (n,)."""
        order = self.arrays.order
        if order is None:
            order = integers(forced_order(len(self.arrays.release), self.arcs))
        position = np.empty(len(order), np.int64)
        position[order] = np.arange(len(order))
        return position

    @cached_property
    def forward(self) -> Paths:
        """Longest paths from time 0: earliest starts."""
        return longest_paths(self.arcs, self.position, self.arrays.release.tolist())

    @cached_property
    def head(self) -> IntArray:
        """Earliest start of each task, int64 (n,)."""
        return np.array(self.forward.value, np.int64)

    @cached_property
    def tail(self) -> IntArray:
        """Ticks that must pass from the end of each task to the end of the project, int64 (n,)."""
        remaining = self._backward(self.min_duration)
        tail = np.zeros(len(remaining), np.int64)
        np.maximum.at(tail, self.arcs.source, self.arcs.from_end + remaining[self.arcs.target])
        return tail

    def latest_starts(self, horizon: int = NO_LIMIT) -> IntArray:
        """Return the latest start of each task if all ends by ``horizon``, int64 (n,)."""
        limit = np.minimum(self.arrays.deadline, horizon)
        return -self._backward(self.min_duration - limit)

    def latest_ends(self) -> IntArray:
        """Return the latest end of each task that the deadlines imply, int64 (n,).

        Values beyond half of ``NO_LIMIT`` mean that there is none.
        """
        end = self.arrays.deadline.copy()
        start = self.latest_starts()
        np.minimum.at(end, self.arcs.source, start[self.arcs.target] - self.arcs.from_end)
        return end

    def _backward(self, initial: IntArray) -> IntArray:
        arcs = self.arcs
        reverse = Arcs(arcs.target, arcs.source, arcs.weight, arcs.from_end)
        paths = longest_paths(reverse, -self.position, initial.tolist())
        return np.array(paths.value, np.int64)


def heads(problem: DagProblem) -> IntArray | None:
    """Return the earliest start of each task, int64 (n,) in ticks.

    Longest path from time 0 over releases, minimum and maximum lags, with the shortest
    duration of the modes that fit. None if the lags have a cycle of positive length.
    """
    relaxation = Relaxation(problem)
    return None if relaxation.forward.cycle else relaxation.head


def tails(problem: DagProblem) -> IntArray | None:
    """Return the ticks from the end of each task to the end of the project, int64 (n,).

    Whatever the modes, the makespan is at least the end of task j plus ``tails[j]``.
    None if the lags have a cycle of positive length.
    """
    relaxation = Relaxation(problem)
    return None if relaxation.forward.cycle else relaxation.tail


def earliest_starts(problem: DagProblem) -> IntArray | None:
    """Return the earliest start of each task in ticks; the same as :func:`heads`."""
    return heads(problem)


def latest_starts(problem: DagProblem, horizon: int) -> IntArray | None:
    """Return the latest start of each task in ticks if everything ends by ``horizon``.

    Deadlines and lags are taken into account; a task whose latest start lies before its
    earliest one proves that no schedule of that length exists. None if the lags have a
    cycle of positive length.
    """
    relaxation = Relaxation(problem)
    return None if relaxation.forward.cycle else relaxation.latest_starts(horizon)
