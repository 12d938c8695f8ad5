"""The data of a ``fair`` instance as a person writes it.

These types are the JSON document ``allocsolve.instance/1`` of kind ``fair`` and, at the same
time, the arguments of :class:`allocsolve.models.fair.problem.FairProblem`.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from allocsolve.models.exact import Number
from allocsolve.models.nodes import Law

__all__ = [
    "Entity",
    "FairDocument",
    "Goal",
    "Job",
    "Pair",
    "ResourceType",
    "Rounds",
]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A strict, immutable record."""


class ResourceType(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """A type of exchangeable machines, or another resource that jobs demand.

    Attributes
    ----------
    count
        How many there are, any finite number from 0; rounds need a whole number.
    cost
        Price of one unit for one unit of time.
    runtime
        Law of the factor by which work on this type takes longer than planned; only the
        execution model uses it.
    """

    id: str
    count: Number
    cost: Number = 0
    runtime: Law | None = None


class Job(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """A job that progresses on any mix of types.

    Attributes
    ----------
    throughput
        Progress per unit of time on each type, with all units of its gang; a type that is
        not named gives none.
    demand
        Amount of each resource that one unit of progress holds (Leontief); beside
        ``throughput`` it is what no type can replace.
    weight
        Importance, above 0.
    gang
        Units that it holds at once on whichever type.
    entity
        Id of the entity that it belongs to.
    elapsed, remaining, isolated
        Time since its arrival, work left (in units of progress), and the time that it would
        take in all with its equal split.
    arrival, deadline
        When it arrives, and the time from now by which its remaining work must be done.
    """

    id: str
    throughput: dict[str, Number] = {}
    demand: dict[str, Number] = {}
    weight: Number = 1
    gang: int = 1
    entity: str | None = None
    elapsed: Number = 0
    remaining: Number | None = None
    isolated: Number | None = None
    arrival: Number = 0
    deadline: Number | None = None


class Entity(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """A team whose weight is divided among its jobs.

    ``fair`` divides it in proportion to the weights of the jobs, ``fifo`` gives all of it to
    the job that arrived first.
    """

    id: str
    weight: Number = 1
    policy: Literal["fair", "fifo"] = "fair"


class Pair(_Record, frozen=True, kw_only=True):
    """Two jobs that may share units, with the throughput of each while they do."""

    jobs: tuple[str, str]
    throughput: dict[str, tuple[Number, Number]]


class Rounds(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """Whole units for whole rounds of time.

    Attributes
    ----------
    count
        Rounds of a schedule, which is repeated.
    restart
        Time lost in a round by a job that did not hold the same type in the round before.
    length
        Duration of a round; six minutes are usual (Narayanan et al., "Heterogeneity-Aware
        Cluster Scheduling Policies for Deep Learning Workloads", OSDI 2020).
    """

    count: int
    restart: Number = 0
    length: Number = 360


class Goal(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """The objective with its settings; None leaves a setting at its default."""

    name: str = "leximin"
    alpha: Number | None = None
    equal_split: Literal["best", "proportional"] | None = None
    split: Literal["equal", "weighted"] | None = None
    normalise: Literal["equal_split", "none"] | None = None


class FairDocument(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """The whole instance document.

    ``time_cap`` limits the sum of the time shares of a job to 1.
    """

    schema: Literal["allocsolve.instance/1"]
    kind: Literal["fair"]
    types: list[ResourceType]
    jobs: list[Job]
    name: str = ""
    time_cap: bool = True
    objective: Goal | None = None
    entities: list[Entity] = []
    pairs: list[Pair] = []
    rounds: Rounds | None = None
