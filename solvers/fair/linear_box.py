"""Large linear programs in shares, reduced exactly by a box around their prices.

At given prices each job has a best choice in closed form: a type or nothing, and where it needs
a utility the cheapest type, or two types that fill its time. Jobs whose choice is best in a
whole box of prices are taken out with what they hold; if the prices of the others lie in the
box, both together are optimal (linear programming duality, as in
:mod:`allocsolve.solvers.fair.price_box` for gains and levels). If not, the box moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.solvers.fair.linear_program import Linear, Optimum, solve_linear

__all__ = ["solve_linear_in_box"]

_SMALL = 6000
"""Shares up to which the whole program goes to HiGHS at once."""

_MIDDLE = 60_000
"""The same for what is left in a box: a second sample narrows it little."""

_SAMPLE = 1200
_WIDTH = 1.2
"""Half the width of the first box in standard errors of the prices of a sample."""

_ROUNDS = 12
_BLOCK = 16_384
_ROUNDING = 1e-9


def solve_linear_in_box(
    program: Linear, stop: Callable[[], bool], *, seed: int = 0, small: int = _SMALL
) -> Optimum | None:
    """Return an optimum; None if there is no solution, or the run was stopped.

    Parameters
    ----------
    seed
        Of the sample, which changes the path but not the optimum.
    small
        Shares up to which nothing is reduced.
    """
    n, m = program.pace.shape
    size = min(_SAMPLE, max(small // m, 1))
    if n * m <= small or n < 3 * size:
        return solve_linear(program, stop)
    kept = np.sort(np.random.default_rng(seed).choice(n, size, replace=False))
    first = solve_linear(program.part(kept, program.stock * (size / n)), stop)
    if first is None:
        return None if stop() else solve_linear(program, stop)
    prices = first.prices
    radius = _WIDTH / np.sqrt(size) * np.maximum(prices, 0.05 * _usual(program, prices))
    for _ in range(_ROUNDS):
        if stop():
            return None
        found, moved = _try(program, prices, radius, stop)
        if found is not None:
            return found
        if moved is None:
            radius = radius * 3
        else:
            radius = np.maximum(radius * 0.7, np.abs(moved - prices) * 1.2)
            prices = moved
    return solve_linear(program, stop)


def _usual(program: Linear, prices: FloatArray) -> float:
    """Return the mean price, or what types are worth to half of the jobs if none has a price."""
    mean = float(prices @ program.stock) / float(program.stock.sum())
    return mean or float(np.median(np.abs(program.worth).max(axis=1) / program.gang))


def _try(
    program: Linear, prices: FloatArray, radius: FloatArray, stop: Callable[[], bool]
) -> tuple[Optimum | None, FloatArray | None]:
    """Return the optimum if its prices lie in the box, and the prices that were found."""
    n = len(program.gang)
    low, high = np.maximum(prices - radius, 0.0), prices + radius
    share, sure = choose(program, prices, low, high)
    rest = program.stock - (program.gang[sure] @ share[sure])
    open_ = np.flatnonzero(~sure)
    if (rest <= 0).any():
        return None, None
    if not len(open_):  # the dual is linear in the box and rises: its lowest corner
        corner = Optimum(share, low, unit_prices(program, low))
        return (corner, low) if not (low * rest).any() else (None, low)
    part = solve_linear_in_box(program.part(open_, rest), stop, seed=len(open_), small=_MIDDLE)
    if part is None:
        return None, None
    inside = (part.prices >= low * (1 - _ROUNDING)) & (part.prices <= high)
    if not inside.all() and len(open_) < n:
        return None, part.prices
    share[open_] = part.share
    worth = unit_prices(program, part.prices)
    worth[open_] = part.worth
    return Optimum(share, part.prices, worth), part.prices


def choose(
    program: Linear, prices: FloatArray, low: FloatArray, high: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """Return the best choice of each job at these prices, and whether it is best in the box."""
    n, m = program.pace.shape
    share, sure = np.zeros((n, m)), np.ones(n, dtype=np.bool_)
    for begin in range(0, n, _BLOCK):
        part = slice(begin, min(begin + _BLOCK, n))
        block = program.part(np.arange(part.start, part.stop), program.stock)
        best = np.full(len(block.gang), -np.inf)
        own_worth = np.zeros(len(best))
        for choice, worth in _choices(block):
            value = worth - block.gang * (choice @ prices)
            better = value > best
            best[better], own_worth[better] = value[better], worth[better]
            share[part][better] = choice[better]
        mine, safe = share[part], sure[part]
        for choice, worth in _choices(block):
            change = block.gang[:, None] * (mine - choice)
            dearest = np.where(change > 0, change * high, change * low).sum(axis=1)
            same = (mine == choice).all(axis=1)
            margin = own_worth - worth - dearest
            safe &= same | ~np.isfinite(worth) | (margin > 0)
        safe &= np.isfinite(best)
    return share, sure


def _choices(program: Linear) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield each sort of choice: shares (k, m), and its worth (k,), minus infinity if not able."""
    k, m = program.pace.shape
    if program.need is None:
        yield np.zeros((k, m)), np.zeros(k)
        for j in range(m):
            full = np.zeros((k, m))
            full[:, j] = 1.0
            yield full, np.where(program.pace[:, j] > 0, program.worth[:, j], -np.inf)
        return
    pace, need = program.pace, program.need
    with np.errstate(divide="ignore", invalid="ignore"):
        for j in range(m):
            yield _with_worth(program, {j: need / pace[:, j]}, pace[:, j] >= need)
        for j in range(m):
            for other in range(m):
                able = (pace[:, j] > need) & (pace[:, other] < need) & (pace[:, other] > 0)
                part = (need - pace[:, other]) / (pace[:, j] - pace[:, other])
                if able.any():
                    yield _with_worth(program, {j: part, other: 1 - part}, able)


def _with_worth(
    program: Linear, parts: dict[int, FloatArray], able: BoolArray
) -> tuple[FloatArray, FloatArray]:
    share, worth = np.zeros(program.pace.shape), np.zeros(len(program.gang))
    for j, part in parts.items():
        share[:, j] = np.where(able, part, 0.0)
        worth += share[:, j] * program.worth[:, j]
    if program.need is not None and len(parts) == 1:
        able = able & (program.need > 0) | (program.need == 0)
        share[program.need == 0] = 0.0
        worth[program.need == 0] = 0.0
    return share, np.where(able, worth, -np.inf)


def unit_prices(program: Linear, prices: FloatArray) -> FloatArray:
    """Return what one unit more of its need costs each job at these prices, float64 (n,), else 0.

    The slope of the lower hull of price over utility at the need, from the right.
    """
    if program.need is None:
        return np.zeros(len(program.gang))
    need = program.need
    paid = program.gang[:, None] * prices - program.worth
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.where(program.pace > 0, paid / program.pace, np.inf).min(axis=1)
        alone = np.where(program.pace >= need[:, None], paid / program.pace, np.inf).min(axis=1)
        best = alone * need
        m = len(prices)
        for j in range(m):
            for other in range(m):
                fast, slow = program.pace[:, j], program.pace[:, other]
                able = (fast > need) & (slow < need) & (slow > 0)
                rise = (paid[:, j] - paid[:, other]) / (fast - slow)
                cost = paid[:, other] + rise * (need - slow)
                better = able & (cost < best)
                best, slope = np.where(better, cost, best), np.where(better, rise, slope)
        single = best == alone * need
    return np.where(need > 0, np.where(single, alone, slope), 0.0)
