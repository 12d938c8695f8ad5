"""The quantile of the completion time as one mixed-integer program over listed draws.

``time`` is minimised. In draw w node i may have arrived by then (``arrived[w, i]``), which needs
``time >= t(w, i, load of i) - M (1 - arrived)``; what it brings counts towards the need of its
draw, and enough draws have to be done. The big M is what sorted times at which something can arrive
leave: no loads are complete before ``low``, and no load is of interest that arrives after the
known time ``high``; so M is the last such time of the node in the draw less ``low``.

For a file that another solver reads; the method itself asks at one time after another, see
:mod:`allocsolve.solvers.coded.scenarios`, without any big M.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.coded.milp_scenarios import add_limits
from allocsolve.models.coded.scenario_programs import Times

if TYPE_CHECKING:
    import pyomo.environ as pyo

__all__ = ["build"]


def build(times: Times, rank: int, low: float, high: float) -> pyo.ConcreteModel:
    """Build the program.

    Parameters
    ----------
    rank
        Draws that have to be done.
    low, high
        Times between which the best quantile lies.
    """
    import pyomo.environ as pyo

    model, domain = pyo.ConcreteModel(), times.domain
    most = times.most(np.array([[high]]))
    top, nodes = most.max(axis=0, initial=0).tolist(), range(len(domain.caps))
    pairs = [(i, load) for i in nodes for load in range(1, top[i] + 1)]
    spots = [(w, i) for w, i in zip(*(a.tolist() for a in np.nonzero(most)), strict=True)]
    model.takes = pyo.Var(pairs, domain=pyo.Binary)
    model.one_load = pyo.Constraint(
        [i for i in nodes if top[i]],
        rule=lambda m, i: sum(m.takes[i, load] for load in range(1, top[i] + 1)) <= 1,
    )
    model.time = pyo.Var(bounds=(low, high))
    model.done = pyo.Var(range(len(most)), domain=pyo.Binary)
    model.arrived = pyo.Var(spots, domain=pyo.Binary)
    model.brings = pyo.Var(spots, domain=pyo.NonNegativeReals)
    when = {load: times.of(np.full(most.shape, load)) for load in range(1, max(top, default=0) + 1)}

    def in_time(m: pyo.ConcreteModel, w: int, i: int) -> object:
        loads = range(1, int(most[w, i]) + 1)
        slack = max(0.0, float(when[loads[-1]][w, i]) - low)
        arrives = sum(float(when[load][w, i]) * m.takes[i, load] for load in loads)
        return m.time >= arrives - slack * (1 - m.arrived[w, i])

    def counts(m: pyo.ConcreteModel, w: int, i: int) -> object:
        return m.brings[w, i] <= int(most[w, i]) * m.arrived[w, i]

    def is_load(m: pyo.ConcreteModel, w: int, i: int) -> object:
        # A load that cannot arrive in time in this draw brings nothing in it.
        loads = range(1, int(most[w, i]) + 1)
        return m.brings[w, i] <= sum(load * m.takes[i, load] for load in loads)

    model.in_time = pyo.Constraint(spots, rule=in_time)
    model.counts = pyo.Constraint(spots, rule=counts)
    model.is_load = pyo.Constraint(spots, rule=is_load)
    mine: dict[int, list[int]] = {}
    for w, i in spots:
        mine.setdefault(w, []).append(i)

    def enough(m: pyo.ConcreteModel, w: int) -> object:
        if w not in mine:
            return m.done[w] <= 0
        return sum(m.brings[w, i] for i in mine[w]) >= domain.need * m.done[w]

    model.enough = pyo.Constraint(range(len(most)), rule=enough)
    model.reached = pyo.Constraint(expr=sum(model.done[w] for w in range(len(most))) >= rank)
    add_limits(model, domain, pairs)
    model.value = pyo.Objective(expr=model.time)
    return model
