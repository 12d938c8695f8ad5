"""Partitions of gradients for nodes: the rules of the literature, with exact whole loads.

``heterogeneity_aware``: with every partition on s + m nodes, the job waits for the slowest node
in the worst case, so the least time t is the least one at which the nodes together can work
through enough partitions, ``sum_i min(k, storage_i, floor(c_i t)) >= k (s + m)``. The left side
only rises at times at which a node completes a partition: bisection over these is exact. With
data locality the sum becomes a maximum flow. (Wang, Guo, Tang et al. 2019 round the real
solution instead, which can be wrong by a third.)

``cyclic``: equal loads on arcs of a circle (Tandon et al. 2017); ``fractional_repetition``: groups
of at least s + 1 nodes with the same partitions, here nodes of similar speed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.costs import keeps_totals
from allocsolve.models.coded.data import Gradient
from allocsolve.models.coded.placing import arcs, flow_placement
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.thresholds import APPROXIMATE, needed_units
from allocsolve.models.coded.worst import mean_times

__all__ = ["GRADIENT_RULES", "GradientJob", "Parts"]

Parts: TypeAlias = Sequence[Sequence[int]]


class GradientJob:
    """A gradient with what a node needs for a load.

    Attributes
    ----------
    copies
        Nodes on which each partition is needed.
    caps
        Largest load of each node.
    """

    def __init__(self, problem: CodedProblem) -> None:
        assert isinstance(problem.task, Gradient)
        self.problem = problem
        self.task = problem.task
        self.copies = needed_units(problem.task)
        self.caps = [int(cap) for cap in problem.arrays.capacity.tolist()]
        arrays, times = problem.arrays, mean_times(problem)
        self._start = (arrays.startup + arrays.message / self.task.messages).tolist()
        if problem.scaling == "additive":
            self._unit, self._draw = arrays.row_time.tolist(), times.tolist()
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                unit = np.where(arrays.speed > 0, times / arrays.speed, np.inf)
            self._unit, self._draw = unit.tolist(), [0.0] * len(times)

    def time(self, node: int, load: int) -> float:
        """Return the mean time of a node for a load."""
        return float(self._start[node] + load * self._unit[node] + self._draw[node])

    def times(self) -> FloatArray:
        """Return all times at which a node completes a partition, rising, float64 (k,).

        The last one is infinite if a node has no mean: then it may take all that it can hold.
        """
        found = [np.zeros(0)]
        for i, cap in enumerate(self.caps):
            # As in `time`, to the last bit: what is found here is compared with it.
            loads = np.arange(1, cap + 1)
            found.append(self._start[i] + loads * self._unit[i] + self._draw[i])
        return np.unique(np.concatenate(found))

    def most(self, time: float) -> list[int]:
        """Return how many partitions each node can work through within a time."""
        found = []
        for i, cap in enumerate(self.caps):
            low, high = 0, cap
            while low < high:
                middle = (low + high + 1) // 2
                within = self.time(i, middle) <= time
                low, high = (middle, high) if within else (low, middle - 1)
            found.append(low)
        return found

    def place(self, most: Sequence[int]) -> list[tuple[int, ...]] | None:
        """Return partitions that keep the loads, None if they do not suffice."""
        if sum(most) < self.copies * self.task.partitions:
            return None
        holds = self.problem.arrays.holds
        if holds is not None:
            return flow_placement(most, holds, self.copies)
        return arcs(self._trimmed(most), self.task.partitions)

    def _trimmed(self, most: Sequence[int]) -> list[int]:
        """Take what is not needed from dear nodes if there is a budget, else from slow ones."""
        loads, spare = list(most), sum(most) - self.copies * self.task.partitions
        price = self.problem.arrays.cost if self.problem.limits.budget is not None else None
        ranked = sorted(
            (i for i, load in enumerate(loads) if load > 0),
            key=lambda i: (0.0 if price is None else -price[i], -self.time(i, 1), i),
        )
        for i in ranked:
            less = min(spare, loads[i])
            loads[i] -= less
            spare -= less
        return loads

    def answer(self, parts: Parts, family: str, order: Parts | None = None) -> CodedAnswer:
        """Return partitions as an answer in one batch."""
        return CodedAnswer(
            loads=tuple(Fraction(len(mine)) for mine in parts),
            code=self.code(family),
            batches=None if self.problem.limits.batches == 1 else 1,
            partitions=tuple(tuple(mine) for mine in parts),
            order=None if order is None else tuple(tuple(mine) for mine in order),
        )

    def code(self, family: str) -> Code:
        """Return a code with the parameters of the task."""
        return Code(family, stragglers=self.task.stragglers, messages=self.task.messages)

    def approximate(self, parts: Parts, copies: int, awaited: int) -> CodedAnswer:
        """Return groups as an answer that waits for some of their results."""
        code = Code(APPROXIMATE, k=awaited, copies=copies, stragglers=self.task.stragglers)
        return replace(self.answer(parts, APPROXIMATE), code=code)

    def allows(self, answer: CodedAnswer) -> bool:
        """Whether the loads keep the limits of all nodes together."""
        return keeps_totals(self.problem, answer)


def _aware(job: GradientJob) -> Iterator[CodedAnswer]:
    """Yield the answer of least worst time, by bisection over the times that can be it."""
    times = job.times()
    low, high = 0, len(times)
    while low < high:
        middle = (low + high) // 2
        enough = _fits(job, float(times[middle]))
        low, high = (low, middle) if enough else (middle + 1, high)
    if low < len(times):
        parts = job.place(job.most(float(times[low])))
        assert parts is not None
        yield job.answer(parts, "heterogeneity_aware")


def _fits(job: GradientJob, time: float) -> bool:
    """Whether the nodes can work through enough partitions, within the budget if there is one."""
    parts = job.place(job.most(time))
    if parts is None or job.problem.limits.budget is None:
        return parts is not None
    return job.allows(job.answer(parts, "heterogeneity_aware"))


def _cyclic(job: GradientJob) -> Iterator[CodedAnswer]:
    """Yield equal loads on arcs, if all nodes can take them."""
    alive = [i for i, cap in enumerate(job.caps) if cap > 0]
    if job.problem.arrays.holds is not None or not alive:
        return
    least, more = divmod(job.copies * job.task.partitions, len(alive))
    loads = [0] * len(job.caps)
    for place, i in enumerate(sorted(alive, key=lambda i: (job.time(i, 1), i))):
        loads[i] = least + (place < more)
    if all(
        load <= min(cap, job.task.partitions) for load, cap in zip(loads, job.caps, strict=True)
    ):
        yield job.answer(arcs(loads, job.task.partitions), "cyclic")


def _repeated(job: GradientJob) -> Iterator[CodedAnswer]:
    """Yield groups of nodes of similar speed that share their partitions, for each number."""
    if job.problem.arrays.holds is not None or job.task.messages > 1:
        return
    ranked = sorted(
        (i for i, cap in enumerate(job.caps) if cap > 0), key=lambda i: (job.time(i, 1), i)
    )
    for count in range(1, len(ranked) // job.copies + 1):
        groups = [list(group) for group in np.array_split(np.array(ranked), count)]
        if min(len(group) for group in groups) < job.copies:
            continue
        shares = _shares(job, groups)
        if shares is None:
            continue
        parts: list[tuple[int, ...]] = [()] * len(job.caps)
        first = 0
        for group, share in zip(groups, shares, strict=True):
            for i in group:
                parts[i] = tuple(range(first, first + share)) if share else ()
            first += share
        yield job.answer(parts, "fractional_repetition")


def _shares(job: GradientJob, groups: Sequence[Sequence[int]]) -> list[int] | None:
    """Return partitions of each group, one after another to the one that is done first."""
    shares = [0] * len(groups)
    room = [min(job.caps[i] for i in group) for group in groups]
    for _ in range(job.task.partitions):
        free = [g for g in range(len(groups)) if shares[g] < room[g]]
        if not free:
            return None
        chosen = min(free, key=lambda g: (_late(job, groups[g], shares[g] + 1), g))
        shares[chosen] += 1
    return shares


def _late(job: GradientJob, group: Sequence[int], share: int) -> float:
    return sorted(job.time(i, share) for i in group)[job.task.stragglers]


Rule: TypeAlias = Callable[[GradientJob], Iterator[CodedAnswer]]

GRADIENT_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "heterogeneity_aware": _aware,
        "cyclic": _cyclic,
        "fractional_repetition": _repeated,
    }
)
"""Rules by name; each yields its candidates."""
