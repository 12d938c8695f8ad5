"""Better schedules by many priority rules, random sampling and justification.

Hartmann and Kolisch (2000), Experimental evaluation of state-of-the-art heuristics for the
resource-constrained project scheduling problem: random sampling around good rules.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.dispatch import Plan, generate
from allocsolve.models.dag.justification import justify
from allocsolve.models.dag.network import Network
from allocsolve.models.dag.priorities import RULES, perturbed
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Control

__all__ = ["improve"]

_STRENGTHS = (0.1, 0.3, 0.05)
"""Noise of the sampled priorities as shares of their range, in turn."""


def improve(
    problem: DagProblem,
    network: Network,
    control: Control[Schedule],
    *,
    samples: int | None,
    first: Plan | None = None,
) -> Termination:
    """Offer better schedules until the samples are used up or the run should end.

    Parameters
    ----------
    samples
        Number of random schedules, None for as many as the limits allow. Counted, so that
        a run that no limit ends gives the same schedule on every machine.
    first
        A plan to justify before anything else.

    Returns
    -------
    Termination
        ``FINISHED`` if the samples were used up or the bound was met.
    """
    best = first

    def stop() -> bool:
        return control.stopped() is not None

    if first is not None and not stop():
        best = _keep(problem, control, justify(network, first, stop))
    for priority in _priorities(network, control.limits.seed, samples):
        ended_by = control.stopped()
        if ended_by is not None:
            return ended_by
        plan = generate(network, priority, stop)
        if plan is not None and (best is None or plan.makespan <= 1.1 * best.makespan):
            plan = _keep(problem, control, justify(network, plan, stop))
            best = plan if best is None or plan.makespan < best.makespan else best
    return control.stopped() or Termination.FINISHED


def _keep(problem: DagProblem, control: Control[Schedule], plan: Plan) -> Plan:
    if control.value is None or plan.makespan < control.value:
        control.offer(plan.schedule(problem), plan.makespan, "list")
    return plan


def _priorities(network: Network, seed: int, samples: int | None) -> Iterator[Sequence[float]]:
    rules = [rule(network) for rule in RULES.values()]
    yield from rules[1:]
    source = random.Random(seed)
    drawn = 0
    while samples is None or drawn < samples:
        strength = _STRENGTHS[drawn % len(_STRENGTHS)]
        yield perturbed(rules[drawn % 2], strength, source)
        drawn += 1
