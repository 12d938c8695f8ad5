"""Method ``tabu``: tabu search on job shops and flexible job shops, over a shared population.

Runs begin from random schedules without delay and, once there are some peaks, from crossovers
of two of them: a memetic search in the way of Peng, Lu and Cheng (2015), A tabu search/path
relinking algorithm to solve the job shop scheduling problem, with a crossover of lists in place
of the path. Moves: :mod:`allocsolve.models.dag.shop_moves`.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import SHOPS
from allocsolve.models.dag.shop_data import excuse, shop_of
from allocsolve.models.result import Termination
from allocsolve.models.threads import ContextPool
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag import annealing
from allocsolve.solvers.dag.opening import open_run
from allocsolve.solvers.dag.settings import Choice, read_settings, shown
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.loading import loops

if TYPE_CHECKING:
    from allocsolve.models.dag.shop_climber import Climber, Peak

__all__ = ["RUNS", "SETTINGS", "Tabu", "solve"]

SETTINGS = {"runs": Choice(0, 0, 10**9)}
"""``runs``: of tabu search in each thread; 0 until the time limit, or 50 without one."""

RUNS = 50
"""Runs of each thread without a time limit."""

_SLICE = 0.05
"""Seconds of work between two looks at the clock."""

_PEAKS = 12
"""Peaks that are kept for crossovers."""

_RANDOM_SHARE = 0.4
"""Share of the time in which runs begin from random schedules, if there are that many."""

_FIXED_SLICE = 10_000
"""Moves between two looks where the number of runs is given: the clock has no say then."""

_PLAIN_RUN = 0.4
"""Seconds that plain Python takes for each operation in a run, roughly."""


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Search until value and bound meet, all runs are done or a limit ends it.

    An instance that is no shop is annealed instead, with a warning.
    """
    settings = read_settings("tabu", control.limits.options, SETTINGS)
    own = own_solver(control, shown(settings, SETTINGS), control.limits.threads)
    why_not = excuse(problem)
    if why_not is not None:
        outcome = annealing.search(problem, control, own, rounds=0)
        said = f"there was no tabu search, for {why_not}; annealing searched instead"
        return replace(outcome, warnings=(said, *outcome.warnings))
    opening = open_run(problem, control)
    if opening.reason is not None:
        return infeasible(own, opening.reason)
    runs: int | None = settings["runs"]
    if not runs:
        runs = RUNS if control.limits.deadline is None else None
    warnings: tuple[str, ...] = ()
    is_complete = True
    with loops(control, SHOPS, plain=_PLAIN_RUN * (runs or RUNS) * len(problem.tasks)) as can_run:
        if can_run and control.stopped() is None:
            control.phase("tabu search")
            search = Tabu(problem, control, max(1, control.limits.threads))
            is_complete = search.run(runs, lambda: control.stopped() is not None)
    if not can_run and control.stopped() is None:
        warnings = ("there was no time to compile the loops of the search",)
    return finished(
        control,
        own,
        control.stopped() or Termination.FINISHED,
        deterministic=is_complete and control.limits.threads <= 1,
        warnings=warnings,
    )


class Tabu:
    """Threads that search from a population of peaks that they share.

    Parameters
    ----------
    climbers
        Threads to use, at least 1.
    """

    def __init__(self, problem: DagProblem, control: Control[Schedule], climbers: int) -> None:
        self._problem = problem
        self._control = control
        self._shop = shop_of(problem)
        source = random.Random(control.limits.seed)
        self._seeds = [source.randrange(2**31) for _ in range(climbers)]
        self._peaks: list[Peak] = []
        self._lock = threading.Lock()

    def run(self, runs: int | None, stop: Callable[[], bool], seconds: float = math.inf) -> bool:
        """Search; tell whether the clock had no say in what was done.

        Parameters
        ----------
        runs
            Of each thread, None for as many as there is time for.
        stop
            Asked about every twentieth of a second.
        seconds
            After which it ends, beside what the control says.
        """
        began = time.monotonic()
        until = began + min(seconds, self._control.remaining())
        with ContextPool(len(self._seeds)) as pool:
            work = partial(self._work, runs, stop, began, until)
            ended = list(pool.map(work, self._seeds))
        return runs is not None and all(ended)

    def _work(
        self, runs: int | None, stop: Callable[[], bool], began: float, until: float, seed: int
    ) -> bool:
        """Do run after run; False if it was stopped before its end."""
        from allocsolve.models.dag.shop_climber import Climber

        source, climber, done = random.Random(seed), Climber(self._shop, seed), 0
        pace = 1000.0
        while runs is None or done < runs:
            now = time.monotonic()
            is_early = runs is not None or now - began < _RANDOM_SHARE * (until - began)
            climber.start(self._parents(source, wants_random=is_early))
            is_over = False
            while not is_over:
                now = time.monotonic()
                if stop() or now >= until:
                    self._offer(climber)
                    return self._control.is_proven()
                moves = int(max(50, pace * min(_SLICE, until - now)))
                before = climber.moves
                is_over = climber.climb(moves if runs is None else _FIXED_SLICE, self._target())
                pace = (climber.moves - before + 1) / max(time.monotonic() - now, 1e-6)
                self._offer(climber)
            self._keep(climber.peak())
            done += 1
        return True

    def _parents(self, source: random.Random, *, wants_random: bool) -> tuple[Peak, Peak] | None:
        """Draw two peaks for a crossover; None if the next run begins at random."""
        with self._lock:
            missing = len(self._peaks) < _PEAKS
            if len(self._peaks) < 2 or (missing and wants_random):
                return None
            one, two = source.sample(self._peaks, 2)
            return one, two

    def _keep(self, peak: Peak) -> None:
        """Put a peak into the population in place of the worst one, unless it is known."""
        with self._lock:
            twins = (other for other in self._peaks if other.value == peak.value)
            if any(bool((other.start == peak.start).all()) for other in twins):
                return
            self._peaks.append(peak)
            if len(self._peaks) > _PEAKS:
                worst = max(range(len(self._peaks)), key=lambda place: self._peaks[place].value)
                del self._peaks[worst]

    def _target(self) -> int:
        return 0 if self._control.bound is None else self._control.bound.value

    def _offer(self, climber: Climber) -> None:
        """Offer the best schedule of a run if it is the best of all."""
        if self._control.value is None or climber.value < self._control.value:
            peak = climber.peak()
            self._control.offer(peak.schedule(self._problem, self._shop), peak.value, "tabu")
