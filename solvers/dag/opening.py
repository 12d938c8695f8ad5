"""What every method does first: a schedule, a bound, and reasons why there is no schedule."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.dispatch import Plan, generate
from allocsolve.models.dag.graph import CommGraph, has_graph
from allocsolve.models.dag.list_plain import plain_schedule
from allocsolve.models.dag.network import Network, build_network
from allocsolve.models.dag.priorities import latest_start
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason
from allocsolve.models.dag.sequential import sequential_plan, sequential_schedule
from allocsolve.models.result import Reason
from allocsolve.solvers.control import Control

__all__ = ["Opening", "offer_sequence", "open_run"]

_PATIENCE = 0.3
"""Seconds after an interrupt in which the first schedule may still be completed."""

_PROMPT = 2000
"""Tasks up to which the first schedule is built even after an interrupt."""

_OVERRUN = 0.15
"""Seconds that the first schedule may take beyond the time limit."""


@dataclass(frozen=True)
class Opening:
    """Where a method starts from.

    Attributes
    ----------
    plan
        The schedule of the first priority rule, None if it built none.
    reason
        Why there is no schedule, None if no short reason is known.
    """

    network: Network
    plan: Plan | None
    reason: Reason | None = None


def open_run(problem: DagProblem, control: Control[Schedule]) -> Opening:
    """Offer the warm start and a first schedule, and raise the bound.

    All of this is done even if the time limit is over: it takes about a tenth of a second
    for a thousand tasks, and it is what makes sure that there is an answer.
    """
    control.phase("first schedule")
    network = build_network(problem)
    if control.warm_start is not None:
        control.offer(control.warm_start, control.warm_start.makespan, "warm_start")
    # Only with upper bounds on starts can a pass fail slowly, so the reasons come first.
    reason = _reason(problem, control) if network.bounded else None
    if reason is not None and control.answer is None:
        return Opening(network, None, reason)
    plan = None
    if control.token.cancelled and len(network) > _PROMPT:
        offer_sequence(problem, control, network)
    if control.answer is None or not control.token.cancelled:
        plan = generate(network, latest_start(network), _patience(control))
    if plan is not None:
        control.offer(plan.schedule(problem), plan.makespan, "list")
    elif control.answer is None:
        reason = _reason(problem, control)
        if reason is None:
            _offer_assigned(problem, control)
            offer_sequence(problem, control, network)
    if reason is None and control.bound is None:
        for bound in lower_bounds(problem)[:1]:
            control.raise_bound(bound)
    return Opening(network, plan, reason)


def _reason(problem: DagProblem, control: Control[Schedule]) -> Reason | None:
    return None if control.examined else find_reason(problem)


def _offer_assigned(problem: DagProblem, control: Control[Schedule]) -> None:
    """Where placing tasks one by one got stuck, choose all nodes first by a limited search."""
    if not has_graph(problem) or not problem.nodes:
        return
    schedule = plain_schedule(CommGraph.of(problem), _patience(control))
    if schedule is not None:
        control.offer(schedule, schedule.makespan, "list")


def offer_sequence(
    problem: DagProblem, control: Control[Schedule], network: Network | None = None
) -> None:
    """Offer all tasks one after another: better than nothing where the time is over.

    Parameters
    ----------
    network
        The lists of the problem, if they are there already.
    """
    if has_graph(problem):
        schedule = sequential_schedule(CommGraph.of(problem))
        if schedule is not None:
            control.offer(schedule, schedule.makespan, "sequential")
    if control.answer is None:
        plan = sequential_plan(network or build_network(problem))
        if plan is not None:
            control.offer(plan.schedule(problem), plan.makespan, "sequential")


def _patience(control: Control[Schedule]) -> Callable[[], bool]:
    """Return the condition that ends the search for a first schedule."""
    latest = time.monotonic() + _OVERRUN

    def is_over() -> bool:
        overdue = control.remaining() <= 0 and time.monotonic() > latest
        return control.token.age() > _PATIENCE or overdue

    return is_over
