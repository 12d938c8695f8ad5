"""Placing the ready task that a rule prefers: the compiled loop.

``place_by_rule`` chooses the next task among the ready ones together with its node. It stops
after an amount of work and can be called again.
"""

from __future__ import annotations

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.list_board import Board, Tables
from allocsolve.models.dag.list_kernels import (
    DONE,
    FULL,
    PAUSED,
    STUCK,
    arrive,
    commit,
    first_place,
    is_full,
    leaves_nodes,
)
from allocsolve.models.kernels import kernel

__all__ = [
    "DYNAMIC_LEVEL",
    "EARLIEST_START",
    "MAX_MIN",
    "MIN_MIN",
    "SUFFERAGE",
    "place_by_rule",
]

EARLIEST_START, DYNAMIC_LEVEL, MIN_MIN, MAX_MIN, SUFFERAGE = 0, 1, 2, 3, 4
"""Rules that choose among ready tasks."""


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
        if tables.partial and not leaves_nodes(tables, board, task, node):
            continue
        start, lane, _ = first_place(lanes, node, ready, duration, limit)
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
    arrive(tables, board, task, task)
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
        start, lane, gap = first_place(board.lanes, used, ready, duration, 2**60)
        if is_full(board.lanes, lane):
            return FULL
        commit(tables, board, task, used, lane, gap, start)
        _remove(board, rule, level, place)
        for q in range(tables.succ_offset[task], tables.succ_offset[task + 1]):
            target = tables.succ_task[q]
            board.missing[target] -= 1
            if board.missing[target] == 0:
                _admit(tables, board, rule, level, target)
    return DONE
