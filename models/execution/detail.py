"""What a simulation tells beyond makespans: utilisation, lost work, criticality, pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.dag.arrays import NO_LIMIT
from allocsolve.models.execution.outcome import Replication
from allocsolve.models.execution.replay import Given, mark_critical
from allocsolve.models.execution.runs import Recording, Replayer
from allocsolve.models.execution.summary import quantile

__all__ = ["BAD", "Detail", "describe", "pick", "show"]

BAD = 0.95
"""The bad replication that is shown is this quantile of all."""

_ELEMENTS = 2**20
"""At most so many starts are recorded, but at least one replication."""

_MOST = 512
"""At most so many replications are looked at in full."""


@dataclass(frozen=True)
class Detail:
    """Statistics of the first replications.

    Attributes
    ----------
    replications
        How many were looked at.
    utilisation
        Busy time of each node over slots and makespan (ratio of sums over replications); empty
        if no replication ended.
    wasted_work
        Mean time per replication whose work was lost, input units.
    criticality
        Share of the replications in which each task was critical.
    late
        Share of the replications in which a maximum lag was broken, None without such lags.
    """

    replications: int
    utilisation: Mapping[str, float]
    wasted_work: float
    criticality: Mapping[str, float]
    late: float | None


def describe(replayer: Replayer, available: int) -> Detail:
    """Look at the first replications in full."""
    tasks = max(1, len(replayer.plan.order))
    count = max(1, min(available, _MOST, _ELEMENTS // tasks))
    record = replayer.record(0, count)
    problem = replayer.plan.problem
    critical = _critical(replayer, record)
    return Detail(
        replications=count,
        utilisation=_utilisation(replayer, record),
        wasted_work=float(replayer.units(record.lost).sum(axis=0).mean()),
        criticality={task.id: float(critical[i].mean()) for i, task in enumerate(problem.tasks)},
        late=_late(replayer, record),
    )


def _utilisation(replayer: Replayer, record: Recording) -> dict[str, float]:
    plan, problem = replayer.plan, replayer.plan.problem
    ended = np.isfinite(record.best)
    total = float(record.best[ended].sum(dtype=np.float64))
    if not ended.any():
        return {}
    kept = slice(None) if ended.all() else ended
    busy = (record.end[:, kept] - record.start[:, kept]).sum(axis=1, dtype=np.float64)
    per_node = np.bincount(plan.node[plan.node >= 0], busy[plan.node >= 0], len(problem.nodes))
    return {
        node.id: float(per_node[k] / (total * node.slots)) if total > 0 else 0.0
        for k, node in enumerate(problem.nodes)
    }


def _critical(replayer: Replayer, record: Recording) -> FloatArray:
    arcs, dtype = replayer.plan.arcs, record.best.dtype
    critical = np.zeros(record.start.shape, np.bool_)
    given = Given(record.transfers, np.empty((0, 0), dtype), record.start, record.end)
    ended = np.where(np.isfinite(record.best), record.best, np.nan).astype(dtype)
    mark_critical(replayer.program, arcs.source, arcs.from_start, given, ended, critical)
    return critical.astype(np.float64)


def _late(replayer: Replayer, record: Recording) -> float | None:
    """Return how often a maximum lag was broken."""
    arrays = replayer.plan.problem.arrays
    limited = np.flatnonzero(arrays.edge_max_lag < NO_LIMIT)
    if not len(limited):
        return None
    source, target = arrays.edge_source[limited], arrays.edge_target[limited]
    begun = np.where(
        arrays.edge_from_start[limited, None], record.start[source], record.end[source]
    )
    slack = arrays.edge_max_lag[limited, None] - (record.start[target] - begun)
    return float((slack < 0).any(axis=0).mean())


def pick(samples: FloatArray, ordered: FloatArray) -> list[tuple[str, int]]:
    """Return a median and a bad replication: label and number."""
    marks = (("median", 0.5), ("bad", BAD))
    return [(label, int(np.argmax(samples == quantile(ordered, q)))) for label, q in marks]


def show(replayer: Replayer, label: str, number: int) -> Replication:
    """Replay one replication in full."""
    record, plan = replayer.record(number, 1), replayer.plan
    names = [node.id for node in plan.problem.nodes]
    return Replication(
        label=label,
        number=number,
        value=float(replayer.units(record.best)[0]),
        start=replayer.units(record.start[:, 0]),
        end=replayer.units(record.end[:, 0]),
        node=tuple(None if k < 0 else names[k] for k in plan.node.tolist()),
    )
