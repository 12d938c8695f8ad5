"""Random job shops, plain and flexible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from allocsolve.instances.generators.draw import Draw
from allocsolve.instances.generators.settings import Setting, Values
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem

__all__ = ["FLEXIBLE", "JOBSHOP", "draw_flexible", "draw_jobshop"]

_COMMON = (
    Setting("machines", 5, 1, 10**4, "number of machines"),
    Setting("min_duration", 1, 0, 10**9, "shortest duration"),
    Setting("max_duration", 99, 0, 10**9, "longest duration"),
)
JOBSHOP = _COMMON
"""Settings of the family ``jobshop``."""

FLEXIBLE = (
    *_COMMON,
    Setting("operations", 5, 1, 10**4, "operations per job"),
    Setting("flexibility", 0.4, 0, 1, "share of the machines that can do an operation"),
    Setting("spread", 0.3, 0, 10, "how far durations differ between machines, as a share"),
)
"""Settings of the family ``flexible``."""


def draw_jobshop(draw: Draw, tasks: int, values: Values) -> DagProblem:
    """Draw jobs that visit every machine once, each in its own random order.

    The last job is shorter if the machines do not divide the number of tasks.
    """
    machines = [str(k) for k in range(values.integer("machines"))]
    operations: list[Mapping[str, int]] = []
    while len(operations) < tasks:
        route = draw.shuffled(machines)[: tasks - len(operations)]
        operations.extend({machine: _duration(draw, values)} for machine in route)
    return _shop(operations, len(machines), machines)


def draw_flexible(draw: Draw, tasks: int, values: Values) -> DagProblem:
    """Draw jobs whose operations may run on some of the machines, faster on some."""
    machines = [str(k) for k in range(values.integer("machines"))]
    operations = [_alternatives(draw, machines, values) for _ in range(tasks)]
    return _shop(operations, values.integer("operations"), machines)


def _duration(draw: Draw, values: Values) -> int:
    return draw.integer(values.integer("min_duration"), values.integer("max_duration"))


def _alternatives(draw: Draw, machines: Sequence[str], values: Values) -> dict[str, int]:
    count = max(1, round(values.number("flexibility") * len(machines)))
    base = _duration(draw, values)
    extra = round(base * values.number("spread"))
    return {machine: base + draw.integer(0, extra) for machine in draw.subset(machines, count)}


def _shop(
    operations: Sequence[Mapping[str, int]], per_job: int, machines: Sequence[str]
) -> DagProblem:
    ids = [f"{i // per_job + 1}.{i % per_job + 1}" for i in range(len(operations))]
    return DagProblem(
        tasks=[Task(id=token) for token in ids],
        edges=list(_routes(ids, per_job)),
        nodes=[Node(id=machine) for machine in machines],
        durations=dict(zip(ids, operations, strict=True)),
    )


def _routes(ids: Sequence[str], per_job: int) -> Iterator[Edge]:
    for i in range(1, len(ids)):
        if i % per_job:
            yield Edge(source=ids[i - 1], target=ids[i])
