"""Better schedules by many priority rules, random sampling and justification.

Hartmann and Kolisch (2000), Experimental evaluation of state-of-the-art heuristics for the
resource-constrained project scheduling problem: random sampling around good rules.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.dispatch import Plan, generate
from allocsolve.models.dag.justification import justify
from allocsolve.models.dag.network import Network
from allocsolve.models.dag.priorities import RULES, SUCCESSOR_RULES, perturbed
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Control

__all__ = ["Improver", "priorities"]

_STRENGTHS = (0.1, 0.3, 0.05)
"""Noise of the sampled priorities as shares of their range, in turn."""

_PROMISING = 1.1
"""A sampled plan is justified if it is at most this much longer than the best one."""

_FAILURES = 20
"""Passes without a plan after which sampling gives up (upper bounds on starts)."""


class Improver:
    """Draws one schedule after the other; every run goes on where the last one ended.

    Parameters
    ----------
    first
        A plan to justify before anything else.
    """

    def __init__(
        self,
        problem: DagProblem,
        network: Network,
        control: Control[Schedule],
        first: Plan | None = None,
    ) -> None:
        self._problem = problem
        self._network = network
        self._control = control
        self._first = first
        self._best = first
        self._failures = 0
        self._priorities = priorities(network, control.limits.seed, self._stop)

    def run(self, samples: int | None) -> Termination:
        """Offer better schedules until the samples are used up or the run should end.

        Parameters
        ----------
        samples
            Number of schedules, None for as many as the limits allow. They are counted and
            not timed, so that a run that no limit ends is the same on every machine.

        Returns
        -------
        Termination
            ``FINISHED`` if the samples were used up or the bound was met.
        """
        counter = itertools.count() if samples is None else range(samples)
        for _ in counter:
            ended_by = self._control.stopped()
            if ended_by is not None:
                return ended_by
            if self._failures == _FAILURES:
                break
            self._draw()
        return self._control.stopped() or Termination.FINISHED

    def _draw(self) -> None:
        plan, self._first = self._first, None
        if plan is None:
            plan = generate(self._network, next(self._priorities), self._stop)
        if plan is None:
            self._failures += 1
        elif self._best is None or plan.makespan <= _PROMISING * self._best.makespan:
            self._keep(justify(self._network, plan, self._stop))

    def _stop(self) -> bool:
        return self._control.stopped() is not None

    def _keep(self, plan: Plan) -> None:
        if self._best is None or plan.makespan < self._best.makespan:
            self._best = plan
            self._control.offer(plan.schedule(self._problem), plan.makespan, "list")


def priorities(
    network: Network, seed: int, stop: Callable[[], bool] = lambda: False
) -> Iterator[Sequence[float]]:
    """Yield the keys of the rules, then random changes of them without end.

    The first rule has been used by whoever built the first plan. Rules that ``stop`` ends,
    asked at least every tenth of a second, are left out.
    """
    quick = [rule(network) for rule in RULES.values()]
    yield from quick[1:]
    for rule in SUCCESSOR_RULES.values():
        keys = rule(network, stop)
        if keys is not None:
            yield keys
    source = random.Random(seed)
    for drawn in itertools.count():
        strength = _STRENGTHS[drawn % len(_STRENGTHS)]
        yield perturbed(quick[drawn % len(quick)], strength, source)
