"""Method ``genetic``: genetic search over activity lists, one island for each thread.

Projects with any number of resources, several modes, release dates; deadlines as far as the
search meets them. Sources: :mod:`allocsolve.models.dag.project_genetic` and the modules it
calls.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.network import Network
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.project_data import excuse, project_of
from allocsolve.models.dag.search_kernels import PROJECTS
from allocsolve.models.result import Termination
from allocsolve.models.threads import ContextPool
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag.improve import Improver
from allocsolve.solvers.dag.opening import open_run
from allocsolve.solvers.dag.settings import Choice, read_settings, shown
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.loading import loops

if TYPE_CHECKING:
    from allocsolve.models.dag.project_island import Island, Member

__all__ = ["CHILDREN", "SETTINGS", "Genetic", "solve"]

SETTINGS = {"children": Choice(0, 0, 10**9)}
"""``children``: lists tried by each island; 0 until the time limit, or 50 000 without one."""

CHILDREN = 50_000
"""Children of each island without a time limit."""

_SLICE = 0.05
"""Seconds of work between two looks at the clock."""

_FIXED_SLICE = 1000
"""Children between two looks where their number is given: the clock has no say then."""

_EXCHANGE = 0.5
"""Seconds between two exchanges of members."""

_TRIAL = 100
"""Children, at most, that show how fast an island is."""

_SAMPLES = 500
"""Lists that are sampled where there is no genetic search."""

_PLAIN_CHILD = 2e-3
"""Seconds that plain Python takes for a child of 30 tasks, roughly."""


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Search until value and bound meet, all children are made or a limit ends it.

    Where an instance is not for these loops, lists are sampled as by ``list``, with a warning.
    """
    settings = read_settings("genetic", control.limits.options, SETTINGS)
    own = own_solver(control, shown(settings, SETTINGS), control.limits.threads)
    opening = open_run(problem, control)
    if opening.reason is not None:
        return infeasible(own, opening.reason)
    why_not = excuse(problem)
    if why_not is not None:
        improver = Improver(problem, opening.network, control, opening.plan)
        said = f"there was no genetic search, for {why_not}; lists were sampled instead"
        return finished(control, own, improver.run(_SAMPLES), warnings=(said,))
    children: int | None = settings["children"]
    if not children:
        children = CHILDREN if control.limits.deadline is None else None
    plain = _PLAIN_CHILD * (children or CHILDREN) * len(problem.tasks) / 30
    warnings: tuple[str, ...] = ()
    is_complete = True
    with loops(control, PROJECTS, plain=plain) as can_run:
        if can_run and control.stopped() is None:
            control.phase("genetic search")
            search = Genetic(problem, opening.network, control, max(1, control.limits.threads))
            is_complete = search.run(children, lambda: control.stopped() is not None)
    if not can_run and control.stopped() is None:
        warnings = ("there was no time to compile the loops of the search",)
    return finished(
        control,
        own,
        control.stopped() or Termination.FINISHED,
        deterministic=is_complete and control.limits.threads <= 1,
        warnings=warnings,
    )


class Genetic:
    """Islands that search side by side and send each other their best members.

    Parameters
    ----------
    islands
        Threads to use, at least 1.
    """

    def __init__(
        self, problem: DagProblem, network: Network, control: Control[Schedule], islands: int
    ) -> None:
        self._problem = problem
        self._control = control
        self._project = project_of(problem, network)
        source = random.Random(control.limits.seed)
        self._seeds = [source.randrange(2**31) for _ in range(islands)]
        self._mail: list[Member | None] = [None] * islands
        self._lock = threading.Lock()

    def run(
        self, children: int | None, stop: Callable[[], bool], seconds: float = math.inf
    ) -> bool:
        """Search; tell whether the clock had no say in what was done.

        Parameters
        ----------
        children
            Of each island, None for as many as there is time for.
        stop
            Asked about every twentieth of a second.
        seconds
            After which it ends, beside what the control says.
        """
        until = time.monotonic() + min(seconds, self._control.remaining())
        size = self._population_size(children, until)
        with ContextPool(len(self._seeds)) as pool:
            search = partial(self._search, size, children, stop, until)
            ended = list(pool.map(search, range(len(self._seeds))))
        return children is not None and all(ended)

    def _population_size(self, children: int | None, until: float) -> int:
        """Return the members that suit the children that can be made."""
        from allocsolve.models.dag.project_island import Island, population_size

        if children is not None:
            return population_size(children)
        began, made, more = time.monotonic(), 0, 1
        trial = Island(self._project, _TRIAL, self._seeds[0])
        while made < _TRIAL and time.monotonic() - began < _SLICE:
            made += trial.run(more, 0)
            more = 2 * made
        now = time.monotonic()
        return population_size(made / max(now - began, 1e-6) * max(until - now, 0.0))

    def _search(
        self,
        size: int,
        children: int | None,
        stop: Callable[[], bool],
        until: float,
        which: int,
    ) -> bool:
        """Let an island work in slices; False if it was stopped before its end."""
        from allocsolve.models.dag.project_island import Island

        island = Island(self._project, size, self._seeds[which])
        left, pace, exchanged = children or math.inf, 1000.0, time.monotonic()
        while left > 0 and not self._control.is_proven():
            began = time.monotonic()
            if stop() or began >= until:
                return False
            slice_ = int(max(30, pace * min(_SLICE, until - began)))
            made = island.run(
                int(min(left, _FIXED_SLICE)) if children is not None else slice_, self._target()
            )
            left -= made
            pace = max(made, 1) / max(time.monotonic() - began, 1e-6)
            self._offer(island)
            if children is None and began - exchanged > _EXCHANGE:
                exchanged = began
                self._exchange(island, which)
        return True

    def _target(self) -> int:
        return 0 if self._control.bound is None else self._control.bound.value

    def _offer(self, island: Island) -> None:
        """Offer the best schedule of an island if it is the best of all."""
        known = self._control.value
        if island.value < (self._project.horizon if known is None else known):
            self._control.offer(island.schedule(self._problem), island.value, "genetic")

    def _exchange(self, island: Island, which: int) -> None:
        """Send the best member to the next island, and take in what came from the last one."""
        if len(self._mail) < 2:
            return
        own = island.emissary()
        with self._lock:
            self._mail[which] = own
            guest = self._mail[which - 1]
        if guest is not None:
            island.receive(guest)
