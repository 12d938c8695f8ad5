"""Placing tasks on communicating nodes: arrivals, gaps, and the loop over a given order.

``place_in_order`` takes each task to the node where it ends first. It stops after an amount
of work and can be called again. The loop that chooses among ready tasks is in
:mod:`allocsolve.models.dag.list_ready`.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.list_board import Board, Lanes, Tables
from allocsolve.models.kernels import kernel

__all__ = [
    "DONE",
    "FULL",
    "PAUSED",
    "STUCK",
    "arrive",
    "commit",
    "first_place",
    "is_full",
    "leaves_nodes",
    "place_in_order",
]

PAUSED, DONE, FULL, STUCK = 0, 1, 2, 3
"""Why a loop returned: work used up, all placed, no room for a gap, no node for a task."""


@kernel
def arrive(tables: Tables, board: Board, task: int, row: int) -> None:
    """Write the earliest start by release and precedence on each node."""
    arrival = board.arrival[row]
    arrival[:] = tables.release[task]
    for q in range(tables.pred_offset[task], tables.pred_offset[task + 1]):
        source, edge = tables.pred_task[q], tables.pred_edge[q]
        home, moment = board.node[source], board.end[source] + tables.edge_lag[edge]
        data = tables.edge_data[edge]
        if data == 0:
            _raise_all(arrival, moment)
        else:
            _raise_remote(arrival, moment, home, data, tables.latency[home], tables.data_time[home])


@kernel
def _raise_all(arrival: IntArray, moment: int) -> None:
    for k in range(arrival.size):
        arrival[k] = max(arrival[k], moment)


@kernel
def _raise_remote(
    arrival: IntArray, moment: int, home: int, data: int, latency: IntArray, data_time: IntArray
) -> None:
    """Let data that leaves ``home`` at a moment arrive everywhere; its own row is zero."""
    here = max(arrival[home], moment)
    for k in range(arrival.size):
        arrival[k] = max(arrival[k], moment + latency[k] + data * data_time[k])
    arrival[home] = here


@kernel
def _first_gap(ends: IntArray, last: int, moment: int) -> int:
    """Return the first gap that ends at ``moment`` or later; ``last`` does in any case."""
    low, high = 0, last
    while low < high:
        middle = (low + high) // 2
        if ends[middle] >= moment:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def first_place(
    lanes: Lanes, node: int, ready: int, duration: int, limit: int
) -> tuple[int, int, int]:
    """Return start, lane and gap of the earliest place on a node; lane -1 if after ``limit``.

    Among lanes that start alike, the one whose gap opens last wastes least. A task of
    length zero occupies nothing: its lane is -2.
    """
    if duration == 0:
        return ready, -2 if ready <= limit else -1, 0
    best_start, best_lane, best_gap, opened = limit, -1, 0, -1
    for lane in range(lanes.offset[node], lanes.offset[node + 1]):
        begin, end, count = lanes.begin[lane], lanes.end[lane], lanes.gaps[lane]
        for gap in range(_first_gap(end, count - 1, ready + duration), count):
            start = max(ready, begin[gap])
            if start > best_start:
                break
            if start + duration <= end[gap]:
                if best_lane < 0 or start < best_start or begin[gap] > opened:
                    best_start, best_lane, best_gap, opened = start, lane, gap, begin[gap]
                break
    return best_start, best_lane, best_gap


@kernel
def leaves_nodes(tables: Tables, board: Board, task: int, node: int) -> bool:
    """Whether every receiver of the task's data keeps a node that ``node`` is linked with."""
    for q in range(tables.succ_offset[task], tables.succ_offset[task + 1]):
        if tables.edge_data[tables.succ_edge[q]] == 0:
            continue
        target, kept = tables.succ_task[q], False
        for k in range(tables.linked.shape[0]):
            if board.allowed[target, k] and tables.linked[node, k]:
                kept = True
                break
        if not kept:
            return False
    return True


@kernel
def _split_gap(lanes: Lanes, lane: int, gap: int, start: int, end: int, inserts: bool) -> None:
    """Take [start, end) out of a gap; without insertion what lies before is lost."""
    begins, ends, count = lanes.begin[lane], lanes.end[lane], lanes.gaps[lane]
    closes = ends[gap]
    if not inserts or begins[gap] == start:
        if end < closes:
            begins[gap] = end
            return
        for q in range(gap, count - 1):
            begins[q], ends[q] = begins[q + 1], ends[q + 1]
        lanes.gaps[lane] = count - 1
        return
    ends[gap] = start
    if end == closes:
        return
    for q in range(count, gap + 1, -1):
        begins[q], ends[q] = begins[q - 1], ends[q - 1]
    begins[gap + 1], ends[gap + 1] = end, closes
    lanes.gaps[lane] = count + 1


@kernel
def _settle_group(tables: Tables, board: Board, task: int, node: int) -> None:
    """Bind the rest of a task's group to its node; the memory of all is taken at once."""
    board.room[node] -= board.need[task]
    group = tables.group[task]
    if group < 0:
        return
    for q in range(tables.member_offset[group], tables.member_offset[group + 1]):
        mate = tables.member[q]
        board.need[mate] = 0
        board.stale[mate] = True
        for k in range(tables.duration.shape[1]):
            if k != node:
                board.allowed[mate, k] = False


@kernel
def _forbid_unlinked(tables: Tables, board: Board, task: int, node: int) -> None:
    """Take the nodes without a link to ``node`` from a task and its group."""
    group = tables.group[task]
    first, last = 0, 1
    if group >= 0:
        first, last = tables.member_offset[group], tables.member_offset[group + 1]
    for q in range(first, last):
        mate = tables.member[q] if group >= 0 else task
        board.stale[mate] = True
        for k in range(tables.duration.shape[1]):
            if not tables.linked[node, k]:
                board.allowed[mate, k] = False


@kernel
def commit(
    tables: Tables, board: Board, task: int, node: int, lane: int, gap: int, start: int
) -> None:
    """Place a task and note what that leaves to the others."""
    end = start + tables.duration[task, node]
    board.start[task], board.end[task], board.node[task] = start, end, node
    if lane >= 0:
        _split_gap(board.lanes, lane, gap, start, end, tables.inserts)
    _settle_group(tables, board, task, node)
    if tables.partial:
        for q in range(tables.succ_offset[task], tables.succ_offset[task + 1]):
            if tables.edge_data[tables.succ_edge[q]] > 0:
                _forbid_unlinked(tables, board, tables.succ_task[q], node)
    board.state[0] += 1


@kernel
def is_full(lanes: Lanes, lane: int) -> bool:
    """Whether a lane has no room for one more gap."""
    return lane >= 0 and lanes.gaps[lane] + 1 > lanes.begin.shape[1]


@kernel
def _place_first_end(tables: Tables, board: Board, task: int, bias: FloatArray) -> int:
    """Place a task where its end plus its bias is least; return DONE, FULL or STUCK."""
    best_node, best_lane, best_gap, best_start, best = -1, -1, 0, 0, np.inf
    arrival, length, lanes = board.arrival[0], tables.duration[task], board.lanes
    allowed, need, room = board.allowed[task], board.need[task], board.room
    for node in range(length.size):
        ready, duration, extra = arrival[node], length[node], 0.0
        if not allowed[node] or need > room[node]:
            continue
        if bias.size > 0:
            extra = bias[task, node]
        if ready + duration + extra >= best:
            continue
        if tables.partial and not leaves_nodes(tables, board, task, node):
            continue
        limit = 2**60
        if best_node >= 0:
            limit = int(np.ceil(best - extra)) - duration
        start, lane, gap = first_place(lanes, node, ready, duration, limit)
        if lane != -1 and start + duration + extra < best:
            best = start + duration + extra
            best_node, best_lane, best_gap, best_start = node, lane, gap, start
    if best_node < 0:
        return STUCK
    if is_full(lanes, best_lane):
        return FULL
    commit(tables, board, task, best_node, best_lane, best_gap, best_start)
    return DONE


@kernel
def place_in_order(
    tables: Tables, board: Board, order: IntArray, bias: FloatArray, budget: int
) -> int:
    """Place the tasks of ``order`` that come next, until about ``budget`` nodes were tried.

    Parameters
    ----------
    order
        int64 (n,), every task after its predecessors.
    bias
        float64 (n, N), added to the end of a task when nodes are compared; empty for none.

    Returns
    -------
    int
        PAUSED, DONE, FULL or STUCK; ``board.state[2]`` is the task that is stuck.
    """
    nodes = tables.duration.shape[1]
    while board.state[0] < order.size:
        if budget <= 0:
            return PAUSED
        task = order[board.state[0]]
        budget -= nodes * (2 + tables.pred_offset[task + 1] - tables.pred_offset[task])
        arrive(tables, board, task, 0)
        ended = _place_first_end(tables, board, task, bias)
        if ended != DONE:
            board.state[2] = task
            return ended
    return DONE
