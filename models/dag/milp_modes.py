"""What both mixed-integer programs say about the choice of modes.

``chosen`` stands for the variable or constant that is 1 if a mode is taken: the constraints
here only concern which modes are taken, not when tasks run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.milp_frame import Frame

if TYPE_CHECKING:
    import pyomo.environ as pyo

    Term: TypeAlias = pyo.Expression | int
    Chosen: TypeAlias = Callable[[int], Term]
    Rows: TypeAlias = Iterator[pyo.Expression]

__all__ = ["Milp", "add_rows", "alike_nodes", "build_within", "choices", "new_model", "taken"]


class Impossible(Exception):
    """A constraint without variables does not hold: there is no schedule within the horizon."""


class Milp(NamedTuple):
    """A mixed-integer program and the way back.

    Attributes
    ----------
    model
        A ``pyomo.environ.ConcreteModel`` with one objective, the makespan in ticks.
    decode
        Returns the schedule of a solution, given the value of each variable, None if the
        rounded values make none (then the solution was only one within tolerances). It
        reads nothing but the discrete decisions.
    """

    model: pyo.ConcreteModel
    decode: Callable[[Callable[[pyo.Var], float]], Schedule | None]


def new_model(frame: Frame) -> pyo.ConcreteModel:
    """Return a model without variables, named after the problem."""
    import pyomo.environ as pyo

    return pyo.ConcreteModel(name=frame.problem.name or "dag")


def build_within(window: Frame, write: Callable[[], Milp]) -> Milp:
    """Return the program that ``write`` builds, or one without any solution.

    Parameters
    ----------
    window
        What schedules that end by the horizon can use.
    write
        Called if the windows do not show already that there is no such schedule.
    """
    if window.possible:
        with suppress(Impossible):
            return write()
    return Milp(_empty_model(window), lambda _: None)


def _empty_model(frame: Frame) -> pyo.ConcreteModel:
    """Return a model without any solution: no schedule ends by the horizon."""
    import pyomo.environ as pyo

    model = new_model(frame)
    model.makespan = pyo.Var(bounds=(0, max(frame.horizon, 0)))
    model.impossible = pyo.Constraint(expr=model.makespan >= frame.horizon + 1)
    model.objective = pyo.Objective(expr=model.makespan)
    return model


def add_rows(model: pyo.ConcreteModel, name: str, rows: Rows) -> None:
    """Add the constraints of one kind under a common name.

    Constraints between constants are plain truth values: those that hold are left out.

    Raises
    ------
    Impossible
        At a constraint that never holds.
    """
    import pyomo.environ as pyo

    kept = pyo.ConstraintList()
    model.add_component(name, kept)
    for row in rows:
        if not isinstance(row, bool):
            kept.add(row)
        elif not row:
            raise Impossible(name)


def taken(frame: Frame, value_of: Callable[[int], float]) -> list[int]:
    """Return the mode of each task for which ``value_of`` is largest."""
    return [max(modes, key=value_of) for modes in frame.modes]


def choices(frame: Frame, chosen: Chosen) -> Rows:
    """Yield what limits the choice of modes as such."""
    yield from _budgets(frame, chosen)
    yield from _memory(frame, chosen)
    yield from _colocation(frame, chosen)


def _budgets(frame: Frame, chosen: Chosen) -> Rows:
    """Keep what the modes taken use up within the non-renewable resources."""
    arrays = frame.arrays
    for k in np.flatnonzero(~arrays.renewable).tolist():
        demand = arrays.mode_demand[:, k].tolist()
        terms = [demand[m] * chosen(m) for modes in frame.modes for m in modes if demand[m]]
        if terms:
            yield sum(terms) <= int(arrays.capacity[k])


def _memory(frame: Frame, chosen: Chosen) -> Rows:
    """Keep the tasks that ever run on a node within its memory."""
    need, room = frame.arrays.task_memory.tolist(), frame.arrays.node_memory.tolist()
    held: dict[int, list[Term]] = defaultdict(list)
    for task, modes in enumerate(frame.modes):
        for mode in modes:
            if need[task] and frame.node[mode] >= 0:
                held[frame.node[mode]].append(need[task] * chosen(mode))
    for node, terms in held.items():
        if room[node] < sum(need):
            yield sum(terms) <= room[node]


def _colocation(frame: Frame, chosen: Chosen) -> Rows:
    """Give the tasks of a group the same node."""
    for first, *others in frame.arrays.groups:
        leader = {frame.node[m]: chosen(m) for m in frame.modes[first]}
        for other in others:
            follower = {frame.node[m]: chosen(m) for m in frame.modes[other]}
            for node in sorted(leader.keys() | follower.keys()):
                yield leader.get(node, 0) == follower.get(node, 0)


def alike_nodes(frame: Frame) -> list[list[int]]:
    """Return the sets of two or more nodes that may be renamed into each other."""
    classes: list[list[int]] = []
    for k in range(len(frame.arrays.node_slots)):
        home = next((c for c in classes if _are_alike(frame, c[0], k)), None)
        if home is None:
            classes.append([k])
        else:
            home.append(k)
    return [nodes for nodes in classes if len(nodes) > 1]


def _are_alike(frame: Frame, a: int, b: int) -> bool:
    arrays = frame.arrays
    sizes = (arrays.node_slots, arrays.node_memory)
    if any(size[a] != size[b] for size in sizes):
        return False
    return _same_links(frame, a, b) and all(
        _on(frame, modes, a) == _on(frame, modes, b) for modes in frame.modes
    )


def _on(frame: Frame, modes: Sequence[int], node: int) -> list[tuple[int, ...]]:
    """Return duration, latest start and demand of the modes that are a node."""
    demand = frame.arrays.mode_demand
    return [
        (frame.duration[m], frame.last[m], *demand[m].tolist())
        for m in modes
        if frame.node[m] == node
    ]


def _same_links(frame: Frame, a: int, b: int) -> bool:
    others = np.ones(len(frame.arrays.node_slots), np.bool_)
    others[[a, b]] = False
    tables = (frame.arrays.latency, frame.arrays.data_time, frame.arrays.linked)
    return all(bool((t[a, others] == t[b, others]).all()) for t in tables)
