"""Policies that re-schedule while a plan runs, by the names of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.execution.policies import ListDispatch, Speculate
from allocsolve.models.nodes import RuntimeLaw, law_from
from allocsolve.models.ports import Dispatcher, SharePolicy

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = ["NAMES", "PolicyLike", "PolicyList", "policies_of", "policy_name"]

PolicyLike: TypeAlias = str | Dispatcher | SharePolicy | None
"""A name, an object that decides, or None for the plan as it is."""

PolicyList: TypeAlias = list[PolicyLike] | tuple[PolicyLike, ...]
"""Policies that are compared."""

NAMES = ("static", "redispatch", "speculate")
"""``static``: the plan as it is; ``redispatch``: list scheduling anew as nodes fall idle;
``speculate``: that, and second copies of tasks that are late (``speculate:after=2``: once they
have run twice as long as planned; by default 1.5 times the median of the runtime law, the rule of
Apache Spark)."""

_LATE = 1.5


def policies_of(
    given: PolicyLike | PolicyList, problem: Problem, law: RuntimeLaw | None
) -> list[Dispatcher | SharePolicy | None]:
    """Return the policies that are asked for, at least one; None is the plan as it is.

    Raises
    ------
    UsageError
        If a name is unknown, or means nothing for the kind of the problem.
    """
    each = list(given) if isinstance(given, list | tuple) else [given]
    return [_policy(one, problem, law) for one in each or [None]]


def policy_name(policy: Dispatcher | SharePolicy | None) -> str:
    """Return the name of a policy in documents."""
    return "static" if policy is None else policy.name


def _policy(
    given: PolicyLike, problem: Problem, law: RuntimeLaw | None
) -> Dispatcher | SharePolicy | None:
    if not isinstance(given, str):
        return given
    name, _, setting = given.partition(":")
    if name not in NAMES:
        raise UsageError(
            f"unknown policy '{name}'{suggest(name, NAMES)}\n  allowed: {', '.join(NAMES)}"
        )
    if name != "speculate" and setting:
        raise UsageError(f"policy '{name}' has no settings, not '{setting}'")
    if name == "static":
        return None
    if problem.kind != "dag":
        raise UsageError(
            f"policy '{name}' re-schedules tasks, and kind '{problem.kind}' has none"
            "\n  allowed: static"
        )
    return ListDispatch() if name == "redispatch" else _speculate(setting, problem, law)


def _speculate(setting: str, problem: Problem, law: RuntimeLaw | None) -> Speculate:
    key, _, text = setting.partition("=")
    if setting and key != "after":
        raise UsageError(f"policy 'speculate' has no setting '{key}'\n  allowed: after=NUMBER")
    try:
        return Speculate(float(text) if setting else _late(problem, law))
    except ValueError as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"after is '{text}'\n  allowed: a number above 0") from None


def _late(problem: Problem, law: RuntimeLaw | None) -> float:
    """Return the factor of its planned duration from which on a task counts as late."""
    laws = [law] if law is not None else _laws_of_nodes(problem)
    half = np.array([0.5])
    return _LATE * max((float(one.quantile(half)[0]) for one in laws), default=1.0)


def _laws_of_nodes(problem: Problem) -> list[RuntimeLaw]:
    nodes = getattr(problem, "nodes", ())
    return [
        law_from(node.runtime, path=f"$.nodes[{k}].runtime")
        for k, node in enumerate(nodes)
        if node.runtime is not None
    ]
