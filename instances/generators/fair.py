"""Seeded random instances of the problem kind ``fair``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

import msgspec

from allocsolve.instances.generators.draw import Draw
from allocsolve.instances.generators.settings import Setting, Value, Values, read_settings
from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.fair.data import Goal, Job, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.split import equal_split

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


def _kinds(draw: Draw, jobs: int, values: Values) -> FairProblem:
    """Draw jobs of a few kinds, as a table of measured throughputs gives them."""
    types = [f"type{j}" for j in range(values.integer("types"))]
    kinds = [
        Job(
            id=f"kind{k}",
            throughput={
                token: (j + 1) * draw.integer(1, 1000) / 1000 for j, token in enumerate(types)
            },
            gang=draw.choice((1, 2, 4)),
            weight=draw.integer(1, values.integer("max_weight")),
            remaining=draw.integer(1, 100),
        )
        for k in range(values.integer("kinds"))
    ]
    found = [msgspec.structs.replace(draw.choice(kinds), id=f"job{i}") for i in range(jobs)]
    count = _stock(found, values)
    return FairProblem(
        types=[ResourceType(id=token, count=count, cost=j + 1) for j, token in enumerate(types)],
        jobs=found,
        name=f"kinds_{jobs}",
    )


def _deadlines(draw: Draw, jobs: int, values: Values) -> FairProblem:
    """Draw a cluster whose jobs have to be done by deadlines that the equal split meets."""
    problem = _cluster(draw, jobs, values)
    pace = equal_split(problem.arrays).tolist()
    most = values.number("slack")
    return problem.replace(
        jobs=[
            msgspec.structs.replace(
                job, deadline=math.ceil(float(job.remaining or 0) / own * _slack(draw, most))
            )
            for job, own in zip(problem.jobs, pace, strict=True)
        ],
        name=f"deadlines_{jobs}",
        objective=Goal(name="cost"),
    )


def _slack(draw: Draw, most: float) -> float:
    return 1 + (most - 1) * draw.integer(0, 1000) / 1000


def _stock(jobs: Sequence[Job], values: Values) -> int:
    """Return the units of each type at the load that is asked for."""
    gangs = sum(int(job.gang) for job in jobs)
    return max(1, round(gangs / values.number("load") / values.integer("types")))


FAIR_FAMILIES: Mapping[str, FairFamily] = MappingProxyType(
    {
        "cluster": FairFamily(
            "cluster",
            "jobs on a cluster whose types are scarce (load above 1) or not",
            (_TYPES, _LOAD, _WEIGHTS),
            _cluster,
        ),
        "kinds": FairFamily(
            "kinds",
            "jobs of a few kinds, equal in everything but their names",
            (_TYPES, _LOAD, _WEIGHTS, Setting("kinds", 20, 1, 10_000, "kinds of jobs")),
            _kinds,
        ),
        "deadlines": FairFamily(
            "deadlines",
            "a cluster with deadlines that the equal split meets, to be kept at least cost",
            (
                _TYPES,
                _LOAD,
                _WEIGHTS,
                Setting("slack", 3.0, 1, 1000, "largest deadline over the time of the equal split"),
            ),
            _deadlines,
        ),
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
