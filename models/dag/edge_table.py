"""The edges of a ``dag`` instance in columns, merged where they repeat, before the grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.columns import Column
from allocsolve.models.dag.data import DagData, Edge
from allocsolve.models.exact import Number, exact

__all__ = ["EdgeTable", "read_edges"]


@dataclass(frozen=True, eq=False)
class EdgeTable:
    """One row for each pair of tasks and origin of lags, sorted.

    Attributes
    ----------
    source, target
        int64 (e,).
    from_start
        bool (e,): lags count from the start of the source.
    min_lag, data
        (e,).
    bounded
        int64, increasing: the edges with a maximum lag.
    max_lag
        Their maximum lags.
    repeated
        The edges that were merged into an earlier one, in the order of the input.
    """

    source: IntArray
    target: IntArray
    from_start: BoolArray
    min_lag: Column
    data: Column
    bounded: IntArray
    max_lag: Column
    repeated: Sequence[Edge]


def read_edges(data: DagData) -> EdgeTable:
    """Look up the ends of all edges; of repeated edges the tightest of each lag holds."""
    edges = data.edges
    index = {task.id: i for i, task in enumerate(data.tasks)}
    source = _positions(index, list(map(attrgetter("source"), edges)))
    target = _positions(index, list(map(attrgetter("target"), edges)))
    from_start = np.array([edge.lag_from == "start" for edge in edges], np.bool_)
    order = np.lexsort((from_start, target, source))
    keys = np.stack([source, target, from_start])[:, order]
    first = np.ones(len(order), np.bool_)
    first[1:] = (keys[:, 1:] != keys[:, :-1]).any(axis=0)
    repeated = [edges[k] for k in np.sort(order[~first]).tolist()]
    kept = order[first]
    merged = [edges[k] for k in kept.tolist()]
    if repeated:
        rows = np.split(order, np.flatnonzero(first)[1:])
        merged = [_tightest([edges[k] for k in row.tolist()]) for row in rows]
    max_lag: list[Number | None] = list(map(attrgetter("max_lag"), merged))
    return EdgeTable(
        source[kept],
        target[kept],
        from_start[kept],
        Column.of(list(map(attrgetter("min_lag"), merged))),
        Column.of(list(map(attrgetter("data"), merged))),
        np.array([e for e, lag in enumerate(max_lag) if lag is not None], np.int64),
        Column.of([lag for lag in max_lag if lag is not None]),
        repeated,
    )


def _positions(index: dict[str, int], tokens: Sequence[str]) -> IntArray:
    return np.fromiter(map(index.__getitem__, tokens), np.int64, len(tokens))


def _tightest(edges: Sequence[Edge]) -> Edge:
    """Return one edge that demands what all of them demand."""
    if len(edges) == 1:
        return edges[0]
    maxima = [exact(edge.max_lag) for edge in edges if edge.max_lag is not None]
    return Edge(
        source=edges[0].source,
        target=edges[0].target,
        data=max(exact(edge.data) for edge in edges),
        min_lag=max(exact(edge.min_lag) for edge in edges),
        max_lag=min(maxima, default=None),
        lag_from=edges[0].lag_from,
    )
