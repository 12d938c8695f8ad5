"""Communicating task graphs of many shapes on identical, related or unrelated nodes.

Numbers are chosen so that the exact time grid stays coarse: works, durations and latencies are
integers, bandwidths are 1/2, 1 and 2, and data are multiples of 2 (of 0.2, 0.02, ... if data
are small). Speeds of related nodes are 2, 3, 4 and 6 and works then multiples of 12, so that
every duration is an integer.

The communication-to-computation ratio is the mean of data / bandwidth over all edges and all
pairs of different nodes, over the mean duration of all tasks on all nodes; latencies come on
top. It is met up to the rounding of data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import TypeAlias

from allocsolve.instances.generators import shapes
from allocsolve.instances.generators.draw import Draw
from allocsolve.instances.generators.settings import Choice, Setting, Values
from allocsolve.instances.generators.shapes import Shape
from allocsolve.models.dag.data import DefaultLink, Edge, Link, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.exact import Number

__all__ = ["COMMON", "TASK_GRAPHS", "TaskGraphFamily"]

DrawShape: TypeAlias = Callable[[Draw, int, Values], Shape]

COMMON = (
    Setting("ccr", 1.0, 0, 10**4, "mean transfer time of an edge over mean duration of a task"),
    Setting("nodes", 4, 1, 1000, "number of nodes"),
    Choice("node_kind", ("identical", "related", "unrelated"), "how the nodes differ"),
    Setting("slots", 1, 1, 1000, "slots per node"),
    Setting("eligible", 1.0, 0, 1, "share of the nodes on which a task may run, at least one"),
    Choice("links", ("uniform", "different"), "one link for all pairs of nodes, or one for each"),
    Setting("max_latency", 10, 0, 10**6, "largest latency of different links, the least is 1"),
    Setting("min_work", 10, 1, 10**6, "least work of a task"),
    Setting("max_work", 100, 1, 10**6, "largest work of a task"),
)
"""Settings of every family of this module."""

_SPEEDS = (2, 3, 4, 6)
_WORK_UNIT = 12
_BANDWIDTHS = (Fraction(1, 2), Fraction(1), Fraction(2))
_DATA_UNIT = 2
_STEPS = 20
"""Least mean of data in units of their rounding, so that rounding hardly changes the ratio."""

_FINEST = Fraction(1, 10**6)
"""Rounding of data becomes no finer than this, however small the ratio."""

_MOST_DATA = 100
"""Data of edges are drawn from 1, ..., 100 and scaled to the ratio."""


@dataclass(frozen=True)
class TaskGraphFamily:
    """A family of task graphs: its name, what it is, its own settings, and its shape."""

    name: str
    description: str
    own: tuple[Setting | Choice, ...]
    shape: DrawShape

    @property
    def settings(self) -> tuple[Setting | Choice, ...]:
        """Its own settings and the common ones."""
        return (*self.own, *COMMON)

    def build(self, draw: Draw, tasks: int, values: Values) -> DagProblem:
        """Draw an instance with exactly that many tasks."""
        shape = self.shape(draw, tasks, values)
        return _Cluster(draw, shape, values).problem()


class _Cluster:
    """Draws works, nodes, links and data for a shape."""

    def __init__(self, draw: Draw, shape: Shape, values: Values) -> None:
        self._draw = draw
        self._shape = shape
        self._kind = values.word("node_kind")
        self._values = values
        self._nodes = [f"n{k}" for k in range(values.integer("nodes"))]
        self._tasks = [f"t{i + 1}" for i in range(shape.size)]
        self._works = self._draw_works()

    def problem(self) -> DagProblem:
        """Return the instance; everything is drawn in a fixed order."""
        nodes = self._draw_nodes()
        table = self._draw_table()
        eligible = self._draw_eligible()
        links, times = self._draw_links()
        mean = self._mean_duration(nodes, table)
        data = self._draw_data(mean, times)
        unrelated = self._kind == "unrelated"
        return DagProblem(
            tasks=[
                Task(id=key, work=None if unrelated else work, eligible=allowed)
                for key, work, allowed in zip(self._tasks, self._works, eligible, strict=True)
            ],
            edges=[
                Edge(source=self._tasks[i], target=self._tasks[j], data=amount)
                for (i, j), amount in zip(self._shape.arcs, data, strict=True)
            ],
            nodes=nodes,
            durations={
                key: dict(zip(self._nodes, row, strict=True))
                for key, row in zip(self._tasks, table, strict=True)
            }
            if unrelated
            else {},
            links=links,
            default_link=DefaultLink(),
        )

    def _draw_works(self) -> list[int]:
        """Draw the work of each task, or the unit of works if the shape has weights."""
        low, high = self._values.integer("min_work"), self._values.integer("max_work")
        unit = _WORK_UNIT if self._kind == "related" else 1
        if self._shape.weights:
            unit *= self._draw.integer(low, high)
            return [unit * weight for weight in self._shape.weights]
        return [unit * self._draw.integer(low, high) for _ in self._tasks]

    def _draw_nodes(self) -> list[Node]:
        related, slots = self._kind == "related", self._values.integer("slots")
        return [
            Node(id=key, speed=self._draw.choice(_SPEEDS) if related else 1, slots=slots)
            for key in self._nodes
        ]

    def _draw_table(self) -> list[list[int]]:
        """Draw a duration from half the work to twice the work for each task and node."""
        if self._kind != "unrelated":
            return [[] for _ in self._works]
        return [
            [self._draw.integer((work + 1) // 2, 2 * work) for _ in self._nodes]
            for work in self._works
        ]

    def _draw_eligible(self) -> list[list[str] | None]:
        share = self._values.number("eligible")
        if share >= 1:
            return [None] * len(self._tasks)
        return [self._some_nodes(share) for _ in self._tasks]

    def _some_nodes(self, share: float) -> list[str]:
        kept = [key for key in self._nodes if self._draw.chance(share)]
        return kept or [self._draw.choice(self._nodes)]

    def _draw_links(self) -> tuple[list[Link], list[Fraction]]:
        """Return links and the time per unit of data of each."""
        if self._values.word("links") == "uniform":
            return [], [Fraction(1)]
        slowest = self._values.integer("max_latency")
        links = [
            Link(
                between=pair,
                latency=self._draw.integer(min(1, slowest), slowest),
                bandwidth=_plain(self._draw.choice(_BANDWIDTHS)),
            )
            for pair in combinations(self._nodes, 2)
        ]
        return links, [1 / Fraction(link.bandwidth or 1) for link in links] or [Fraction(1)]

    def _mean_duration(self, nodes: Sequence[Node], table: Sequence[Sequence[int]]) -> Fraction:
        if not self._works:
            return Fraction(0)
        if self._kind == "unrelated":
            return Fraction(sum(map(sum, table)), len(table) * len(nodes))
        per_work = sum((1 / Fraction(node.speed) for node in nodes), Fraction(0)) / len(nodes)
        return Fraction(sum(self._works), len(self._works)) * per_work

    def _draw_data(self, duration: Fraction, times: Sequence[Fraction]) -> list[Number]:
        raw = [self._draw.integer(1, _MOST_DATA) for _ in self._shape.arcs]
        if self._shape.weights:
            raw = [1] * len(raw)  # every edge passes a tile, or the activations of a layer
        ratio = Fraction(Decimal(repr(self._values.number("ccr"))))
        mean = ratio * duration * len(times) / sum(times)
        if not raw or not mean:
            return [0] * len(raw)
        return list(_scaled(raw, mean))


def _scaled(raw: Sequence[int], mean: Fraction) -> Iterator[Number]:
    """Scale to the mean and round to multiples of 2, 0.2, 0.02, ..., none of them 0."""
    unit = Fraction(_DATA_UNIT)
    while mean < _STEPS * unit and unit > _FINEST:
        unit /= 10
    numerator, denominator = (mean * len(raw) / (sum(raw) * unit)).as_integer_ratio()
    for amount in raw:
        steps = (2 * amount * numerator + denominator) // (2 * denominator)
        yield _plain(max(1, steps) * unit)


def _plain(value: Fraction) -> Number:
    """Return a fraction as an integer if it is one, so that files show it as one."""
    return value.numerator if value.denominator == 1 else value


_DEGREE = Setting("degree", 3, 1, 1000, "most predecessors (or successors) of a task")

TASK_GRAPHS = (
    TaskGraphFamily(
        "layered",
        "random layers",
        (_DEGREE,),
        lambda draw, size, values: shapes.layered(draw, size, values.integer("degree")),
    ),
    TaskGraphFamily("fork", "one task before all others", (), lambda _d, n, _v: shapes.fork(n)),
    TaskGraphFamily("join", "one task after all others", (), lambda _d, n, _v: shapes.join(n)),
    TaskGraphFamily(
        "fork_join",
        "one task before and one after all others",
        (),
        lambda _d, n, _v: shapes.fork_join(n),
    ),
    TaskGraphFamily(
        "series_parallel",
        "random series-parallel graph",
        (),
        lambda draw, size, _v: shapes.series_parallel(draw, size),
    ),
    TaskGraphFamily(
        "out_tree",
        "random tree that branches",
        (_DEGREE,),
        lambda draw, size, values: shapes.out_tree(draw, size, values.integer("degree")),
    ),
    TaskGraphFamily(
        "in_tree",
        "random tree that joins",
        (_DEGREE,),
        lambda draw, size, values: shapes.in_tree(draw, size, values.integer("degree")),
    ),
    TaskGraphFamily(
        "stencil",
        "rows of cells that need their neighbours of the last row",
        (),
        lambda _d, n, _v: shapes.stencil(n),
    ),
    TaskGraphFamily("lu", "tiled LU factorization", (), lambda _d, n, _v: shapes.lu(n)),
    TaskGraphFamily(
        "cholesky", "tiled Cholesky factorization", (), lambda _d, n, _v: shapes.cholesky(n)
    ),
    TaskGraphFamily(
        "mapreduce",
        "a split, maps, reducers that need every map, and a task that collects",
        (Setting("reducers", 4, 1, 1000, "number of reducers"),),
        lambda _d, size, values: shapes.mapreduce(size, values.integer("reducers")),
    ),
    TaskGraphFamily(
        "pipeline",
        "training of a deep network: micro-batches forward and back through layers",
        (Setting("layers", 6, 1, 10**4, "number of layers"),),
        lambda _d, size, values: shapes.pipeline(size, values.integer("layers")),
    ),
)
"""The families of this module."""
