"""The iterations of the interior point method as one compiled loop.

The passes over the jobs are in :mod:`allocsolve.solvers.fair.interior_kernels` and
:mod:`allocsolve.solvers.fair.step_kernels`; here is what is done with their sums.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.kernels import merged, numeric
from allocsolve.solvers.fair.dense_kernels import decompose, solve_decomposed
from allocsolve.solvers.fair.interior_kernels import (
    LOAD,
    RIGHT,
    SECOND_ORDER,
    TARGET,
    Space,
    assemble,
)
from allocsolve.solvers.fair.lanes import PRICE, ROOMS, SHARE, SLOTS
from allocsolve.solvers.fair.step_kernels import correct, predict

__all__ = [
    "BEST_LEVEL",
    "BEST_MERIT",
    "BEST_PRICES",
    "COST",
    "DONE",
    "DRIFT",
    "LEVEL",
    "PRICES",
    "REST",
    "SCALE",
    "STATES",
    "STOCK",
    "STOCKS",
    "Rules",
    "run_steps",
]

_MOST = 80
"""Most steps of a run."""

_FLAT = 0.01
"""Step length below which an iteration counts as stalled."""

_FEW = 6
"""Iterations whose products are as small as asked, while residuals are not, before it ends."""

_INSIDE = 0.99
"""Part of the way to the boundary that a step goes at most."""

LEVEL, BEST_MERIT, BEST_LEVEL, DONE, _PRIMAL, _DUAL, _STALLED, _ENOUGH = range(8)
"""Places in the state of a run: level, merit and level of the best point, steps that are done,
lengths of the last one, iterations in which it stalled or in which products were small."""

STATES = 8

STOCK, SCALE, DRIFT, COST, PRICES, REST, BEST_PRICES, _RISE, _FALL, _ASKED, _LACK = range(11)
"""Rows of the table of types: stock, what residuals are relative to, load by level, money for
a unit; prices and what is left of the stock, and the best prices; the step of both; prices and
money, residual of the stock."""

STOCKS = 11


class Rules(NamedTuple):
    """When to end, and what is solved.

    ``size`` is that of the objective, ``products`` how many products of primal and dual
    there are; ``rows``: jobs have floors or a level; ``coupled``: primal and dual must go the
    same way since gains are curved.
    """

    size: float
    tolerance: float
    alpha: float
    products: float
    patience: int
    has_level: bool
    rows: bool
    coupled: bool


@numeric
def run_steps(
    table: FloatArray,
    line: FloatArray,
    stock: FloatArray,
    state: FloatArray,
    rules: Rules,
    best_share: FloatArray,
    best_price: FloatArray,
    most: int,
) -> bool:
    """Take up to ``most`` steps; tell whether to go on.

    ``table`` and ``line`` are those of :mod:`allocsolve.solvers.fair.lanes`.
    """
    types, lanes = table.shape[2], table.shape[3]
    size = types + 1 if rules.has_level else types
    right, sums = np.empty((4, types + 1, lanes)), np.empty((8, lanes))
    space = Space(
        np.empty((ROOMS, types, lanes)),
        np.empty((SLOTS, lanes)),
        np.empty((types, types, lanes)),
        np.empty((types + 1, types + 1, lanes)),
        right,
        sums,
    )
    small, order, sides = np.empty((size, size)), np.empty(size, np.int64), np.empty((2, size))
    rows, asked, change = rules.rows, stock[_ASKED], stock[_RISE]
    for _ in range(most):
        for j in range(types):
            asked[j] = stock[PRICES, j] + stock[COST, j]
        lengths, level = (state[_PRIMAL], state[_DUAL]), state[LEVEL]
        assemble(table, line, lengths, asked, level, rules.alpha, rows, space)
        mean, short = _measure(stock, state, rules, right, sums)
        merit = _rate(stock, state, rules, sums, mean, short)
        if merit < state[BEST_MERIT]:
            state[BEST_MERIT] = merit
            _keep(table, line, stock, state, best_share, best_price)
        if not _goes_on(state, rules, mean, merit):
            return False
        _set_up(stock, rules, space.matrix, right, sums, short, small, sides)
        decompose(small, order)
        lift = _first_direction(stock, rules, small, order, sides)
        predict(table, line, change, lift, rows, space)
        target = _aim(stock, state, rules, sums, mean)
        lift = _direction(stock, rules, right, small, order, sides, target)
        correct(table, line, change, lift, target, rows, space)
        _go(stock, state, rules, sums, lift)
        if state[DONE] >= _MOST:
            return False
    return True


@merged
def _sum(row: FloatArray) -> float:
    total = 0.0
    for i in range(row.size):
        total += row[i]
    return total


@merged
def _largest(row: FloatArray) -> float:
    most = 0.0
    for i in range(row.size):
        most = max(most, row[i])
    return most


@merged
def _measure(
    stock: FloatArray, state: FloatArray, rules: Rules, right: FloatArray, sums: FloatArray
) -> tuple[float, float]:
    """Find what lacks of the stock; return the mean product and the lack of multipliers."""
    total, short = _sum(sums[0]), 0.0
    if rules.has_level:
        short = rules.size - _sum(sums[4])
    for j in range(stock.shape[1]):
        used = _sum(right[LOAD, j]) + stock[REST, j] + stock[DRIFT, j] * state[LEVEL]
        stock[_LACK, j] = stock[STOCK, j] - used
        total += stock[REST, j] * stock[PRICES, j]
        short -= stock[DRIFT, j] * stock[PRICES, j]
    return total / rules.products, short


@merged
def _rate(
    stock: FloatArray,
    state: FloatArray,
    rules: Rules,
    sums: FloatArray,
    mean: float,
    short: float,
) -> float:
    """Return the worst relative residual of a point, NaN beyond the range of floats."""
    total, high = mean * rules.products, max(1.0, state[LEVEL])
    big = rules.size * high
    merit = max(total / big, 10 * _sum(sums[1]) / big, _largest(sums[2]))
    merit = max(merit, _largest(sums[3]) / high, 0.1 * abs(short) / rules.size)
    for j in range(stock.shape[1]):
        merit = max(merit, abs(stock[_LACK, j] / stock[SCALE, j]))
    return float(merit)


@merged
def _keep(
    table: FloatArray,
    line: FloatArray,
    stock: FloatArray,
    state: FloatArray,
    best_share: FloatArray,
    best_price: FloatArray,
) -> None:
    """Keep a point as the best one."""
    state[BEST_LEVEL] = state[LEVEL]
    for b in range(table.shape[0]):
        for j in range(table.shape[2]):
            for i in range(table.shape[3]):
                best_share[b, j, i] = table[b, SHARE, j, i]
        for i in range(table.shape[3]):
            best_price[b, i] = line[b, PRICE, i]
    for j in range(stock.shape[1]):
        stock[BEST_PRICES, j] = stock[PRICES, j]


@merged
def _goes_on(state: FloatArray, rules: Rules, mean: float, merit: float) -> bool:
    """Tell whether another step may help."""
    flat = state[DONE] > 0 and max(state[_PRIMAL], state[_DUAL]) < _FLAT
    state[_STALLED] = state[_STALLED] + 1 if flat else 0.0
    big = rules.size * max(1.0, state[LEVEL])
    if mean * rules.products < 0.5 * rules.tolerance * big:
        state[_ENOUGH] += 1
    stuck = state[_ENOUGH] > _FEW or state[_STALLED] > rules.patience
    return bool(np.isfinite(merit)) and not (merit < rules.tolerance or stuck)


@merged
def _set_up(
    stock: FloatArray,
    rules: Rules,
    matrix: FloatArray,
    right: FloatArray,
    sums: FloatArray,
    short: float,
    small: FloatArray,
    sides: FloatArray,
) -> None:
    """Add lanes, and what stock and level bring, up to the system in prices and level."""
    last = stock.shape[1]
    for j in range(last):
        for k in range(j + 1):
            small[j, k] = _sum(matrix[j, k])
            small[k, j] = small[j, k]
        small[j, j] += stock[REST, j] / stock[PRICES, j]
        sides[0, j] = _sum(right[RIGHT, j]) - (stock[_LACK, j] + stock[REST, j])
    if rules.has_level:
        for j in range(last):
            small[last, j] = _sum(matrix[last, j]) + stock[DRIFT, j]
            small[j, last] = -small[last, j]
        small[last, last] = _sum(matrix[last, last])
        sides[0, last] = _sum(right[RIGHT, last]) + (short - _sum(sums[5]))


@merged
def _first_direction(
    stock: FloatArray, rules: Rules, small: FloatArray, order: IntArray, sides: FloatArray
) -> float:
    """Solve the system without a target; return the step of the level."""
    last = stock.shape[1]
    solve_decomposed(small, order, sides[0], sides[1])
    for j in range(last):
        rise, rest = sides[1, j], stock[REST, j]
        stock[_RISE, j] = rise
        stock[_FALL, j] = -rest - rest * rise / stock[PRICES, j]
    return float(sides[1, last]) if rules.has_level else 0.0


@merged
def _lengths(stock: FloatArray, sums: FloatArray) -> tuple[float, float]:
    """Return how far primal and dual can go, at most 1."""
    primal, dual = max(1.0, _largest(sums[0])), max(1.0, _largest(sums[1]))
    for j in range(stock.shape[1]):
        primal = max(primal, -stock[_FALL, j] / stock[REST, j])
        dual = max(dual, -stock[_RISE, j] / stock[PRICES, j])
    return 1 / primal, 1 / dual


@merged
def _aim(
    stock: FloatArray, state: FloatArray, rules: Rules, sums: FloatArray, mean: float
) -> float:
    """Return the product that the second step aims at (Mehrotra's rule)."""
    primal, dual = _lengths(stock, sums)
    fallen, risen, both = _sum(sums[2]), _sum(sums[3]), _sum(sums[4])
    for j in range(stock.shape[1]):
        fallen += stock[_FALL, j] * stock[PRICES, j]
        risen += stock[REST, j] * stock[_RISE, j]
        both += stock[_FALL, j] * stock[_RISE, j]
    after = mean + (primal * fallen + dual * risen + primal * dual * both) / rules.products
    left = after / mean
    big = rules.size * max(1.0, state[LEVEL])
    least = 0.1 * rules.tolerance * big / rules.products  # beyond it only residuals shrink
    return float(max(min(1.0, max(left * left * left, 1e-6)) * mean, least))


@merged
def _direction(
    stock: FloatArray,
    rules: Rules,
    right: FloatArray,
    small: FloatArray,
    order: IntArray,
    sides: FloatArray,
    target: float,
) -> float:
    """Solve the system for a target; return the step of the level."""
    last = stock.shape[1]
    for j in range(last):
        product = target - stock[_FALL, j] * stock[_RISE, j]
        sides[0, j] += target * _sum(right[TARGET, j]) + _sum(right[SECOND_ORDER, j])
        sides[0, j] += product / stock[PRICES, j]
        stock[_FALL, j] = product - stock[REST, j] * stock[PRICES, j]
    if rules.has_level:
        sides[0, last] += target * _sum(right[TARGET, last]) + _sum(right[SECOND_ORDER, last])
    solve_decomposed(small, order, sides[0], sides[1])
    for j in range(last):
        rise = sides[1, j]
        stock[_RISE, j] = rise
        stock[_FALL, j] = (stock[_FALL, j] - stock[REST, j] * rise) / stock[PRICES, j]
    return float(sides[1, last]) if rules.has_level else 0.0


@merged
def _go(stock: FloatArray, state: FloatArray, rules: Rules, sums: FloatArray, lift: float) -> None:
    """Go along the step with prices, stock and level; the jobs follow in the next pass."""
    primal, dual = _lengths(stock, sums)
    if rules.coupled:
        primal = min(primal, dual)
        dual = primal
    primal = primal * _INSIDE if primal < 1 else 1.0
    dual = dual * _INSIDE if dual < 1 else 1.0
    for j in range(stock.shape[1]):
        stock[REST, j] += primal * stock[_FALL, j]
        stock[PRICES, j] += dual * stock[_RISE, j]
    state[LEVEL] += primal * lift
    state[_PRIMAL], state[_DUAL] = primal, dual
    state[DONE] += 1
