"""The stages of a leximin answer for many jobs, each reduced exactly by a box.

At given prices and a given level each job has a best choice in closed form. Jobs whose choice
stays best in a whole box of prices and levels add up to an amount of each type that is linear
in the level; a linear program of the others decides, and if its prices and level lie in the box
they are those of all jobs. Jobs that are frozen hold the same in every later stage unless they
could choose at the prices that froze them (complementary slackness); only the few that could
stay in the programs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.solvers.fair.level_program import CLOSE, ROOM, LevelProgram, Stage
from allocsolve.solvers.fair.linear_box import choose, unit_prices
from allocsolve.solvers.fair.linear_program import Linear
from allocsolve.solvers.fair.price_range import PriceRange, normal

__all__ = ["BoxedLevels"]

_SAMPLE = 800
_WIDTH = 1.5
"""Half the width of the first box in standard errors of a sample."""

_ROUNDS = 16
_MOST = 0.5
"""Part of the jobs from which on a box saves nothing."""

_ROUNDING = 1e-13

_PROVED = 1e-11
"""Relative part of the worth of the stock that the least cost of all needs may fall short."""

_TIE = 1e-7
"""Relative change of prices that must not change the choice of a job that is left alone."""


class BoxedLevels:
    """Stages as :class:`allocsolve.solvers.fair.level_program.WholeLevels` has them.

    Attributes
    ----------
    programs, reduced
        How many programs were asked for, and how many small ones were solved for them.
    """

    def __init__(
        self, pace: FloatArray, gang: FloatArray, stock: FloatArray, stop: Callable[[], bool]
    ) -> None:
        self.programs = self.reduced = 0
        self._pace, self._gang, self._stock, self._stop = pace, gang, stock, stop
        self._share = np.zeros(pace.shape)
        self._loose: IntArray = np.zeros(0, dtype=np.int64)
        self._floor = np.zeros(len(gang))
        self._box: PriceRange | None = None
        self._guessed: FloatArray | None = None

    def together(self, order: IntArray, reach: FloatArray, types: BoolArray) -> Stage | None:
        """Raise all of these jobs; None if the run was stopped."""
        self.programs += 1
        lowest = float(reach[order[0]])
        share = self._fit(order[:0], order, lowest, reach, types)
        if share is None:
            return self._level(order[:0], order, reach, types)
        worth = np.zeros(len(self._gang))
        worth[order[0]] = 1.0  # its own time is what stops it
        return Stage(lowest, share, worth, np.zeros(len(self._stock)))

    def raise_to(
        self,
        stopped: IntArray,
        rising: IntArray,  # noqa: ARG002 - none: all jobs stop
        reach: FloatArray,
        types: BoolArray,
    ) -> Stage | None:
        """Let all of these jobs stop at their reach; None if that cannot be."""
        share = self._fit(stopped, stopped[:0], 0.0, reach, types)
        zero = np.zeros(len(self._gang))
        return None if share is None else Stage(0.0, share, zero, np.zeros(len(self._stock)))

    def fits(self, order: IntArray, stopped: int, reach: FloatArray, types: BoolArray) -> bool:
        """Tell whether the first jobs reach what they can, and the others as much as the last."""
        self.programs += 1
        level = float(reach[order[stopped - 1]])
        return self._fit(order[:stopped], order[stopped:], level, reach, types) is not None

    def above(
        self, order: IntArray, stopped: int, reach: FloatArray, types: BoolArray
    ) -> Stage | None:
        """Return the stage of the others, where as many as fit stop at their reach."""
        self.programs += 1
        first, last = float(reach[order[stopped - 1]]), float(reach[order[stopped]])
        prices = self._guess(types)
        self._box = PriceRange(prices, 0.05 * prices, (first + last) / 2, (last - first) * 0.51)
        return self._level(order[:stopped], order[stopped:], reach, types)

    def _level(
        self, stopped: IntArray, rising: IntArray, reach: FloatArray, types: BoolArray
    ) -> Stage | None:
        """Raise some jobs as far as the stock allows, others to their reach."""
        share, tied = self._at_reach(stopped, types)
        floor = self._floor.copy()
        floor[tied] = reach[tied]
        held = np.concatenate([self._loose, tied])
        return self._boxed(held, rising, floor, share, self._gang @ share, types)

    def _fit(
        self,
        stopped: IntArray,
        rising: IntArray,
        level: float,
        reach: FloatArray,
        types: BoolArray,
    ) -> FloatArray | None:
        """Return shares that bring some jobs to their reach and others to a level, if there are.

        The least factor by which the stock must be multiplied decides. Shares that fit prove
        that it is at most 1, and prices at which all that is needed costs more than the stock
        prove that it is above.
        """
        share, tied = self._at_reach(stopped, types)
        held = np.concatenate([self._loose, tied])
        floor = self._floor.copy()
        floor[tied], floor[rising] = reach[tied], level
        settled, limit = self._gang @ share, self._stock * (1 + _ROUNDING)
        if (settled > limit).any():
            return None
        if not len(held) and not len(rising):
            return share
        if not len(rising):
            found = self._solve_needs(held, rising, floor, share, settled, types)
            return _if_fitting(found)
        return self._fit_boxed(held, rising, level, floor, share, types)

    def _fit_boxed(
        self,
        held: IntArray,
        rising: IntArray,
        level: float,
        floor: FloatArray,
        share: FloatArray,
        types: BoolArray,
    ) -> FloatArray | None:
        """Find shares for a level within boxes around prices that move until one side is proved."""
        needs, columns = self._asking(rising, types, level), np.flatnonzero(types)
        settled, stock, gang = self._gang @ share, self._stock, self._gang[rising]
        prices = self._guess(types)
        radius = 0.05 * prices
        for _ in range(_ROUNDS):
            low, high = np.maximum(prices - radius, 0.0), prices + radius
            best, sure = choose(needs, prices, low, high)
            chosen = settled.copy()
            chosen[types] += gang @ best
            if float(chosen[types] @ prices) > float(prices @ stock[types]) * (1 + CLOSE):
                return None
            share[np.ix_(rising, columns)] = best
            if not len(held) and (chosen <= stock * (1 + _ROUNDING)).all():
                return share
            sure[0] &= len(held) > 0 or not sure.all()  # a program needs a job
            fixed = settled.copy()
            fixed[types] += gang[sure] @ best[sure]
            found = self._solve_needs(held, rising[~sure], floor, share, fixed, types)
            if found is None or _if_fitting(found) is not None:
                return _if_fitting(found)
            spent = self._cost(held, rising, floor, level, settled, found.prices, types)
            if not sure.any() or spent > float(found.prices @ stock) * (1 + CLOSE):
                return None
            after = np.maximum(found.prices[types], 1e-6 * self._even(types))
            inside = (after >= low) & (after <= high)
            prices = self._guessed = np.clip(after, low + 0.1 * radius, high)
            radius = np.maximum(np.where(inside, 0.5, 1.6) * radius, 0.01 * prices)
        return _if_fitting(self._solve_needs(held, rising, floor, share, settled, types))

    def _even(self, types: BoolArray) -> FloatArray:
        """Return prices at which the stock of each open type is worth the same."""
        even: FloatArray = 1 / self._stock[types] / types.sum()
        return even

    def _guess(self, types: BoolArray) -> FloatArray:
        """Return the last prices that were found, if they are those of the open types."""
        if self._guessed is None or len(self._guessed) != types.sum():
            self._guessed = self._even(types)
        return self._guessed

    def _solve_needs(
        self,
        held: IntArray,
        kept: IntArray,
        floor: FloatArray,
        share: FloatArray,
        fixed: FloatArray,
        types: BoolArray,
    ) -> Stage | None:
        """Find the least factor of the stock, as minus the level of a program."""
        others = np.stack([fixed + self._stock, self._stock])
        return self._solve(np.concatenate([held, kept]), kept[:0], floor, share, others, types)

    def _at_reach(self, jobs: IntArray, types: BoolArray) -> tuple[FloatArray, IntArray]:
        """Return all settled shares with these jobs on their fastest type, and who has a tie."""
        share = self._share.copy()
        if not len(jobs):
            return share, jobs
        pace = np.where(types, self._pace[jobs], -1.0)
        best = pace.max(axis=1)
        able = pace >= best[:, None] * (1 - CLOSE)
        alone = able.sum(axis=1) == 1
        share[jobs[alone]] = able[alone] * (1 - ROOM)
        return share, jobs[~alone]

    def _boxed(
        self,
        held: IntArray,
        rising: IntArray,
        floor: FloatArray,
        share: FloatArray,
        load: FloatArray,
        types: BoolArray,
    ) -> Stage | None:
        if self._box is None and len(rising) > 2 * _SAMPLE:
            self._box = self._first(rising, load, types)
        leap: PriceRange | None = None
        for _ in range(_ROUNDS):
            if self._box is None or self._stop():
                break
            # By turns a leap to the prices that were found last, and a step towards them.
            box, leap = leap or self._box, None
            kept, moving, others = self._reduce(rising, box, types)
            if len(kept) > _MOST * len(rising):
                if box is self._box:
                    break
                continue
            found = self._solve(held, kept, floor, share, others + _first_row(load), types)
            if found is None:
                box.widen()
                continue
            prices = normal(found.prices[types], self._stock[types])
            first, last = box.ends
            whole = float(found.prices @ self._stock)
            spent = self._cost(held, rising, floor, found.level, load, found.prices, types)
            inside = first <= found.level <= last and spent >= whole * (1 - _PROVED)
            if box is self._box:
                likely = np.maximum(prices, 1e-4 * self._even(types))
                leap = PriceRange(likely, 0.03 * likely, box.level, box.span)
                box.move(prices, found.level)
            if inside:
                jobs, low, high = moving
                part = (found.level - first) / (last - first)
                found.share[np.ix_(jobs, np.flatnonzero(types))] = low + part * (high - low)
                found.worth[jobs] = self._slopes(jobs, found, types)
                return found
        return (
            None
            if self._stop()
            else self._solve(held, rising, floor, share, np.stack([load, 0.0 * load]), types)
        )

    def _cost(
        self,
        held: IntArray,
        rising: IntArray,
        floor: FloatArray,
        level: float,
        load: FloatArray,
        prices: FloatArray,
        types: BoolArray,
    ) -> float:
        """Return the least cost of all that is needed; no more than the stock costs if it fits."""
        total = float(load @ prices)
        every = np.ones(len(types), dtype=np.bool_)
        needs = [(rising, np.full(len(rising), level), types), (held, floor[held], every)]
        for jobs, need, open_ in needs:
            asking, some = self._asking(jobs, open_, level, need), prices[open_]
            best, _ = choose(asking, some, some, some)
            total += float((self._gang[jobs] @ best) @ some)
        return total

    def _slopes(self, jobs: IntArray, stage: Stage, types: BoolArray) -> FloatArray:
        return unit_prices(self._asking(jobs, types, stage.level), stage.prices[types])

    def _asking(
        self, jobs: IntArray, types: BoolArray, level: float, need: FloatArray | None = None
    ) -> Linear:
        """Return what these jobs may choose from at a level, or for their own needs."""
        pace = self._pace[np.ix_(jobs, np.flatnonzero(types))]
        need = np.full(len(jobs), level) if need is None else need * (1 - ROOM)
        return Linear(pace, np.zeros(pace.shape), self._gang[jobs], self._stock[types], need)

    def _first(self, rising: IntArray, load: FloatArray, types: BoolArray) -> PriceRange | None:
        """Return a box around prices and level of a sample."""
        some = np.sort(np.random.default_rng(0).choice(rising, _SAMPLE, replace=False))
        rest = np.maximum(self._stock - load, 1e-9 * self._stock)[types]
        program = LevelProgram(
            self._pace[np.ix_(some, np.flatnonzero(types))],
            self._gang[some] * (len(rising) / _SAMPLE),
            rest,
            stop=self._stop,
        )
        found = program.solve_stage(np.ones(_SAMPLE, dtype=np.bool_), np.zeros(_SAMPLE))
        self.reduced += 1
        if found is None or not found.level > 0:
            return None
        width, prices = _WIDTH / np.sqrt(_SAMPLE), normal(found.prices, self._stock[types])
        radius = width * np.maximum(prices, 0.05 * self._even(types))
        return PriceRange(prices, radius, found.level, width * found.level)

    def _reduce(
        self, rising: IntArray, box: PriceRange, types: BoolArray
    ) -> tuple[IntArray, tuple[IntArray, FloatArray, FloatArray], FloatArray]:
        """Return who may choose within the box, what the others hold at its ends, their load."""
        first, last = box.ends
        ends = [
            choose(self._asking(rising, types, level), box.prices, box.low, box.high)
            for level in (first, last)
        ]
        (low, sure), (high, also) = ends
        same = sure & also & ((low > 0) == (high > 0)).all(axis=1)
        same[0] = False  # the program keeps a job, so that it has a level
        jobs, gang = rising[same], self._gang[rising[same]]
        begin, end = gang @ low[same], gang @ high[same]
        others = np.zeros((2, len(self._stock)))
        others[1, types] = (end - begin) / (last - first)
        others[0, types] = begin - others[1, types] * first
        return rising[~same], (jobs, low[same], high[same]), others

    def _solve(
        self,
        held: IntArray,
        rising: IntArray,
        floor: FloatArray,
        share: FloatArray,
        others: FloatArray,
        types: BoolArray,
    ) -> Stage | None:
        """Solve for jobs with floors and rising jobs beside what others hold."""
        rows = np.concatenate([held, rising])
        if not len(rows):
            zero = np.zeros(len(self._gang))
            return Stage(0.0, share, zero, np.zeros(len(self._stock)))
        pace = self._pace[rows]
        settled = np.isin(rows, self._loose) if len(self._loose) else np.zeros(len(rows), bool)
        pace[~settled] = np.where(types, pace[~settled], 0.0)
        program = LevelProgram(pace, self._gang[rows], self._stock, stop=self._stop, others=others)
        rises = np.arange(len(rows)) >= len(held)
        found = program.solve_stage(rises, np.where(rises, 0.0, floor[rows] * (1 - ROOM)))
        self.reduced += 1
        if found is None:
            return None
        every, worth = share.copy(), np.zeros(len(self._gang))
        every[rows], worth[rows] = found.share, found.worth
        return Stage(found.level, every, worth, found.prices)

    def freeze_at_reach(self, jobs: IntArray, reach: FloatArray, types: BoolArray) -> None:
        """Leave these jobs at their own reach."""
        self._share, tied = self._at_reach(jobs, types)
        self._floor[tied] = reach[tied]
        self._loose = np.concatenate([self._loose, tied])

    def freeze(self, jobs: IntArray, stage: Stage, types: BoolArray) -> None:
        """Leave these jobs at the level of a stage, with the same shares if they have no choice."""
        prices = stage.prices[types]
        slack = _TIE * np.maximum(prices, 1e-3 * float(prices.max(initial=0.0)))
        low, high = np.maximum(prices - slack, 0.0), prices + slack
        asking = self._asking(jobs, types, stage.level * (1 - ROOM))
        share, sure = choose(asking, prices, low, high)
        self._share[np.ix_(jobs[sure], np.flatnonzero(types))] = share[sure]
        self._floor[jobs[~sure]] = stage.level
        self._loose = np.concatenate([self._loose, jobs[~sure]])
        self._box = self._guessed = None  # other types are open now


def _if_fitting(found: Stage | None) -> FloatArray | None:
    """Return the shares if the least factor of the stock is at most 1."""
    return None if found is None or -found.level > 1 + _ROUNDING else found.share


def _first_row(load: FloatArray) -> FloatArray:
    """Return what is held at any level."""
    return np.stack([load, np.zeros(len(load))])
