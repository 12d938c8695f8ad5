"""How much of every node and resource a schedule holds, over time and in total.

Part of the independent checker. A task of length zero holds no node and no renewable
resource; what it uses up of a non-renewable resource counts all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from allocsolve.models.dag.data import DagData, Resource
from allocsolve.models.exact import exact, plain
from allocsolve.models.result import Violation

__all__ = ["Occupant", "judge_occupancy"]

_NAMED = 8
"""At most so many task ids are listed in one message."""


class Occupant(NamedTuple):
    """A task in its place: ticks of the checker's grid, exact demands."""

    task: str
    start: int
    end: int
    node: str | None
    demand: Sequence[tuple[str, Fraction]]


class _Use(NamedTuple):
    task: str
    start: int
    end: int
    amount: int


def judge_occupancy(
    data: DagData, occupants: Iterable[Occupant], units: Callable[[int], int | float]
) -> list[Violation]:
    """Return one violation for each node and resource that is ever overloaded.

    Parameters
    ----------
    units
        Turns ticks into input units, for messages.
    """
    occupants = list(occupants)
    return [
        *_judge_nodes(data, occupants, units),
        *_judge_resources(data, occupants, units),
    ]


def _judge_nodes(
    data: DagData, occupants: Sequence[Occupant], units: Callable[[int], int | float]
) -> list[Violation]:
    uses: dict[str, list[_Use]] = {node.id: [] for node in data.nodes}
    for o in occupants:
        if o.node is not None and o.start < o.end:
            uses[o.node].append(_Use(o.task, o.start, o.end, 1))
    violations: list[Violation] = []
    for node in data.nodes:
        peak, moment = _peak(uses[node.id])
        if peak > node.slots:
            message = (
                f"node '{node.id}' runs {peak} tasks at time {units(moment)}, it has "
                f"{node.slots} slot(s) ({_name(uses[node.id], moment)})"
            )
            violations.append(Violation("node_capacity", message))
    return violations


def _judge_resources(
    data: DagData, occupants: Sequence[Occupant], units: Callable[[int], int | float]
) -> list[Violation]:
    demands: dict[str, list[tuple[Occupant, Fraction]]] = {r.id: [] for r in data.resources}
    for occupant in occupants:
        for name, amount in occupant.demand:
            if amount:
                demands[name].append((occupant, amount))
    violations: list[Violation] = []
    for resource in data.resources:
        judge = _judge_renewable if resource.renewable else _judge_total
        violations.extend(judge(resource, demands[resource.id], units))
    return violations


def _judge_renewable(
    resource: Resource,
    demands: Sequence[tuple[Occupant, Fraction]],
    units: Callable[[int], int | float],
) -> list[Violation]:
    capacity = exact(resource.capacity)
    scale = math.lcm(capacity.denominator, *{amount.denominator for _, amount in demands})
    uses = [
        _Use(o.task, o.start, o.end, amount.numerator * (scale // amount.denominator))
        for o, amount in demands
        if o.start < o.end
    ]
    peak, moment = _peak(uses)
    if peak <= capacity * scale:
        return []
    message = (
        f"resource '{resource.id}' needs {plain(Fraction(peak, scale))} of {plain(capacity)} "
        f"at time {units(moment)} ({_name(uses, moment)})"
    )
    return [Violation("resource_capacity", message)]


def _judge_total(
    resource: Resource,
    demands: Sequence[tuple[Occupant, Fraction]],
    _units: Callable[[int], int | float],
) -> list[Violation]:
    capacity, total = exact(resource.capacity), sum((a for _, a in demands), Fraction(0))
    if total <= capacity:
        return []
    message = (
        f"non-renewable resource '{resource.id}' needs {plain(total)} of {plain(capacity)} in "
        f"total ({_list([o.task for o, _ in demands])})"
    )
    return [Violation("resource_total", message)]


def _peak(uses: Sequence[_Use]) -> tuple[int, int]:
    """Return the largest amount held at once and the first moment at which it is held."""
    events = [(use.start, use.amount) for use in uses]
    events.extend((use.end, -use.amount) for use in uses)
    events.sort()  # at one moment, what is given back (negative) comes first
    held, peak, moment = 0, 0, 0
    for time, change in events:
        held += change
        if held > peak:
            peak, moment = held, time
    return peak, moment


def _name(uses: Sequence[_Use], moment: int) -> str:
    return _list([use.task for use in uses if use.start <= moment < use.end])


def _list(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    return f"tasks {', '.join(tasks[:_NAMED])}{more}"
