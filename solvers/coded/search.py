"""Local search over whole loads: units move between nodes, in steps that are halved."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from allocsolve.models.arrays import IntArray, integers
from allocsolve.models.coded.baselines import Loads
from allocsolve.models.coded.node_classes import node_classes
from allocsolve.models.coded.scores import Scores
from allocsolve.solvers.coded.ground import Ground

__all__ = ["Search"]

_CHUNK = 3e7
"""Steps of compiled loops between two looks at the limits."""

_SWEEP = 2e5
"""Steps that preparing a sweep costs."""

_EQUAL = 1e-10
"""Relative difference of exact values that counts as none."""

_FEW = 20
"""Nodes up to which the first moves are large."""

_NEIGHBOURS = 12
"""Neighbours that are scored exactly in the end, where quick scores cannot tell them apart."""


class Search:
    """Descents from several starts and from random changes of the best loads.

    Parameters
    ----------
    budget
        Steps of all descents together.
    """

    def __init__(self, ground: Ground, scores: Scores, budget: float) -> None:
        self.ground = ground
        self.scores = scores
        self.budget = budget
        self._class_of = node_classes(ground.problem)
        self._draw = np.random.Generator(np.random.PCG64(ground.control.limits.seed))
        self._work = scores.work()

    def over(self) -> bool:
        """Whether the budget is used up, or the run has to end."""
        return self.budget <= 0 or self.ground.over()

    def improve(self, start: Loads, cost: float, batches: int) -> tuple[Loads, float]:
        """Descend from allowed loads until nothing gets better; offer and return what is found.

        Parameters
        ----------
        cost
            Their exact cost.
        batches
            Number of batches of the answer; the scores may count fewer, larger ones.
        """
        best, step = start, max(1, max(start) // (3 if len(start) <= _FEW else 8))
        while not self.over():
            found = self._descend(best, step)
            if found == best:
                break
            self.budget -= self.ground.exact_work(found, batches)
            value = self.ground.offer(self.ground.answer(found, batches), "local search")
            if not value < cost - _EQUAL * abs(cost):
                break
            best, cost, step = found, value, max(1, max(found) // 8)
            if self.ground.problem.objective_name != "quantile":
                break
        return self._polish(best, cost, batches)

    def kicked(self, loads: Loads) -> Loads | None:
        """Return loads after a few random moves."""
        mine = np.array(loads)
        most = max(1, int(mine.max()) // 4)
        for _ in range(int(self._draw.integers(1, 4))):
            i, j = self._draw.integers(0, len(mine), 2).tolist()
            amount = int(self._draw.integers(1, most + 1))
            mine[i] += amount
            mine[j] -= int(self._draw.integers(0, 2)) * amount
        mine = np.clip(mine, 0, self.scores.caps)
        return self.ground.domain.repaired(mine.tolist())

    def _descend(self, start: Loads, step: int) -> Loads:
        scores = self.scores
        scores.focus(start)
        loads = np.array(start, dtype=np.int64)
        value = np.array([scores.score(start)])
        while step >= 1 and not self.over():
            if self._sweep(loads, value, step) == 0:
                step //= 2
        return tuple(loads.tolist())

    def _sweep(self, loads: IntArray, value: np.typing.NDArray[np.float64], step: int) -> int:
        """Try every move once, in random order; return how many improved the loads."""
        moves = self._draw.permutation(self._moves(loads))
        chunk, found = max(1, int(_CHUNK / self._work)), 0
        for begin in range(0, len(moves), chunk):
            part = np.ascontiguousarray(moves[begin : begin + chunk])
            found += self.scores.scan(part, step, loads, value)
            self.budget -= _SWEEP + self._work * len(part)
            if self.over():
                break
        return found

    def _moves(self, loads: IntArray) -> IntArray:
        """Return the moves that differ: nodes alike with equal loads stand for each other."""
        groups: dict[tuple[int, int], list[int]] = {}
        for i, key in enumerate(zip(self._class_of.tolist(), loads.tolist(), strict=True)):
            if self.scores.caps[i] > 0:
                groups.setdefault(key, []).append(i)
        leaders = [members[0] for members in groups.values()]
        moves = [(i, j) for i in leaders for j in (-1, -2)]
        moves += [(i, j) for i in leaders for j in leaders if i != j]
        moves += [(members[0], members[1]) for members in groups.values() if len(members) > 1]
        return integers(np.array(moves).ravel().tolist()).reshape(-1, 2)

    def _polish(self, best: Loads, cost: float, batches: int) -> tuple[Loads, float]:
        """Score exactly those neighbours that the quick scores cannot tell from the best."""
        if self.ground.problem.objective_name != "mean" or not math.isfinite(cost):
            return best, cost
        improved = True
        while improved and not self.over():
            improved = False
            for loads in self._close(best):
                value = self.ground.offer(self.ground.answer(loads, batches), "local search")
                self.budget -= self.ground.exact_work(loads, batches)
                if value < cost - _EQUAL * abs(cost):
                    best, cost, improved = loads, value, True
                    break
                if self.over():
                    break
        return best, cost

    def _close(self, best: Loads) -> Sequence[Loads]:
        """Return the neighbours by single units of the best quick scores."""
        self.scores.focus(best)
        ranked = []
        for i, j in self._moves(integers(best)).tolist():
            trial = list(best)
            trial[i] += -1 if j == -2 else 1
            if j >= 0:
                trial[j] -= 1
            if self.ground.domain.allows(trial) and self.scores.covers(trial):
                ranked.append((self.scores.score(trial), tuple(trial)))
                self.budget -= self._work
            if self.over():
                break
        ranked.sort()
        return [loads for _, loads in ranked[:_NEIGHBOURS]]
