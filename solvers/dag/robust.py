"""Robust choice: of all schedules at hand the one whose makespan has the least quantile.

A method looks for the schedule that is shortest as planned. What it finds on its way, list
schedules, and list schedules for expected times are replayed on the same drawn nodes; half of
them leave after each round of replications (sequential halving: Karnin, Koren and Somekh, "Almost
optimal exploration in multi-armed bandits", ICML 2013). The one that is left has to beat the
nominally best one on fresh draws. Both are then replayed on draws that decided nothing, so that
the quantiles that are reported are not too good for having been chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from allocsolve.models.arguments import share
from allocsolve.models.arrays import FloatArray
from allocsolve.models.dag.answer import Appraisal, Robustness, Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.execution.dag import prepare
from allocsolve.models.execution.laws import node_laws
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.rounds import Cancelled
from allocsolve.models.execution.runs import KERNELS, PLAIN_SECONDS, Replayer
from allocsolve.models.execution.summary import quantile, quantile_interval
from allocsolve.models.nodes import RuntimeLaw
from allocsolve.models.random import GROUP
from allocsolve.models.result import BoundOf, Termination
from allocsolve.solvers.control import Control, Event, Outcome, Proof
from allocsolve.solvers.dag.robust_candidates import (
    Candidate,
    Pool,
    PoolControl,
    add_expected,
    add_lists,
)
from allocsolve.solvers.loading import loops

__all__ = ["RobustRequest", "choose"]

_SEARCH = 0.7
"""Share of the time that the search for schedules may take."""

_FIRST = GROUP
_FINALISTS = 4
_CONFIRM = 4 * GROUP
"""Replications on which the one that is left has to beat the nominal schedule."""

_FINAL = 10_240
"""Replications that decide nothing, of the schedule that was chosen and of the nominal one."""

_LATE = "the limit left no time to compare schedules on drawn nodes; this one is best as planned"
_NOT_READY = "so the schedule is the one that is best as planned"
_NOT_COMPILED = (
    "the replay is not compiled and compiling does not fit into the time limit, "
    f"{_NOT_READY}; 'allocsolve doctor --compile' does it once"
)
_NOT_LOADED = (
    f"the time limit is too short to load the compiled replay, {_NOT_READY}; a second more helps"
)
_NOT_LOOKED_AT = (
    f"the time limit is too short to load the replay, {_NOT_READY}; a few seconds more help, once "
    "'allocsolve doctor --compile' has been called"
)

Solve = Callable[[DagProblem, Control[Schedule]], Outcome]


@dataclass(frozen=True)
class RobustRequest:
    """What is asked of the choice.

    Attributes
    ----------
    quantile
        Of the makespan, 0 to 1.
    law
        Law of every node, None for those of the instance.

    Raises
    ------
    UsageError
        If the quantile is out of range.
    """

    quantile: float
    law: RuntimeLaw | None = None

    def __post_init__(self) -> None:
        share("quantile", self.quantile)

    def is_random(self, problem: DagProblem) -> bool:
        """Whether anything is random at all, so that there is something to choose by."""
        straggles = any(node.runtime is not None for node in problem.nodes)
        return self.law is not None or straggles or any(node.process for node in problem.nodes)


def choose(
    problem: DagProblem, control: Control[Schedule], inner: Solve, request: RobustRequest
) -> tuple[Outcome, Robustness | None]:
    """Offer the schedule whose makespan has the least quantile.

    Parameters
    ----------
    inner
        The method that looks for the schedule that is best as planned; its bound holds for the
        makespan of every schedule.

    Returns
    -------
    tuple
        How the run ended, and what the choice was; None if there was nothing to choose from, or
        no time.
    """
    pool = Pool()
    search = _search_control(control, pool)
    outcome = inner(problem, search)
    nominal = search.answer
    if search.bound is not None:
        control.raise_bound(search.bound)
    if nominal is None:
        return outcome, None
    if outcome.proof is Proof.OPTIMAL:
        control.raise_bound(BoundOf[int](nominal.makespan, outcome.solver.name))
    try:
        found, warning = _compare(problem, control, pool, nominal, request)
    except Cancelled:
        found, warning = None, _LATE
    chosen = nominal if found is None else found[0]
    control.offer(chosen, chosen.makespan, "robust" if found else search.source or "")
    ended = _ended(outcome, control, warning)
    return ended, None if found is None else found[1]


def _search_control(control: Control[Schedule], pool: Pool) -> PoolControl:
    """Return the control of the search, which gets most of the time."""
    limits, left = control.limits, control.remaining()
    if limits.deadline is not None:
        limits = replace(limits, deadline=time.monotonic() + _SEARCH * max(left, 0.0))

    def hear(event: Event) -> None:
        if event.type != "bound":
            is_status = event.type == "status"
            control.phase(event.source if is_status else f"candidate: {event.source}")
        elif event.bound is not None:
            control.raise_bound(BoundOf[int](int(event.bound), event.source))

    search = PoolControl(pool, limits, control.token, hear)
    search.warm_start, search.examined = control.warm_start, control.examined
    if control.bound is not None:
        search.raise_bound(control.bound)
    return search


def _ended(outcome: Outcome, control: Control[Schedule], warning: str | None) -> Outcome:
    """Return the outcome of the run: what is proved is whether value and bound meet."""
    proven = control.is_proven()
    return replace(
        outcome,
        proof=Proof.OPTIMAL if proven else Proof.NOTHING,
        termination=Termination.FINISHED if proven else outcome.termination,
        deterministic=outcome.deterministic and warning is None,
        warnings=(*outcome.warnings, *([] if warning is None else [warning])),
    )


def _compare(
    problem: DagProblem,
    control: Control[Schedule],
    pool: Pool,
    nominal: Schedule,
    request: RobustRequest,
) -> tuple[tuple[Schedule, Robustness] | None, str | None]:
    """Return the chosen schedule with what is known of it, or a warning why there is none."""
    if control.token.cancelled or control.remaining() <= 0:
        return None, _LATE
    control.phase("candidates")
    add_lists(problem, control, pool)
    if request.law is None:
        add_expected(problem, control, pool, node_laws(problem), request.quantile)
    candidates = pool.candidates()
    seconds = len(problem.tasks) * _replications(len(candidates)) * PLAIN_SECONDS
    with loops(control, KERNELS, plain=seconds) as can_run:
        if not can_run:
            return None, _unready()
        control.phase("comparing schedules on drawn nodes")
        race = _Race(problem, control, request)
        return race.result(candidates, nominal), None


def _unready() -> str:
    """Say what the replay would have needed: a compiler, or only a little more time."""
    known = KERNELS.is_known_as_cached()
    if known is None:
        return _NOT_LOOKED_AT
    return _NOT_LOADED if known else _NOT_COMPILED


def _replications(candidates: int) -> int:
    """Return how many replications of one schedule a race and what follows it take together."""
    total, size = 2 * _FINAL + (2 * _CONFIRM if candidates > 1 else 0), _FIRST
    while candidates > 1:
        total, size = total + candidates * size, 2 * size
        candidates = _left(candidates)
    return total


def _left(candidates: int) -> int:
    """Return how many candidates a round of the race leaves."""
    return candidates // 2 if candidates > _FINALISTS else 1


def _is_same(first: Schedule, second: Schedule) -> bool:
    same_starts = np.array_equal(first.start, second.start)
    return same_starts and np.array_equal(first.mode, second.mode)


@dataclass
class _Runner:
    """A candidate with the makespans that were drawn for it."""

    candidate: Candidate
    replayer: Replayer
    samples: FloatArray

    def quantile(self, q: float) -> float:
        """Return a quantile of what was drawn."""
        return quantile(np.sort(self.samples), q)


class _Race:
    """Candidates on the same draws; those that do worse leave."""

    def __init__(
        self, problem: DagProblem, control: Control[Schedule], request: RobustRequest
    ) -> None:
        self._problem, self._control, self._quantile = problem, control, request.quantile
        self._asked = SimulationRequest(seed=control.limits.seed, law=request.law)
        self._done = 0

    def result(
        self, candidates: Sequence[Candidate], nominal: Schedule
    ) -> tuple[Schedule, Robustness]:
        """Return the winner and how it compares with the nominally best schedule."""
        planned = Candidate(nominal, "nominal")
        chosen = self._confirmed(self._winner([self._runner(one) for one in candidates]), planned)
        final = [
            self._runner(one) for one in ([planned] if chosen is planned else [chosen, planned])
        ]
        self._draw(final, _FINAL)
        told = [self._appraisal(each) for each in final]
        return chosen.schedule, Robustness(
            quantile=self._quantile,
            chosen=told[0],
            nominal=told[-1],
            source=chosen.source,
            candidates=len(candidates),
            replications=_FINAL,
            seed=self._asked.seed,
        )

    def _confirmed(self, winner: Candidate, planned: Candidate) -> Candidate:
        """Return the winner if it is better than the nominal schedule on fresh draws as well."""
        if _is_same(winner.schedule, planned.schedule):
            return planned
        both = [self._runner(winner), self._runner(planned)]
        self._draw(both, _CONFIRM)
        first, second = (each.quantile(self._quantile) for each in both)
        return winner if first < second else planned

    def _winner(self, left: list[_Runner]) -> Candidate:
        """Return the candidate that is left; at the same quantile the shorter one stays."""

        def rank(runner: _Runner) -> tuple[float, int]:
            return runner.quantile(self._quantile), runner.candidate.schedule.makespan

        size = _FIRST
        while len(left) > 1:
            self._draw(left, size)
            left.sort(key=rank)
            left = left[: _left(len(left))]
            size *= 2
        return left[0].candidate

    def _runner(self, candidate: Candidate) -> _Runner:
        part = prepare(self._problem, candidate.schedule, self._asked)
        return _Runner(candidate, part.replayer, np.empty(0))

    def _draw(self, runners: Sequence[_Runner], count: int) -> None:
        """Draw the next replications of each schedule."""
        first, self._done = self._done, self._done + count
        for runner in runners:
            drawn = runner.replayer.sample(
                first, count, threads=self._control.limits.threads, cancelled=self._is_over
            )
            runner.samples = np.concatenate([runner.samples, drawn])

    def _is_over(self) -> bool:
        return self._control.token.cancelled or self._control.remaining() <= 0

    def _appraisal(self, runner: _Runner) -> Appraisal:
        return Appraisal(
            makespan=float(self._problem.units(runner.candidate.schedule.makespan)),
            value=runner.quantile(self._quantile),
            ci=quantile_interval(np.sort(runner.samples), self._quantile),
        )
