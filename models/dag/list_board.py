"""What list scheduling reads and writes: two tuples of arrays that kernels take.

``Tables`` is the instance. ``Board`` is a schedule under construction; it can be left and
taken up again between any two tasks, so that a loop returns to Python now and then.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.kernels import KernelSet

__all__ = [
    "KERNELS",
    "NO_BIAS",
    "UNBOUNDED",
    "Board",
    "Lanes",
    "Tables",
    "new_board",
    "tables_of",
    "widened",
]

KERNELS = KernelSet(
    name="list scheduling",
    module="allocsolve.models.dag.list_build",
    entry="place_by_rule",
    warm="warm",
    compiling=30.0,
    loading=1.5,
)
"""The compiled loops that read these tables."""

UNBOUNDED = 2**61
"""End of the last gap of a lane."""

_FIRST_GAPS = 16
"""Gaps of a lane for which there is room at first."""

NO_BIAS: FloatArray = np.zeros((0, 0))
"""No task prefers a node for anything but the time at which it ends there."""


class Lanes(NamedTuple):
    """Free intervals of the slots of nodes.

    A *lane* is one slot: node k has the lanes ``offset[k] : offset[k + 1]``, int64 (N + 1,).
    Lane l has ``gaps[l]`` gaps, sorted and apart: ``begin[l, :]`` and ``end[l, :]``, int64
    (lanes, room).
    """

    offset: IntArray
    gaps: IntArray
    begin: IntArray
    end: IntArray


class Tables(NamedTuple):
    """A :class:`CommGraph` as kernels see it; shapes as there.

    ``member_offset`` and ``member`` list the tasks of each group. ``partial`` says that some
    nodes have no link, ``inserts`` that gaps may be filled.
    """

    duration: IntArray
    pred_offset: IntArray
    pred_task: IntArray
    pred_edge: IntArray
    succ_offset: IntArray
    succ_task: IntArray
    succ_edge: IntArray
    edge_data: IntArray
    edge_lag: IntArray
    latency: IntArray
    data_time: IntArray
    linked: BoolArray
    release: IntArray
    group: IntArray
    member_offset: IntArray
    member: IntArray
    partial: bool
    inserts: bool


class Board(NamedTuple):
    """A schedule under construction.

    Attributes
    ----------
    start, end, node
        int64 (n,); node is -1 as long as the task is not placed.
    allowed
        bool (n, N): nodes that the placed tasks leave to a task.
    lanes
        Free intervals of the slots.
    need, room
        int64 (n,) and (N,): memory that placing a task takes now (all of its group for
        the first of it), and memory left on each node.
    arrival
        int64 (n, N): earliest start by precedence of the ready tasks on each node (rules
        that choose among ready tasks), else one row for the task in hand.
    missing
        int64 (n,): predecessors that are not placed.
    queue
        int64 (n,): ready tasks.
    key, second, best, other
        float64, float64, int64, int64 (n,): what a rule keeps for each ready task.
    stale
        bool (n,): ready tasks for which that must be computed again.
    state
        int64 (3,): tasks placed, tasks in the queue, task that could not be placed (or -1).
    """

    start: IntArray
    end: IntArray
    node: IntArray
    allowed: BoolArray
    lanes: Lanes
    need: IntArray
    room: IntArray
    arrival: IntArray
    missing: IntArray
    queue: IntArray
    key: FloatArray
    second: FloatArray
    best: IntArray
    other: IntArray
    stale: BoolArray
    state: IntArray


def tables_of(graph: CommGraph, *, inserts: bool) -> Tables:
    """Return the arrays of a graph for kernels."""
    member_offset, member = _members(graph)
    return Tables(
        graph.duration,
        graph.pred_offset,
        graph.pred_task,
        graph.pred_edge,
        graph.succ_offset,
        graph.succ_task,
        graph.succ_edge,
        graph.edge_data,
        graph.edge_lag,
        graph.latency,
        graph.data_time,
        graph.linked,
        graph.release,
        graph.group,
        member_offset,
        member,
        not graph.fully_linked,
        inserts,
    )


def _members(graph: CommGraph) -> tuple[IntArray, IntArray]:
    """Return offsets and tasks of a table of groups, smallest index first."""
    count = int(graph.group.max(initial=-1)) + 1
    inside = np.flatnonzero(graph.group >= 0)
    offset = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(graph.group[inside], minlength=count), out=offset[1:])
    return offset, inside[np.argsort(graph.group[inside], kind="stable")]


def new_board(graph: CommGraph, allowed: BoolArray, *, queued: bool) -> Board:
    """Return an empty board.

    Parameters
    ----------
    allowed
        bool (n, N): where each task may be placed; copied.
    queued
        Whether a rule chooses among ready tasks.
    """
    n = graph.n
    missing = np.diff(graph.pred_offset)
    ready = np.flatnonzero(missing == 0)
    queue = np.zeros(n, np.int64)
    queue[: len(ready)] = ready
    return Board(
        start=np.zeros(n, np.int64),
        end=np.zeros(n, np.int64),
        node=np.full(n, -1, np.int64),
        allowed=np.array(allowed, np.bool_, order="C"),
        lanes=_free_lanes(graph),
        need=_needs(graph),
        room=graph.node_memory.copy(),
        arrival=np.zeros((n if queued else 1, graph.nodes), np.int64),
        missing=missing,
        queue=queue,
        key=np.zeros(n),
        second=np.zeros(n),
        best=np.full(n, -1, np.int64),
        other=np.full(n, -1, np.int64),
        stale=np.ones(n, np.bool_),
        state=np.array([0, len(ready), -1], np.int64),
    )


def _free_lanes(graph: CommGraph) -> Lanes:
    lanes = int(graph.slots.sum())
    end = np.zeros((lanes, _FIRST_GAPS), np.int64)
    end[:, 0] = UNBOUNDED
    offset = np.concatenate((np.zeros(1, np.int64), np.cumsum(graph.slots)))
    return Lanes(offset, np.ones(lanes, np.int64), np.zeros_like(end), end)


def _needs(graph: CommGraph) -> IntArray:
    need = graph.memory.copy()
    inside = graph.group >= 0
    if inside.any() and need.any():
        total = np.zeros(int(graph.group.max()) + 1, np.int64)
        np.add.at(total, graph.group[inside], graph.memory[inside])
        need[inside] = total[graph.group[inside]]
    return need


def widened(board: Board) -> Board:
    """Return the board with twice the room for gaps."""
    lanes = board.lanes
    return board._replace(
        lanes=lanes._replace(
            begin=np.concatenate((lanes.begin, np.zeros_like(lanes.begin)), axis=1),
            end=np.concatenate((lanes.end, np.zeros_like(lanes.end)), axis=1),
        )
    )
