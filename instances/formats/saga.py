"""Problems as SAGA writes them: a task graph with costs and a network with speeds.

``{"task_graph": {"tasks": [{"name", "cost"}], "dependencies": [{"source", "target",
"size"}]}, "network": {"nodes": [{"name", "speed"}], "edges": [{"source", "target",
"speed"}]}}``. A task takes ``cost / speed``, a dependency ``size / speed`` of its link. A link
of a node to itself is ignored; ``null`` or ``Infinity`` is an infinite speed; a pair of nodes
that is not listed has no link, as in SAGA.

SAGA draws random numbers with all digits of a double. Where they do not fit on a common grid,
costs, sizes and the times per unit of cost and size are rounded with a note.

Source: J. Coleman et al., "SAGA: scheduling algorithms gathered" (anrg-saga).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import msgspec

from allocsolve.instances.draft import Draft
from allocsolve.instances.json_dialects import dialect, records, require_amount, require_known
from allocsolve.instances.losses import common_losses, refuse_inexpressible
from allocsolve.instances.numerals import Numerals
from allocsolve.instances.strict_json import NotANumber, loads
from allocsolve.instances.text import plural
from allocsolve.models.dag.data import DagDocument, DefaultLink, Edge, Link, Node, Task
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import InputError
from allocsolve.models.exact import LARGEST, Number, exact, grid

__all__ = ["fits", "parse", "render"]

_DIGITS = (6, 5, 4, 3)
"""Digits that are tried for costs, sizes and times per unit, when not all can be kept."""

_ROOM = 8
_ITSELF = "1e30"
"""Speed that is written for the link of a node to itself, which SAGA needs."""


class _Cost(msgspec.Struct, frozen=True):
    name: str
    cost: Fraction


class _Dependency(msgspec.Struct, frozen=True):
    source: str
    target: str
    size: Fraction = Fraction(0)


class _TaskGraph(msgspec.Struct, frozen=True):
    tasks: list[_Cost]
    dependencies: list[_Dependency] = []


class _Node(msgspec.Struct, frozen=True):
    name: str
    speed: Fraction


class _Link(msgspec.Struct, frozen=True):
    source: str
    target: str
    speed: Fraction | None


class _Network(msgspec.Struct, frozen=True):
    nodes: list[_Node]
    edges: list[_Link] = []


class _Instance(msgspec.Struct, frozen=True):
    task_graph: _TaskGraph
    network: _Network
    name: str = ""


def fits(text: str) -> bool:
    """Whether the text is JSON with the object ``task_graph``."""
    return dialect(text) == "saga"


def parse(text: str) -> Draft:
    """Read a problem.

    Raises
    ------
    InputError
        If a field is missing or wrong, or a number is negative.
    """
    raw = loads(text)
    _open_infinite_links(raw)
    instance = records(raw, _Instance, "saga")
    _check(instance)
    numbers = _chosen_numbers(instance)
    graph, network = instance.task_graph, instance.network
    document = DagDocument(
        schema="allocsolve.instance/1",
        kind="dag",
        name=instance.name,
        tasks=[Task(id=task.name, work=numbers.cost(task.cost)) for task in graph.tasks],
        edges=[
            Edge(source=edge.source, target=edge.target, data=numbers.size(edge.size))
            for edge in graph.dependencies
        ],
        nodes=[Node(id=node.name, speed=numbers.speed(node.speed)) for node in network.nodes],
        links=[
            Link(between=pair, bandwidth=None if speed is None else numbers.bandwidth(speed))
            for pair, speed in _links(network).items()
        ],
        default_link=DefaultLink(bandwidth=0),
    )
    return Draft(document, {}, numbers.notes())


def _open_infinite_links(raw: object) -> None:
    """Replace the token Infinity, which Python's json writes, as the speed of a link."""
    network = raw.get("network") if isinstance(raw, dict) else None
    edges = network.get("edges") if isinstance(network, dict) else None
    for edge in edges if isinstance(edges, list) else ():
        if isinstance(edge, dict) and edge.get("speed") == NotANumber("Infinity"):
            edge["speed"] = None


def _check(instance: _Instance) -> None:
    tasks = {task.name for task in instance.task_graph.tasks}
    nodes = {node.name for node in instance.network.nodes}
    for task in instance.task_graph.tasks:
        require_amount(task.cost, f"task '{task.name}': cost")
    for edge in instance.task_graph.dependencies:
        owner = f"dependency '{edge.source}' -> '{edge.target}'"
        require_amount(edge.size, f"{owner}: size")
        for end in (edge.source, edge.target):
            require_known(end, tasks, owner, "task")
    for node in instance.network.nodes:
        require_amount(node.speed, f"node '{node.name}': speed")
    for link in instance.network.edges:
        owner = f"link '{link.source}'-'{link.target}'"
        for end in (link.source, link.target):
            require_known(end, nodes, owner, "node")
        if link.speed is not None:
            require_amount(link.speed, f"{owner}: speed")


def _links(network: _Network) -> dict[tuple[str, str], Fraction | None]:
    """Return the speed of every pair of different nodes that is listed, in order of names.

    Raises
    ------
    InputError
        If a pair is listed twice with different speeds.
    """
    found: dict[tuple[str, str], Fraction | None] = {}
    for link in network.edges:
        a, b = sorted((link.source, link.target))
        if a == b:
            continue
        if found.setdefault((a, b), link.speed) != link.speed:
            raise InputError(
                f"the link between '{a}' and '{b}' has two speeds",
                allowed="one speed for both directions",
                remedy="delete one of the two edges",
            )
    return dict(sorted(found.items()))


def _per_unit(speeds: Iterable[Fraction | None]) -> list[Fraction]:
    """Return the time per unit at every speed that is neither 0 nor infinite."""
    return [1 / speed for speed in speeds if speed]


@dataclass(frozen=True)
class _Measures:
    """All numbers of an instance, speeds turned into times per unit."""

    costs: list[Fraction]
    per_cost: list[Fraction]
    sizes: list[Fraction]
    per_size: list[Fraction]

    def tick(self) -> Fraction:
        """Return the common grid of all times."""
        cost, size = grid(self.costs), grid(self.sizes)
        return grid([*(cost * u for u in self.per_cost), *(size * u for u in self.per_size)])

    def longest(self) -> Fraction:
        """Return an upper estimate of the length of a schedule."""
        running = sum(self.costs, Fraction(0)) * max(self.per_cost, default=Fraction(0))
        passing = max(self.sizes, default=Fraction(0)) * max(self.per_size, default=Fraction(0))
        return running + len(self.costs) * passing

    def fits(self) -> bool:
        """Whether all times are integers on their grid with room to spare."""
        return self.longest() <= LARGEST * self.tick() / _ROOM


class _Rounded:
    """Rounds one sort of numbers to some digits of the largest one; never to zero."""

    def __init__(self, values: Sequence[Fraction], digits: int | None) -> None:
        top = max(values, default=Fraction(0))
        self.unit: Fraction | None = None
        if digits is not None and top:
            self.unit = Fraction(10) ** (math.ceil(math.log10(top)) - digits)
        self.changed = 0

    def __call__(self, value: Fraction) -> Fraction:
        if self.unit is None or not value:
            return value
        rounded = max(round(value / self.unit), 1) * self.unit
        self.changed += rounded != value
        return rounded


class _Numbers:
    """The numbers of an instance, exactly (``digits`` None) or rounded."""

    def __init__(self, measures: _Measures, digits: int | None) -> None:
        self.cost = _Rounded(measures.costs, digits)
        self.size = _Rounded(measures.sizes, digits)
        self._per_cost = _Rounded(measures.per_cost, digits)
        self._per_size = _Rounded(measures.per_size, digits)
        self.digits = digits

    def speed(self, value: Fraction) -> Fraction:
        """Return a speed, rounded as the time of a unit of cost."""
        return 1 / self._per_cost(1 / value) if value else value

    def bandwidth(self, value: Fraction) -> Fraction:
        """Return a bandwidth, rounded as the time of a unit of size."""
        return 1 / self._per_size(1 / value) if value else value

    def applied(self, measures: _Measures) -> _Measures:
        """Return the numbers after rounding."""
        rounders: list[tuple[Callable[[Fraction], Fraction], list[Fraction]]] = [
            (self.cost, measures.costs),
            (self._per_cost, measures.per_cost),
            (self.size, measures.sizes),
            (self._per_size, measures.per_size),
        ]
        return _Measures(*([rounder(value) for value in values] for rounder, values in rounders))

    def notes(self) -> tuple[str, ...]:
        """Say how many numbers were rounded."""
        changed = sum(
            part.changed for part in (self.cost, self.size, self._per_cost, self._per_size)
        )
        if not changed:
            return ()
        return (
            f"{plural(changed, 'number')} rounded to {self.digits} digits of the largest of its "
            "sort: the exact times do not fit on a common grid within 2^53",
        )


def _chosen_numbers(instance: _Instance) -> _Numbers:
    """Keep all numbers if they fit, or as many digits as fit."""
    network = instance.network
    measures = _Measures(
        [task.cost for task in instance.task_graph.tasks],
        _per_unit(node.speed for node in network.nodes),
        [edge.size for edge in instance.task_graph.dependencies],
        _per_unit(_links(network).values()),
    )
    if measures.fits():
        return _Numbers(measures, None)
    fitting = (d for d in _DIGITS if _Numbers(measures, d).applied(measures).fits())
    return _Numbers(measures, next(fitting, _DIGITS[-1]))


def render(problem: DagProblem) -> tuple[str, list[str]]:
    """Write a problem for SAGA; every pair of nodes gets its link.

    Raises
    ------
    UsageError
        If the problem has features that SAGA does not know, such as latencies or several
        slots per node.
    """
    honours = frozenset({Feature.MODES, Feature.NODES, Feature.COMMUNICATION})
    refuse_inexpressible(problem, "saga", honours, _obstacles(problem))
    numerals = Numerals()
    document = {
        "name": problem.name,
        "task_graph": {
            "tasks": [
                {"name": task.id, "cost": _raw(task.work or 0, numerals)} for task in problem.tasks
            ],
            "dependencies": [
                {
                    "source": edge.source,
                    "target": edge.target,
                    "size": _raw(edge.data, numerals),
                }
                for edge in problem.edges
            ],
        },
        "network": _network(problem, numerals),
    }
    text = msgspec.json.format(msgspec.json.encode(document), indent=1).decode() + "\n"
    return text, common_losses(problem, data=False) + numerals.losses()


def _raw(value: Number, numerals: Numerals) -> msgspec.Raw:
    return msgspec.Raw(numerals(value).encode())


def _network(problem: DagProblem, numerals: Numerals) -> dict[str, object]:
    default = (problem.default_link or DefaultLink()).bandwidth
    given = {frozenset(link.between): link.bandwidth for link in problem.links}
    ids = [node.id for node in problem.nodes]
    itself = [{"source": a, "target": a, "speed": msgspec.Raw(_ITSELF.encode())} for a in ids]
    between = [
        {
            "source": a,
            "target": b,
            "speed": _raw(given.get(frozenset((a, b)), default) or 0, numerals),
        }
        for a, b in combinations(ids, 2)
    ]
    nodes = [{"name": node.id, "speed": _raw(node.speed, numerals)} for node in problem.nodes]
    return {"nodes": nodes, "edges": itself + between}


def _obstacles(problem: DagProblem) -> tuple[str, ...]:
    tasks, nodes = problem.tasks, problem.nodes
    links: list[Link | DefaultLink] = [*problem.links, problem.default_link or DefaultLink()]
    links = links if len(nodes) > 1 else []
    found = [
        ("tasks with modes", any(task.modes is not None for task in tasks)),
        ("durations that depend on the node", bool(problem.durations)),
        ("eligibility", any(task.eligible is not None for task in tasks)),
        ("nodes with several slots", any(node.slots > 1 for node in nodes)),
        ("latencies", any(exact(link.latency) for link in links)),
        ("links of infinite bandwidth", any(link.bandwidth is None for link in links)),
    ]
    return tuple(name for name, present in found if present)
