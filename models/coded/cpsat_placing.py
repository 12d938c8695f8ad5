"""Partitions of a gradient on nodes by a constraint program: time first, then what ties leave open.

Partitions that the same nodes may hold, and the same nodes hold already, are alike; only how many
of a class each node takes is decided. Whole numbers ``0 <= x[i, c] <= size of c`` that add up to a
multiple k of the size of c over all nodes can always be dealt out so that every partition of the
class is on k different nodes: consecutive ones around a circle.

Time is no variable: a program asks for a placement within the loads that the nodes complete by a
time. The caller bisects over all times at which a node completes a load, so no time is rounded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.coded.baselines_gradient import GradientJob
from allocsolve.models.coded.placing import arcs
from allocsolve.models.coded.scenario_programs import whole_terms
from allocsolve.models.exact import exact

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["RULES", "PlacingModel", "build", "held_by"]

RULES = ("moves", "price", "work")
"""What is minimised after the time, one after another: partitions that a node does not have yet
(with a start only); the price of all loads; the sum of the times of the nodes."""

_LARGEST = 2.0**50


@dataclass(frozen=True, eq=False)
class PlacingModel:
    """A model with the way back.

    Attributes
    ----------
    values
        The quantity of each of :data:`RULES` that plays a role.
    """

    model: cp_model.CpModel
    values: dict[str, cp_model.LinearExprT]
    takes: dict[tuple[int, int], cp_model.IntVar]
    classes: tuple[tuple[int, ...], ...]
    nodes: int

    def decode(self, value_of: Callable[[cp_model.IntVar], int]) -> list[tuple[int, ...]]:
        """Return the partitions of each node."""
        parts: list[list[int]] = [[] for _ in range(self.nodes)]
        for c, members in enumerate(self.classes):
            loads = [
                value_of(self.takes[i, c]) if (i, c) in self.takes else 0 for i in range(self.nodes)
            ]
            for mine, found in zip(parts, arcs(loads, len(members)), strict=True):
                mine.extend(members[place] for place in found)
        return [tuple(sorted(mine)) for mine in parts]


def build(job: GradientJob, most: Sequence[int], already: BoolArray | None = None) -> PlacingModel:
    """Build the model of all placements within loads, locality, budget and total load.

    Parameters
    ----------
    most
        Largest load of each node.
    already
        bool (n, partitions), which nodes have which partitions; None if nobody has any.
    """
    from ortools.sat.python import cp_model

    model, nodes = cp_model.CpModel(), len(job.caps)
    holds = job.problem.arrays.holds
    allowed = np.ones((nodes, job.task.partitions), np.bool_) if holds is None else holds
    classes = _classes(allowed, already)
    first = [members[0] for members in classes]
    takes = {
        (i, c): model.new_int_var(0, len(members), f"takes_{i}_{c}")
        for c, members in enumerate(classes)
        for i in range(nodes)
        if allowed[i, members[0]]
    }
    for c, members in enumerate(classes):
        mine = [v for (_, other), v in takes.items() if other == c]
        model.add(sum(mine) + model.new_constant(0) == job.copies * len(members))
    loads = []
    for i, cap in enumerate(most):
        load = model.new_int_var(0, cap, f"load_{i}")
        model.add(load == sum(v for (other, _), v in takes.items() if other == i))
        loads.append(load)
    values: dict[str, cp_model.LinearExprT] = {"work": _work(model, job, most, loads)}
    if already is not None:
        values["moves"] = sum(v for (i, c), v in takes.items() if not already[i, first[c]])
    _priced(model, job, loads, values)
    ordered = {name: values[name] for name in RULES if name in values}
    return PlacingModel(model, ordered, takes, classes, nodes)


def _classes(allowed: BoolArray, already: BoolArray | None) -> tuple[tuple[int, ...], ...]:
    """Return partitions that are alike, each class rising."""
    table = allowed if already is None else np.concatenate([allowed, already])
    _, where = np.unique(table.T, axis=0, return_inverse=True)
    where = where.reshape(-1)
    return tuple(
        tuple(np.flatnonzero(where == c).tolist()) for c in range(int(where.max(initial=-1)) + 1)
    )


def _work(
    model: cp_model.CpModel,
    job: GradientJob,
    most: Sequence[int],
    loads: Sequence[cp_model.IntVar],
) -> cp_model.LinearExprT:
    """Return the sum of the times of all nodes, in units far below any tolerance.

    The time of a node that works is linear in its load; infinite ones do not count.
    """
    finite = [math.isfinite(job.time(i, 2)) for i in range(len(most))]
    first = [job.time(i, 1) if cap and finite[i] else 0.0 for i, cap in enumerate(most)]
    each = [
        job.time(i, 2) - first[i] if cap > 1 and finite[i] else 0.0 for i, cap in enumerate(most)
    ]
    unit = sum(first) + sum(c * e for c, e in zip(most, each, strict=True))
    scale = _LARGEST / max(unit, 1e-280)  # of times that are all 0 too
    terms = []
    for load, cap, time, step in zip(loads, most, first, each, strict=True):
        if cap:
            works = model.new_bool_var(f"{load.name}_works")
            model.add(load <= cap * works)
            start = math.floor(time * scale) - math.floor(step * scale)
            terms.append(start * works + math.floor(step * scale) * load)
    return sum(terms)


def _priced(
    model: cp_model.CpModel,
    job: GradientJob,
    loads: Sequence[cp_model.IntVar],
    values: dict[str, cp_model.LinearExprT],
) -> None:
    """Add the limits of all nodes together, and the price as a quantity."""
    limits = job.problem.limits
    if limits.total_load is not None:
        model.add(sum(loads) <= math.floor(exact(limits.total_load)))
    costs = [exact(node.cost) for node in job.problem.nodes]
    if not any(costs):
        return
    prices, unit = whole_terms(costs, job.task.partitions)
    price = sum(c * load for c, load in zip(prices, loads, strict=True))
    values["price"] = price
    if limits.budget is not None:
        model.add(price <= math.floor(exact(limits.budget) * unit))


def held_by(parts: Sequence[Sequence[int]], partitions: int) -> BoolArray:
    """Return which nodes have which partitions, bool (n, partitions)."""
    table: IntArray = np.zeros((len(parts), partitions), np.int64)
    for i, mine in enumerate(parts):
        table[i, list(mine)] = 1
    return table.astype(np.bool_)
