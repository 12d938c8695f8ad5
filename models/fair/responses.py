"""What each job would do alone at given prices, in closed form.

At prices p a full time share of type j costs job i ``gang_i p_j`` and brings ``u_ij``. Under
the time cap the cheapest way to a utility U lies on the lower convex hull of the points
(0, 0) and (u_ij, gang_i p_j), so at most two types are used; without the cap it is the type
of least price per progress. Demands add their price to every unit of progress.
No job needs a solver: this is what makes duality gaps checkable in O(n m^2) steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.fair.arrays import FairArrays

__all__ = [
    "Offers",
    "Power",
    "best_gain",
    "best_time_price",
    "least_cost",
    "offers_of",
    "unit_prices",
]

_BLOCK = 32_768
"""Jobs that are worked on at once, so that a million jobs need no more memory than these."""
_MANY = 50_000
"""Jobs from which on the compiled walk is used; it depends on nothing else, as bytes must not."""


@dataclass(frozen=True)
class Offers:
    """What k jobs can buy.

    Attributes
    ----------
    part
        Positions of the jobs within the rows that were asked for.
    reach, price
        float64 (k, m), utility and price of a full time share of a type; both 0 where the
        type brings nothing.
    fixed
        float64 (k,), price of what a unit of utility demands beside any type.
    exchanges
        bool (k,), whether types bring the job anything at all.
    capped
        bool (k,), whether the time cap limits the job.
    many
        Whether so many jobs are asked for that a compiled walk is worth its loading.
    """

    part: slice
    reach: FloatArray
    price: FloatArray
    fixed: FloatArray
    exchanges: BoolArray
    capped: BoolArray
    many: bool = False

    @cached_property
    def ratio(self) -> FloatArray:
        """Least price of a unit of utility without a time cap, float64 (k,)."""
        return np.where(self.exchanges, _cheapest(self.reach, self.price), self.fixed)


@dataclass(frozen=True)
class Power:
    """The gain ``w U^(1 - alpha) / (1 - alpha)``: ``w log U`` for 1, ``w U`` for 0."""

    weight: FloatArray
    alpha: float

    def value(self, utility: FloatArray) -> FloatArray:
        """Return the gain of each utility, minus infinity where it has no logarithm."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            if self.alpha == 1:
                gain: FloatArray = self.weight * np.log(utility)
            else:
                gain = self.weight * utility ** (1 - self.alpha) / (1 - self.alpha)
        return gain

    def wish(self, slope: FloatArray) -> FloatArray:
        """Return the utility at which one unit more is worth ``slope``; infinite for 0."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            worth = self.weight / np.maximum(slope, 0.0)
            if self.alpha == 0:
                return np.where(worth > 1, np.inf, 0.0)
            wished: FloatArray = worth ** (1 / self.alpha)
        return wished


def offers_of(
    arrays: FairArrays, prices: FloatArray, rows: IntArray, spent: FloatArray | None = None
) -> Iterator[Offers]:
    """Yield the offers of some jobs block by block.

    Parameters
    ----------
    prices
        float64 (m,), price of each type; those of types without stock do not matter.
    spent
        float64 (m,), money that each type costs beside its price.
    """
    stock = arrays.capacity > 0
    paid = np.where(stock, prices if spent is None else prices + spent, 0.0)
    for begin in range(0, len(rows), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        jobs = rows[part]
        reach = np.where(stock, arrays.throughput[jobs], 0.0)
        price = arrays.gang[jobs, None] * np.where(reach > 0, paid, 0.0)
        fixed = np.zeros(len(jobs))
        exchanges = np.ones(len(jobs), dtype=np.bool_)
        if arrays.demand is not None:
            fixed = arrays.gang[jobs] * (arrays.demand[jobs] @ paid)
            exchanges = arrays.exchanges[jobs]
        capped = exchanges & arrays.time_cap
        many = len(rows) >= _MANY
        if arrays.demand is not None:
            price += fixed[:, None] * reach
        yield Offers(part, reach, price, fixed, exchanges, capped, many)


def _cheapest(reach: FloatArray, price: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        each = np.where(reach > 0, price / reach, np.inf)
    cheapest: FloatArray = each.min(axis=1, initial=np.inf)
    return cheapest


def unit_prices(offers: Offers, time_price: FloatArray) -> FloatArray:
    """Return the least ``(gang p_j + time price) / u_j`` of each job, float64 (k,).

    No unit of utility can be had for less, so ``sum y_i U_i <= p.c + sum time prices`` holds
    for these y in every allocation (linear programming duality).
    """
    within = _cheapest(offers.reach, offers.price + time_price[:, None])
    return within if offers.capped.all() else np.where(offers.capped, within, offers.ratio)


def _segments(offers: Offers) -> Iterator[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """Yield start and end of every segment between two points: utility, price, of each."""
    count = offers.reach.shape[1]
    nothing = np.zeros(len(offers.reach))
    ends = [(offers.reach[:, j], offers.price[:, j]) for j in range(count)]
    for a, (low, low_price) in enumerate([(nothing, nothing), *ends]):
        for b, (high, high_price) in enumerate(ends):
            if a != b + 1:
                yield low, low_price, high, high_price


def least_cost(offers: Offers, utility: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least cost of a utility for each job, and a slope of that convex function.

    Returns
    -------
    tuple of two float64 (k,)
        The cost, infinite beyond the reach of the job, and its derivative from the left.
    """
    if offers.many:
        return _walked_cost(offers, utility)
    free = 0.0 if offers.capped.all() else utility * offers.ratio
    cost = np.where(offers.capped & (utility > 0), np.inf, free)
    for low, low_price, high, high_price in _segments(offers):
        inside = offers.capped & (low < utility) & (utility <= high)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (high_price - low_price) / (high - low)
            there = low_price + slope * (utility - low)
        cost = np.where(inside & (there < cost), there, cost)
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(utility > 0, cost / utility, 0.0)
        for j in range(offers.reach.shape[1]):
            chord = (cost - offers.price[:, j]) / (utility - offers.reach[:, j])
            left = offers.capped & (offers.reach[:, j] < utility)
            slope = np.where(left & (chord > slope), chord, slope)
    return cost, slope if offers.capped.all() else np.where(offers.capped, slope, offers.ratio)


def best_gain(offers: Offers, gain: Power, floor: FloatArray | None = None) -> FloatArray:
    """Return ``max gain(U) - cost(U)`` over what each job can reach from its floor on.

    Minus infinity where the floor is out of reach, infinity where utility is free and
    without limit.
    """
    least = np.zeros(len(offers.reach)) if floor is None else floor
    if offers.many and gain.alpha in (0, 1):
        return _walked_gain(offers, gain, least)
    best = np.full(len(offers.reach), -np.inf)
    for low, low_price, high, high_price in _segments(offers):
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (high_price - low_price) / (high - low)
            utility = np.minimum(np.maximum(np.maximum(gain.wish(slope), low), least), high)
            value = gain.value(utility) - (low_price + slope * (utility - low))
        inside = offers.capped & (low < high) & (least <= high)
        best = np.where(inside & (value > best), value, best)
    if offers.capped.all():
        return best
    return np.where(offers.capped, best, _uncapped_gain(offers.ratio, gain, least))


def best_time_price(offers: Offers, gain: Power, floor: FloatArray | None = None) -> FloatArray:
    """Return the price of time that proves :func:`best_gain` of each job, float64 (k,).

    A price y of utility and the price ``l = max_j (y u_j - price_j)^+`` of time prove
    ``l + max_U gain(U) - y U``, which is convex in y: it is least at a slope of the hull of
    price and utility, or of the gain at a type. All are tried, so that no rounding error of a
    utility counts.
    """
    least = np.zeros(len(offers.reach)) if floor is None else floor
    proved, time = np.full(len(least), np.inf), np.zeros(len(least))
    for slope in _slopes(offers, gain):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            wanted = (slope[:, None] * offers.reach - offers.price).max(axis=1, initial=0.0)
            utility = np.maximum(gain.wish(slope), least)
            value = wanted + gain.value(utility) - slope * utility
        better = value < proved
        proved, time = np.where(better, value, proved), np.where(better, wanted, time)
    return np.where(offers.capped, time, 0.0)


def _slopes(offers: Offers, gain: Power) -> Iterator[FloatArray]:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for low, low_price, high, high_price in _segments(offers):
            yield (high_price - low_price) / (high - low)
        for j in range(offers.reach.shape[1]):
            yield gain.weight * offers.reach[:, j] ** -gain.alpha


def _walked_cost(offers: Offers, utility: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Do as :func:`least_cost`: a job that wants nothing takes its floor."""
    from allocsolve.models.fair.response_kernels import walk

    nothing = np.zeros(len(utility))
    _, cost, slope = walk(offers.reach, offers.price, nothing, utility, False)
    if offers.capped.all():
        return cost, slope
    uncapped = utility * offers.ratio
    return np.where(offers.capped, cost, uncapped), np.where(offers.capped, slope, offers.ratio)


def _walked_gain(offers: Offers, gain: Power, floor: FloatArray) -> FloatArray:
    """Do as :func:`best_gain` for logarithms and linear gains."""
    from allocsolve.models.fair.response_kernels import walk

    utility, cost, _ = walk(offers.reach, offers.price, gain.weight, floor, gain.alpha == 0)
    value: FloatArray = gain.value(utility) - cost
    if offers.capped.all():
        return value
    return np.where(offers.capped, value, _uncapped_gain(offers.ratio, gain, floor))


def _uncapped_gain(ratio: FloatArray, gain: Power, floor: FloatArray) -> FloatArray:
    utility = np.maximum(gain.wish(ratio), floor)
    with np.errstate(invalid="ignore"):
        value = gain.value(utility) - ratio * utility
    limit = gain.value(utility)
    return np.where(np.isinf(utility), np.where(limit < np.inf, limit, np.inf), value)
