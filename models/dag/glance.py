"""A glance at whole tables of a ``dag`` instance: which records need to be looked at one by one.

A hundred thousand records that are right are passed in a few milliseconds a column. A record
that is named here need not be wrong; one that is not named surely keeps every rule.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence, Set
from operator import attrgetter

from allocsolve.models.columns import are_finite
from allocsolve.models.dag.data import DagData, Edge, Task
from allocsolve.models.exact import Number

__all__ = ["are_unique", "suspicious_edges", "suspicious_tasks"]

_NEVER_NONE = ("release", "weight")


def are_unique(ids: Sequence[str]) -> bool:
    """Whether all ids are texts and none comes twice."""
    return set(map(type, ids)) <= {str} and len(set(ids)) == len(ids)


def suspicious_edges(data: DagData, tasks: Set[str]) -> Iterable[int]:
    """Return the edges that may break a rule: all or none."""
    edges = data.edges
    ends = {*map(attrgetter("source"), edges), *map(attrgetter("target"), edges)}
    right = (
        ends <= tasks
        and set(map(attrgetter("lag_from"), edges)) <= {"start", "end"}
        and are_finite(_column(edges, "data"), least=0)
        and are_finite(_column(edges, "min_lag"))
        and are_finite(_given(_column(edges, "max_lag")))
    )
    return () if right else range(len(edges))


def suspicious_tasks(data: DagData) -> Iterable[int]:
    """Return the tasks that may break a rule: all of them if some number may be wrong."""
    tasks = data.tasks
    for field in ("release", "weight", "work", "deadline", "due", "memory"):
        values = _column(tasks, field)
        known = values if field in _NEVER_NONE else _given(values)
        if not are_finite(known, least=0):
            return range(len(tasks))
    if not data.nodes:
        return range(len(tasks))
    return [i for i, task in enumerate(tasks) if not _is_plain(task, data.durations)]


def _is_plain(task: Task, durations: Container[str]) -> bool:
    """Whether a task on nodes has one source of time, and no list whose entries may be wrong."""
    return (
        task.modes is None
        and (task.work is None) == (task.id in durations)
        and not task.demand
        and task.eligible is None
        and task.width is None
        and task.speedup is None
    )


def _column(records: Sequence[Task] | Sequence[Edge], field: str) -> list[Number | None]:
    return list(map(attrgetter(field), records))


def _given(values: Iterable[Number | None]) -> list[Number | None]:
    return [value for value in values if value is not None]
