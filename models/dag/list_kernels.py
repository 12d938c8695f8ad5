"""Placing one task after the other on communicating nodes: the compiled loops.

Two loops serve all rules. ``place_in_order`` takes the tasks in a given order and each to
the node where it ends first. ``place_by_rule`` chooses the next task among the ready ones
together with its node. Both stop after an amount of work and can be called again.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.list_board import Board, Tables
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
    nodes = tables.duration.shape[1]
    for k in range(nodes):
        board.arrival[row, k] = tables.release[task]
    for q in range(tables.pred_offset[task], tables.pred_offset[task + 1]):
        source, edge = tables.pred_task[q], tables.pred_edge[q]
        home, moment = board.node[source], board.end[source] + tables.edge_lag[edge]
        data = tables.edge_data[edge]
        for k in range(nodes):
            arrival = moment
            if data > 0 and k != home:
                arrival += tables.latency[home, k] + data * tables.data_time[home, k]
            board.arrival[row, k] = max(board.arrival[row, k], arrival)


@kernel
def _first_gap(board: Board, lane: int, ready: int, duration: int) -> int:
    """Return the first gap of a lane that ends late enough for a start at ``ready``."""
    low, high = 0, board.gap_count[lane] - 1
    while low < high:
        middle = (low + high) // 2
        if board.gap_to[lane, middle] >= ready + duration:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def _earliest(board: Board, lane: int, ready: int, duration: int, limit: int) -> tuple[int, int]:
    """Return gap and start of the first place in a lane; gap -1 if that is after ``limit``."""
    for gap in range(_first_gap(board, lane, ready, duration), board.gap_count[lane]):
        start = max(ready, board.gap_from[lane, gap])
        if start > limit:
            break
        if start + duration <= board.gap_to[lane, gap]:
            return gap, start
    return -1, limit


@kernel
def _best_lane(
    tables: Tables, board: Board, node: int, ready: int, duration: int, limit: int
) -> tuple[int, int, int]:
    """Return start, lane and gap of the earliest place on a node; lane -1 if after ``limit``.

    Among lanes that start alike, the one whose gap opens last wastes least. A task of
    length zero occupies nothing: its lane is -2.
    """
    if duration == 0:
        return ready, -2 if ready <= limit else -1, 0
    best_start, best_lane, best_gap, opened = limit, -1, 0, -1
    for lane in range(tables.lane_offset[node], tables.lane_offset[node + 1]):
        gap, start = _earliest(board, lane, ready, duration, best_start)
        if gap < 0:
            continue
        since = board.gap_from[lane, gap]
        if best_lane < 0 or start < best_start or since > opened:
            best_start, best_lane, best_gap, opened = start, lane, gap, since
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
def _may_use(tables: Tables, board: Board, task: int, node: int) -> bool:
    """Whether a task may be placed on a node as things stand."""
    if not board.allowed[task, node] or board.need[task] > board.room[node]:
        return False
    return not tables.partial or _leaves_nodes(tables, board, task, node)


@kernel
def _split_gap(board: Board, lane: int, gap: int, start: int, end: int, inserts: bool) -> None:
    """Take [start, end) out of a gap; without insertion what lies before is lost."""
    begins, ends = board.gap_from[lane, gap], board.gap_to[lane, gap]
    if not inserts or begins == start:
        if end < ends:
            board.gap_from[lane, gap] = end
            return
        for q in range(gap, board.gap_count[lane] - 1):
            board.gap_from[lane, q] = board.gap_from[lane, q + 1]
            board.gap_to[lane, q] = board.gap_to[lane, q + 1]
        board.gap_count[lane] -= 1
        return
    board.gap_to[lane, gap] = start
    if end == ends:
        return
    for q in range(board.gap_count[lane], gap + 1, -1):
        board.gap_from[lane, q] = board.gap_from[lane, q - 1]
        board.gap_to[lane, q] = board.gap_to[lane, q - 1]
    board.gap_from[lane, gap + 1], board.gap_to[lane, gap + 1] = end, ends
    board.gap_count[lane] += 1


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
        _split_gap(board, lane, gap, start, end, tables.inserts)
    _settle_group(tables, board, task, node)
    if tables.partial:
        for q in range(tables.succ_offset[task], tables.succ_offset[task + 1]):
            if tables.edge_data[tables.succ_edge[q]] > 0:
                _forbid_unlinked(tables, board, tables.succ_task[q], node)
    board.state[0] += 1


@kernel
def _is_full(board: Board, lane: int) -> bool:
    return lane >= 0 and board.gap_count[lane] + 1 > board.gap_from.shape[1]


@kernel
def _place_first_end(tables: Tables, board: Board, task: int, bias: FloatArray) -> int:
    """Place a task where its end plus its bias is least; return DONE, FULL or STUCK."""
    best_node, best_lane, best_gap, best_start = -1, -1, 0, 0
    best = np.inf
    for node in range(tables.duration.shape[1]):
        ready, duration = board.arrival[0, node], tables.duration[task, node]
        extra = bias[task, node] if bias.size else 0.0
        if ready + duration + extra >= best or not _may_use(tables, board, task, node):
            continue
        limit = 2**60
        if best < 2.0**60:
            limit = int(np.ceil(best - extra)) - duration
        start, lane, gap = _best_lane(tables, board, node, ready, duration, limit)
        if lane != -1 and start + duration + extra < best:
            best = start + duration + extra
            best_node, best_lane, best_gap, best_start = node, lane, gap, start
    if best_node < 0:
        return STUCK
    if _is_full(board, best_lane):
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
    best_end, next_end, best_start = 2**60, 2**60, 2**60
    best, other = -1, -1
    for node in range(tables.duration.shape[1]):
        if not _may_use(tables, board, task, node):
            continue
        duration = tables.duration[task, node]
        start, lane, _ = _best_lane(tables, board, node, board.arrival[task, node], duration, 2**60)
        if lane == -1:
            continue
        end = start + duration
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
    if rule == EARLIEST_START:
        board.key[task] = best_start
    elif rule == DYNAMIC_LEVEL:
        board.key[task] = best_end - level[task]
    elif rule == MIN_MIN:
        board.key[task] = best_end
    elif rule == MAX_MIN:
        board.key[task] = -best_end
    else:
        board.key[task] = best_end - next_end


@kernel
def _precedes(board: Board, level: FloatArray, a: int, b: int) -> bool:
    """Whether ready task a comes before b: smaller key, then higher level, then index."""
    if board.key[a] != board.key[b]:
        return bool(board.key[a] < board.key[b])
    if level[a] != level[b]:
        return bool(level[a] > level[b])
    return a < b


@kernel
def _sift_down(board: Board, level: FloatArray, place: int) -> None:
    size, task = board.state[1], board.queue[place]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _precedes(board, level, board.queue[child + 1], board.queue[child]):
            child += 1
        if not _precedes(board, level, board.queue[child], task):
            break
        board.queue[place] = board.queue[child]
        place = child
    board.queue[place] = task


@kernel
def _sift_up(board: Board, level: FloatArray, place: int) -> None:
    task = board.queue[place]
    while place > 0 and _precedes(board, level, task, board.queue[(place - 1) // 2]):
        board.queue[place] = board.queue[(place - 1) // 2]
        place = (place - 1) // 2
    board.queue[place] = task


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
        _sift_down(board, level, 0)
        if board.queue[0] == task:
            return 0


@kernel
def _first_in_list(tables: Tables, board: Board, rule: int, level: FloatArray, used: int) -> int:
    """Return the place of the first ready task in an unordered queue.

    What is kept for a task is out of date only if the node used last, ``used``, is its
    best or second-best one, or the task was marked.
    """
    first = 0
    for place in range(board.state[1]):
        task = board.queue[place]
        if board.stale[task] or used in (board.best[task], board.other[task]):
            _appraise(tables, board, task, rule, level)
        if _precedes(board, level, task, board.queue[first]):
            first = place
    return first


@kernel
def _remove(board: Board, rule: int, level: FloatArray, place: int) -> None:
    board.state[1] -= 1
    board.queue[place] = board.queue[board.state[1]]
    if rule <= MIN_MIN and board.state[1] > 0:
        _sift_down(board, level, place)


@kernel
def _admit(tables: Tables, board: Board, rule: int, level: FloatArray, task: int) -> None:
    """Append a task whose predecessors are placed to the queue."""
    _arrive(tables, board, task, task)
    _appraise(tables, board, task, rule, level)
    board.queue[board.state[1]] = task
    board.state[1] += 1
    if rule <= MIN_MIN:
        _sift_up(board, level, board.state[1] - 1)


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
        start, lane, gap = _best_lane(
            tables, board, used, board.arrival[task, used], duration, 2**60
        )
        if _is_full(board, lane):
            return FULL
        _commit(tables, board, task, used, lane, gap, start)
        _remove(board, rule, level, place)
        for q in range(tables.succ_offset[task], tables.succ_offset[task + 1]):
            target = tables.succ_task[q]
            board.missing[target] -= 1
            if board.missing[target] == 0:
                _admit(tables, board, rule, level, target)
    return DONE
