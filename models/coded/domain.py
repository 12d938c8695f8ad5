"""Which whole loads are allowed: storage, the total load and the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.rules import unit_times
from allocsolve.models.coded.thresholds import needed_units
from allocsolve.models.exact import exact

__all__ = ["Domain"]


@dataclass(frozen=True, eq=False)
class Domain:
    """The loads of matrix products under a code from which every ``need`` units decode.

    Attributes
    ----------
    caps
        int64 (n,). More than ``need`` units are never useful: the first ``need`` of them
        arrive before and suffice.
    total
        Largest sum of loads.
    prices, budget
        Cost of a unit on each node, and the largest cost, None without a limit.
    times
        float64 (n,), typical time of a unit of load.
    """

    need: int
    caps: IntArray
    total: int
    prices: tuple[Fraction, ...]
    budget: Fraction | None
    times: FloatArray

    @classmethod
    def of(cls, problem: CodedProblem) -> Domain:
        """Return the loads that a problem of matrix products allows."""
        need, limits = needed_units(problem.task), problem.limits
        caps = integers(int(min(need, cap)) for cap in problem.arrays.capacity.tolist())
        total = int(caps.sum())
        if limits.total_load is not None:
            total = min(total, math.floor(exact(limits.total_load)))
        return cls(
            need=need,
            caps=caps,
            total=total,
            prices=tuple(exact(node.cost) for node in problem.nodes),
            budget=None if limits.budget is None else exact(limits.budget),
            times=unit_times(problem),
        )

    def cost(self, loads: Sequence[int]) -> Fraction:
        """Return the price of loads."""
        return sum((p * x for p, x in zip(self.prices, loads, strict=True)), Fraction(0))

    def allows(self, loads: Sequence[int]) -> bool:
        """Whether loads suffice and keep all limits."""
        array = np.asarray(loads)
        if (array < 0).any() or (array > self.caps).any():
            return False
        if not self.need <= int(array.sum()) <= self.total:
            return False
        return self.budget is None or self.cost(loads) <= self.budget

    def whole(self, loads: FloatArray, *, up: bool) -> tuple[int, ...]:
        """Return real loads rounded (up, or to the nearest) and clipped at the capacities."""
        raised = np.minimum(loads, self.need)
        rounded = np.ceil(raised - 1e-9) if up else np.floor(raised + 0.5)
        return tuple(np.clip(rounded, 0, self.caps).astype(np.int64).tolist())

    def repaired(self, loads: Sequence[int]) -> tuple[int, ...] | None:
        """Return allowed loads near the given ones, None if none are found.

        What is missing goes to fast nodes, what is too much is taken from slow ones; with a
        budget to cheap ones and from dear ones.
        """
        mine = np.clip(np.asarray(loads, dtype=np.int64), 0, self.caps)
        keys = self.times if self.budget is None else np.array([float(p) for p in self.prices])
        ranked = np.lexsort((self.times, keys)).tolist()
        for i in ranked:
            lack = self.need - int(mine.sum())
            mine[i] += max(0, min(lack, int(self.caps[i] - mine[i])))
        for i in reversed(ranked):
            excess = int(mine.sum()) - self.total
            mine[i] -= max(0, min(excess, int(mine[i])))
        self._cheapen(mine, ranked)
        found = tuple(mine.tolist())
        return found if self.allows(found) else None

    def _cheapen(self, mine: IntArray, ranked: Sequence[int]) -> None:
        """Drop spare units of dear nodes, then exchange them for cheap ones."""
        if self.budget is None:
            return
        for i in reversed(ranked):
            over = self.cost(mine.tolist()) - self.budget
            if over <= 0:
                return
            if self.prices[i] > 0:
                spare = int(mine.sum()) - self.need
                mine[i] -= max(0, min(spare, int(mine[i]), math.ceil(over / self.prices[i])))
        for i in reversed(ranked):
            for j in ranked:
                over, gain = self.cost(mine.tolist()) - self.budget, self.prices[i] - self.prices[j]
                if over <= 0:
                    return
                if gain > 0:
                    room = min(int(mine[i]), int(self.caps[j] - mine[j]), math.ceil(over / gain))
                    mine[i], mine[j] = mine[i] - room, mine[j] + room

    def cheapest(self) -> tuple[int, ...] | None:
        """Return the need on the cheapest nodes, None if they cannot hold it."""
        ranked = sorted(range(len(self.caps)), key=lambda i: (self.prices[i], self.times[i]))
        loads, rest = [0] * len(self.caps), self.need
        for i in ranked:
            loads[i] = min(rest, int(self.caps[i]))
            rest -= loads[i]
        return tuple(loads) if self.allows(loads) else None
