"""The case of each problem kind; a run loads that of its own kind only."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from allocsolve.api.case import Case
from allocsolve.models.errors import UsageError

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = ["CASES", "case_of"]

CASES = {
    "dag": "allocsolve.api.dag_case:DagCase",
    "coded": "allocsolve.api.coded_case:CodedCase",
    "fair": "allocsolve.api.fair_case:FairCase",
}
"""``module:class`` of the case of each kind that can be solved."""

AnyCase = Case[object, object]


def case_of(
    problem: Problem, objective: str | None, options: Mapping[str, str] | None = None
) -> AnyCase:
    """Return a problem with what is asked of it.

    Parameters
    ----------
    objective
        None for what the instance says, or the default of its kind.
    options
        Settings of the run; those that belong to the objective are taken from them.

    Raises
    ------
    UsageError
        If nothing solves problems of that kind.
    """
    target = CASES.get(problem.kind)
    if target is None:
        known = ", ".join(CASES)
        raise UsageError(f"no method solves kind '{problem.kind}'\n  allowed: {known}")
    module, name = target.split(":")
    build = cast("Callable[[Problem, str | None, Mapping[str, str]], AnyCase]", _load(module, name))
    return build(problem, objective or None, options or {})


def _load(module: str, name: str) -> object:
    value: object = getattr(importlib.import_module(module), name)
    return value
