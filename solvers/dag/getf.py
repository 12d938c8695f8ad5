"""Method ``getf``: earliest task first within the group of nodes that a linear program chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allocsolve.models import exact
from allocsolve.models.arrays import BoolArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_groups import (
    SpeedGroups,
    certify,
    filtered_nodes,
    group_nodes,
    speed_groups,
)
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.result import Bound, Scalar, Termination
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag.getf_lp import LpAnswer, solve_lp
from allocsolve.solvers.dag.list_methods import begin, conclude, offer_rules, plain, ready_loops
from allocsolve.solvers.dag.settings import read_words

__all__ = ["SETTINGS", "raise_lp_bound", "solve"]

SETTINGS: Mapping[str, Sequence[str]] = {}
"""There is nothing to set: tasks are always appended, as the certificate asks."""

_LP_SHARE = 0.8
"""Part of the time left that the linear program may take."""

_TOO_LONG = "the linear program takes too long for the time limit: plain ETF was used"


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Find a schedule by GETF (Su, Ren, Vardi and Wierman 2023), with its certificate.

    The certificate ``makespan <= chain + area + waiting`` is reported, in input units, as
    options of the solver; see :mod:`allocsolve.models.dag.list_groups`.

    Raises
    ------
    SolverMissing
        If HiGHS is not installed.
    """
    read_words("getf", control.limits.options, SETTINGS)
    graph = begin(problem, control)
    with ready_loops(graph, control, ("etf",)) as can_run:
        if not can_run:
            return plain(problem, graph, control, {})
        return _solve(problem, graph, control)


def _solve(problem: DagProblem, graph: CommGraph, control: Control[Schedule]) -> Outcome:
    if not graph.n or not graph.eligible.any(axis=1).all():
        return conclude(problem, control, Termination.FINISHED, {})
    control.phase("linear program")
    seconds = control.remaining() * _LP_SHARE
    answer = solve_lp(graph, seconds, lambda: control.stopped() is not None)
    if answer is None:
        ended_by = offer_rules(graph, control, ("etf",))
        warnings = () if control.token.cancelled else (_TOO_LONG,)
        return conclude(problem, control, ended_by, {}, warnings=warnings)
    raise_lp_bound(graph, control, answer)
    groups = speed_groups(graph)
    allowed = filtered_nodes(graph, answer.share)
    if groups is not None:
        allowed = group_nodes(graph, groups, answer.share)
    options = _place(graph, control, allowed, groups)
    return conclude(problem, control, control.stopped() or Termination.FINISHED, options)


def raise_lp_bound(graph: CommGraph, control: Control[Schedule], answer: LpAnswer) -> None:
    """Raise the bound to the value of the linear program."""
    value = exact.plain(graph.problem.units(answer.bound))
    detail = f"tasks split among {graph.nodes} nodes, without communication, take {value}"
    control.raise_bound(Bound(answer.bound, "getf_lp", detail))


def _place(
    graph: CommGraph, control: Control[Schedule], allowed: BoolArray, groups: SpeedGroups | None
) -> dict[str, Scalar]:
    """Offer the schedule within groups; return the terms of its certificate."""
    from allocsolve.models.dag.list_build import Builder
    from allocsolve.models.dag.list_ready import EARLIEST_START
    from allocsolve.models.dag.list_rules import Recipe

    builder = Builder(graph, stop=lambda: control.token.cancelled)
    ranks = builder.ranks
    recipe = Recipe(allowed, ranks.downhill, rule=EARLIEST_START, level=ranks.level)
    placement = builder.follow(recipe, inserts=False)
    if placement is None:
        return {}
    control.offer(placement.schedule(), placement.makespan, "getf")
    free = graph.fully_linked and not graph.limits_memory and not graph.has_groups
    if groups is None or not free:
        return {}
    certificate = certify(graph, groups, allowed, placement.start, placement.node)
    tick = float(graph.problem.arrays.tick)
    return {
        "certificate": certificate.total * tick,
        "certificate_chain": certificate.chain * tick,
        "certificate_area": certificate.area * tick,
        "certificate_waiting": certificate.waiting * tick,
    }
