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
from allocsolve.solvers.coded.pair_descent import PairDescent

__all__ = ["Search"]

_CHUNK = 3e7
"""Steps of compiled loops between two looks at the limits."""

_SWEEP = 2e5
"""Steps that preparing a sweep costs."""

_EQUAL = 1e-10
"""Relative difference of exact values that counts as none."""

_PAIR = 0.1
"""Steps that the best loads of two nodes take, for each step of a score."""

_FEW = 20
"""Nodes up to which the first moves are large."""

_KICK = 2e5
"""Steps that a random change and what follows cost outside of compiled loops."""

_FIRST, _KICKED = 3, 8
"""Share of the largest load by which first moves are smaller than it."""

_NOISE = 1e-11
"""Relative difference of quick scores that counts as none."""

_POLISH = 1e9
"""Steps up to which all neighbours of the best loads are scored once more."""

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
        best, first = start, True
        while not self.over():
            found = self._descended(best, first=first)
            if found == best:
                break
            value = self._offer(found, batches)
            if not value < cost - _EQUAL * abs(cost):
                break
            best, cost, first = found, value, False
            if self.ground.problem.objective_name != "quantile":
                break
        return self._polish(best, cost, batches)

    def wander(self, best: Loads, cost: float, batches: int) -> None:
        """Change good loads at random and descend, until the budget is used up.

        Scores stay focused on the best loads: what does not beat them there is not looked at
        exactly.
        """
        while not self.over():
            self.scores.focus(best)
            level = self.scores.score(best)
            found = self._wandered(best, level)
            if found is None:
                break
            value = self._offer(found, batches)
            if value < cost - _EQUAL * abs(cost):
                best, cost = self.improve(found, value, batches)

    def _wandered(self, best: Loads, level: float) -> Loads | None:
        """Return loads that score better than the best ones, None if the search is over."""
        while not self.over():
            kicked = self.kicked(best)
            self.budget -= self._work + _KICK
            if kicked is None or not self.scores.covers(kicked):
                continue
            if self.scores.by_pairs:
                pairs = zip(kicked, best, strict=True)
                changed = [i for i, (new, old) in enumerate(pairs) if new != old]
                found, score = self._by_pairs().improve(kicked, changed)
            else:
                found, score = self._descend(kicked, max(1, max(kicked) // _KICKED))
            if score < level - _NOISE * abs(level):
                return found
        return None

    def _offer(self, loads: Loads, batches: int) -> float:
        self.budget -= self.ground.exact_work(loads, batches)
        return self.ground.offer(self.ground.answer(loads, batches), "local search")

    def _by_pairs(self) -> PairDescent:
        return PairDescent(self.scores, self._draw, self._class_of, self.spend)

    def _descended(self, best: Loads, *, first: bool) -> Loads:
        """Return what a descent by quick scores finds."""
        if not self.scores.by_pairs:
            share = _FIRST if first and len(best) <= _FEW else _KICKED
            self.scores.focus(best)
            return self._descend(best, max(1, max(best) // share))[0]
        if first and self.is_long():
            self.scores.focus(best, coarse=True)
            best = self._by_pairs().improve(best)[0]
        self.scores.focus(best)
        return self._by_pairs().improve(best)[0]

    def is_long(self) -> bool:
        """Whether a look at all pairs takes long with fine scores."""
        nodes = len(self._class_of)
        return nodes * (nodes - 1) / 2 * self._work * _PAIR > 10 * _CHUNK

    def spend(self, work: float) -> bool:
        """Take steps from the budget; tell whether the search goes on."""
        self.budget -= work
        return not self.over()

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

    def _descend(self, start: Loads, step: int) -> tuple[Loads, float]:
        scores = self.scores
        loads = np.array(start, dtype=np.int64)
        value = np.array([scores.score(start)])
        while step >= 1 and not self.over():
            if self._sweep(loads, value, step) == 0:
                step //= 2
        return tuple(loads.tolist()), float(value[0])

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
        improved = len(self._moves(integers(best))) * self._work <= _POLISH
        while improved and not self.over():
            improved = False
            for loads in self._close(best):
                value = self._offer(loads, batches)
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
