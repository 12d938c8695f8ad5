"""Forward-backward improvement of a schedule: shift everything right, then left again.

Double justification of Valls, Ballestin and Quintanilla (2005), Justification and RCPSP: a
technique that pays. Modes and nodes are kept. For projects without upper bounds on starts
and without negative lags the result is never longer than the schedule it starts from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from allocsolve.models.dag.dispatch import Plan, generate
from allocsolve.models.dag.network import Network, mirror

__all__ = ["justify"]


def justify(network: Network, plan: Plan, stop: Callable[[], bool]) -> Plan:
    """Return the plan after one backward and one forward pass, or the plan itself.

    A plan that did not get better is returned as it is.
    """
    if network.bounded:
        return plan
    backward = generate(mirror(network, plan.way), [-float(end) for end in plan.end], stop)
    if backward is None:
        return plan
    fixed = replace(network, ways=[[way] for way in plan.way], budget=[])
    latest = [-float(end) for end in backward.end]
    forward = generate(fixed, latest, stop)
    return plan if forward is None or forward.makespan >= plan.makespan else forward
