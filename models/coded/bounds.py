"""Bounds on what any loads can reach, from the true laws of the nodes.

A *ceiling* bounds P(T <= t) from above for all loads at once. Integrated, ``E[T] >= integral of
1 - ceiling``; a quantile is at least the time at which the ceiling reaches q.

* Independent nodes that send one result each: the *adaptive* ceiling. If every load could be
  chosen after seeing what arrived from the nodes before, P(T <= t) would be a dynamic program.
  Nodes are asked in blocks, whose loads are fixed together, as large as there is time for: less
  is seen, and the ceiling is lower.
* Everything else: the *rateless* ceiling. By t a node has returned no more than the rows that it
  can have worked through by then, whatever its load and batches.

Both hold for every code, since no code needs fewer units than the one they count with. Sums
over times are lower sums, so that no rule of integration has to be trusted.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.coded.arrivals import Arrivals
from allocsolve.models.coded.bounds_kernels import adaptive_values, block_ceiling
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.law_arrays import array_survival
from allocsolve.models.coded.law_kernels import threshold_survival
from allocsolve.models.coded.law_terms import Terms, terms_of
from allocsolve.models.coded.load_columns import LoadColumns
from allocsolve.models.coded.load_kernels import Table
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.kernels import runs_plain
from allocsolve.models.laws_base import vector

__all__ = ["Adaptive", "Ceiling", "Rateless", "ceiling_of", "lower_mean", "lower_quantile"]

_STEPS = 1e9
"""Steps of compiled loops that a bound may take; the work is counted in larger units beyond."""

_BLOCKS = 1e9
"""Steps that blocks of nodes may take for all times of a bound."""

_HORIZON = 3.0
"""Times up to which loads may be of use, in parts of that in which all nodes together are done."""

_MOST_STAIRS = 1000

_TURNS = 8
"""Turns in which times are looked at, so that a bound that is cut short is known everywhere."""

_POINTS = 200
"""Times of a lower sum, about."""

_CHUNK = 5e7
"""Steps of compiled loops between two looks at the limits."""

_PRICES = (0.25, 0.5, 1.0, 2.0)
"""What a whole limit is worth as a probability; of the bounds the lowest counts."""

_ROUNDING = 1e-12
"""By so much a bound is weaker than computed."""


class Ceiling(ABC):
    """An upper bound of P(T <= t) for all loads at once."""

    name: str
    together: int
    """Times that are done in about a tenth of a second."""

    stairs: FloatArray | None
    """float64, all times at which something can arrive, from 0 on, if these are so few that
    sums over them are exact; else None."""

    @abstractmethod
    def reach(self, times: FloatArray) -> FloatArray:
        """Return the bound at each time, float64 (times,)."""


class Adaptive(Ceiling):
    """Loads that may depend on what earlier blocks of nodes sent; fast nodes are asked first."""

    name = "adaptive loads"

    def __init__(self, problem: CodedProblem, domain: Domain, points: int = _POINTS) -> None:
        top = max(1, int(domain.caps.max(initial=1)))
        columns = LoadColumns.of(problem, 1, top)
        # Nodes of a class stand side by side.
        order = np.lexsort((np.arange(len(domain.caps)), columns.class_of, domain.times))
        self.order = integers(order.tolist())
        useful = _useful(columns, domain)
        self.unit = _unit(useful * domain.need * points)
        blocks = 0.0 if runs_plain(block_ceiling) else _BLOCKS / max(points, 1)
        self.effort = blocks / len(domain.caps)
        """Steps that a block of nodes may take at each time."""
        steps_of_a_time = blocks + useful * domain.need / self.unit**2
        self.together = max(1, int(_CHUNK / steps_of_a_time))
        self.need = -(-domain.need // self.unit)
        self.caps = integers((-(-domain.caps[order] // self.unit)).tolist())
        self.class_of = integers(columns.class_of[order].tolist())
        self._columns = columns
        self.stairs = _stairs(columns.terms)
        used = np.arange(0, top, self.unit)
        self._used = (columns.first[:, 1:2] + used).ravel()
        steps = np.concatenate([[0], np.arange(len(used) + 1)])
        self.first = steps + len(used) * np.arange(len(columns.first))[:, None]
        self.prices = _multipliers(problem, domain, order)

    def in_order(self, values: FloatArray) -> FloatArray:
        """Return values of the nodes in the order in which they are asked."""
        return np.ascontiguousarray(values[self.order])

    def table(self, times: FloatArray) -> Table:
        """Return the loads that are counted, at some times."""
        late = self._columns.late(times)[:, self._used]
        return Table.of(late, np.ones(late.shape[1], np.int64), self.first, self.class_of)

    def values(self, times: FloatArray, price: FloatArray | None = None) -> FloatArray:
        """Return the values of the dynamic program, float64 (times, n + 1, need + 1)."""
        out = np.empty((len(times), len(self.caps) + 1, self.need + 1))
        none = np.zeros(len(self.caps))
        adaptive_values(
            self.table(times),
            self.caps,
            none if price is None else price,
            self.need,
            out,
        )
        return out

    def reach(self, times: FloatArray) -> FloatArray:
        """Return the bound; limits of the total load and of the cost enter as prices."""
        best, nodes = np.ones(len(times)), len(self.caps)
        table, found = self.table(times), np.empty(len(times))
        for price, offset in [(np.zeros(nodes), 0.0), *self.prices]:
            block_ceiling(table, self.caps, price, self.need, self.effort, found)
            best = np.minimum(best, found + offset)
        return best

    def least_cost(self, time: float, confidence: float, prices: FloatArray) -> float:
        """Return a lower bound of the cost of loads that are complete by a time surely enough.

        By Lagrangian relaxation: ``cost >= c (confidence - max (P - cost / c))`` for all c > 0.
        """
        best, scale = 0.0, float(prices.max(initial=0.0)) * self.need * self.unit
        for factor in np.geomspace(0.01, 100, 33).tolist():
            height = factor * scale
            if height > 0:
                value = self.values(np.array([time]), prices / height)[0, 0, self.need]
                best = max(best, height * (confidence - float(value)))
        return best


def _stairs(terms: Terms) -> FloatArray | None:
    corners = terms.corners
    return corners if terms.atoms == "all" and len(corners) <= _MOST_STAIRS else None


def _useful(columns: LoadColumns, domain: Domain) -> float:
    """Return the number of loads, of all nodes together, that may arrive in time."""
    pace = float((1.0 / np.maximum(domain.times, 1e-300)).sum())
    horizon = np.array([_HORIZON * domain.need / max(pace, 1e-300)])
    late = columns.late(horizon)[0].reshape(len(columns.first), -1)
    tops = (late < 1.0).sum(axis=1)[columns.class_of]
    return float(np.minimum(tops, domain.caps).sum())


def _unit(steps: float) -> int:
    """Return how many rows are counted as one, so that a bound is not too slow."""
    return max(1, math.ceil(math.sqrt(steps / _STEPS)))


def _multipliers(
    problem: CodedProblem, domain: Domain, order: IntArray
) -> list[tuple[FloatArray, float]]:
    """Return prices of units for limits that bind, each with what the whole limit is worth.

    Of rows that are counted in larger units, c units stand for c rows at least: no unit is
    dearer than a row.
    """
    found = []
    if domain.total < int(domain.caps.sum()):
        for height in _PRICES:
            price = height / domain.total
            found.append((np.full(len(order), price), price * domain.total))
    if domain.budget is not None and domain.budget > 0:
        budget = float(domain.budget)
        costs = problem.arrays.cost[order]
        found += [(costs * height / budget, height) for height in _PRICES]
    return found


class Rateless(Ceiling):
    """Every row counts as soon as it can have been worked through."""

    name = "rateless loads"

    def __init__(self, problem: CodedProblem, domain: Domain, points: int = _POINTS) -> None:
        rows = int(domain.caps.sum())
        self._unit = _unit(float(rows) * domain.need * points)
        counts = [-(-int(cap) // self._unit) for cap in domain.caps.tolist()]
        node = np.repeat(np.arange(len(counts)), counts)
        number = np.concatenate([np.arange(count) for count in counts])
        order = np.lexsort((number, node, _sources(problem)[node]))
        node, done = node[order], number[order] * self._unit + 1
        self._terms = terms_of(problem, _rows(problem, node, done))
        self.stairs = _stairs(self._terms)
        source = _sources(problem)[node]
        starts = np.flatnonzero(np.concatenate([[True], np.diff(source) != 0]))
        self._first = np.array([*starts.tolist(), len(node)], dtype=np.int64)
        self._weight = np.ones(len(node), np.int64)
        self._need = -(-domain.need // self._unit)
        self.together = max(1, int(_CHUNK / max(1.0, 2.0 * len(node) * self._need)))

    def reach(self, times: FloatArray) -> FloatArray:
        """Return the bound."""
        out = np.empty(len(times))
        for k in range(0, len(times), self.together):
            part = slice(k, k + self.together)
            late = np.ascontiguousarray(self._terms.late(times[part]))
            survive = array_survival if runs_plain(threshold_survival) else threshold_survival
            survive(late, self._first, self._weight, self._need, out[part])
        return np.asarray(1.0 - out)


def _sources(problem: CodedProblem) -> IntArray:
    """Return a number of each node, equal for nodes that straggle together."""
    group = problem.arrays.group
    return np.where(group >= 0, group, len(group) + np.arange(len(group)))


def _rows(problem: CodedProblem, node: IntArray, done: IntArray) -> Arrivals:
    """Return a result for each count of rows, sent with the first message."""
    arrays, units = problem.arrays, done.astype(np.float64)
    per_row, additive = problem.scaling == "per_row", problem.scaling == "additive"
    speed = np.where(arrays.speed > 0, arrays.speed, 1.0)[node]
    offset = arrays.startup[node] + arrays.message[node]
    return Arrivals(
        node=integers(node.tolist()),
        draws=integers(done.tolist() if per_row else [1] * len(done)),
        scale=vector((np.ones(len(done)) if per_row or additive else units) / speed),
        offset=vector(offset + (units * arrays.row_time[node] if additive else 0.0)),
        done=(),
        weight=integers([1] * len(done)),
    )


def ceiling_of(problem: CodedProblem, domain: Domain) -> Ceiling:
    """Return the ceiling that suits a problem with runtime laws."""
    points = _POINTS if problem.objective_name == "mean" else 60
    if problem.limits.batches == 1 and problem.arrays.independent:
        return Adaptive(problem, domain, points)
    return Rateless(problem, domain, points)


def lower_mean(
    ceiling: Ceiling, marks: Sequence[float], stop: Callable[[], bool] = lambda: False
) -> float:
    """Return a lower bound of the mean: a lower sum of ``1 - ceiling``.

    No loads are complete by t more likely than by a later time, so what the ceiling leaves open
    there is open at t too.

    Parameters
    ----------
    marks
        Quantiles of a good answer, which tell where points are worth most.
    stop
        Asked again and again; the sum is a bound whenever it says that it is enough.
    """
    if ceiling.stairs is None:
        finite = [x for x in marks if 0 < x < math.inf]
        if not finite:
            return 0.0
        low, high = finite[0], finite[-1]
        beyond = high * 1.15 ** np.arange(1, 12)
        times = np.unique([*np.linspace(0, low, 24)[1:], *finite, *beyond])
        widths = np.diff(np.concatenate([[0.0], times]))
    else:
        # Nothing changes between two stairs.
        times, widths = ceiling.stairs[:-1], np.diff(ceiling.stairs)
    open_share = np.zeros(len(times))
    for first in range(_TURNS):
        turn = np.arange(first, len(times), _TURNS)
        for k in range(0, len(turn), ceiling.together):
            if stop():
                break
            part = turn[k : k + ceiling.together]
            open_share[part] = np.maximum(0.0, 1.0 - ceiling.reach(times[part]) - _ROUNDING)
    still = np.maximum.accumulate(open_share[::-1])[::-1]
    return float(widths @ still) * (1 - _ROUNDING)


def lower_quantile(
    ceiling: Ceiling, q: float, known: float, stop: Callable[[], bool] = lambda: False
) -> float:
    """Return a lower bound of the quantile q, given that of an answer, by bisection."""
    low, high = 0.0, known
    if not math.isfinite(known):
        return 0.0
    while high - low > 1e-9 * high and not stop():
        middle = (low + high) / 2
        if float(ceiling.reach(np.array([middle]))[0]) >= q - _ROUNDING:
            high = middle
        else:
            low = middle
    return low
