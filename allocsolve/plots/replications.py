"""One replication of a schedule as a Gantt chart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from allocsolve.models.dag.answer import ScheduledTask
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.execution.outcome import Replication, Simulation
from allocsolve.plots.gantt_chart import gantt, in_units

__all__ = ["replication_gantt"]


def replication_gantt(
    problem: DagProblem,
    simulation: Simulation,
    label: str = "median",
    *,
    modes: Sequence[int] | None = None,
    form: str = "svg",
    title: str | None = None,
) -> bytes:
    """Draw how a plan was carried out in a median or in a bad replication.

    Parameters
    ----------
    label
        ``median``, or ``bad`` (the 95th percentile).
    modes
        Mode of each task in the plan; by default 0.
    form, title
        As in :func:`allocsolve.plots.gantt`. Tasks that never end are left out.

    Raises
    ------
    UsageError
        If the simulation holds no such replication, since nothing was random.
    SolverMissing
        If matplotlib is not installed.
    """
    known = {one.label: one for one in simulation.examples}
    if label not in known:
        allowed = ", ".join(known) or "none: nothing is random, so every replication is the plan"
        raise UsageError(f"there is no replication '{label}'\n  allowed: {allowed}")
    one = known[label]
    heading = title if title is not None else _heading(problem, simulation, one)
    return gantt(problem, _entries(problem, one, modes), form=form, title=heading)


def _heading(problem: DagProblem, simulation: Simulation, one: Replication) -> str:
    name = problem.name or problem.origin.name or "schedule"
    known = simulation.planned
    planned = "" if known is None else f" (planned {in_units(problem, known)})"
    makespan = in_units(problem, one.value)
    return f"{name}, {one.label} replication: makespan {makespan}{planned}"


def _entries(
    problem: DagProblem, one: Replication, modes: Sequence[int] | None
) -> list[ScheduledTask]:
    found = []
    for i, (start, end) in enumerate(zip(one.start.tolist(), one.end.tolist(), strict=True)):
        if math.isfinite(end):
            mode = 0 if modes is None else modes[i]
            task, node = problem.tasks[i].id, one.node[i]
            found.append(ScheduledTask(task, Fraction(start), Fraction(end), node, mode))
    return found
