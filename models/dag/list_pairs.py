"""Placing the best pair of a ready task and a node, where tasks are only ever appended.

``place_by_pair`` chooses as :func:`~allocsolve.models.dag.list_ready.place_by_rule` does,
ties included, but never looks at a ready task twice for the same node. A task starts at the
later of two times: when its data has arrived, which is fixed once it is ready, and when a
slot is free, which is the same for all tasks. So each node keeps two heaps: of tasks whose
data is *awaited*, by the key with their arrival; and of tasks that are only *held* up by the
node, by the key without the start. A task is moved from the first to the second when it
comes to the top; it is dropped when it was placed or lost the node. A schedule thus takes
``O(n N log n)`` steps, however many tasks are ready at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_board import Board, Lanes, Tables
from allocsolve.models.dag.list_kernels import (
    DONE,
    PAUSED,
    STUCK,
    arrive,
    commit,
    first_place,
    leaves_nodes,
)
from allocsolve.models.dag.list_ready import EARLIEST_START, MIN_MIN
from allocsolve.models.kernels import kernel

__all__ = ["Pairs", "goes_by_pairs", "new_pairs", "place_by_pair"]

_AWAITED, _HELD = 0, 1
"""The two heaps of a node."""


class Pairs(NamedTuple):
    """The heaps of ready tasks, one row for each node.

    Attributes
    ----------
    task, key
        int64 and float64 (2, N, n): tasks in heap order and their keys.
    size
        int64 (2, N).
    free
        int64 (N,): when a slot of the node is free for good.
    """

    task: IntArray
    key: FloatArray
    size: IntArray
    free: IntArray


def goes_by_pairs(rule: int, *, inserts: bool) -> bool:
    """Whether a rule compares tasks by their best node alone, and starts only ever grow."""
    return 0 <= rule <= MIN_MIN and not inserts


def new_pairs(graph: CommGraph) -> Pairs:
    """Return empty heaps; memory is taken only for as many tasks as are ready at once."""
    shape = (2, graph.nodes, graph.n)
    return Pairs(
        task=np.empty(shape, np.int64),
        key=np.empty(shape, np.float64),
        size=np.zeros((2, graph.nodes), np.int64),
        free=np.zeros(graph.nodes, np.int64),
    )


@kernel
def _is_first(key: float, task: int, other_key: float, other: int, level: FloatArray) -> bool:
    """Whether a task comes before another: smaller key, then higher level, then index."""
    if key != other_key:
        return key < other_key
    if level[task] != level[other]:
        return bool(level[task] > level[other])
    return task < other


@kernel
def _push(pairs: Pairs, level: FloatArray, heap: int, node: int, task: int, key: float) -> None:
    tasks, keys = pairs.task[heap, node], pairs.key[heap, node]
    place = pairs.size[heap, node]
    pairs.size[heap, node] += 1
    while place > 0:
        above = (place - 1) // 2
        if not _is_first(key, task, keys[above], tasks[above], level):
            break
        tasks[place], keys[place] = tasks[above], keys[above]
        place = above
    tasks[place], keys[place] = task, key


@kernel
def _pop(pairs: Pairs, level: FloatArray, heap: int, node: int) -> None:
    tasks, keys = pairs.task[heap, node], pairs.key[heap, node]
    size, place = pairs.size[heap, node] - 1, 0
    pairs.size[heap, node] = size
    task, key = tasks[size], keys[size]
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and _is_first(
            keys[child + 1], tasks[child + 1], keys[child], tasks[child], level
        ):
            child += 1
        if not _is_first(keys[child], tasks[child], key, task, level):
            break
        tasks[place], keys[place] = tasks[child], keys[child]
        place = child
    tasks[place], keys[place] = task, key


@kernel
def _offset(tables: Tables, rule: int, level: FloatArray, task: int, node: int) -> float:
    """Return what the key of a rule adds to the start of a task on a node."""
    if rule == EARLIEST_START:
        return 0.0
    return float(tables.duration[task, node] - level[task])


@kernel
def _is_open(tables: Tables, board: Board, task: int, node: int) -> bool:
    """Whether a task is still to be placed and may go to a node; once False, always False."""
    if board.node[task] >= 0 or not board.allowed[task, node]:
        return False
    if board.need[task] > board.room[node]:
        return False
    return not tables.partial or leaves_nodes(tables, board, task, node)


@kernel
def _is_held(tables: Tables, board: Board, pairs: Pairs, task: int, node: int) -> bool:
    """Whether only the node keeps a task from starting; one of length zero needs no slot."""
    return bool(board.arrival[task, node] < pairs.free[node] and tables.duration[task, node] > 0)


@kernel
def _admit(
    tables: Tables, board: Board, pairs: Pairs, rule: int, level: FloatArray, task: int
) -> None:
    """Enter a task whose predecessors are placed for every node that it may go to."""
    arrive(tables, board, task, task)
    for node in range(tables.duration.shape[1]):
        if not board.allowed[task, node]:
            continue
        key = _offset(tables, rule, level, task, node)
        if _is_held(tables, board, pairs, task, node):
            _push(pairs, level, _HELD, node, task, key)
        else:
            _push(pairs, level, _AWAITED, node, task, key + board.arrival[task, node])


@kernel
def _tidy(
    tables: Tables, board: Board, pairs: Pairs, rule: int, level: FloatArray, node: int
) -> None:
    """Make the tops of both heaps of a node tasks that may go there, with their true keys.

    A key that is out of date is too small, so below a true top there is nothing better.
    """
    while pairs.size[_AWAITED, node] > 0:
        task = pairs.task[_AWAITED, node, 0]
        if _is_open(tables, board, task, node):
            if not _is_held(tables, board, pairs, task, node):
                break
            key = _offset(tables, rule, level, task, node)
            _push(pairs, level, _HELD, node, task, key)
        _pop(pairs, level, _AWAITED, node)
    while pairs.size[_HELD, node] > 0:
        if _is_open(tables, board, pairs.task[_HELD, node, 0], node):
            break
        _pop(pairs, level, _HELD, node)


@kernel
def _best_on(pairs: Pairs, level: FloatArray, node: int) -> tuple[int, float]:
    """Return the first task of a node and its key, -1 if there is none."""
    best, best_key = -1, np.inf
    if pairs.size[_AWAITED, node] > 0:
        best, best_key = pairs.task[_AWAITED, node, 0], pairs.key[_AWAITED, node, 0]
    if pairs.size[_HELD, node] > 0:
        task, key = pairs.task[_HELD, node, 0], pairs.key[_HELD, node, 0] + pairs.free[node]
        if best < 0 or _is_first(key, task, best_key, best, level):
            best, best_key = task, key
    return best, best_key


@kernel
def _best_pair(
    tables: Tables, board: Board, pairs: Pairs, rule: int, level: FloatArray
) -> tuple[int, int]:
    """Return the first task and its best node, -1 if no ready task may go anywhere.

    One task with equal keys on two nodes goes to the one where it is shorter, then to the
    smaller index; with the rules whose keys have the end in them it is equally long.
    """
    best, home, best_key = -1, -1, np.inf
    for node in range(pairs.free.size):
        _tidy(tables, board, pairs, rule, level, node)
        task, key = _best_on(pairs, level, node)
        if task < 0:
            continue
        if task == best and key == best_key:
            if rule == EARLIEST_START and tables.duration[task, node] < tables.duration[task, home]:
                home = node
        elif best < 0 or _is_first(key, task, best_key, best, level):
            best, home, best_key = task, node, key
    return best, home


@kernel
def _free_from(lanes: Lanes, node: int) -> int:
    """Return when the first slot of a node is free for good."""
    first = 2**61
    for lane in range(lanes.offset[node], lanes.offset[node + 1]):
        first = min(first, lanes.begin[lane, lanes.gaps[lane] - 1])
    return first


@kernel
def _place(tables: Tables, board: Board, pairs: Pairs, task: int, node: int) -> None:
    duration = tables.duration[task, node]
    start, lane, gap = first_place(board.lanes, node, board.arrival[task, node], duration, 2**60)
    commit(tables, board, task, node, lane, gap, start)
    pairs.free[node] = _free_from(board.lanes, node)


@kernel
def place_by_pair(
    tables: Tables, board: Board, pairs: Pairs, rule: int, level: FloatArray, budget: int
) -> int:
    """Append ready tasks as a rule chooses them, until about ``budget`` nodes were tried.

    Parameters
    ----------
    rule
        EARLIEST_START, DYNAMIC_LEVEL or MIN_MIN.
    level
        float64 (n,): decides between tasks with equal keys; part of the key of
        DYNAMIC_LEVEL.

    Returns
    -------
    int
        PAUSED, DONE or STUCK.
    """
    nodes = tables.duration.shape[1]
    if board.state[0] == 0:
        for place in range(board.state[1]):
            _admit(tables, board, pairs, rule, level, board.queue[place])
    while board.state[0] < board.start.size:
        if budget <= 0:
            return PAUSED
        budget -= 4 * nodes
        task, node = _best_pair(tables, board, pairs, rule, level)
        if task < 0:
            return STUCK
        _place(tables, board, pairs, task, node)
        for q in range(tables.succ_offset[task], tables.succ_offset[task + 1]):
            target = tables.succ_task[q]
            board.missing[target] -= 1
            if board.missing[target] == 0:
                _admit(tables, board, pairs, rule, level, target)
    return DONE
