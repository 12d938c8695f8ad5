"""Placing one task after the other on communicating nodes: the compiled loops.

Two loops serve all rules. ``place_in_order`` takes the tasks in a given order and each to
the node where it ends first. ``place_by_rule`` chooses the next task among the ready ones
together with its node. Both stop after an amount of work and can be called again.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.list_board import Board, Lanes, Tables
from allocsolve.models.kernels import kernel

__all__ = [
    "DONE",
    "DYNAMIC_LEVEL",
    "EARLIEST_START",
    "FULL",
    "MAX_MIN",
    "MIN_MIN",
    "PAUSED",
    "STUCK",
    "SUFFERAGE",
    "place_by_rule",
    "place_in_order",
]

PAUSED, DONE, FULL, STUCK = 0, 1, 2, 3
"""Why a loop returned: work used up, all placed, no room for a gap, no node for a task."""

EARLIEST_START, DYNAMIC_LEVEL, MIN_MIN, MAX_MIN, SUFFERAGE = 0, 1, 2, 3, 4
"""Rules that choose among ready tasks."""


@kernel
def _arrive(tables: Tables, board: Board, task: int, row: int) -> None:
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
def _best_lane(
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
def _leaves_nodes(tables: Tables, board: Board, task: int, node: int) -> bool:
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
def _commit(
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
def _is_full(lanes: Lanes, lane: int) -> bool:
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
        if tables.partial and not _leaves_nodes(tables, board, task, node):
            continue
        limit = 2**60
        if best_node >= 0:
            limit = int(np.ceil(best - extra)) - duration
        start, lane, gap = _best_lane(lanes, node, ready, duration, limit)
        if lane != -1 and start + duration + extra < best:
            best = start + duration + extra
            best_node, best_lane, best_gap, best_start = node, lane, gap, start
    if best_node < 0:
        return STUCK
    if _is_full(lanes, best_lane):
        return FULL
    _commit(tables, board, task, best_node, best_lane, best_gap, best_start)
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
        _arrive(tables, board, task, 0)
        ended = _place_first_end(tables, board, task, bias)
        if ended != DONE:
            board.state[2] = task
            return ended
    return DONE


@kernel
def _appraise(tables: Tables, board: Board, task: int, rule: int, level: FloatArray) -> None:
    """Compute where a ready task would go and the key by which the rule compares tasks.

    Smaller keys come first. ``second`` is the next best end, on the node ``other``.
    """
    best_end, next_end, best_start, best, other = 2**60, 2**60, 2**60, -1, -1
    arrival, length, lanes = board.arrival[task], tables.duration[task], board.lanes
    allowed, need, room = board.allowed[task], board.need[task], board.room
    for node in range(length.size):
        ready, duration = arrival[node], length[node]
        if not allowed[node] or need > room[node]:
            continue
        limit = best_start if rule == EARLIEST_START else next_end - duration
        if ready > limit:
            continue
        if tables.partial and not _leaves_nodes(tables, board, task, node):
            continue
        start, lane, _ = _best_lane(lanes, node, ready, duration, limit)
        end = start + duration
        if lane == -1:
            continue
        better = end < best_end
        if rule == EARLIEST_START:
            better = start < best_start or (start == best_start and end < best_end)
        if better:
            next_end, other = best_end, best
            best_end, best_start, best = end, start, node
        elif end < next_end:
            next_end, other = end, node
    board.best[task], board.other[task], board.second[task] = best, other, next_end
    board.stale[task] = False
    board.key[task] = _key(rule, best_start, best_end, next_end, level[task])


@kernel
def _key(rule: int, start: int, end: int, next_end: int, level: float) -> float:
    """Return the key of a task that starts and ends so at best; the smallest is next."""
    if rule == EARLIEST_START:
        return float(start)
    if rule == DYNAMIC_LEVEL:
        return end - level
    if rule == MIN_MIN:
        return float(end)
    if rule == MAX_MIN:
        return -float(end)
    return float(end) - float(next_end)


@kernel
def _precedes(key: FloatArray, level: FloatArray, a: int, b: int) -> bool:
    """Whether ready task a comes before b: smaller key, then higher level, then index."""
    if key[a] != key[b]:
        return bool(key[a] < key[b])
    if level[a] != level[b]:
        return bool(level[a] > level[b])
    return a < b


@kernel
def _sift_down(queue: IntArray, size: int, key: FloatArray, level: FloatArray, place: int) -> None:
    task = queue[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _precedes(key, level, queue[child + 1], queue[child]):
            child += 1
        if not _precedes(key, level, queue[child], task):
            break
        queue[place] = queue[child]
        place = child
    queue[place] = task


@kernel
def _sift_up(queue: IntArray, key: FloatArray, level: FloatArray, place: int) -> None:
    task = queue[place]
    while place > 0 and _precedes(key, level, task, queue[(place - 1) // 2]):
        queue[place] = queue[(place - 1) // 2]
        place = (place - 1) // 2
    queue[place] = task


@kernel
def _top_of_heap(tables: Tables, board: Board, rule: int, level: FloatArray) -> int:
    """Return the place of the first ready task in a heap whose keys may be out of date.

    Placing tasks only fills lanes, so keys of these rules only grow: a key that is still
    the smallest after it was computed again is the true minimum.
    """
    while True:
        task = board.queue[0]
        before = board.key[task]
        _appraise(tables, board, task, rule, level)
        if board.key[task] == before or board.state[1] == 1:
            return 0
        _sift_down(board.queue, board.state[1], board.key, level, 0)
        if board.queue[0] == task:
            return 0


@kernel
def _first_in_list(tables: Tables, board: Board, rule: int, level: FloatArray, used: int) -> int:
    """Return the place of the first ready task in an unordered queue.

    What is kept for a task is out of date only if the node used last, ``used``, is its
    best or second-best one, or the task was marked.
    """
    first, queue, key = 0, board.queue, board.key
    stale, best, other = board.stale, board.best, board.other
    for place in range(board.state[1]):
        task = queue[place]
        if stale[task] or best[task] == used or other[task] == used:
            _appraise(tables, board, task, rule, level)
        if _precedes(key, level, task, queue[first]):
            first = place
    return first


@kernel
def _remove(board: Board, rule: int, level: FloatArray, place: int) -> None:
    board.state[1] -= 1
    board.queue[place] = board.queue[board.state[1]]
    if rule <= MIN_MIN and board.state[1] > 0:
        _sift_down(board.queue, board.state[1], board.key, level, place)


@kernel
def _admit(tables: Tables, board: Board, rule: int, level: FloatArray, task: int) -> None:
    """Append a task whose predecessors are placed to the queue."""
    _arrive(tables, board, task, task)
    _appraise(tables, board, task, rule, level)
    board.queue[board.state[1]] = task
    board.state[1] += 1
    if rule <= MIN_MIN:
        _sift_up(board.queue, board.key, level, board.state[1] - 1)


@kernel
def _open_queue(tables: Tables, board: Board, rule: int, level: FloatArray) -> None:
    """Admit the tasks without predecessors, which stand in the queue in no order."""
    count = board.state[1]
    board.state[1] = 0
    for place in range(count):
        _admit(tables, board, rule, level, board.queue[place])


@kernel
def place_by_rule(tables: Tables, board: Board, rule: int, level: FloatArray, budget: int) -> int:
    """Place ready tasks as a rule chooses them, until about ``budget`` nodes were tried.

    Parameters
    ----------
    rule
        EARLIEST_START, DYNAMIC_LEVEL, MIN_MIN, MAX_MIN or SUFFERAGE.
    level
        float64 (n,): decides between tasks with equal keys; part of the key of
        DYNAMIC_LEVEL.

    Returns
    -------
    int
        PAUSED, DONE, FULL or STUCK; ``board.state[2]`` is the task that is stuck.
    """
    nodes, used = tables.duration.shape[1], -1
    if board.state[0] == 0:
        _open_queue(tables, board, rule, level)
    else:
        board.stale[board.queue[: board.state[1]]] = True
    while board.state[1] > 0:
        if budget <= 0:
            return PAUSED
        if rule <= MIN_MIN:
            place = _top_of_heap(tables, board, rule, level)
        else:
            place = _first_in_list(tables, board, rule, level, used)
        budget -= 4 * nodes if rule <= MIN_MIN else nodes + board.state[1]
        task = board.queue[place]
        used, duration = board.best[task], 0
        if used < 0:
            board.state[2] = task
            return STUCK
        duration = tables.duration[task, used]
        ready = board.arrival[task, used]
        start, lane, gap = _best_lane(board.lanes, used, ready, duration, 2**60)
        if _is_full(board.lanes, lane):
            return FULL
        _commit(tables, board, task, used, lane, gap, start)
        _remove(board, rule, level, place)
        for q in range(tables.succ_offset[task], tables.succ_offset[task + 1]):
            target = tables.succ_task[q]
            board.missing[target] -= 1
            if board.missing[target] == 0:
                _admit(tables, board, rule, level, target)
    return DONE
