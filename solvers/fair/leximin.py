"""Method ``leximin``: lexicographic max-min in stages of capacity.

A stage raises all open jobs together. Jobs that no open type can bring higher stop at their
own reach, in ascending order; how many do is found by binary search. What stops the others
are types: those with a price are full of frozen jobs, and no open job ever uses them again.
So there are at most as many stages as types, and m (2 + log2 n) linear programs, unless ties
hide a frozen job behind a multiplier of 0; then the next stage finds the same level again.
Sources: Radunovic, Le Boudec, "A Unified Framework for Max-Min and Min-Max Fairness", 2007;
Ogryczak, Pioro, Tomaszewski, "Telecommunications Network Design and Max-Min Optimization
Problem", 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.objectives import levels
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.result import SolverInfo, Termination
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished
from allocsolve.solvers.engines.conic import engine_version
from allocsolve.solvers.fair.compiling import UNCOMPILED, plain_seconds
from allocsolve.solvers.fair.forms import Form, form_of
from allocsolve.solvers.fair.kernel_sets import BOX, INTERIOR
from allocsolve.solvers.fair.level_box import BoxedLevels
from allocsolve.solvers.fair.level_program import CLOSE, Stage, WholeLevels
from allocsolve.solvers.fair.linear_box import unit_prices
from allocsolve.solvers.fair.linear_program import Linear
from allocsolve.solvers.fair.presenting import goal_name, offer
from allocsolve.solvers.fair.price_box import solve_in_box
from allocsolve.solvers.fair.program import Division, Found
from allocsolve.solvers.fair.settings import objective_options, read_words
from allocsolve.solvers.fair.structured import nothing_to_divide, offer_nothing, offer_split
from allocsolve.solvers.loading import loops

__all__ = ["SETTINGS", "Stages", "solve"]

SETTINGS: Mapping[str, Sequence[str]] = {}

_SMALL = 600
"""Jobs up to which every program holds all of them; more are reduced by a box of prices."""

_MANY = 20_000
"""Jobs from which on a first stage may not end within a limit."""

_FIRST_ONLY = "the run ended before a stage was solved: only the first level is maximised"

_PRICED = 1e-7
"""Part of the whole multiplier (or of the value of the stock) above which one counts."""


def solve(problem: FairProblem, control: RealControl[FairAnswer]) -> Outcome:
    """Find the leximin allocation, and prices that prove its first level.

    Raises
    ------
    UsageError
        If a setting is unknown.
    """
    read_words("leximin", control.limits.options, SETTINGS)
    options = objective_options(control.limits.options)
    if nothing_to_divide(problem):
        offer_nothing(problem, control)
        info = SolverInfo("none", "", control.limits.seed, 1, options)
        return finished(control, info, Termination.FINISHED)
    control.phase("stages of linear programs")
    form = form_of(problem)
    backup = _first_level(form, control) if form.division.size[0] > _MANY else None
    stages = Stages(form.division, lambda: control.stopped() is not None)
    stages.run(control)
    info = SolverInfo(
        "highs",
        engine_version("highs"),
        control.limits.seed,
        1,
        {**options, "programs": stages.levels.programs},
    )
    warnings: tuple[str, ...] = ()
    if stages.first is None or stages.last is None:
        late = control.stopped() or Termination.SOLVER_ERROR
        if backup is None:
            offer_split(problem, control)
            warnings = (UNCOMPILED,) if form.division.size[0] > _MANY else ()
            return finished(control, info, late, warnings=warnings)
        offer(backup, control, "max_min", bounds=False)
        return finished(control, info, late, warnings=(_FIRST_ONLY,))
    # The bound is one on the first level: it proves nothing of levels that were not raised.
    offered = offer(_answer(problem, form, stages), control, "leximin", bounds=stages.complete)
    ended_by = control.stopped()
    if not stages.complete:
        warnings = ("the run ended before all levels were found",)
    elif not offered.proved:
        warnings = (f"the certified gap of the first level is {offered.gap:.1e}",)
    return finished(control, info, ended_by or Termination.FINISHED, warnings=warnings)


def _first_level(form: Form, control: RealControl[FairAnswer]) -> FairAnswer | None:
    """Return a max-min answer, which is found far sooner than the first stage of many jobs."""
    with loops(
        control, INTERIOR, BOX, plain=plain_seconds(form.problem, division=form.division)
    ) as able:
        if not able:
            return None
        return form.answer(solve_in_box(form.division, stop=control.stopped))


def _answer(problem: FairProblem, form: Form, stages: Stages) -> FairAnswer:
    """Return the shares of the last stage with the prices of the first one."""
    assert stages.first is not None
    assert stages.last is not None
    slope = form.division.slope
    assert slope is not None
    worth = stages.first.worth / np.where(slope > 0, slope, 1.0)
    prices = stages.first.prices * stages.unit
    found = Found(stages.last.share, prices, stages.first.level * stages.unit, worth)
    bare = form.answer(found)
    name = goal_name(problem)
    known = levels(problem, bare.utilities, name, problem.settings)
    return FairAnswer(
        problem,
        bare.shares,
        prices=bare.prices,
        time_prices=bare.time_prices,
        levels=known,
    )


class Stages:
    """The stages of a division with a level.

    Attributes
    ----------
    first, last
        The first stage, whose prices prove the first level, and the last one, None before.
    complete
        Whether every job has its level.
    """

    def __init__(
        self, division: Division, stop: Callable[[], bool], *, small: int = _SMALL
    ) -> None:
        assert division.slope is not None
        self.division, self.n = division, division.size[0]
        self.pace: FloatArray = division.pace / division.slope[:, None]
        self.unit = float(np.median(self.pace.max(axis=1)))
        self.levels = (WholeLevels if self.n <= small else BoxedLevels)(
            self.pace / self.unit, division.gang, division.stock, stop
        )
        self.first: Stage | None = None
        self.last: Stage | None = None
        self.complete = False
        self._open = np.ones(self.n, dtype=np.bool_)
        self._types = np.ones(division.size[1], dtype=np.bool_)

    def run(self, control: RealControl[FairAnswer]) -> None:
        """Freeze job after job until all have their level, or the run should end."""
        while self._open.any():
            if control.stopped() is not None or not self._stage():
                return
        self.complete = True

    def _stage(self) -> bool:
        """Freeze the jobs that one stage stops; False if a program was not solved."""
        reach = np.zeros(self.n)
        if self._types.any():
            reach = self.pace[:, self._types].max(axis=1) / self.unit
        order = np.flatnonzero(self._open)
        order = order[np.argsort(reach[order], kind="stable")]
        levels = self.levels
        together = levels.together(order, reach, self._types)
        if together is None:
            return False
        self.first = self.first or together
        self.last = self.last or together
        if together.level < reach[order[0]] * (1 - CLOSE):
            return self._freeze(order, reach, 0, together)  # no job is at its reach
        every = levels.raise_to(order, order[:0], reach, self._types)
        if every is not None:
            self._open[:] = False
            self.last = every
            return True
        low = self._search(order, reach)
        stage = levels.above(order, low, reach, self._types) if low else together
        return stage is not None and self._freeze(order, reach, low, stage)

    def _search(self, order: IntArray, reach: FloatArray) -> int:
        """Return how many jobs stop at their reach."""
        low, high = 0, len(order) - 1
        while low < high:
            middle = (low + high + 1) // 2
            if self.levels.fits(order, middle, reach, self._types):
                low = middle
            else:
                high = middle - 1
        return low

    def _held(self, stage: Stage, full: BoolArray) -> BoolArray:
        """Return the open jobs that cannot rise without a type that is full, bool (n,).

        Whoever would have to use such a type pays at least its price for a full time share.
        """
        rows, kinds = np.flatnonzero(self._open), np.flatnonzero(self._types)
        held = np.zeros(self.n, dtype=np.bool_)
        if not full.any() or not len(rows):
            return held
        pace, gang = self.pace[np.ix_(rows, kinds)] / self.unit, self.division.gang[rows]
        need, stock = np.full(len(rows), stage.level), self.division.stock[kinds]
        asking = Linear(pace, np.zeros(pace.shape), gang, stock, need)
        worth = unit_prices(asking, stage.prices[kinds]) * pace.max(axis=1)
        held[rows] = worth >= 0.5 * gang * float(stage.prices[full].min())
        return held

    def _freeze(self, order: IntArray, reach: FloatArray, low: int, stage: Stage) -> bool:
        """Freeze the jobs at their reach, and those that bound the level of the others."""
        self.last = stage
        self.levels.freeze_at_reach(order[:low], reach, self._types)
        self._open[order[:low]] = False
        value = stage.prices * self.division.stock
        full = self._types & (value > _PRICED * max(float(value.sum()), stage.level))
        held = self._held(stage, full)
        if not held.any():
            held = self._open & (stage.worth >= stage.worth[self._open].max())
        self.levels.freeze(np.flatnonzero(held), stage, self._types)
        self._open &= ~held
        self._types &= ~full
        return True
