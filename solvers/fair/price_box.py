"""Exact reduction of a large division to a small one by a box around its prices.

The prices of a sample (job i is drawn with a probability and counted its inverse times) give a
box. All jobs whose choice is the same in the whole box add up exactly to constants or to one
job for each pair of types (:mod:`allocsolve.solvers.fair.box_kernels`); the others are kept. The
dual of what is left is a lower model of the true dual and equal to it inside the box: if its
prices lie inside, they are optimal for all jobs. If not, the box moves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.solvers.fair.box_kernels import Box, Sums, choose, sort_jobs
from allocsolve.solvers.fair.interior import Start, solve_interior
from allocsolve.solvers.fair.program import Division, Found

__all__ = ["solve_in_box", "warm"]

Stop = Callable[[], object]

_SMALL = 1000
"""Jobs up to which a sample is never drawn."""

_WIDTH = 3.0
"""Half the width of the first box, in standard errors of the prices of the sample."""

_LARGE_SAMPLE = 0.8
"""Part of the jobs from which on a sample saves nothing."""

_ROUNDS = 10
_NONE = np.zeros(0)


def solve_in_box(
    division: Division,
    tolerance: float | None = None,
    *,
    seed: int = 0,
    small: int = _SMALL,
    stop: Stop = lambda: None,
) -> Found:
    """Return an optimum of a division with logarithmic gains, or with a level.

    Parameters
    ----------
    small
        Size of samples; up to 1.5 times as many jobs go to the interior point method.
    seed
        Of the samples, which change the path but not the optimum.
    """
    n, _ = division.size
    if n <= 1.5 * small:
        return solve_interior(division, tolerance, stop=stop)
    wanted = tolerance or 10 * division.tolerance
    run = _Reduction(division, wanted, seed, small, stop)
    return run.solve() or solve_interior(division, tolerance, stop=stop)


@dataclass
class _Corner:
    """Prices and level at the centre of a box, with half its width."""

    prices: FloatArray
    level: float
    radius: FloatArray
    span: float

    def box(self, *, gains: bool) -> Box:
        low = np.maximum(0.0, self.prices - self.radius)
        ends = np.array([self.level, self.level - self.span, self.level + self.span])
        return Box(self.prices, low, self.prices + self.radius, ends, gains)

    def holds(self, box: Box, found: Found) -> bool:
        above = found.prices >= box.low * (1 - 1e-9)
        inside = bool(above.all() and (found.prices <= box.high).all())
        return inside and (box.gains or abs(found.level - self.level) <= self.span)

    def move(self, found: Found) -> None:
        self.radius = np.maximum(self.radius * 0.5, abs(found.prices - self.prices) * 0.7)
        self.span = max(self.span * 0.5, abs(found.level - self.level) * 0.7)
        self.prices = np.maximum(found.prices, 0.0)
        self.level = found.level


class _Reduction:
    """One level of the recursion."""

    def __init__(
        self, division: Division, tolerance: float, seed: int, small: int, stop: Stop
    ) -> None:
        n, m = division.size
        self.division, self.tolerance, self.seed = division, tolerance, seed
        self.small, self.stop = small, stop
        self.gains = division.gain is not None
        # Problems keep paces read-only, and parts of them can be written: loops are compiled once.
        self.pace = division.pace.view()
        self.pace.setflags(write=False)
        zero = np.zeros(n)
        self.gain = division.gain if division.gain is not None else _NONE
        self.floor = zero if division.floor is None else division.floor
        self.slope = zero if division.slope is None else division.slope
        self.scale = division.stock if division.scale is None else division.scale
        self.drift = np.zeros(m) if division.drift is None else division.drift
        self.count = division.count or n
        self.sums = Sums(*(np.zeros(m) for _ in range(3)), *(np.zeros((m, m)) for _ in range(3)))

    def solve(self) -> Found | None:
        """Return an optimum, None if no box is found."""
        corner = self._first_corner()
        if corner is None:
            return None
        n, _ = self.division.size
        room = np.empty(n, dtype=np.int64)
        for _ in range(_ROUNDS):
            if self.stop() is not None:
                break
            box = corner.box(gains=self.gains)
            kept = room[: self._sort(box, room)]
            rest = self.division.stock - self.sums.fixed
            if self.gains and len(kept) < n and (rest <= 0).any():
                corner.radius = corner.radius * np.where(rest <= 0, 10, 2)
                continue
            found = self._solve_rest(kept, rest, box, corner)
            if corner.holds(box, found) or len(kept) == n:
                return self._recover(kept, found)
            corner.move(found)
        return None

    def _sort(self, box: Box, room: IntArray) -> int:
        division = self.division
        gain = self.gain if self.gains else self.floor
        return sort_jobs(
            self.pace, gain, self.floor, self.slope, division.gang, box, room, self.sums
        )

    def _first_corner(self) -> _Corner | None:
        """Return the prices of a sample, with their standard error."""
        division, (n, _) = self.division, self.division.size
        chance = self._chances()
        kept = np.flatnonzero(np.random.default_rng(self.seed).random(n) < chance)
        if len(kept) > _LARGE_SAMPLE * n:
            return None
        times = 1 / chance[kept]
        sample = division.replace(
            pace=division.pace[kept],
            gang=division.gang[kept] * times,
            gain=self.gain[kept] * times if self.gains else None,
            floor=None if division.floor is None else self.floor[kept],
            slope=None if division.slope is None else self.slope[kept],
            count=len(kept) if self.count == n else self.count,
        )
        found = solve_in_box(sample, 1e-6, seed=self.seed + 1, small=self.small, stop=self.stop)
        worth = float(found.prices @ self.scale)
        if not self.gains and worth < 1e-6 * found.level:
            return None  # a few jobs bound the level alone: there are no prices to use
        width = _WIDTH * np.sqrt((1 - chance[kept]).sum()) / self._sample_size()
        radius = width * np.maximum(found.prices, 1e-2 * worth / self.scale.sum())
        return _Corner(found.prices, found.level, radius, width * found.level)

    def _sample_size(self) -> int:
        """Return how many jobs are drawn: more give a narrower box, up to what that saves."""
        n, _ = self.division.size
        return max(self.small, n // 16, min(n // 5, 20_000))

    def _chances(self) -> FloatArray:
        """Return how likely each job is in the sample: like its part of gains and load."""
        division = self.division
        part = division.gang / division.gang.sum()
        if self.gains:
            part = 0.5 * (self.gain / self.gain.sum() + part)
        wanted = self._sample_size()
        times = float(wanted)
        for _ in range(6):
            chance: FloatArray = np.minimum(1.0, times * part)
            times *= wanted / chance.sum()
        if not self.gains:  # jobs that may bound the level alone
            with np.errstate(divide="ignore"):
                most = np.where(self.slope > 0, division.pace.max(axis=1) / self.slope, np.inf)
            chance[np.argpartition(most, 20)[:20]] = 1
        return chance

    def _solve_rest(self, kept: IntArray, rest: FloatArray, box: Box, corner: _Corner) -> Found:
        """Solve what is left of the division inside a box."""
        n, _ = self.division.size
        small = self._rest(kept, rest)
        size = small.size[0]
        if not size:
            return self._solve_without_jobs(rest, box)
        tolerance = 0.3 * self.tolerance
        if self.gains and small.gain is not None:
            tolerance *= float(self.gain.sum() / small.gain.sum())
        tolerance = max(1e-13, tolerance)
        if len(kept) > n // 2 or len(kept) <= 2 * self.small:
            start = _start_at(small, corner.prices, corner.level)
            return solve_interior(small, tolerance, start, self.stop)
        return solve_in_box(small, tolerance, seed=self.seed + 7, small=self.small, stop=self.stop)

    def _solve_without_jobs(self, rest: FloatArray, box: Box) -> Found:
        """Return the optimum where loads are constant, or linear in the level, in the box.

        Gains: the dual rises with every price, so that its lowest corner is best. Levels: the
        type that is full first bounds the level, and it alone has a price.
        """
        share = np.zeros((0, len(rest)))
        drift = self.drift + self.sums.drift
        if self.gains or not (drift > 0).any():
            return Found(share, box.low, float(box.level[0]), _NONE)
        prices, reach = np.zeros(len(rest)), np.full(len(rest), np.inf)
        np.divide(rest, drift, out=reach, where=drift > 0)
        full = int(np.argmin(reach))
        prices[full] = 1 / drift[full]
        return Found(share, prices, float(reach[full]), _NONE)

    def _rest(self, kept: IntArray, rest: FloatArray) -> Division:
        """Return the jobs that are kept, with those that stand for the others."""
        division, sums = self.division, self.sums
        pace, gang = division.pace[kept], division.gang[kept]
        common = {"stock": rest, "scale": self.scale, "count": self.count}
        if not self.gains:
            return division.replace(
                pace=pace,
                gang=gang,
                floor=self.floor[kept],
                slope=self.slope[kept],
                drift=self.drift + sums.drift,
                **common,
            )
        first, second = np.nonzero(sums.gain)
        alone = np.flatnonzero(sums.part)
        q, m = len(first), pace.shape[1]
        stand = np.zeros((q + len(alone), m))
        places = np.arange(q)
        stand[places, first] = sums.ratio[first, second] / sums.gang[first, second]
        stand[places, second] = 1 + stand[places, first]
        stand[q + np.arange(len(alone)), alone] = 1
        return division.replace(
            pace=np.concatenate([pace, stand]),
            gang=np.concatenate([gang, sums.gang[first, second], 4 * division.stock[alone]]),
            gain=np.concatenate([self.gain[kept], sums.gain[first, second], sums.part[alone]]),
            **common,
        )

    def _recover(self, kept: IntArray, found: Found) -> Found:
        """Return the shares of all jobs: what they choose, or what the small division says."""
        division, (n, m) = self.division, self.division.size
        share, worth = np.empty((n, m)), np.empty(n)
        wanted = _NONE if self.gains else self.floor + self.slope * found.level
        choose(self.pace, self.gain, wanted, division.gang, found.prices, share, worth)
        share[kept] = found.share[: len(kept)]
        worth[kept] = found.worth[: len(kept)]
        return Found(share, found.prices, found.level, worth, found.steps, found.merit)


def _start_at(division: Division, prices: FloatArray, level: float) -> Start:
    """Return the choices of all jobs at these prices."""
    n, m = division.size
    lowest = 1e-3 * float(prices @ division.stock) / division.stock.sum()
    prices = np.maximum(prices, lowest)
    share, worth = np.empty((n, m)), np.empty(n)
    gain = _NONE if division.gain is None else division.gain
    zero = np.zeros(n)
    floor = zero if division.floor is None else division.floor
    slope = zero if division.slope is None else division.slope
    wanted = floor + slope * level if division.gain is None else _NONE
    choose(division.pace, gain, wanted, division.gang, prices, share, worth)
    return Start(prices, level, share, worth)


def warm() -> None:
    """Solve small divisions by boxes, so that every loop is compiled."""
    draw = np.random.default_rng(0)
    pace, one = draw.random((200, 2)) + 0.1, np.ones(200)
    solve_in_box(Division(pace, one, np.full(2, 10.0), gain=one), small=40)
    solve_in_box(Division(pace, one, np.full(2, 10.0), slope=one), small=40)
