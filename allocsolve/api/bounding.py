"""Bounds with their source, without searching for answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from allocsolve.api.cases import case_of
from allocsolve.api.request import Request
from allocsolve.report.bounds import BoundEntry, BoundReport, bound_report
from allocsolve.solvers.control import Limits, Token

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = ["bound"]


def bound(
    problem: Problem,
    objective: str | None = None,
    *,
    time_limit: float | None = 60.0,
    token: Token | None = None,
    options: Mapping[str, str] | None = None,
) -> BoundReport:
    """Return bounds on the best value with their source, without searching for answers.

    They lie below the best value of an objective that is minimised and above that of one that
    is maximised.

    Parameters
    ----------
    objective
        None for the default of the problem's kind, or what the instance says.
    time_limit
        Seconds for the bounds that need an engine; None for no limit, 0 for none of them.
    options
        Settings of the objective.

    Raises
    ------
    UsageError
        If no bound is known for the objective, or the time limit is no number of seconds.
    """
    request = Request(time_limit=time_limit)
    case = case_of(problem, objective, options)
    found = list(case.bounds())
    reason = case.reason()
    if reason is not None and not case.is_verified(reason):
        reason = None
    if reason is None and time_limit != 0:
        found.extend(case.engine_bounds(Limits(request.deadline), token or Token()))
    found.sort(key=lambda known: (-known.value, known.source))
    entries = [
        BoundEntry(value=case.exact(known.value), source=known.source, detail=known.detail)
        for known in found
    ]
    return bound_report(problem, case.objective, case.sense, entries, reason)
