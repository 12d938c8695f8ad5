"""Descent over whole loads by pairs of nodes: each pair gets its best loads, of any size."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.coded.baselines import Loads
from allocsolve.models.coded.scores import Scores

__all__ = ["PairDescent"]

_CHUNK = 3e7
"""Steps of compiled loops between two looks at the limits."""

_MOST_PAIRS, _FOR_EACH = 1000, 5
"""Pairs of a sweep, and for each node, at most; of more some are drawn."""

_NEAR = 4
"""Changes of a load up to which all are tried; larger ones grow by factors."""


class PairDescent:
    """Descents under quick scores, which have been focused before.

    Parameters
    ----------
    draw
        Decides the order in which pairs are looked at.
    class_of
        int64 (n,), nodes of a class can stand for each other.
    spend
        Takes the steps that were done; False if the search has to end.
    """

    def __init__(
        self,
        scores: Scores,
        draw: np.random.Generator,
        class_of: IntArray,
        spend: Callable[[float], bool],
    ) -> None:
        self._scores = scores
        self._draw = draw
        self._class_of = class_of
        self._spend = spend
        self._most = max(_MOST_PAIRS, _FOR_EACH * len(class_of))
        self._offsets = _offsets(int(scores.caps.max(initial=1)))

    def improve(self, start: Loads, changed: Sequence[int] | None = None) -> tuple[Loads, float]:
        """Return loads of which no pair is better with other loads, and their score.

        Parameters
        ----------
        changed
            Nodes whose loads are not known to be good: pairs without one are not looked at
            before one of theirs has changed. None for all.
        """
        loads, value = np.array(start, dtype=np.int64), np.full(1, np.inf)
        alive = np.flatnonzero(self._scores.caps > 0).tolist()
        todo = set(alive if changed is None else changed) & set(alive)
        last = np.inf
        while todo:
            before = loads.copy()
            going = self._scan(self._alone(loads, todo), loads, value)
            todo |= set(np.flatnonzero(loads != before).tolist())
            between = loads.copy()
            going = going and self._scan(self._pairs(loads, todo), loads, value)
            todo = set(np.flatnonzero(loads != between).tolist())
            if not going or not value[0] < last:
                break
            last = float(value[0])
        return tuple(loads.tolist()), float(value[0])

    def _scan(self, pairs: IntArray, loads: IntArray, value: FloatArray) -> bool:
        """Look at pairs in random order; tell whether the search goes on."""
        order = self._draw.permutation(pairs)
        work = self._scores.pair_work(loads)
        chunk, begin = max(1, int(_CHUNK / work)), 0
        while begin < len(order):
            part = np.ascontiguousarray(order[begin : begin + chunk])
            self._scores.scan_pairs(part, self._offsets, loads, value)
            begin += chunk
            if not self._spend(work * (len(part) + len(loads) / 3)):
                return False
        return True

    def _alone(self, loads: IntArray, todo: set[int]) -> IntArray:
        leaders = [members[0] for members in self._groups(loads, todo)]
        return _table([(i, -1) for i in leaders])

    def _pairs(self, loads: IntArray, todo: set[int]) -> IntArray:
        """Return the pairs that differ: nodes alike with equal loads stand for each other."""
        alive = set(np.flatnonzero(self._scores.caps > 0).tolist())
        groups = list(self._groups(loads, alive))
        found = [(g[0], g[1]) for g in groups if len(g) > 1 and not todo.isdisjoint(g)]
        for first, second in itertools.combinations(groups, 2):
            if not (todo.isdisjoint(first) and todo.isdisjoint(second)):
                found.append((first[0], second[0]))
        if len(found) > self._most:
            chosen = self._draw.choice(len(found), self._most, replace=False)
            found = [found[k] for k in chosen.tolist()]
        return _table(found)

    def _groups(self, loads: IntArray, nodes: set[int]) -> list[list[int]]:
        groups: dict[tuple[int, int], list[int]] = {}
        for i in sorted(nodes):
            groups.setdefault((int(self._class_of[i]), int(loads[i])), []).append(i)
        return list(groups.values())


def _table(pairs: Sequence[tuple[int, int]]) -> IntArray:
    return integers(k for pair in pairs for k in pair).reshape(-1, 2)


def _offsets(most: int) -> IntArray:
    """Return the changes of a load that are tried: small ones, and ever larger ones."""
    found, size = set(range(_NEAR + 1)), float(_NEAR)
    while size < most:
        size *= 1.4
        found.add(min(round(size), most))
    return integers(sorted(found | {-step for step in found}))
