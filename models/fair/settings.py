"""Names of the objectives of a fair division and what may be set of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from allocsolve.models.errors import InputError, UsageError, suggest
from allocsolve.models.fair.data import Goal
from allocsolve.models.fields import is_real

__all__ = [
    "LEXICOGRAPHIC",
    "OBJECTIVE_NAMES",
    "SETTING_NAMES",
    "Settings",
    "check_goal",
    "goal_of",
]

OBJECTIVE_NAMES = (
    "leximin",
    "max_min",
    "nash",
    "nash_sharing_incentive",
    "alpha_fair",
    "finish_time_fairness",
    "makespan",
    "total_throughput",
    "cost",
    "completion_time",
    "envy_free_efficiency",
    "equal_throughput",
    "dominant_resource",
    "partial_allocation",
)
"""Every objective, the default first."""

LEXICOGRAPHIC = ("leximin", "dominant_resource")
"""Objectives that raise one level after the other."""

_CHOICES = {
    "equal_split": ("best", "proportional"),
    "split": ("equal", "weighted"),
    "normalise": ("equal_split", "none"),
}

SETTING_NAMES = ("alpha", *_CHOICES)
"""Names of everything that may be set."""


@dataclass(frozen=True)
class Settings:
    """What may be set of an objective.

    Attributes
    ----------
    alpha
        Exponent of the alpha-fair family, at least 0; 1 is Nash welfare.
    equal_split
        ``best``: the most that a job can do alone with its part of every type;
        ``proportional``: the part scaled to a total time share of 1.
    split
        ``equal``: each job has the same part; ``weighted``: a part like its weight.
    normalise
        ``equal_split``: utilities are compared as multiples of the equal-split utility;
        ``none``: as they are.
    """

    alpha: float = 2.0
    equal_split: Literal["best", "proportional"] = "best"
    split: Literal["equal", "weighted"] = "equal"
    normalise: Literal["equal_split", "none"] = "equal_split"

    @classmethod
    def of(cls, goal: Goal) -> Settings:
        """Return the settings of an instance's objective."""
        given = {
            "alpha": None if goal.alpha is None else float(goal.alpha),
            "equal_split": goal.equal_split,
            "split": goal.split,
            "normalise": goal.normalise,
        }
        return cls(**{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]  # the values are those of the record

    def with_options(self, options: Mapping[str, str]) -> Settings:
        """Return these settings with some replaced by options of the command line.

        Raises
        ------
        UsageError
            If a name or a value is not known.
        """
        changes: dict[str, object] = {}
        for key, text in options.items():
            if key not in SETTING_NAMES:
                raise UsageError(
                    f"unknown setting '{key}'{suggest(key, SETTING_NAMES)}"
                    f"\n  allowed: {', '.join(SETTING_NAMES)}"
                )
            changes[key] = _alpha(text) if key == "alpha" else _choice(key, text)
        return replace(self, **changes)  # type: ignore[arg-type]  # the values were checked


def _alpha(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise UsageError(f"alpha is {text}\n  allowed: a finite number of at least 0")
    return value


def _choice(key: str, text: str) -> str:
    if text not in _CHOICES[key]:
        allowed = ", ".join(_CHOICES[key])
        raise UsageError(f"{key} is '{text}'{suggest(text, _CHOICES[key])}\n  allowed: {allowed}")
    return text


def goal_of(name: str, settings: Settings) -> Goal:
    """Return the objective of an instance that has this name and these settings."""
    return Goal(
        name=name,
        alpha=settings.alpha,
        equal_split=settings.equal_split,
        split=settings.split,
        normalise=settings.normalise,
    )


def check_goal(goal: Goal) -> None:
    """Check name and settings of an instance's objective.

    Raises
    ------
    InputError
        If one of them is not known.
    """
    if goal.name not in OBJECTIVE_NAMES:
        raise InputError(
            f"unknown objective '{goal.name}'{suggest(goal.name, OBJECTIVE_NAMES)}",
            allowed=", ".join(OBJECTIVE_NAMES),
            remedy="correct the name",
            path="$.objective.name",
        )
    alpha = goal.alpha
    if alpha is not None and not (is_real(alpha) and 0 <= alpha < math.inf):
        raise InputError(
            f"objective: alpha is {alpha}",
            allowed="a finite number of at least 0",
            remedy="correct alpha",
            path="$.objective.alpha",
        )
    for key, allowed in _CHOICES.items():
        value = getattr(goal, key)
        if value is not None and value not in allowed:
            raise InputError(
                f"objective: {key} is {value!r}",
                allowed=" or ".join(allowed),
                remedy=f"correct {key}",
                path=f"$.objective.{key}",
            )
