"""Whole loads by a mixed-integer program over listed draws, without a big M.

``y[i, l] = 1``: node i has the load l. ``z[w] = 1``: draw w is complete by the deadline, which
needs ``sum of l y[i, l] over the l that i completes in draw w >= need``. The number of draws that
are late is minimised.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.problem import CodedProblem

if TYPE_CHECKING:
    import pyomo.environ as pyo

__all__ = ["build", "completed_loads"]


def completed_loads(
    problem: CodedProblem, domain: Domain, draws: FloatArray, deadline: float
) -> IntArray:
    """Return the largest load that each node completes in each draw, int64 (draws, n)."""
    arrays = problem.arrays
    start = arrays.startup + arrays.message
    with np.errstate(divide="ignore", invalid="ignore"):
        if problem.scaling == "additive":
            left = deadline * (1 + 4e-15) - start - draws
            most = np.where(arrays.row_time > 0, left / arrays.row_time, np.inf)
        else:
            left = deadline * (1 + 4e-15) - start
            unit = draws / np.where(arrays.speed > 0, arrays.speed, 1.0)
            most = np.where(unit > 0, left / unit, np.inf)
    most = np.where(left < 0, 0.0, most)
    return np.minimum(np.floor(most), domain.caps).astype(np.int64)


def build(
    problem: CodedProblem, domain: Domain, draws: FloatArray, deadline: float
) -> tuple[pyo.ConcreteModel, Callable[[Callable[[pyo.Var], float]], tuple[int, ...]]]:
    """Build the program and the way back from its solution to loads.

    Parameters
    ----------
    draws
        float64 (draws, n), times of a unit of load.

    Returns
    -------
    tuple
        The model, whose objective is the number of late draws, and a function from a function
        that gives the value of a variable to loads.
    """
    import pyomo.environ as pyo

    model, most = pyo.ConcreteModel(), completed_loads(problem, domain, draws, deadline)
    nodes = range(len(domain.caps))
    pairs = [(i, load) for i in nodes for load in range(1, int(most[:, i].max(initial=0)) + 1)]
    model.takes = pyo.Var(pairs, domain=pyo.Binary)
    model.done = pyo.Var(range(len(draws)), domain=pyo.Binary)
    loads_of = {i: [load for j, load in pairs if j == i] for i in nodes}
    model.one_load = pyo.Constraint(
        [i for i in nodes if loads_of[i]],
        rule=lambda m, i: sum(m.takes[i, load] for load in loads_of[i]) <= 1,
    )
    possible = (np.minimum(most, domain.caps).sum(axis=1) >= domain.need).tolist()

    def enough(m: pyo.ConcreteModel, w: int) -> object:
        if not possible[w]:
            return m.done[w] == 0
        arrived = sum(load * m.takes[i, load] for i, load in pairs if load <= most[w, i])
        return arrived >= domain.need * m.done[w]

    model.enough = pyo.Constraint(range(len(draws)), rule=enough)
    total = sum(load * model.takes[i, load] for i, load in pairs)
    model.total = pyo.Constraint(expr=total <= domain.total)
    if domain.budget is not None:
        cost = sum(float(domain.prices[i]) * load * model.takes[i, load] for i, load in pairs)
        model.budget = pyo.Constraint(expr=cost <= float(domain.budget) * (1 - 1e-9))
    model.late = pyo.Objective(expr=len(draws) - sum(model.done[w] for w in range(len(draws))))

    def decode(value_of: Callable[[pyo.Var], float]) -> tuple[int, ...]:
        loads = [0] * len(domain.caps)
        for i, load in pairs:
            if value_of(model.takes[i, load]) > 0.5:
                loads[i] = load
        return tuple(loads)

    return model, decode
