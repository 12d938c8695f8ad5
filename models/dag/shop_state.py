"""A schedule of a shop as orders on its machines: what the search reads and writes.

All numbers of an operation lie side by side in one row of one table. Compiled code counts the
users of every array that it hands on, so small functions on a few arrays are several times
faster than on a record of many.
"""

from __future__ import annotations

import random
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.shop_data import Shop, StepArray
from allocsolve.models.kernels import inlined, kernel

__all__ = [
    "AFTER",
    "BEFORE",
    "BEST",
    "DURATION",
    "FORBIDDEN_MOVE",
    "FREE_MOVE",
    "HEAD",
    "IDLE",
    "ITERATION",
    "JOB_PRED",
    "JOB_SUCC",
    "LENGTH",
    "MACHINE",
    "MAKESPAN",
    "ON",
    "PATH",
    "PIECE",
    "PIECE_HEAD",
    "TAIL",
    "TOPOLOGICAL",
    "WAY",
    "WAY_END",
    "Orders",
    "end_of",
    "length_on",
    "link",
    "longest_paths",
    "orders_of",
    "tail_of",
    "unlink",
]

(
    JOB_PRED,
    JOB_SUCC,
    WAY,
    WAY_END,
    MACHINE,
    DURATION,
    BEFORE,
    AFTER,
    HEAD,
    TAIL,
    DEGREE,
    TOPOLOGICAL,
    PATH,
    PIECE,
    PIECE_HEAD,
) = range(15)
"""Columns of ``Orders.table``.

Of an operation: its neighbours in the job (-1 for none), its rows of ``Orders.way``, machine and
duration now, its neighbours on the machine, earliest start, least time from its start to the
end, predecessors not yet seen. Of a place: the operation there in a topological order, on a
critical path, in a piece of an order, and the head that it has in the piece.
"""

ON, LENGTH = range(2)
"""Columns of ``Orders.way``: the machine, and how long the operation takes there."""

MAKESPAN, ITERATION, BEST, IDLE = 2, 3, 4, 5
"""Fields of ``Orders.field``: makespan now, moves ever made, best makespan of the run, moves since
it was found. The first two fields are the state of the generator."""

FREE_MOVE, FORBIDDEN_MOVE = 6, 12
"""Where the fields of the best moves begin; see :mod:`allocsolve.models.dag.shop_moves`."""

_FIELDS = 18

_LARGEST = 2**31 - 500
"""Numbers below it are good states of the generator."""


class Orders(NamedTuple):
    """One schedule of a shop, and room for the search on it.

    Attributes
    ----------
    table
        int64 (n, 15), see ``JOB_PRED``.
    way
        int64 (m, 2), see ``ON``.
    first
        int64 (machines,), the first operation of each, -1 for none.
    pair_until, machine_until
        int32 (n, n) and (n, machines): iteration until which an operation may not come back
        before another one, or to a machine.
    best
        int64 (n, 2): start and machine of each operation in the best schedule of a run.
    field
        int64 (18,), see ``MAKESPAN``.
    """

    table: IntArray
    way: IntArray
    first: IntArray
    pair_until: StepArray
    machine_until: StepArray
    best: IntArray
    field: IntArray


def orders_of(shop: Shop, seed: int) -> Orders:
    """Return room for a schedule of a shop, for one thread."""
    n, source = len(shop.task), random.Random(seed)
    table, field = np.zeros((n, 15), np.int64), np.zeros(_FIELDS, np.int64)
    table[:, JOB_PRED], table[:, JOB_SUCC] = shop.job_pred, shop.job_succ
    table[:, WAY], table[:, WAY_END] = shop.way_offset[:-1], shop.way_offset[1:]
    field[:2] = [source.randrange(1, _LARGEST) for _ in range(2)]
    return Orders(
        table=table,
        way=np.stack([shop.way_machine, shop.way_duration], axis=1),
        first=np.zeros(shop.machines, np.int64),
        pair_until=np.zeros((n, n), np.int32),
        machine_until=np.zeros((n, shop.machines), np.int32),
        best=np.zeros((n, 2), np.int64),
        field=field,
    )


@inlined
def end_of(table: IntArray, operation: int) -> int:
    """Return when an operation ends, 0 for none."""
    return table[operation, HEAD] + table[operation, DURATION] if operation >= 0 else 0


@inlined
def tail_of(table: IntArray, operation: int) -> int:
    """Return the least time from the start of an operation to the end, 0 for none."""
    return table[operation, TAIL] if operation >= 0 else 0


@inlined
def length_on(table: IntArray, way: IntArray, operation: int, machine: int) -> int:
    """Return how long an operation takes on a machine, 0 if it cannot run there."""
    for row in range(table[operation, WAY], table[operation, WAY_END]):
        if way[row, ON] == machine:
            return int(way[row, LENGTH])
    return 0


@inlined
def unlink(table: IntArray, first: IntArray, operation: int) -> None:
    """Take an operation off its machine."""
    before, after = table[operation, BEFORE], table[operation, AFTER]
    if before >= 0:
        table[before, AFTER] = after
    else:
        first[table[operation, MACHINE]] = after
    if after >= 0:
        table[after, BEFORE] = before


@inlined
def link(table: IntArray, first: IntArray, operation: int, before: int, machine: int) -> None:
    """Put an operation on a machine right behind another one, -1 for the first place."""
    after = table[before, AFTER] if before >= 0 else first[machine]
    table[operation, BEFORE], table[operation, AFTER] = before, after
    table[operation, MACHINE] = machine
    if before >= 0:
        table[before, AFTER] = operation
    else:
        first[machine] = operation
    if after >= 0:
        table[after, BEFORE] = operation


@kernel
def longest_paths(table: IntArray) -> int:
    """Compute heads, tails and a topological order; return the makespan."""
    makespan = _heads(table)
    for place in range(len(table) - 1, -1, -1):
        operation = table[place, TOPOLOGICAL]
        in_job = tail_of(table, table[operation, JOB_SUCC])
        on_machine = tail_of(table, table[operation, AFTER])
        table[operation, TAIL] = max(in_job, on_machine) + table[operation, DURATION]
    return makespan


@inlined
def _heads(table: IntArray) -> int:
    """Compute heads in a topological order; return the makespan."""
    found, makespan = 0, 0
    for operation in range(len(table)):
        waits = int(table[operation, JOB_PRED] >= 0) + int(table[operation, BEFORE] >= 0)
        table[operation, DEGREE] = waits
        if waits == 0:
            table[found, TOPOLOGICAL] = operation
            found += 1
    for place in range(len(table)):
        operation = table[place, TOPOLOGICAL]
        in_job = end_of(table, table[operation, JOB_PRED])
        start = max(in_job, end_of(table, table[operation, BEFORE]))
        table[operation, HEAD] = start
        makespan = max(makespan, start + table[operation, DURATION])
        found = _release(table, table[operation, JOB_SUCC], found)
        found = _release(table, table[operation, AFTER], found)
    return makespan


@inlined
def _release(table: IntArray, operation: int, found: int) -> int:
    """Count one predecessor of an operation as seen; it is next once all are."""
    if operation < 0:
        return found
    table[operation, DEGREE] -= 1
    if table[operation, DEGREE] > 0:
        return found
    table[found, TOPOLOGICAL] = operation
    return found + 1
