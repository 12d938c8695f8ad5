"""The data of a ``dag`` instance as a person writes it: ids, input units, exact numbers.

These types are the JSON document ``allocsolve.instance/1`` of kind ``dag`` and, at the
same time, the arguments of :class:`allocsolve.models.dag.problem.DagProblem`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from allocsolve.models.exact import Number
from allocsolve.models.nodes import Law
from allocsolve.models.processes import Process

__all__ = [
    "DagData",
    "DagDocument",
    "DefaultLink",
    "Edge",
    "Law",
    "Link",
    "Mode",
    "Node",
    "Profile",
    "Profiles",
    "Resource",
    "Setup",
    "Task",
]


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A strict, immutable record."""


class Mode(_Record, frozen=True, kw_only=True):
    """One way to execute a task: a duration and the amounts of resources held meanwhile."""

    duration: Number
    demand: dict[str, Number] = {}


class Task(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """A task; it takes its time from one of ``modes``, ``work`` or the table ``durations``.

    Attributes
    ----------
    work
        Amount of work; it takes ``work / speed`` on a node.
    modes
        Ways to execute the task without a node (project form).
    release, deadline
        Earliest start and latest end.
    due, weight
        Due date and weight of the objectives that need them.
    demand
        Resources held while the task runs on a node.
    eligible
        Ids or types of the nodes it may run on; None means all.
    width, speedup, memory, setup_class, colocate
        Optional features: gang width, moldable speed-up table, memory need, class for
        setup times, label of tasks that share a node.
    """

    id: str
    work: Number | None = None
    release: Number = 0
    deadline: Number | None = None
    due: Number | None = None
    weight: Number = 1
    modes: list[Mode] | None = None
    demand: dict[str, Number] = {}
    eligible: list[str] | None = None
    memory: Number | None = None
    width: int | None = None
    speedup: dict[str, Number] | None = None
    setup_class: str | None = None
    colocate: str | None = None


class Edge(
    _Record,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    rename={"source": "from", "target": "to"},
):
    """Precedence with lags and data.

    ``start(target) >= x + min_lag`` and ``start(target) <= x + max_lag``, where ``x`` is
    the end of ``source``, or its start if ``lag_from`` is ``"start"``. ``data`` is sent
    only between different nodes; an edge without data sends nothing and pays nothing.
    """

    source: str
    target: str
    data: Number = 0
    min_lag: Number = 0
    max_lag: Number | None = None
    lag_from: Literal["start", "end"] = "end"


class Node(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """A machine with ``slots`` places, each running one task at a time.

    Speed 0 means the node is dead. ``type``, ``memory``, ``unavailable``, ``price``,
    ``power_busy``, ``power_idle``, ``runtime`` and ``process`` are optional features.
    """

    id: str
    speed: Number = 1
    slots: int = 1
    type: str | None = None
    memory: Number | None = None
    unavailable: list[tuple[Number, Number]] = []
    price: Number | None = None
    power_busy: Number | None = None
    power_idle: Number | None = None
    runtime: Law | None = None
    process: Process | None = None


class Link(_Record, frozen=True, kw_only=True):
    """A link between two different nodes, both ways; bandwidth None is infinite, 0 is no link."""

    between: tuple[str, str]
    latency: Number = 0
    bandwidth: Number | None = 1


class DefaultLink(_Record, frozen=True, kw_only=True):
    """The link between every pair of nodes that is not listed."""

    latency: Number = 0
    bandwidth: Number | None = 1


class Resource(_Record, frozen=True, kw_only=True):
    """A resource; renewable ones are given back at the end of a task, others are used up."""

    id: str
    capacity: Number
    renewable: bool = True


class Setup(_Record, frozen=True, kw_only=True, rename={"before": "from", "after": "to"}):
    """Setup time between tasks of two classes on a node (all nodes if None)."""

    before: str
    after: str
    time: Number
    node: str | None = None


class Profile(_Record, frozen=True, kw_only=True):
    """A repeating step function of time; each value holds for ``period`` seconds."""

    period: Number
    values: list[Number]


class Profiles(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """Price factor and grams of CO2 per kWh over time."""

    price: Profile | None = None
    carbon: Profile | None = None


@dataclass(frozen=True, eq=False)
class DagData:
    """The fields of a ``dag`` problem in input units."""

    tasks: Sequence[Task]
    edges: Sequence[Edge] = ()
    nodes: Sequence[Node] = ()
    durations: Mapping[str, Mapping[str, Number]] = field(default_factory=dict)
    links: Sequence[Link] = ()
    default_link: DefaultLink | None = None
    resources: Sequence[Resource] = ()
    setups: Sequence[Setup] = ()
    profiles: Profiles | None = None
    name: str = ""
    time_unit: str = "s"


class DagDocument(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """The whole instance document."""

    schema: Literal["allocsolve.instance/1"]
    kind: Literal["dag"]
    tasks: list[Task]
    name: str = ""
    time_unit: str = "s"
    edges: list[Edge] = []
    nodes: list[Node] = []
    durations: dict[str, dict[str, Number]] = {}
    links: list[Link] = []
    default_link: DefaultLink | None = None
    resources: list[Resource] = []
    setups: list[Setup] = []
    profiles: Profiles | None = None
