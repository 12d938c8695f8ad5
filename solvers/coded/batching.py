"""Partial work: who stores how much, and in how many batches results are sent.

Rows that are sent in many batches waste little work, but every batch costs a message. Loads are
split for a number of batches and a total load (:mod:`allocsolve.models.coded.partial`), both are
compared on common draws, and the best few by exact value; in the end numbers next to the best
one are tried with the best loads, by exact value again.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import Loads, batch_numbers, most_batches
from allocsolve.models.coded.node_classes import node_classes
from allocsolve.models.coded.partial import draws_of, fluid_split, rounded
from allocsolve.solvers.coded.ground import Ground

__all__ = ["partial_work", "refine_batches"]

_NUMBERS = 20_000
"""Drawn times of all nodes together, about."""

_FACTORS = (1.02, 1.06, 1.12, 1.2, 1.3, 1.45, 1.65, 1.9, 2.25, 2.7, 3.3, 4.0, 6.0)
"""Total loads, in parts of the need, that are compared where more of it can do harm."""

_FINALISTS = 6
_NEAR = 0.02
"""Loads whose time on the draws is further from the best are not scored exactly, relatively."""

_FEW = 800
"""Loads times numbers of batches up to which all are scored exactly."""

_EXACT_WORK = 2e9
"""Steps that exact values of finalists may take together, some nanoseconds each."""


def partial_work(ground: Ground) -> tuple[CodedAnswer, float] | None:
    """Return the best split of the storage in the best number of batches, with its cost.

    Returns
    -------
    tuple or None
        None if no such loads keep the limits.
    """
    ranked = sorted(_Splits(ground).estimates())
    best: tuple[CodedAnswer, float] | None = None
    work = 0.0
    for time, batches, loads in ranked[:_FINALISTS]:
        work += ground.exact_work(loads, batches)
        if best is not None and (time > ranked[0][0] * (1 + _NEAR) or work > _EXACT_WORK):
            break
        if best is not None and ground.cuts():
            break
        answer = ground.answer(loads, batches)
        cost = ground.cost(answer)
        if best is None or cost < best[1]:
            best = answer, cost
    return best


class _Splits:
    """Splits of total loads on common draws."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        goal, name = ground.problem.objective, ground.problem.objective_name
        count = max(200, min(2000, _NUMBERS // len(ground.domain.caps)))
        quantile = float(goal.q) if name == "quantile" and goal.q is not None else None
        self._draws = draws_of(ground.problem, count, quantile)
        self._caps = ground.domain.caps.astype(np.float64)
        self._plain: dict[float, FloatArray] = {}

    def estimates(self) -> Iterator[tuple[float, int, Loads]]:
        """Yield the mean time on the draws, the number of batches and the loads."""
        ground, need = self._ground, self._ground.domain.need
        is_first = True
        for batches in batch_numbers(ground.problem, need):
            for loads in dict.fromkeys(self._loads(batches)):
                if not is_first and ground.cuts():
                    return
                is_first = False
                yield self._draws.mean(self._draws.whole(loads, need, batches)), batches, loads

    def _loads(self, batches: int) -> Iterator[Loads]:
        """Yield allowed loads for a number of batches."""
        domain, draws = self._ground.domain, self._draws
        room = min(float(domain.total), float(self._caps.sum()))
        single = batches >= int(domain.caps.max(initial=1))
        factors = () if single and not draws.message.any() else _FACTORS
        for total in (*(f * domain.need for f in factors if f * domain.need < room), room):
            loads = self._split(total)
            if draws.message.any():
                slowed = draws.slowed(loads, batches)
                loads = fluid_split(slowed, domain.need, self._caps, total, begin=loads)
            found: Loads | None = rounded(loads, domain.caps, math.floor(total + 1e-9))
            if domain.budget is not None and found and domain.cost(found) > domain.budget:
                prices = np.array([float(price) for price in domain.prices])
                loads = fluid_split(draws, domain.need, self._caps, float(domain.budget), prices)
                found = domain.repaired(rounded(loads, domain.caps, math.floor(loads.sum())))
            if found is not None and domain.allows(found):
                yield found

    def _split(self, total: float) -> FloatArray:
        if total not in self._plain:
            need = self._ground.domain.need
            self._plain[total] = fluid_split(self._draws, need, self._caps, total)
        return self._plain[total]


def _neighbours(batches: int, most: int) -> list[int]:
    """Return the numbers of batches that are tried next to one, the nearest first."""
    near = [batches + d for d in (-1, 1, -2, 2, -3, 3)]
    far = [round(batches * f) for f in (0.8, 1.25, 0.9, 1.12)]
    return [b for b in dict.fromkeys((*near, *far)) if 1 <= b <= most and b != batches]


def refine_batches(ground: Ground) -> bool:
    """Try other numbers of batches with the best loads; tell whether one was better.

    Of small instances all loads are tried in all numbers of batches; then there is nothing
    left to search.
    """
    answer = ground.control.answer
    if answer is None or answer.batches is None or not ground.problem.arrays.message.any():
        return False
    if _is_small(ground):
        _try_all(ground)
        return False
    improved, most = False, most_batches(ground.problem, ground.domain.need)
    while not ground.over():
        for batches in _neighbours(answer.batches or 1, most):
            ground.offer(replace(answer, batches=batches), "batches")
            if ground.over():
                break
        found = ground.control.answer
        if found is None or found == answer:
            break
        answer, improved = found, True
    return improved


def _is_small(ground: Ground) -> bool:
    count = most_batches(ground.problem, ground.domain.need)
    for cap in ground.domain.caps.tolist():
        count *= cap + 1
    return count <= _FEW


def _try_all(ground: Ground) -> None:
    """Offer all allowed loads in all numbers of batches; of nodes alike the order is no matter."""
    class_of = node_classes(ground.problem).tolist()
    most = most_batches(ground.problem, ground.domain.need)
    for loads in itertools.product(*(range(cap + 1) for cap in ground.domain.caps.tolist())):
        last: dict[int, int] = {}
        rising = all(
            last.get(kind, 0) <= load and last.update({kind: load}) is None
            for kind, load in zip(class_of, loads, strict=True)
        )
        if not rising or not ground.domain.allows(loads):
            continue
        for batches in range(1, min(max(loads), most) + 1):
            ground.offer(ground.answer(loads, batches), "enumeration")
            if ground.over():
                return
