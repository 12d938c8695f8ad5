"""Seeded random instances of the problem kind ``coded``: node populations of the literature."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from allocsolve.instances.generators.draw import Draw
from allocsolve.instances.generators.settings import Choice, Setting, Value, Values, read_settings
from allocsolve.models.coded.data import (
    Elastic,
    Gradient,
    MatVec,
    Node,
    Scenarios,
    Task,
)
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.exact import Number
from allocsolve.models.nodes import Law

__all__ = ["CODED_FAMILIES", "CodedFamily", "generate_coded"]

Build: TypeAlias = Callable[[Draw, int, Values], CodedProblem]

_MOST_NODES = 100_000
_RATES = (0.5, 1.0, 2.0, 4.0, 8.0)

_SIZES = (1, 2, 4, 8)
"""Speeds of rented machines, and their prices by the unit of load in the same ratio."""

_ROWS = Setting("rows", 100, 1, 10**6, "rows that have to arrive")
_STORAGE = Setting(
    "storage", 0.0, 0, 10**6, "storage of a node over its equal share of the rows; 0: no limit"
)


@dataclass(frozen=True)
class CodedFamily:
    """A family of instances: what it takes and how it is drawn."""

    name: str
    description: str
    settings: tuple[Setting | Choice, ...]
    build: Build


def _task(values: Values) -> MatVec:
    return MatVec(rows=values.integer("rows"))


def _storage(values: Values, nodes: int) -> int | None:
    share = values.number("storage") * values.integer("rows") / nodes
    return round(share) if share > 0 else None


def _two_types(draw: Draw, nodes: int, values: Values) -> CodedProblem:
    """Draw nodes of rates 1 and ``ratio``; the shift is the mean of the random part."""
    del draw
    slow = round(values.number("slow") * nodes)
    ratio, held = values.number("ratio"), _storage(values, nodes)
    laws = [_shifted(1.0, 1.0) if i < slow else _shifted(1 / ratio, ratio) for i in range(nodes)]
    return CodedProblem(task=_task(values), nodes=_nodes(laws, held))


def _mixed(draw: Draw, nodes: int, values: Values) -> CodedProblem:
    """Draw rates from a few and shifts from 0.1 to 1."""
    held = _storage(values, nodes)
    laws = [_shifted(draw.integer(100, 999) / 1000, draw.choice(_RATES)) for _ in range(nodes)]
    return CodedProblem(task=_task(values), nodes=_nodes(laws, held))


def _bimodal(draw: Draw, nodes: int, values: Values) -> CodedProblem:
    """Draw nodes that are slower by a factor now and then."""
    held = _storage(values, nodes)
    slowdown, share = values.number("slowdown"), values.number("probability")
    laws = [
        Law(
            law="bimodal",
            base=draw.integer(50, 200) / 100,
            slowdown=slowdown,
            probability=share,
        )
        for _ in range(nodes)
    ]
    return CodedProblem(task=_task(values), nodes=_nodes(laws, held))


def _heavy(draw: Draw, nodes: int, values: Values) -> CodedProblem:
    """Draw Pareto nodes."""
    held, shape = _storage(values, nodes), values.number("shape")
    laws = [Law(law="pareto", shape=shape, scale=draw.integer(20, 200) / 100) for _ in range(nodes)]
    return CodedProblem(task=_task(values), nodes=_nodes(laws, held))


def _weibull(draw: Draw, nodes: int, values: Values) -> CodedProblem:
    """Draw Weibull nodes, whose tails are heavier than exponential ones for shapes below 1."""
    held, shape = _storage(values, nodes), values.number("shape")
    laws = [
        Law(
            law="weibull",
            shape=shape,
            scale=draw.integer(50, 200) / 100,
            shift=draw.integer(0, 50) / 100,
        )
        for _ in range(nodes)
    ]
    return CodedProblem(task=_task(values), nodes=_nodes(laws, held))


def _rented(draw: Draw, nodes: int, values: Values) -> CodedProblem:
    """Draw virtual machines of four sizes, with the laws that are fitted to rented ones.

    Such fits are shifted exponential with most of the time constant; a machine is up to a
    quarter slower or faster than its size promises, and one whose host is crowded is slower by
    a factor all the time, which no draw of its law shows.
    """
    held, steady = _storage(values, nodes), values.number("steady")
    laws, prices = [], []
    for _ in range(nodes):
        size = draw.choice(_SIZES)
        mean = draw.integer(75, 125) / 100 / size
        crowded = draw.chance(values.number("probability"))
        mean *= values.number("slowdown") if crowded else 1.0
        laws.append(_shifted(steady * mean, 1 / ((1 - steady) * mean)))
        prices.append(size)
    machines = [
        Node(id=f"w{i}", runtime=law, storage=held, cost=price)
        for i, (law, price) in enumerate(zip(laws, prices, strict=True))
    ]
    return CodedProblem(task=_task(values), nodes=machines)


def _scenarios(draw: Draw, nodes: int, values: Values) -> CodedProblem:
    """Draw joint times: in some draws a rack of neighbours is slow together."""
    rack, share = values.integer("rack"), values.number("probability")
    base = [draw.integer(50, 200) / 100 for _ in range(nodes)]
    samples: list[list[Number]] = []
    for _ in range(values.integer("draws")):
        slow = [draw.chance(share) for _ in range(-(-nodes // rack))]
        samples.append(
            [
                base[i]
                * (values.number("slowdown") if slow[i // rack] else 1.0)
                * draw.integer(100, 150)
                / 100
                for i in range(nodes)
            ]
        )
    return CodedProblem(
        task=_task(values),
        nodes=[Node(id=f"w{i}") for i in range(nodes)],
        scenarios=Scenarios(samples=samples),
    )


def _speeds(draw: Draw, nodes: int, values: Values, task: Task) -> CodedProblem:
    fastest = values.integer("max_speed")
    return CodedProblem(
        task=task,
        nodes=[Node(id=f"w{i}", speed=draw.integer(1, fastest)) for i in range(nodes)],
    )


def _gradient(draw: Draw, nodes: int, values: Values) -> CodedProblem:
    task = Gradient(
        partitions=values.integer("partitions"), stragglers=values.integer("stragglers")
    )
    return _speeds(draw, nodes, values, task)


def _elastic(draw: Draw, nodes: int, values: Values) -> CodedProblem:
    task = Elastic(
        recovery_threshold=values.integer("threshold"), stragglers=values.integer("stragglers")
    )
    return _speeds(draw, nodes, values, task)


def _shifted(shift: float, rate: float) -> Law:
    return Law(law="shifted_exponential", shift=shift, rate=rate)


def _nodes(laws: Sequence[Law], storage: int | None) -> list[Node]:
    return [Node(id=f"w{i}", runtime=law, storage=storage) for i, law in enumerate(laws)]


_FASTEST = Setting("max_speed", 8, 1, 10**6, "speeds are 1, ..., max_speed")
_SLOWDOWN = Setting("slowdown", 5.0, 1, 10**6, "factor of a slow node")
_SHARE = Setting("probability", 0.1, 0, 1, "probability of being slow")

CODED_FAMILIES: Mapping[str, CodedFamily] = MappingProxyType(
    {
        family.name: family
        for family in (
            CodedFamily(
                "two_types",
                "matrix times vector on slow and fast shifted exponential nodes",
                (
                    _ROWS,
                    Setting("slow", 0.5, 0, 1, "share of slow nodes"),
                    Setting("ratio", 3.0, 1, 10**6, "rate of fast nodes over that of slow ones"),
                    _STORAGE,
                ),
                _two_types,
            ),
            CodedFamily(
                "mixed_rates",
                "matrix times vector on shifted exponential nodes of five rates",
                (_ROWS, _STORAGE),
                _mixed,
            ),
            CodedFamily(
                "bimodal",
                "matrix times vector on nodes that are slow now and then",
                (_ROWS, _SLOWDOWN, _SHARE, _STORAGE),
                _bimodal,
            ),
            CodedFamily(
                "heavy_tails",
                "matrix times vector on Pareto nodes",
                (_ROWS, Setting("shape", 2.0, 0.01, 100, "shape of the laws"), _STORAGE),
                _heavy,
            ),
            CodedFamily(
                "weibull",
                "matrix times vector on shifted Weibull nodes",
                (_ROWS, Setting("shape", 0.7, 0.05, 100, "shape of the laws"), _STORAGE),
                _weibull,
            ),
            CodedFamily(
                "rented",
                "matrix times vector on virtual machines of four sizes, some on crowded hosts",
                (
                    _ROWS,
                    Setting("steady", 0.8, 0, 0.999, "constant part of the mean time"),
                    _SLOWDOWN,
                    _SHARE,
                    _STORAGE,
                ),
                _rented,
            ),
            CodedFamily(
                "racks",
                "matrix times vector, joint draws in which racks are slow together",
                (
                    _ROWS,
                    Setting("draws", 2000, 1, 10**6, "joint draws"),
                    Setting("rack", 4, 1, 10**6, "nodes of a rack"),
                    _SLOWDOWN,
                    _SHARE,
                ),
                _scenarios,
            ),
            CodedFamily(
                "gradient",
                "gradient coding on nodes of different speed",
                (
                    Setting("partitions", 12, 1, 10**6, "partitions of the data"),
                    Setting("stragglers", 1, 0, 10**6, "nodes that may never answer"),
                    _FASTEST,
                ),
                _gradient,
            ),
            CodedFamily(
                "elastic",
                "elastic loads on nodes of different speed",
                (
                    Setting("threshold", 3, 1, 10**6, "nodes that every part needs"),
                    Setting("stragglers", 0, 0, 10**6, "nodes that may never answer"),
                    _FASTEST,
                ),
                _elastic,
            ),
        )
    }
)
"""The families by name."""


def generate_coded(family: str, *, nodes: int, seed: int, **settings: Value) -> CodedProblem:
    """Draw a random instance; the same arguments give the same instance everywhere.

    Parameters
    ----------
    family
        A name of :data:`CODED_FAMILIES`.
    nodes
        Number of nodes, at least 1.
    seed
        Non-negative seed.
    settings
        Settings of the family, see ``CODED_FAMILIES[family].settings``.

    Raises
    ------
    UsageError
        If the family or a setting is unknown, or a value is refused.
    """
    row = CODED_FAMILIES.get(family)
    if row is None:
        names = list(CODED_FAMILIES)
        raise UsageError(
            f"unknown family '{family}'{suggest(family, names)} (families: {', '.join(names)})"
        )
    if isinstance(nodes, bool) or not 1 <= nodes <= _MOST_NODES:
        raise UsageError(f"nodes={nodes}: it must be an integer from 1 to {_MOST_NODES}")
    if isinstance(seed, bool) or seed < 0:
        raise UsageError(f"seed={seed}: it must be a non-negative integer")
    values = read_settings(family, row.settings, settings)
    return row.build(Draw(seed), nodes, values).replace(name=f"{family}_{nodes}_{seed}")
