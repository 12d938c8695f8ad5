"""The order in which nodes work through their partitions, where they send them one by one.

A slow node that has done its first partition helps only if the others have not done it before: so
nodes begin at different places, and what many have in front need not stand in front elsewhere.
Orders are scored by P(T > t) at some times, exactly, and decided by the exact objective. If there
are few orders, all of them are looked at; otherwise pairs of partitions of a node change places
while that helps, from several starts and after random changes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import most_batches
from allocsolve.models.coded.baselines_gradient import GradientJob
from allocsolve.models.coded.check import check
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.law import NoExactLaw, completion_law
from allocsolve.solvers.control import RealControl

__all__ = ["OrderSearch"]

Orders: TypeAlias = tuple[tuple[int, ...], ...]

_ALL = 1500
"""Orders up to which all are looked at."""

_MOST_SCORES = 1500
"""Orders that a search scores at most, and fewer the longer a score takes."""

_WORK = 3e9
"""Steps of all scores together, about a nanosecond each."""

_OVERHEAD = 4e6
"""Steps that a score costs outside of the law itself."""

_POINTS, _EVALUATIONS = 24, 1500
"""Times at which a score of a mean, and an exact value, ask for P(T > t)."""

_NEAR, _FINALISTS = 2e-3, 24
"""Orders with scores this close to the best one, so many at most, are decided exactly."""


class OrderSearch:
    """A search over orders of a gradient job."""

    def __init__(self, job: GradientJob, control: RealControl[CodedAnswer]) -> None:
        self._job, self._problem = job, job.problem
        self._control = control
        self._draw = np.random.Generator(np.random.PCG64(control.limits.seed))
        self._times: FloatArray = np.ones(1)
        self._measure: FloatArray = np.ones(1)
        self._left = 0

    def run(self) -> str | None:
        """Search from the best answer, and from as much on every node as it can take.

        Returns
        -------
        str or None
            ``"all"`` if all orders of the better start were looked at, ``"searched"`` if some were;
            None where orders do not matter or the law is not known.
        """
        most = most_batches(self._problem, self._job.task.partitions)
        found, name = self._control.answer, self._problem.objective_name
        if most < 2 or found is None or found.partitions is None or name == "cost":
            return None
        if self._job.task.messages > 1:
            return None
        told, least = None, math.inf
        for start in (found.partitions, self._everything()):
            if start is None or self._over():
                continue
            answer = self._job.answer(start, "mds", order=start)
            result = self._improve(replace(answer, batches=most))
            if result is not None and result[1] < least:
                told, least = result
        self._fewer(most)
        return told

    def _everything(self) -> Orders | None:
        """Return as many partitions for each node as it can take, begun at different places."""
        count, caps = self._job.task.partitions, self._job.caps
        if self._problem.arrays.holds is not None:
            held = [np.flatnonzero(row).tolist() for row in self._problem.arrays.holds]
            return tuple(
                tuple(_turned(mine, i, len(held))[:cap])
                for i, (mine, cap) in enumerate(zip(held, caps, strict=True))
            )
        every = range(count)
        return tuple(tuple(_turned(every, i, len(caps))[:cap]) for i, cap in enumerate(caps))

    def _improve(self, answer: CodedAnswer) -> tuple[str, float] | None:
        """Offer good orders of the partitions of an answer; say how they were found."""
        if not self._job.allows(answer) or check(self._problem, answer).violations:
            return None
        try:
            self._focus(answer)
        except NoExactLaw:
            return None
        starts = list(self._starts(answer))
        self._focus(min((replace(answer, order=order) for order in starts), key=self._score))
        parts = answer.partitions or ()
        if self._count(parts) <= _ALL:
            return "all", self._decide(answer, self._ranked(answer, self._all(parts)))
        work = _OVERHEAD + 2.0 * _POINTS * self._size(parts)
        self._left = int(min(_MOST_SCORES, max(100.0, _WORK / work)))
        return "searched", self._decide(answer, self._searched(answer, starts))

    def _focus(self, answer: CodedAnswer) -> None:
        """Choose the times at which orders are compared, from the law of an answer."""
        law, goal = completion_law(self._problem, answer), self._problem.objective
        name = self._problem.objective_name
        if name == "mean":
            marks = law.quantiles(np.linspace(0.01, 0.995, _POINTS).tolist())
            times = np.unique([x for x in marks if math.isfinite(x)])
            edges = np.concatenate([[0.0], times, times[-1:] * 1.3])
            self._times, self._measure = times, (edges[2:] - edges[:-2]) / 2
        elif name == "quantile":
            assert goal.q is not None
            self._times = np.array([law.quantile(float(goal.q)) * (1 - 1e-9)])
            self._measure = np.ones(1)
        else:
            assert goal.deadline is not None
            self._times, self._measure = np.array([float(goal.deadline)]), np.ones(1)

    def _score(self, answer: CodedAnswer) -> float:
        self._left -= 1
        return float(self._measure @ completion_law(self._problem, answer).survival(self._times))

    def _starts(self, answer: CodedAnswer) -> Iterator[Orders]:
        parts = answer.partitions or ()
        yield parts
        yield tuple(tuple(_turned(mine, i, len(parts))) for i, mine in enumerate(parts))
        yield self._spread(parts)

    def _spread(self, parts: Orders) -> Orders:
        """Fill places one after another with what is least likely to be done elsewhere."""
        time = float(self._times[len(self._times) // 2])
        rest = [list(mine) for mine in parts]
        missing = np.ones(self._job.task.partitions)
        found: list[list[int]] = [[] for _ in parts]
        ranked = sorted(range(len(parts)), key=lambda i: (self._job.time(i, 1), i))
        for place in range(max((len(mine) for mine in parts), default=0)):
            for i in ranked:
                if rest[i]:
                    part = max(rest[i], key=lambda p: (missing[p], -p))
                    rest[i].remove(part)
                    found[i].append(part)
                    # A node is about as likely to have done so much as it is far ahead of time.
                    missing[part] *= 1.0 - math.exp(-self._job.time(i, place + 1) / time)
        return tuple(tuple(mine) for mine in found)

    def _count(self, parts: Orders) -> float:
        alike = self._is_full(parts)
        return math.prod(math.factorial(len(mine)) for mine in parts[1 if alike else 0 :])

    def _size(self, parts: Orders) -> float:
        """Return the steps of a law at one time."""
        return float(sum(len(mine) for mine in parts) << self._job.task.partitions)

    def _is_full(self, parts: Orders) -> bool:
        """Whether all nodes have the same partitions: then the first one may take any order."""
        return len({frozenset(mine) for mine in parts}) == 1

    def _all(self, parts: Orders) -> Iterator[Orders]:
        choices: list[Iterable[tuple[int, ...]]] = [itertools.permutations(mine) for mine in parts]
        if self._is_full(parts):
            choices[0] = [parts[0]]
        return itertools.product(*choices)

    def _ranked(self, answer: CodedAnswer, orders: Iterator[Orders]) -> list[tuple[float, Orders]]:
        """Score orders until the run has to end, the best first."""
        found = []
        for order in orders:
            found.append((self._score(replace(answer, order=order)), order))
            if self._over():
                break
        return sorted(found)

    def _searched(
        self, answer: CodedAnswer, starts: Sequence[Orders]
    ) -> list[tuple[float, Orders]]:
        """Descend from all starts, then from random changes of the best orders."""
        found = [self._descended(answer, order) for order in starts]
        while self._left > 0 and not self._over():
            found.append(self._descended(answer, self._kicked(min(found)[1])))
        return sorted(set(found))

    def _descended(self, answer: CodedAnswer, order: Orders) -> tuple[float, Orders]:
        best, improved = self._score(replace(answer, order=order)), True
        while improved and self._left > 0 and not self._over():
            improved = False
            swaps = list(_swaps(order))
            for k in self._draw.permutation(len(swaps)).tolist():
                trial = _swapped(order, *swaps[k])
                score = self._score(replace(answer, order=trial))
                if score < best * (1 - 1e-9):
                    order, best, improved = trial, score, True
                if self._left <= 0 or self._over():
                    break
        return best, order

    def _kicked(self, order: Orders) -> Orders:
        swaps = list(_swaps(order))
        for _ in range(3):
            order = _swapped(order, *swaps[int(self._draw.integers(len(swaps)))])
        return order

    def _decide(self, answer: CodedAnswer, ranked: Sequence[tuple[float, Orders]]) -> float:
        """Offer the orders of the best scores at their exact values; return the least cost."""
        least = math.inf
        affordable = int(_WORK / (_EVALUATIONS * self._size(answer.partitions or ())))
        for score, order in ranked[: max(2, min(_FINALISTS, affordable))]:
            if score > ranked[0][0] * (1 + _NEAR) or (least < math.inf and self._over()):
                break
            least = min(least, self._offer(replace(answer, order=order)))
        return least

    def _offer(self, answer: CodedAnswer) -> float:
        cost = exact_cost(self._problem, answer)
        self._control.offer(answer, cost, "orders")
        return cost

    def _fewer(self, most: int) -> None:
        """Try fewer batches, where messages cost time."""
        found = self._control.answer
        if found is None or found.order is None or not self._problem.arrays.message.any():
            return
        for batches in range(2, most):
            try:
                self._offer(replace(found, batches=batches))
            except NoExactLaw:
                continue
            if self._over():
                return

    def _over(self) -> bool:
        return self._control.stopped() is not None


def _turned(parts: Sequence[int], node: int, nodes: int) -> list[int]:
    """Begin at a place of one's own."""
    first = round(node * len(parts) / max(1, nodes))
    return [*parts[first:], *parts[:first]]


def _swaps(order: Orders) -> Iterator[tuple[int, int, int]]:
    """Yield a node and two of its places."""
    for i, mine in enumerate(order):
        for a, b in itertools.combinations(range(len(mine)), 2):
            yield i, a, b


def _swapped(order: Orders, node: int, a: int, b: int) -> Orders:
    mine = list(order[node])
    mine[a], mine[b] = mine[b], mine[a]
    return (*order[:node], tuple(mine), *order[node + 1 :])
