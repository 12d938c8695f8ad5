"""Seeded random instances of the problem kind ``fair``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from allocsolve.instances.generators.draw import Draw
from allocsolve.instances.generators.settings import Setting, Value, Values, read_settings
from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.fair.data import Job, ResourceType
from allocsolve.models.fair.problem import FairProblem

__all__ = ["FAIR_FAMILIES", "FairFamily", "generate_fair"]

Build: TypeAlias = Callable[[Draw, int, Values], FairProblem]

_MOST_JOBS = 1_000_000
_TYPES = Setting("types", 3, 1, 64, "types of resource")
_LOAD = Setting("load", 16.0, 0.01, 1000, "units asked for over those in stock")
_WEIGHTS = Setting("max_weight", 5, 1, 1000, "largest weight")


@dataclass(frozen=True)
class FairFamily:
    """A family of instances: what it takes and how it is drawn."""

    name: str
    description: str
    settings: tuple[Setting, ...]
    build: Build


def _cluster(draw: Draw, jobs: int, values: Values) -> FairProblem:
    """Draw gangs of 1, 2 or 4 on types of rising pace, which are scarce at a load above 1."""
    types = values.integer("types")
    gangs = [draw.choice((1, 2, 4)) for _ in range(jobs)]
    count = max(1, round(sum(gangs) / values.number("load") / types))
    return FairProblem(
        types=[ResourceType(id=f"type{j}", count=count, cost=j + 1) for j in range(types)],
        jobs=[
            Job(
                id=f"job{i}",
                throughput={
                    f"type{j}": (j + 1) * draw.integer(1, 1000) / 1000 for j in range(types)
                },
                gang=gang,
                weight=draw.integer(1, values.integer("max_weight")),
                remaining=draw.integer(1, 100),
            )
            for i, gang in enumerate(gangs)
        ],
        name=f"cluster_{jobs}",
    )


FAIR_FAMILIES: Mapping[str, FairFamily] = MappingProxyType(
    {
        "cluster": FairFamily(
            "cluster",
            "jobs on a cluster whose types are scarce (load above 1) or not",
            (_TYPES, _LOAD, _WEIGHTS),
            _cluster,
        )
    }
)
"""Every family by name."""


def generate_fair(family: str, *, jobs: int, seed: int = 0, **settings: Value) -> FairProblem:
    """Draw a random instance; the same arguments give the same instance everywhere.

    Raises
    ------
    UsageError
        If the family or a setting is unknown, or a value is out of range.
    """
    found = FAIR_FAMILIES.get(family)
    if found is None:
        known = ", ".join(FAIR_FAMILIES)
        hint = suggest(family, list(FAIR_FAMILIES))
        raise UsageError(f"unknown family '{family}'{hint} (families: {known})")
    if not 1 <= jobs <= _MOST_JOBS:
        raise UsageError(f"jobs={jobs}: an integer from 1 to {_MOST_JOBS} is allowed")
    return found.build(Draw(seed), jobs, read_settings(family, found.settings, settings))
