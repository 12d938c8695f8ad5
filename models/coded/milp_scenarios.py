"""Whole loads by a mixed-integer program over listed draws, without a big M.

``takes[i, l] = 1``: node i has the load l. ``brings[i, m]`` is that load if it is at most m, else
0; a chain of sums over the m that occur. ``done[w] = 1``: row w of the program (a draw at a time)
is done, which needs ``sum of brings[i, most[w, i]] >= need``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.scenario_programs import ScenarioProgram, whole_terms

if TYPE_CHECKING:
    import pyomo.environ as pyo

    Decode: TypeAlias = Callable[[Callable[[pyo.Var], float]], tuple[int, ...]]

__all__ = ["add_limits", "build", "start_from"]

_COARSE = 10**6
"""Whole prices up to which a budget is kept exactly."""


def build(program: ScenarioProgram) -> tuple[pyo.ConcreteModel, Decode]:
    """Build the program and the way back from its solution to loads.

    Returns
    -------
    tuple
        The model, whose objective is the value of the program, and a function from a function
        that gives the value of a variable to loads.
    """
    import pyomo.environ as pyo

    model, choices = pyo.ConcreteModel(), program.choices()
    nodes, rows = range(len(choices)), range(len(program.most))
    pairs = [(i, load) for i in nodes for load in choices[i]]
    model.takes = pyo.Var(pairs, domain=pyo.Binary)
    model.done = pyo.Var(rows, domain=pyo.Binary)
    model.one_load = pyo.Constraint(
        [i for i in nodes if choices[i]],
        rule=lambda m, i: sum(m.takes[i, load] for load in choices[i]) <= 1,
    )
    _add_rows(model, program, choices)
    add_limits(model, program.domain, pairs)
    # Without rows sums would be numbers, which are no expressions.
    model.nothing = pyo.Var(bounds=(0, 0))
    if program.enough is not None:
        done = sum(int(count) * model.done[w] for w, count in enumerate(program.count.tolist()))
        model.reached = pyo.Constraint(expr=model.nothing + done >= program.enough)
    prices = program.domain.prices
    if program.goal == "price":
        value = sum(float(prices[i]) * load * model.takes[i, load] for i, load in pairs)
    elif program.goal == "late":
        late = (float(program.weight[w]) * (1 - model.done[w]) for w in rows)
        value = program.base + sum(late)
    else:
        value = 0.0
    model.value = pyo.Objective(expr=value + model.nothing)

    def decode(value_of: Callable[[pyo.Var], float]) -> tuple[int, ...]:
        loads = [0] * len(choices)
        for i, load in pairs:
            if value_of(model.takes[i, load]) > 0.5:
                loads[i] = load
        return tuple(loads)

    return model, decode


def _add_rows(
    model: pyo.ConcreteModel, program: ScenarioProgram, choices: Sequence[Sequence[int]]
) -> None:
    """Add what arrives in each row, and that rows which are done have enough of it."""
    import pyomo.environ as pyo

    steps = {i: np.unique(program.most[:, i]).tolist() for i in range(len(choices))}
    steps = {i: [most for most in found if most > 0] for i, found in steps.items()}
    pairs = [(i, most) for i, found in steps.items() for most in found]
    model.brings = pyo.Var(pairs, domain=pyo.NonNegativeReals)
    for i, most in pairs:
        model.brings[i, most].setub(most)
    before = {
        (i, most): last
        for i, found in steps.items()
        for last, most in zip([0, *found], found, strict=False)
    }

    def chain(m: pyo.ConcreteModel, i: int, most: int) -> object:
        last = before[i, most]
        new = sum(load * m.takes[i, load] for load in choices[i] if last < load <= most)
        return m.brings[i, most] == new + (m.brings[i, last] if last else 0)

    model.chain = pyo.Constraint(pairs, rule=chain)
    table = program.most.tolist()

    def enough(m: pyo.ConcreteModel, w: int) -> object:
        arrived = sum(m.brings[i, most] for i, most in enumerate(table[w]) if most > 0)
        return arrived >= program.domain.need * m.done[w]

    model.enough = pyo.Constraint(range(len(table)), rule=enough)


def add_limits(model: pyo.ConcreteModel, domain: Domain, pairs: Sequence[tuple[int, int]]) -> None:
    """Add the limits of all nodes together to a model with Booleans ``takes`` for the pairs."""
    import pyomo.environ as pyo

    if pairs and domain.total < int(domain.caps.sum()):
        total = sum(load * model.takes[i, load] for i, load in pairs)
        model.total = pyo.Constraint(expr=total <= domain.total)
    if pairs and domain.budget is not None:
        prices, unit = whole_terms(domain.prices, int(domain.caps.sum()))
        most = max(1, *prices)
        if most > _COARSE:  # as fractions of the largest one, a little generous
            shares, limit = [p / most for p in prices], float(domain.budget * unit / most) + 1e-9
        else:
            shares, limit = list(prices), math.floor(domain.budget * unit)
        cost = sum(shares[i] * load * model.takes[i, load] for i, load in pairs)
        model.budget = pyo.Constraint(expr=cost <= limit)


def start_from(model: pyo.ConcreteModel, program: ScenarioProgram, loads: Sequence[int]) -> None:
    """Set the variables of a model to some loads, where an engine begins.

    A load that is not among the choices is replaced by the next smaller one, which counts in
    the same rows.
    """
    chosen = [
        max((load for load in mine if load <= given), default=0)
        for mine, given in zip(program.choices(), loads, strict=True)
    ]
    for i, load in model.takes:
        model.takes[i, load].value = int(load == chosen[i])
    for i, most in model.brings:
        model.brings[i, most].value = chosen[i] if chosen[i] <= most else 0
    for w, done in enumerate(program.done(chosen).tolist()):
        model.done[w].value = int(done)
    model.nothing.value = 0
