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
from allocsolve.solvers.fair.interior_kernels import (
    NO_GAIN,
    Jobs,
    Point,
    System,
    advance,
    assemble,
)
from allocsolve.solvers.fair.program import Division, Found
from allocsolve.solvers.fair.step_kernels import correct, predict

__all__ = ["Start", "solve_interior", "warm"]

_STEPS = 80
_FLAT = 0.01
"""Step length below which an iteration counts as stalled."""


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
        Asked in every iteration; anything but None ends the run.
    """
    run = _Run(division, tolerance or division.tolerance, start)
    try:
        while run.iterate() and stop() is None:
            pass
    except ZeroDivisionError:  # beyond the range of floats; the best point counts
        if run.best is None:
            raise
    if run.best_merit > 1e-4 and start is not None:
        return solve_interior(division, tolerance, None, stop)
    return run.found()


class _Run:
    """The state of a run, in units of its own: utilities near 1, objective near ``count``."""

    def __init__(self, division: Division, tolerance: float, start: Start | None) -> None:
        self.n, self.m = division.size
        self.division, self.tolerance, self.warm = division, tolerance, start is not None
        self.stock = division.stock
        self.scale = division.stock if division.scale is None else division.scale
        self.count = float(division.count or self.n)
        self.leveled = division.has_level
        self.alpha = NO_GAIN if division.gain is None else division.alpha
        share = self._first_share(start)
        self.unit, jobs, self.worth = self._units(share, start)
        self.jobs = jobs
        drift = np.zeros(self.m) if division.drift is None else division.drift
        self.drift = drift * float(self.unit) if self.leveled else np.zeros(self.m)
        self._begin(share, start)
        self.best: tuple[float, FloatArray, FloatArray, float, FloatArray] | None = None
        self.best_merit = np.inf
        self.done = self.stalled = self.few = 0
        self.length = (0.0, 0.0)

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

    def _units(
        self, share: FloatArray, start: Start | None
    ) -> tuple[FloatArray | float, Jobs, float]:
        """Return the unit of utility, the jobs in it, and the worth of the objective's unit.

        Gains have a unit for each job, its fastest type; levels have one for all.
        """
        division = self.division
        n = self.n
        zero = np.zeros(n)
        floor = zero if division.floor is None else division.floor
        slope = zero if division.slope is None else division.slope
        utility = np.einsum("ij,ij->i", division.pace, share)
        if division.gain is None:
            unit = start.level if start is not None and start.level > 0 else 0.0
            if not unit:
                unit = float(np.median((utility / np.where(slope > 0, slope, np.inf))[slope > 0]))
            jobs = Jobs(division.pace / unit, zero, floor / unit, slope, division.gang)
            return unit, jobs, self.count / unit
        each = division.pace.max(axis=1)
        with np.errstate(divide="ignore"):
            gain = np.log(division.gain) + (1 - division.alpha) * np.log(each)
        gain = gain + (1 - division.alpha) * np.log(utility / each)
        highest = float(gain.max())
        sum_of_gains = np.exp(gain - highest).sum()
        worth = self.count / float(sum_of_gains) * np.exp(-highest)
        scaled = np.exp(np.log(division.gain) + (1 - division.alpha) * np.log(each)) * worth
        jobs = Jobs(division.pace / each[:, None], scaled, floor / each, slope, division.gang)
        return each, jobs, worth

    def _begin(self, share: FloatArray, start: Start | None) -> None:
        """Choose the rest of the first point."""
        jobs, gang = self.jobs, self.jobs.gang
        utility = np.einsum("ij,ij->i", jobs.pace, share)
        rows = self.division.floor is not None or self.division.slope is not None
        self.prices = np.full(self.m, self.count / self.scale.sum())
        if start is not None:
            lowest = 1e-3 * float(start.prices @ self.scale) / self.scale.sum()
            self.prices = np.maximum(start.prices, lowest) * self.worth
        self.level = 0.0
        slack = price = np.zeros(0)
        if self.leveled:
            above = ((utility - jobs.floor) / np.where(jobs.slope > 0, jobs.slope, np.inf))[
                jobs.slope > 0
            ]
            self.level = 0.9 * (1.0 if start is not None else max(0.01, float(above.min())))
        if rows:
            slack = np.maximum(utility - jobs.floor - jobs.slope * self.level, 0.05)
            price = np.ones(self.n) * self.count / self.n
            if start is not None:
                price = np.maximum(start.worth * self.count, 0.1)
        pull = price if self.alpha == NO_GAIN else jobs.gain * utility**-self.alpha
        if rows and self.alpha != NO_GAIN:
            price = 0.1 * pull
        self.cost = np.zeros(self.m) if self.division.cost is None else self.division.cost
        self.cost = self.cost * self.worth
        gained = jobs.pace * pull[:, None]
        asked = gang[:, None] * (self.prices + self.cost)
        time = np.maximum(0.1 * np.minimum(pull * utility, 1.0), 0.5 * (gained - asked).max(axis=1))
        reduced = np.maximum(time[:, None] + asked - gained, 0.1 * (time[:, None] + asked))
        self.point = Point(share, reduced, 1 - share.sum(axis=1), time, slack, price)
        self.step = Point(*(np.zeros_like(field) for field in self.point))
        held = gang @ share + self.drift * self.level
        least = 0.1 if start is None else 0.01
        self.rest = np.maximum(self.stock - held, least * self.scale)
        size = self.m + 1
        self.system = System(
            np.zeros((size, size)), *(np.zeros(k) for k in (size, self.m, size, size, 8))
        )
        self.products = self.n * self.m + self.n + self.m + len(slack)

    # -- an iteration

    def iterate(self) -> bool:
        """Take one step; tell whether to go on."""
        if self.length[0] > 0:
            advance(self.point, self.step, *self.length)
        assemble(
            self.jobs, self.point, self.prices + self.cost, self.level, self.alpha, self.system
        )
        sums = self.system.sums
        lack = self.stock - self.system.load - self.rest - self.drift * self.level
        mean = (sums[0] + self.rest @ self.prices) / self.products
        short = self.count - sums[4] - self.drift @ self.prices if self.leveled else 0.0
        if not self._goes_on(mean, lack, short):
            return False
        matrix, right = self._reduced(lack, short)
        self._move(matrix, right, mean)
        self.done += 1
        return self.done < _STEPS

    def _goes_on(self, mean: float, lack: FloatArray, short: float) -> bool:
        """Rate the point and keep the best one."""
        sums, total = self.system.sums, mean * self.products
        big = self.count * max(1.0, self.level)
        merit = max(
            total / big,
            10 * sums[1] / big,
            sums[2],
            float(np.abs(lack / self.scale).max()),
            sums[3] / max(1.0, self.level),
            0.1 * abs(short) / self.count,
        )
        self.stalled = self.stalled + 1 if self.done and max(self.length) < _FLAT else 0
        self.few += total < 0.5 * self.tolerance * big
        if self.best is None or merit < self.best_merit:
            self.best_merit = merit
            self.best = (
                merit,
                self.point.share.copy(),
                self.prices.copy(),
                self.level,
                self.point.price.copy(),
            )
        patience = 2 if self.warm else 15
        stuck = self.few > 6 or self.stalled > patience
        return not (merit < self.tolerance or stuck or not np.isfinite(merit))

    def _reduced(self, lack: FloatArray, short: float) -> tuple[FloatArray, FloatArray]:
        """Return the system in prices and level."""
        m, size = self.m, self.m + self.leveled
        matrix = self.system.matrix[:size, :size].copy()
        matrix[:m, :m] += np.tril(matrix[:m, :m], -1).T
        matrix[np.arange(m), np.arange(m)] += self.rest / self.prices
        right = self.system.right[:size].copy()
        right[:m] -= lack + self.rest
        if self.leveled:
            matrix[m, :m] += self.drift
            matrix[:m, m] = -matrix[m, :m]
            right[m] += short - self.system.sums[5]
        return matrix, right

    def _move(self, matrix: FloatArray, right: FloatArray, mean: float) -> None:
        """Predict, choose the target, correct, and set the lengths of the step."""
        m, sums, size = self.m, self.system.sums, len(right)
        rise, lift = self._newton(matrix, right)
        self._predict(rise, lift)
        fall = -self.rest - self.rest * rise / self.prices
        primal, dual = self._lengths(fall, rise)
        after = (
            mean
            + (
                primal * (sums[2] + fall @ self.prices)
                + dual * (sums[3] + self.rest @ rise)
                + primal * dual * (sums[4] + fall @ rise)
            )
            / self.products
        )
        big = self.count * max(1.0, self.level)
        floor = 0.1 * self.tolerance * big / self.products  # beyond it only residuals shrink
        target = max(min(1.0, max((after / mean) ** 3, 1e-6)) * mean, floor)
        right = right + target * self.system.target[:size] + self.system.second[:size]
        right[:m] += (target - fall * rise) / self.prices
        to_rest = target - self.rest * self.prices - fall * rise
        rise, lift = self._newton(matrix, right)
        self._correct(rise, lift, target)
        fall = (to_rest - self.rest * rise) / self.prices
        primal, dual = self._lengths(fall, rise)
        if self.alpha not in (NO_GAIN, 0):
            primal = dual = min(primal, dual)  # the slope of the gain couples the two
        primal = primal * 0.99 if primal < 1 else 1.0
        dual = dual * 0.99 if dual < 1 else 1.0
        self.rest = self.rest + primal * fall
        self.prices = self.prices + dual * rise
        self.level += primal * lift
        self.length = (primal, dual)

    def _newton(self, matrix: FloatArray, right: FloatArray) -> tuple[FloatArray, float]:
        try:
            solved: FloatArray = np.linalg.solve(matrix, right).astype(np.float64, copy=False)
        except np.linalg.LinAlgError:
            solved = np.full(len(right), np.nan)
        return solved[: self.m], float(solved[self.m]) if self.leveled else 0.0

    def _predict(self, rise: FloatArray, lift: float) -> None:
        asked = (self.prices + self.cost, rise)
        levels = (self.level, lift)
        predict(self.jobs, self.point, self.step, asked, levels, self.alpha, self.system)

    def _correct(self, rise: FloatArray, lift: float, target: float) -> None:
        asked = (self.prices + self.cost, rise)
        levels, sums = (self.level, lift), self.system.sums
        correct(self.jobs, self.point, self.step, asked, levels, self.alpha, target, sums)

    def _lengths(self, fall: FloatArray, rise: FloatArray) -> tuple[float, float]:
        sums = self.system.sums
        primal = 1 / max(float(sums[0]), float((-fall / self.rest).max()))
        return primal, 1 / max(float(sums[1]), float((-rise / self.prices).max()))

    # -- the way back

    def found(self) -> Found:
        """Return the best point in the units of the division."""
        assert self.best is not None
        merit, share, prices, level, price = self.best
        unit, division = self.unit, self.division
        worth = price / self.worth / unit if len(price) else np.zeros(self.n)
        if division.gain is not None:
            utility = np.einsum("ij,ij->i", division.pace, share)
            worth = worth + division.gain * utility**-division.alpha
        lifted = level * float(unit) if self.leveled else 0.0
        return Found(share, prices / self.worth, lifted, worth, self.done, merit)


def warm() -> None:
    """Solve a small division with gains and one with levels, so that every loop is compiled."""
    pace, one = np.array([[2.0, 1.0], [1.0, 3.0]]), np.ones(2)
    solve_interior(Division(pace, one, one, gain=one))
    solve_interior(Division(pace, one, one, slope=one))
