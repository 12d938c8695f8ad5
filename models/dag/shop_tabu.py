"""Tabu search on the orders of a shop: the compiled loop.

Nowicki and Smutnicki (1996), A fast taboo search algorithm for the job shop problem: the frame.
Moves and estimates: :mod:`allocsolve.models.dag.shop_moves`.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.anneal_state import draw
from allocsolve.models.dag.shop_moves import (
    BACKWARD,
    FORWARD,
    KIND,
    MOVED,
    REFERENCE,
    TARGET,
    TIES,
    critical_path,
    find_moves,
)
from allocsolve.models.dag.shop_state import (
    AFTER,
    BEFORE,
    BEST,
    DURATION,
    FORBIDDEN_MOVE,
    FREE_MOVE,
    HEAD,
    IDLE,
    ITERATION,
    MACHINE,
    MAKESPAN,
    Orders,
    length_on,
    link,
    longest_paths,
    unlink,
)
from allocsolve.models.kernels import inlined, kernel

__all__ = ["begin", "tabu"]


@kernel
def begin(orders: Orders, tenure: int) -> None:
    """Start a run from the arranged schedule; nothing is forbidden yet."""
    field = orders.field
    field[ITERATION] += 2 * tenure
    field[BEST], field[IDLE] = field[MAKESPAN], 0
    _note_best(orders.table, orders.best)


@kernel
def tabu(orders: Orders, patience: int, moves: int, tenure: int, target: int) -> bool:
    """Make moves; tell whether the run is over. It can be taken up again.

    Parameters
    ----------
    patience
        Moves without a better schedule after which the run is over.
    moves
        To be made now, at most.
    tenure
        Moves for which an order, or a machine, that was left stays forbidden, at least; up to
        half as many more are drawn.
    target
        A makespan with which there is nothing left to gain.
    """
    field = orders.field
    for _ in range(moves):
        if field[IDLE] >= patience or field[BEST] <= target:
            return True
        find_moves(orders, critical_path(orders.table, field))
        move = FREE_MOVE if field[FREE_MOVE + TIES] > 0 else FORBIDDEN_MOVE
        if field[move + TIES] == 0:
            return True  # the path is one job, or no operation of it can change places
        field[ITERATION] += 1
        hold = tenure + draw(field, tenure // 2 + 1)
        _carry_out(orders, move, np.int32(field[ITERATION] + hold))
        field[MAKESPAN] = longest_paths(orders.table)
        field[IDLE] += 1
        if field[MAKESPAN] < field[BEST]:
            field[BEST], field[IDLE] = field[MAKESPAN], 0
            _note_best(orders.table, orders.best)
    return False


@inlined
def _note_best(table: IntArray, best: IntArray) -> None:
    for operation in range(len(table)):
        best[operation, 0] = table[operation, HEAD]
        best[operation, 1] = table[operation, MACHINE]


@kernel
def _carry_out(orders: Orders, move: int, until: np.int32) -> None:
    """Make the chosen move, and forbid its return until an iteration."""
    table, first, field = orders.table, orders.first, orders.field
    moved, reference = field[move + MOVED], field[move + REFERENCE]
    kind, machine, operation = field[move + KIND], table[moved, MACHINE], moved
    if kind == FORWARD:
        while operation != reference:
            operation = table[operation, AFTER]
            orders.pair_until[moved, operation] = until
        unlink(table, first, moved)
        link(table, first, moved, reference, machine)
    elif kind == BACKWARD:
        while operation != reference:
            operation = table[operation, BEFORE]
            orders.pair_until[operation, moved] = until
        unlink(table, first, moved)
        link(table, first, moved, table[reference, BEFORE], machine)
    else:
        orders.machine_until[moved, machine] = until
        unlink(table, first, moved)
        target = field[move + TARGET]
        table[moved, DURATION] = length_on(table, orders.way, moved, target)
        link(table, first, moved, reference, target)
