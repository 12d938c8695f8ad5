"""Loads for partial work: who gets how much of the storage, if every finished row counts.

Without a limit of the loads every node would simply work until the job is complete. With loads
``l_i`` of a limited sum, and rows that are sent one by one, the job ends at
``T = min{t : sum_i min(l_i, (t - s_i) / X_i) >= r}``, where ``s_i`` is the time before the first
row. For given draws T is convex in the loads: ``sum_i min(l_i, (t - s_i) / X_i)`` is concave in
loads and time together, so the pairs (loads, t) that are complete form a convex set. One more
row on node i shortens T by ``1{node i has run out of work by T} / sum_j 1{j is at work} / X_j``;
in the optimum the mean of that is the same for all nodes. All loads are compared on the same
draws (common random numbers), which are stratified for each node.

Whole rows cost more than that: when the job is complete, every other node has a row half done,
on average. So whatever the loads, rows of a size cost about ``(n - 1) / (2 r)`` of the rateless
time ``r / sum_i 1 / X_i`` (:func:`floor_loss`).

Sources: the limit p -> infinity of BPCC (Das and Kumar 2020) with limited storage; work
conservation as in rateless codes (Mallick, Chaudhari, Sheth, Palanikumar and Joshi 2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.node_classes import node_classes
from allocsolve.models.coded.problem import CodedProblem

__all__ = ["Draws", "draws_of", "floor_loss", "fluid_split", "rounded"]

_ROUNDS, _IDLE = 40, 2
"""Steps of the fixed point at most, and those without a gain after which it ends."""

_TINY = 1e-300
_CLOSE = 1e-5
"""Relative difference of mean times on draws that does not count."""

_SHORT = 1e-9
"""Relative length of an interval of times that is not halved any more."""

_LEVELS = 25
"""Halvings of the interval of the worth of a row; what is left over is dealt out evenly."""


@dataclass(frozen=True, eq=False)
class Draws:
    """Common draws of all nodes.

    Attributes
    ----------
    start, unit
        float64 (draws, n), time before the first row, and of a row; infinite for a dead node.
    weight
        float64 (draws,), how much each draw counts; sums to 1.
    message
        float64 (n,), time of sending one result.
    class_of
        int64 (n,), nodes of a class are alike.
    """

    start: FloatArray
    unit: FloatArray
    weight: FloatArray
    message: FloatArray
    class_of: IntArray

    def fluid(self, loads: FloatArray, need: float) -> tuple[FloatArray, FloatArray]:
        """Return when work that can be divided at will is complete, and how fast it then goes.

        Parameters
        ----------
        loads
            float64 (n,), real; they add up to the need at least.

        Returns
        -------
        tuple
            float64 (draws,) times, and rows per time of the nodes that are at work then.
        """
        pace, lasting = 1.0 / self.unit, loads * np.where(loads > 0, self.unit, 0.0)
        ends = np.concatenate([self.start, self.start + lasting], axis=1)
        slopes = np.concatenate([pace, -pace], axis=1)
        slopes[:, np.concatenate([loads <= 0, loads <= 0])] = 0.0
        ends[~np.isfinite(ends)] = 0.0
        order = np.argsort(ends, axis=1, kind="stable")
        times = np.take_along_axis(ends, order, axis=1)
        speed = np.maximum(np.cumsum(np.take_along_axis(slopes, order, axis=1), axis=1), 0.0)
        done = np.cumsum(speed[:, :-1] * np.diff(times, axis=1), axis=1)
        place = (done < need * (1 - 1e-12)).sum(axis=1).clip(max=done.shape[1] - 1)
        rows = np.arange(len(times))
        before = np.where(place > 0, done[rows, np.maximum(place - 1, 0)], 0.0)
        pace_then = np.maximum(speed[rows, place], _TINY)
        return times[rows, place] + (need - before) / pace_then, pace_then

    def whole(self, loads: Sequence[int], need: int, batches: int) -> FloatArray:
        """Return when so many rows have arrived in equal batches, float64 (draws,).

        Exact for batches of one row; larger batches count as if the last row of each could be
        done by halves.
        """
        given = np.asarray(loads, dtype=np.float64)
        count = np.minimum(given, batches)
        size = given / np.maximum(count, 1.0)
        each = size * np.where(given > 0, self.unit, 1.0) + np.where(given > 0, self.message, 1.0)
        low, _ = self.fluid(given, float(need))
        low, high = low * (1 - 1e-9), (self.start + count * each)[:, given > 0].max(axis=1)
        high = np.maximum(low, high) * (1 + 1e-9)
        while bool((high - low > _SHORT * high).any()):
            middle = (low + high) / 2
            with np.errstate(over="ignore"):  # nodes that take hardly any time send everything
                sent = np.floor(np.maximum(middle[:, None] - self.start, 0.0) / each * (1 + 1e-13))
            arrived = np.ceil(np.minimum(sent, count) * size * (1 - 1e-13)).sum(axis=1)
            enough = arrived >= need
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.asarray(high)

    def mean(self, times: FloatArray) -> float:
        """Return the mean over the draws that count."""
        return float(self.weight @ times)

    def slowed(self, loads: FloatArray, batches: int) -> Draws:
        """Return the same draws with the time of messages spread over the rows."""
        rows = np.where(loads > 0, loads / np.maximum(np.minimum(loads, batches), 1.0), 1.0)
        return replace(self, unit=self.unit + self.message / rows)


def draws_of(problem: CodedProblem, count: int, q: float | None = None) -> Draws:
    """Draw the times of all nodes, stratified; scenarios are taken as they are.

    Parameters
    ----------
    q
        None for means; for a quantile the draws near it count, which is no exact translation:
        what is found is a start for a search on exact values.
    """
    arrays, scenarios = problem.arrays, problem.arrays.scenarios
    if scenarios is not None:
        times = scenarios
    else:
        draw = np.random.Generator(np.random.PCG64(0))
        ranks = (np.arange(count) + 0.5) / count
        columns = [law.quantile(draw.permutation(ranks)) for law in arrays.laws]
        times = np.stack([np.asarray(column, dtype=np.float64) for column in columns], axis=1)
    speed = np.where(arrays.speed > 0, arrays.speed, np.nan)
    unit = np.where(np.isnan(speed), np.inf, times / speed)
    start = np.broadcast_to(arrays.startup, unit.shape).copy()
    if problem.scaling == "additive":
        start += times
        unit = np.where(np.isnan(speed), np.inf, np.broadcast_to(arrays.row_time, unit.shape))
    elif problem.scaling == "per_row":
        unit = _averaged(problem, unit)
    unit = np.maximum(unit, _TINY**0.25)
    weight = np.full(len(unit), 1.0 / len(unit))
    found = Draws(start, unit, weight, arrays.message, node_classes(problem))
    return found if q is None else _near(found, q)


def _averaged(problem: CodedProblem, unit: FloatArray) -> FloatArray:
    """Shrink draws to their mean as the average over the rows of a node does."""
    rows = max(1.0, float(Domain.of(problem).need) / max(unit.shape[1], 1))
    means = unit.mean(axis=0)
    return np.where(np.isfinite(means), means + (unit - means) / np.sqrt(rows), unit)


def _near(draws: Draws, q: float) -> Draws:
    """Let only those draws count whose rateless times are close to the quantile."""
    ranked = np.argsort(np.argsort(1.0 / (1.0 / draws.unit).sum(axis=1)))
    rank = (ranked + 0.5) / len(ranked)
    apart = np.abs(rank - q)
    width = max(0.02, min(q, 1 - q), float(apart.min()))
    weight = np.where(apart <= width, 1.0, 0.0)
    return replace(draws, weight=weight / weight.sum())


def fluid_split(
    draws: Draws,
    need: int,
    caps: FloatArray,
    total: float,
    prices: FloatArray | None = None,
    begin: FloatArray | None = None,
) -> FloatArray:
    """Return real loads of least mean time for work that can be divided at will, float64 (n,).

    A fixed point: with the times T of the current loads, every node gets the load at which the
    mean worth of one more row is the same for all.

    Parameters
    ----------
    caps
        float64 (n,), the largest loads.
    total
        Largest sum of loads, or of costs where there are prices.
    prices
        float64 (n,), cost of a row; None if the sum of loads is limited.
    begin
        float64 (n,), loads to begin with.
    """
    price = np.ones(len(caps)) if prices is None else prices
    if float((price * caps).sum()) <= total:
        return caps.copy()
    loads = caps * (total / float((price * caps).sum())) if begin is None else begin
    if loads.sum() < need:
        return loads
    best, least, idle = loads, np.inf, 0
    for number in range(_ROUNDS):
        times, pace = draws.fluid(loads, need)
        mean = draws.mean(times)
        idle = 0 if mean < least * (1 - _CLOSE) else idle + 1
        if mean < least:
            best, least = loads, mean
        if idle > _IDLE:
            break
        wanted = _shared(draws, times, draws.weight / pace, caps, total, price)
        fresh = loads + (wanted - loads) * (0.5 if number < 8 else 0.25)
        if fresh.sum() < need:
            break
        loads = fresh
    return best


def _shared(
    draws: Draws,
    times: FloatArray,
    worth: FloatArray,
    caps: FloatArray,
    total: float,
    price: FloatArray,
) -> FloatArray:
    """Return loads at which one more row, by its price, is worth the same on every node."""
    tables = []
    for number in range(int(draws.class_of.max()) + 1):
        members = np.flatnonzero(draws.class_of == number)
        ahead = np.maximum(times[:, None] - draws.start[:, members], 0.0)
        with np.errstate(over="ignore"):  # nodes that take hardly any time reach all loads
            reach = ahead / draws.unit[:, members]
        flat = reach.ravel()
        order = np.argsort(-flat)
        shares = np.repeat(worth / len(members), len(members))[order]
        tables.append((members, flat[order], np.cumsum(shares)))

    def loads_at(level: float) -> FloatArray:
        found = np.zeros(len(caps))
        for members, reach, gained in tables:
            place = int(np.searchsorted(gained, level * max(float(price[members[0]]), _TINY)))
            found[members] = reach[place] if place < len(reach) else 0.0
        return np.minimum(found, caps)

    low, high = (
        0.0,
        max(float(gained[-1]) for _, _, gained in tables)
        / max(float(price[price > 0].min(initial=np.inf)) if (price > 0).any() else 1.0, _TINY),
    )
    for _ in range(_LEVELS):
        level = (low + high) / 2
        spent = float((price * loads_at(level)).sum())
        low, high = (level, high) if spent > total else (low, level)
    found = loads_at(high)
    spare = total - float((price * found).sum())
    room = caps - found
    whole = float((price * room).sum())
    return np.asarray(found + room * min(1.0, max(spare, 0.0) / whole)) if whole > 0 else found


def rounded(loads: FloatArray, caps: IntArray, total: int) -> tuple[int, ...]:
    """Return whole loads of a sum of at most ``total``: the largest remainders are rounded up."""
    whole = np.minimum(np.floor(loads + 1e-9).astype(np.int64), caps)
    spare = min(total, round(float(loads.sum()))) - int(whole.sum())
    for i in np.argsort(-(loads - whole), kind="stable").tolist():
        if spare <= 0:
            break
        if whole[i] < caps[i]:
            whole[i] += 1
            spare -= 1
    return tuple(whole.tolist())


def floor_loss(nodes: int, rows: int) -> float:
    """Return the part of the rateless time that whole rows cost, ``(n - 1) / (2 r)``.

    When the last row arrives, the unfinished rows of the n - 1 other nodes are half done on
    average, and that work is lost; it holds for loads that are not limited, and r large against n.
    """
    return (nodes - 1) / (2 * rows)
