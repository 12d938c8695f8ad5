"""Bounds with their source, without searching for answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from allocsolve.api.cases import case_of
from allocsolve.api.request import Request
from allocsolve.models.errors import UsageError, suggest
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
        Settings of the objective, as for ``solve``.

    Raises
    ------
    UsageError
        If no bound is known for the objective, a setting is not one of an objective, or the
        time limit is no number of seconds.
    """
    request = Request(time_limit=time_limit)
    case = case_of(problem, objective, options)
    _require_known(options or {}, case.settings_known)
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
    report = bound_report(problem, case.objective, case.sense, entries, reason)
    if entries or reason is not None:
        return report
    return msgspec.structs.replace(report, explanation=case.why_unbounded)


def _require_known(options: Mapping[str, str], known: Sequence[str]) -> None:
    for name in options:
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise UsageError(
                f"bounds have no setting '{name}'{suggest(name, known)} (allowed: {allowed})"
            )
