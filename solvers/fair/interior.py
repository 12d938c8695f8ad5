"""A primal-dual interior point method whose linear systems have the size of the types.

Mehrotra's predictor and corrector ("On the Implementation of a Primal-Dual Interior Point
Method", SIAM Journal on Optimization 2, 1992). All variables of a job are eliminated in
O(m^2); what is left is a system in the m prices and, if there is one, the level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import paced
from allocsolve.solvers.fair.interior_kernels import NO_GAIN
from allocsolve.solvers.fair.lanes import (
    COUNTS,
    FLOOR,
    GAIN,
    GANG,
    HELD,
    IDLE,
    LINES,
    PACE,
    PRICE,
    REDUCED,
    SHARE,
    SLACK,
    SLOPE,
    TABLES,
    TIME,
    lanes_for,
    pack,
    real_lanes,
    unpack,
)
from allocsolve.solvers.fair.loop_kernels import (
    BEST_LEVEL,
    BEST_MERIT,
    BEST_PRICES,
    COST,
    DONE,
    DRIFT,
    LEVEL,
    PRICES,
    REST,
    SCALE,
    STATES,
    STOCK,
    STOCKS,
    Rules,
    run_steps,
)
from allocsolve.solvers.fair.program import Division, Found

__all__ = ["Start", "solve_interior", "warm"]

_AT_ONCE = 2_000_000
"""Shares times steps between two questions whether to stop: less than a tenth of a second."""

_FAILED = 1e-4
"""Merit of a point that is worth nothing: another start is tried."""


@dataclass(frozen=True)
class Start:
    """Where to begin: prices, level, and the shares that jobs would choose there."""

    prices: FloatArray
    level: float
    share: FloatArray
    worth: FloatArray


def solve_interior(
    division: Division,
    tolerance: float | None = None,
    start: Start | None = None,
    stop: Callable[[], object] = lambda: None,
) -> Found:
    """Return an optimum of a division.

    Parameters
    ----------
    tolerance
        Relative gap and residuals to be reached, by default what the division allows; the
        best iterate is returned in any case, with its ``merit``.
    start
        If it leads nowhere, the method begins anew without it.
    stop
        Asked now and then; anything but None ends the run.
    """
    run = _Run(division, tolerance or division.tolerance, start)
    with np.errstate(all="ignore"):
        while run.go_on() and stop() is None:
            pass
    if run.merit > _FAILED and start is not None:
        return solve_interior(division, tolerance, None, stop)
    return run.found()


class _Run:
    """The state of a run, in units of its own: utilities near 1, objective near ``count``."""

    def __init__(self, division: Division, tolerance: float, start: Start | None) -> None:
        self.n, self.m = division.size
        self.division, self.tolerance, self.warm = division, tolerance, start is not None
        self.scale = division.stock if division.scale is None else division.scale
        self.count = float(division.count or self.n)
        self.leveled = division.has_level
        self.alpha = NO_GAIN if division.gain is None else float(division.alpha)
        share = self._first_share(start)
        self._set_units(share, start)
        self._begin(share, start)

    @property
    def merit(self) -> float:
        """Worst relative residual of the best point."""
        return float(self.state[BEST_MERIT])

    # -- the point to begin with

    def _first_share(self, start: Start | None) -> FloatArray:
        """Return shares inside the time cap, near the best responses if they are known."""
        division = self.division
        weight = division.gain if division.gain is not None and division.alpha == 1 else None
        part = np.ones(self.n) if weight is None else weight / division.gang
        part = part / float(part @ division.gang)
        share = 0.8 * self.scale * part[:, None]
        share /= np.maximum(1, share.sum(axis=1) / 0.8)[:, None]
        if start is not None:
            share = 0.1 * share + 0.9 * start.share
        share = np.maximum(share, 1e-12)
        share /= np.maximum(1, share.sum(axis=1) / 0.95)[:, None]
        return share

    def _set_units(self, share: FloatArray, start: Start | None) -> None:
        """Choose the unit of utility, and state the jobs in it.

        Gains have a unit for each job, its fastest type; levels have one for all. ``worth`` is
        that of the objective's unit.
        """
        division = self.division
        zero = np.zeros(self.n)
        floor = zero if division.floor is None else division.floor
        self.slope = zero if division.slope is None else division.slope
        utility = np.einsum("ij,ij->i", division.pace, share)
        self.unit: FloatArray | float
        if division.gain is None:
            unit = start.level if start is not None and start.level > 0 else 0.0
            if not unit:
                rising = self.slope > 0
                unit = float(np.median(utility[rising] / self.slope[rising]))
            self.unit, self.worth = unit, self.count / unit
            self.pace, self.gain = division.pace / unit, zero
        else:
            each = division.pace.max(axis=1)
            self.unit = each
            self.gain, self.worth = self._gains(each, utility)
            self.pace = division.pace / each[:, None]
        self.floor = floor / self.unit

    def _gains(self, each: FloatArray, utility: FloatArray) -> tuple[FloatArray, float]:
        """Return gains in the unit of each job, and what the objective's unit is worth."""
        division = self.division
        assert division.gain is not None
        if division.alpha == 1:
            worth = self.count / float(division.gain.sum())
            return division.gain * worth, worth
        scaled = np.log(division.gain) + (1 - division.alpha) * np.log(each)
        gain = scaled + (1 - division.alpha) * np.log(utility / each)
        highest = float(gain.max())
        worth = self.count / float(np.exp(gain - highest).sum()) * float(np.exp(-highest))
        return np.exp(scaled) * worth, worth

    def _begin(self, share: FloatArray, start: Start | None) -> None:
        """Choose the rest of the first point."""
        division, gang = self.division, self.division.gang
        utility = np.einsum("ij,ij->i", self.pace, share)
        rows = division.floor is not None or division.slope is not None
        prices = self.count / (
            self.m * self.scale
        )  # as much for all of each type, whatever is there
        if start is not None:
            lowest = 1e-3 * float(start.prices @ self.scale) / self.scale.sum()
            prices = np.maximum(start.prices, lowest) * self.worth
        level, slack, price = 0.0, np.ones(self.n), np.zeros(self.n)
        if self.leveled:
            rising = self.slope > 0
            above = float(((utility - self.floor)[rising] / self.slope[rising]).min())
            level = 0.9 * (1.0 if start is not None else max(0.01, above))
        pull = self._first_pull(utility, start)
        if rows:
            slack = np.maximum(utility - self.floor - self.slope * level, 0.05)
            price = pull if self.alpha == NO_GAIN else 0.1 * pull
        cost = np.zeros(self.m) if division.cost is None else division.cost * self.worth
        gained = self.pace * pull[:, None]
        asked = gang[:, None] * (prices + cost)
        time = np.maximum(0.1 * np.minimum(pull * utility, 1.0), 0.5 * (gained - asked).max(axis=1))
        asked += time[:, None]
        reduced = np.maximum(asked - gained, 0.1 * asked)
        self._lay_out(share, reduced, time, slack, price)
        self._set_stock(prices, cost, gang @ share, level)
        self._set_rules(level, rows=rows)

    def _first_pull(self, utility: FloatArray, start: Start | None) -> FloatArray:
        """Return what a unit of utility is worth to each job."""
        if self.alpha != NO_GAIN:
            pull: FloatArray = self.gain * utility**-self.alpha
            return pull
        if start is not None:
            return np.maximum(start.worth * self.count, 0.1)
        return np.full(self.n, self.count / self.n)

    def _lay_out(
        self,
        share: FloatArray,
        reduced: FloatArray,
        time: FloatArray,
        slack: FloatArray,
        price: FloatArray,
    ) -> None:
        """Lay jobs and point out in lanes."""
        lanes = lanes_for(self.n)
        blocks = -(-self.n // lanes)
        self.table = np.zeros((blocks, TABLES, self.m, lanes))
        self.line = np.zeros((blocks, LINES, lanes))
        for row, values in ((PACE, self.pace), (SHARE, share), (REDUCED, reduced)):
            pack(values, self.table[:, row])
        idle = 1 - share.sum(axis=1)
        for row, values in (
            (GAIN, self.gain),
            (FLOOR, self.floor),
            (SLOPE, self.slope),
            (GANG, self.division.gang),
            (IDLE, idle),
            (TIME, time),
            (SLACK, slack),
            (PRICE, price),
        ):
            pack(values, self.line[:, row])
        self.line[:, COUNTS] = real_lanes(self.n, lanes)
        self.line[:, HELD] = self.line[:, GANG] * self.line[:, COUNTS]
        self.best_share = np.empty((blocks, self.m, lanes))
        self.best_price = np.empty((blocks, lanes))

    def _set_stock(
        self, prices: FloatArray, cost: FloatArray, held: FloatArray, level: float
    ) -> None:
        """Lay out the numbers of the types."""
        division, stock = self.division, np.zeros((STOCKS, self.m))
        if self.leveled and division.drift is not None:
            stock[DRIFT] = division.drift * float(self.unit)
        stock[STOCK], stock[SCALE], stock[COST] = division.stock, self.scale, cost
        stock[PRICES] = prices
        least = (0.01 if self.warm else 0.1) * self.scale
        stock[REST] = np.maximum(division.stock - held - stock[DRIFT] * level, least)
        self.stock = stock

    def _set_rules(self, level: float, *, rows: bool) -> None:
        """Say when the run ends; nothing is done so far."""
        self.state = np.zeros(STATES)
        self.state[LEVEL], self.state[BEST_LEVEL], self.state[BEST_MERIT] = level, level, np.inf
        self.rules = Rules(
            size=self.count,
            tolerance=float(self.tolerance),
            alpha=self.alpha,
            products=float(self.n * self.m + (2 if rows else 1) * self.n + self.m),
            patience=2 if self.warm else 15,
            has_level=self.leveled,
            rows=rows,
            coupled=self.alpha not in (NO_GAIN, 0),
        )

    # -- the way on, and back

    def go_on(self) -> bool:
        """Take some steps; tell whether to go on."""
        most = max(1, paced(run_steps, _AT_ONCE) // (self.n * self.m))
        return run_steps(
            self.table,
            self.line,
            self.stock,
            self.state,
            self.rules,
            self.best_share,
            self.best_price,
            most,
        )

    def found(self) -> Found:
        """Return the best point in the units of the division."""
        division, share = self.division, unpack(self.best_share, self.n)
        worth = np.zeros(self.n)
        if self.rules.rows:
            worth = unpack(self.best_price, self.n) / self.worth / self.unit
        if division.gain is not None:
            utility = np.einsum("ij,ij->i", division.pace, share)
            worth = worth + division.gain * utility**-division.alpha
        level = float(self.state[BEST_LEVEL]) * float(self.unit) if self.leveled else 0.0
        prices, steps = self.stock[BEST_PRICES] / self.worth, int(self.state[DONE])
        return Found(share, prices, level, worth, steps, self.merit)


def warm() -> None:
    """Solve a small division with gains and one with levels, so that every loop is compiled."""
    pace, one = np.array([[2.0, 1.0], [1.0, 3.0]]), np.ones(2)
    solve_interior(Division(pace, one, one, gain=one))
    solve_interior(Division(pace, one, one, slope=one))
