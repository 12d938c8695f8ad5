"""Moves of a tabu search on a shop and what they lead to, estimated.

Only moves of operations on a critical path can shorten a schedule. Within a block (operations
of the path that follow each other on a machine) any of them may go to the ends of the block, and
the ends into it: the neighbourhood N7 of Zhang, Li, Guan and Rao (2007), A tabu search algorithm
with a new neighborhood structure for the job shop scheduling problem. Sufficient conditions
against cycles and estimates: Balas and Vazacopoulos (1998), Guided local search with shifting
bottleneck for job shop scheduling. To another machine, at places that heads show to be free of
cycles: Mastrolilli and Gambardella (2000), Effective neighbourhood functions for the flexible
job shop problem.
"""

from __future__ import annotations

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.anneal_state import draw
from allocsolve.models.dag.shop_data import StepArray
from allocsolve.models.dag.shop_state import (
    AFTER,
    BEFORE,
    BEST,
    DURATION,
    FORBIDDEN_MOVE,
    FREE_MOVE,
    HEAD,
    ITERATION,
    JOB_PRED,
    JOB_SUCC,
    LENGTH,
    MACHINE,
    MAKESPAN,
    ON,
    PATH,
    PIECE,
    PIECE_HEAD,
    TAIL,
    TOPOLOGICAL,
    WAY,
    WAY_END,
    Orders,
    end_of,
    tail_of,
)
from allocsolve.models.kernels import inlined, kernel

__all__ = [
    "BACKWARD",
    "ESTIMATE",
    "FORWARD",
    "KIND",
    "MOVED",
    "REFERENCE",
    "TARGET",
    "TIES",
    "critical_path",
    "find_moves",
]

FORWARD, BACKWARD, ELSEWHERE = range(3)
"""Kinds of moves: the operation goes right behind the reference, right before it, or to another
machine behind the reference (-1 for the first place)."""

ESTIMATE, KIND, MOVED, REFERENCE, TARGET, TIES = range(6)
"""Fields of a move behind ``FREE_MOVE`` or ``FORBIDDEN_MOVE``; without ties there is none."""

_ANY = 0
"""Estimate that is noted of every forbidden move: one of them is drawn, whatever it leads to."""


@kernel
def critical_path(table: IntArray, field: IntArray) -> int:
    """Write a random critical path into its column; return its length."""
    makespan, operation, seen = field[MAKESPAN], -1, 0
    for place in range(len(table)):
        first = table[place, TOPOLOGICAL]
        if table[first, HEAD] == 0 and table[first, TAIL] == makespan:
            seen += 1
            if draw(field, seen) == 0:
                operation = first
    length = 0
    while operation >= 0:
        table[length, PATH] = operation
        length += 1
        operation = _next(table, field, operation)
    return length


@inlined
def _next(table: IntArray, field: IntArray, operation: int) -> int:
    """Return what follows an operation on a critical path, -1 at its end."""
    in_job, on_machine = table[operation, JOB_SUCC], table[operation, AFTER]
    end, makespan = end_of(table, operation), field[MAKESPAN]
    follows = _is_critical(table, in_job, end, makespan)
    if not _is_critical(table, on_machine, end, makespan):
        return in_job if follows else -1
    return int(in_job if follows and draw(field, 2) == 0 else on_machine)


@inlined
def _is_critical(table: IntArray, operation: int, start: int, makespan: int) -> bool:
    """Whether an operation starts at a time and lies on a longest path."""
    if operation < 0 or table[operation, HEAD] != start:
        return False
    return bool(start + table[operation, TAIL] == makespan)


@kernel
def find_moves(orders: Orders, length: int) -> None:
    """Look at all moves of the critical path; the best ones come into the fields.

    A forbidden move counts like others if it promises a better schedule than the best one.
    """
    table, field, pair_until = orders.table, orders.field, orders.pair_until
    field[FREE_MOVE + TIES], field[FORBIDDEN_MOVE + TIES] = 0, 0
    first = 0
    while first < length:
        last = first
        while last + 1 < length and table[table[last, PATH], AFTER] == table[last + 1, PATH]:
            last += 1
        for place in range(first + 1, last + 1):
            _try_pair(table, field, pair_until, first, place)
        for place in range(first + 1, last):
            _try_pair(table, field, pair_until, place, last)
        first = last + 1
    for place in range(length):
        operation = table[place, PATH]
        if table[operation, WAY_END] - table[operation, WAY] > 1:
            _try_elsewhere(orders, operation)


@inlined
def _try_pair(
    table: IntArray, field: IntArray, pair_until: StepArray, first: int, last: int
) -> None:
    """Look at both moves of two operations of a block, given by their places on the path."""
    one, two = table[first, PATH], table[last, PATH]
    follower, leader = table[one, JOB_SUCC], table[two, JOB_PRED]
    if follower < 0 or (two != follower and table[two, TAIL] >= table[follower, TAIL]):
        estimate = _after_forward(table, one, two)
        held = _is_held_forward(table, pair_until, first, last, field[ITERATION])
        _note(field, held and estimate >= field[BEST], FORWARD, one, two, estimate)
    if last == first + 1:
        return  # the same move
    if leader < 0 or (one != leader and end_of(table, one) >= end_of(table, leader)):
        estimate = _after_backward(table, one, two)
        held = _is_held_backward(table, pair_until, first, last, field[ITERATION])
        _note(field, held and estimate >= field[BEST], BACKWARD, two, one, estimate)


@inlined
def _after_forward(table: IntArray, one: int, two: int) -> int:
    """Estimate the makespan with ``one`` right behind ``two``: longest path through the piece."""
    end, operation, size = end_of(table, table[one, BEFORE]), one, 0
    while operation != two:
        operation = table[operation, AFTER]
        start = max(end_of(table, table[operation, JOB_PRED]), end)
        table[size, PIECE], table[size, PIECE_HEAD] = operation, start
        size += 1
        end = start + table[operation, DURATION]
    start = max(end_of(table, table[one, JOB_PRED]), end)
    rest = max(tail_of(table, table[one, JOB_SUCC]), tail_of(table, table[two, AFTER]))
    rest += table[one, DURATION]
    return _longest(table, size, start + rest, rest)[0]


@inlined
def _after_backward(table: IntArray, one: int, two: int) -> int:
    """Estimate the makespan with ``two`` right before ``one``: longest path through the piece."""
    first = max(end_of(table, table[two, JOB_PRED]), end_of(table, table[one, BEFORE]))
    end, operation, size = first + table[two, DURATION], one, 0
    while operation != two:
        start = max(end_of(table, table[operation, JOB_PRED]), end)
        table[size, PIECE], table[size, PIECE_HEAD] = operation, start
        size += 1
        end = start + table[operation, DURATION]
        operation = table[operation, AFTER]
    longest, rest = _longest(table, size, 0, tail_of(table, table[two, AFTER]))
    rest = table[two, DURATION] + max(tail_of(table, table[two, JOB_SUCC]), rest)
    return int(max(longest, first + rest))


@inlined
def _longest(table: IntArray, size: int, longest: int, rest: int) -> tuple[int, int]:
    """Return the longest path through the piece, and the tail of its first operation.

    ``rest`` is the tail of what follows the piece on the machine.
    """
    for place in range(size - 1, -1, -1):
        operation = table[place, PIECE]
        in_job = tail_of(table, table[operation, JOB_SUCC])
        rest = table[operation, DURATION] + max(in_job, rest)
        longest = max(longest, table[place, PIECE_HEAD] + rest)
    return longest, rest


@inlined
def _is_held_forward(
    table: IntArray, pair_until: StepArray, first: int, last: int, now: int
) -> bool:
    """Whether an operation of the piece may not come back before the one that goes behind it."""
    moved = table[first, PATH]
    for place in range(first + 1, last + 1):  # noqa: SIM110  # kernels have no generators
        if pair_until[table[place, PATH], moved] > now:
            return True
    return False


@inlined
def _is_held_backward(
    table: IntArray, pair_until: StepArray, first: int, last: int, now: int
) -> bool:
    """Whether the operation that goes to the front may not come back before one of the piece."""
    moved = table[last, PATH]
    for place in range(first, last):  # noqa: SIM110  # kernels have no generators
        if pair_until[moved, table[place, PATH]] > now:
            return True
    return False


@kernel
def _try_elsewhere(orders: Orders, operation: int) -> None:
    """Look at the moves of an operation to every other machine that can run it."""
    table, way, field = orders.table, orders.way, orders.field
    leader, follower = table[operation, JOB_PRED], table[operation, JOB_SUCC]
    ready, rest = end_of(table, leader), tail_of(table, follower)
    for row in range(table[operation, WAY], table[operation, WAY_END]):
        machine = way[row, ON]
        if machine == table[operation, MACHINE]:
            continue
        held = orders.machine_until[operation, machine] > field[ITERATION]
        before, after = -1, orders.first[machine]
        # Behind ``before`` there must be no path from the follower to it, and none from
        # ``after`` to the leader: heads show most of the places where there is none.
        while not _is_behind(table, before, follower):
            if after < 0 or _ends_later(table, after, leader):
                start = max(ready, end_of(table, before))
                estimate = start + way[row, LENGTH] + max(rest, tail_of(table, after))
                forbidden = held and estimate >= field[BEST]
                _note(field, forbidden, ELSEWHERE, operation, before, estimate, machine)
            if after < 0:
                break
            before, after = after, table[after, AFTER]


@inlined
def _is_behind(table: IntArray, operation: int, follower: int) -> bool:
    """Whether an operation may only run after the follower: a path may lead there."""
    if operation < 0 or follower < 0:
        return False
    return operation == follower or table[operation, HEAD] >= end_of(table, follower)


@inlined
def _ends_later(table: IntArray, operation: int, leader: int) -> bool:
    """Whether surely no path leads from an operation to the leader of another one."""
    if leader < 0:
        return True
    return operation != leader and end_of(table, operation) > table[leader, HEAD]


@inlined
def _note(
    field: IntArray,
    forbidden: bool,
    kind: int,
    moved: int,
    reference: int,
    estimate: int,
    target: int = -1,
) -> None:
    """Keep a move if it is the best one, or drawn among those that are equal."""
    at = FORBIDDEN_MOVE if forbidden else FREE_MOVE
    worth = _ANY if forbidden else estimate
    ties = field[at + TIES]
    if ties > 0 and worth > field[at + ESTIMATE]:
        return
    if ties > 0 and worth < field[at + ESTIMATE]:
        ties = 0
    field[at + TIES] = ties + 1
    if draw(field, ties + 1) == 0:
        field[at + ESTIMATE], field[at + KIND] = worth, kind
        field[at + MOVED], field[at + REFERENCE], field[at + TARGET] = moved, reference, target
