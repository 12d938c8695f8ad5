"""Seeded random instances of the problem kind ``dag``, by family."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from allocsolve.instances.generators.clusters import COMMUNICATION, draw_communication
from allocsolve.instances.generators.draw import Draw
from allocsolve.instances.generators.projects import (
    LAGS,
    MULTIMODE,
    RCPSP,
    draw_lags,
    draw_multimode,
    draw_rcpsp,
)
from allocsolve.instances.generators.settings import (
    Choice,
    Setting,
    Value,
    Values,
    read_settings,
)
from allocsolve.instances.generators.shops import (
    FLEXIBLE,
    JOBSHOP,
    draw_flexible,
    draw_jobshop,
)
from allocsolve.instances.generators.task_graphs import TASK_GRAPHS
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError, suggest

__all__ = ["FAMILIES", "Family", "generate"]

Build: TypeAlias = Callable[[Draw, int, Values], DagProblem]

_MOST_TASKS = 1_000_000


@dataclass(frozen=True)
class Family:
    """A family of instances: what it takes and how it is drawn."""

    name: str
    description: str
    settings: tuple[Setting | Choice, ...]
    build: Build


FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        family.name: family
        for family in (
            Family("rcpsp", "project with renewable resources", RCPSP, draw_rcpsp),
            Family(
                "multimode",
                "project with several modes and non-renewable resources",
                MULTIMODE,
                draw_multimode,
            ),
            Family("lags", "project with minimum and maximum lags", LAGS, draw_lags),
            Family("jobshop", "job shop", JOBSHOP, draw_jobshop),
            Family("flexible", "flexible job shop", FLEXIBLE, draw_flexible),
            Family(
                "communication",
                "task graph with data on related or unrelated nodes",
                COMMUNICATION,
                draw_communication,
            ),
            *(Family(row.name, row.description, row.settings, row.build) for row in TASK_GRAPHS),
        )
    }
)
"""The families by name."""


def generate(family: str, *, tasks: int, seed: int, **settings: Value) -> DagProblem:
    """Draw a random instance; the same arguments give the same instance everywhere.

    Parameters
    ----------
    family
        A name of :data:`FAMILIES`.
    tasks
        Number of tasks (operations), without dummies, at least 0.
    seed
        Non-negative seed.
    settings
        Settings of the family, see ``FAMILIES[family].settings``; numbers may be given
        as text.

    Raises
    ------
    UsageError
        If the family or a setting is unknown, or a value is refused.
    """
    row = FAMILIES.get(family)
    if row is None:
        names = list(FAMILIES)
        raise UsageError(
            f"unknown family '{family}'{suggest(family, names)} (families: {', '.join(names)})"
        )
    _require_whole("tasks", tasks, _MOST_TASKS)
    _require_whole("seed", seed, None)
    values = read_settings(family, row.settings, settings)
    for low, high in (("min_duration", "max_duration"), ("min_work", "max_work")):
        values.require_order(low, high)
    name = f"{family}_{tasks}_{seed}"
    return row.build(Draw(seed), tasks, values).named(name)


def _require_whole(name: str, value: int, most: int | None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise UsageError(f"{name}={value}: it must be a non-negative integer")
    if most is not None and value > most:
        raise UsageError(f"{name}={value}: it must be at most {most}")
