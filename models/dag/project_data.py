"""A project as compiled search reads it: precedence, modes, and packed needs.

The lines of a project (renewable resources, and nodes with their slots) lie side by side in
64-bit words, one *lane* each. The top bit of a lane is a guard: it is set in what is free and
clear in what is needed, so one subtraction of words takes the need off every line at once, and
a guard that has been lost shows a line with too little left.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import IntArray, offsets
from allocsolve.models.dag.network import Network, Way
from allocsolve.models.dag.problem import DagProblem, Feature

__all__ = ["Project", "WordArray", "excuse", "project_of"]

WordArray = npt.NDArray[np.uint64]

_REFUSED = {
    Feature.MAX_LAGS: "maximum or negative lags",
    Feature.START_LAGS: "lags from a start or below zero",
    Feature.COMMUNICATION: "data that takes time",
    Feature.MEMORY: "memory",
    Feature.COLOCATION: "tasks that share a node",
}
"""Features that the search does not know, and how to name them."""

_LONGEST = 2_000_000
"""Words of the longest profile: 16 MB."""

_LARGEST = 2**59
"""Bound on tasks times the square of the horizon, so that values of schedules are integers."""

_MOST_TASKS = 5000
"""Beyond it a child takes so long that no search comes of it."""

_LANES = (16, 32, 64)
"""Bits of a lane; the narrowest that holds every capacity is taken."""


class Project(NamedTuple):
    """Tasks in a topological order, their modes, and lines packed into words.

    n tasks, m ways to do them, w words, b budgets; all times in ticks.

    Attributes
    ----------
    task
        int64 (n,): the task of the problem at each place of the order.
    pred_offset, pred_task, pred_lag
        Predecessors of each task (rows of a compressed table) and the least time from their
        end, at least 0; ``succ_*`` likewise.
    release, deadline
        int64 (n,).
    tail
        int64 (n,): least time from the start of a task to the end of the project.
    way_offset
        int64 (n + 1,): rows of ``way_*`` for each task.
    way_mode
        int64 (m,), index into the problem's table of modes.
    way_duration, way_used_up, way_need
        int64 (m,), int64 (m, b) and uint64 (m, w).
    free, guard
        uint64 (w,): what is free of every line, with all guards set; the guards alone.
    budget
        int64 (b,).
    horizon
        Time by which every schedule that appends task after task ends.
    """

    task: IntArray
    pred_offset: IntArray
    pred_task: IntArray
    pred_lag: IntArray
    succ_offset: IntArray
    succ_task: IntArray
    succ_lag: IntArray
    release: IntArray
    deadline: IntArray
    tail: IntArray
    way_offset: IntArray
    way_mode: IntArray
    way_duration: IntArray
    way_used_up: IntArray
    way_need: WordArray
    free: WordArray
    guard: WordArray
    budget: IntArray
    horizon: int


def excuse(problem: DagProblem) -> str | None:
    """Say why compiled search cannot take a problem, None if it can."""
    for feature, name in _REFUSED.items():
        if feature in problem.features:
            return f"it does not know {name}"
    arrays = problem.arrays
    lines = len(arrays.node_slots) + int(arrays.renewable.sum())
    words = max(1, -(-lines // (64 // _lane(arrays.capacity[arrays.renewable]))))
    if len(problem.tasks) > _MOST_TASKS:
        return f"it has more than {_MOST_TASKS} tasks"
    most = _horizon(problem)
    if words * most > _LONGEST or len(problem.tasks) * (most + 1) ** 2 > _LARGEST:
        return "its profile over time would be too long"
    return None


def project_of(problem: DagProblem, network: Network) -> Project:
    """Return the arrays of a problem that :func:`excuse` has nothing against."""
    position = np.empty(len(network), np.int64)
    position[network.order] = np.arange(len(network))
    pred = _arcs(network, position, incoming=True)
    succ = _arcs(network, position, incoming=False)
    ways = [way for task in network.order for way in network.ways[task]]
    shortest = np.array([min(_durations(network, task)) for task in network.order], np.int64)
    lane = _lane(np.array(network.capacity, np.int64))
    words = max(1, -(-len(network.capacity) * lane // 64))
    guard, free = _lines(network.capacity, lane, words)
    return Project(
        task=np.array(network.order, np.int64),
        pred_offset=pred[0],
        pred_task=pred[1],
        pred_lag=pred[2],
        succ_offset=succ[0],
        succ_task=succ[1],
        succ_lag=succ[2],
        release=np.array(network.release, np.int64)[network.order],
        deadline=np.array(network.deadline, np.int64)[network.order],
        tail=_tails(succ, shortest),
        way_offset=offsets([len(network.ways[task]) for task in network.order]),
        way_mode=np.array([way.mode for way in ways], np.int64),
        way_duration=np.array([way.duration for way in ways], np.int64),
        way_used_up=_used_up(ways, len(network.budget)),
        way_need=_needs(ways, lane, words),
        free=free,
        guard=guard,
        budget=np.array(network.budget, np.int64),
        horizon=_horizon(problem),
    )


def _durations(network: Network, task: int) -> list[int]:
    return [way.duration for way in network.ways[task]] or [0]


def _horizon(problem: DagProblem) -> int:
    arrays = problem.arrays
    lags = int(np.maximum(arrays.edge_min_lag, 0).sum())
    return int(arrays.release.max(initial=0)) + int(arrays.max_duration.sum()) + lags + 1


def _lane(capacity: IntArray) -> int:
    most = int(capacity.max(initial=1))
    return next(bits for bits in _LANES if most < 1 << (bits - 1))


def _lines(capacity: list[int], lane: int, words: int) -> tuple[WordArray, WordArray]:
    """Return the guards, and the free amounts with the guards."""
    guard, free = [0] * words, [0] * words
    for word in range(words):
        for place in range(64 // lane):
            guard[word] |= 1 << (lane * place + lane - 1)
    for line, amount in enumerate(capacity):
        word, shift = divmod(line * lane, 64)
        free[word] |= amount << shift
    full = [one | other for one, other in zip(guard, free, strict=True)]
    return np.array(guard, np.uint64), np.array(full, np.uint64)


def _needs(ways: list[Way], lane: int, words: int) -> WordArray:
    rows = [[0] * words for _ in ways]
    for row, way in zip(rows, ways, strict=True):
        for line, amount in way.uses:
            word, shift = divmod(line * lane, 64)
            row[word] += amount << shift
    return np.array(rows, np.uint64).reshape(len(ways), words)


def _used_up(ways: list[Way], budgets: int) -> IntArray:
    rows = [way.consumes or (0,) * budgets for way in ways]
    return np.array(rows, np.int64).reshape(len(ways), budgets)


_Table = tuple[IntArray, IntArray, IntArray]


def _arcs(network: Network, position: IntArray, *, incoming: bool) -> _Table:
    """Return offsets, tasks and lags of the arcs of every place of the order."""
    arcs = network.incoming if incoming else network.outgoing
    rows = [[(int(position[arc.other]), arc.min_lag) for arc in arcs[i]] for i in network.order]
    flat = [pair for row in rows for pair in row]
    task = np.array([other for other, _ in flat], np.int64)
    lag = np.array([lag for _, lag in flat], np.int64)
    return offsets([len(row) for row in rows]), task, lag


def _tails(succ: _Table, shortest: IntArray) -> IntArray:
    offset, task, lag = succ
    tail = shortest.copy()
    for i in range(len(shortest) - 1, -1, -1):
        row = slice(int(offset[i]), int(offset[i + 1]))
        tail[i] += int((tail[task[row]] + lag[row]).max(initial=0))
    return tail
