"""Policies that re-schedule while a plan runs, by the names of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.execution.policies import ListDispatch, Speculate
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.nodes import RuntimeLaw, law_from
from allocsolve.models.ports import Dispatcher, SharePolicy

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = ["NAMES", "PolicyLike", "PolicyList", "policies_of", "policy_name", "refuse_idle"]

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

_ASKS = {"dag": "dispatch", "fair": "shares"}
"""The method that makes an object a policy, by kind."""

_ALLOWED = {
    "dag": f"{', '.join(NAMES)}, or an object with the method dispatch",
    "coded": "static",
    "fair": "static, or an object with the method shares",
}

_COMMON = ("replications", "precision", "seed", "quantiles", "deadline", "threads", "law")
_HONOURED = {
    "dag": (*_COMMON, "link_law", "starts", "dtype", "keep_samples"),
    "coded": (*_COMMON, "keep_samples"),
    "fair": (*_COMMON, "keep_samples"),
}
"""Fields of a request that have an effect, by kind."""

_PLAN_ONLY = ("link_law", "starts")
"""Fields that have no effect where a policy decides: it starts tasks as soon as it can, and
transfers are as planned."""


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


def refuse_idle(
    kind: str, request: SimulationRequest, policies: Sequence[Dispatcher | SharePolicy | None]
) -> None:
    """Refuse a request with a field that has no effect.

    Raises
    ------
    UsageError
        If a field that is not at its default means nothing for the kind, or under the policies.
    """
    honoured, whom = _HONOURED[kind], f"kind '{kind}'"
    decider = next((one for one in policies if one is not None), None)
    if kind == "dag" and decider is not None:
        honoured = tuple(name for name in honoured if name not in _PLAN_ONLY)
        whom = f"policy '{decider.name}'"
    for each in fields(request):
        if each.name not in honoured and getattr(request, each.name) != each.default:
            allowed = ", ".join(honoured)
            raise UsageError(f"{each.name} has no effect on {whom}\n  allowed: {allowed}")


def _policy(
    given: PolicyLike, problem: Problem, law: RuntimeLaw | None
) -> Dispatcher | SharePolicy | None:
    if given is None:
        return None
    if not isinstance(given, str):
        if not hasattr(given, _ASKS.get(problem.kind, "")):
            raise UsageError(
                f"{type(given).__name__} is no policy for kind '{problem.kind}'"
                f"\n  allowed: {_ALLOWED[problem.kind]}"
            )
        return given
    name, _, setting = given.partition(":")
    if name not in NAMES:
        raise UsageError(
            f"unknown policy '{name}'{suggest(name, NAMES)}\n  allowed: {', '.join(NAMES)}"
        )
    if name != "speculate" and setting:
        raise UsageError(f"policy '{name}' has no settings, not '{setting}'\n  allowed: {name}")
    if name == "static":
        return None
    if problem.kind != "dag":
        raise UsageError(
            f"policy '{name}' re-schedules tasks, and kind '{problem.kind}' has none"
            f"\n  allowed: {_ALLOWED[problem.kind]}"
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
