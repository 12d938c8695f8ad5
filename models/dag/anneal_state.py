"""What annealing reads and changes, and its random numbers."""

from __future__ import annotations

from typing import NamedTuple

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.kernels import kernel

__all__ = [
    "BEST",
    "CRITICAL",
    "CURRENT",
    "DRAWS",
    "FRESH",
    "MOVED",
    "REFUSED",
    "SHIFT_FROM",
    "SHIFT_TO",
    "Sites",
    "State",
    "draw",
]

REFUSED = 2**62
"""Value of a state that breaks a rule or exceeds the limit."""

DRAWS = 4096
"""Length of the table of exponential deviates."""

CURRENT, BEST, MOVED, SHIFT_FROM, SHIFT_TO, CRITICAL, FRESH = range(7)
"""Fields of ``State.field``: values, size of the log of nodes, the shift, the critical path."""


class Sites(NamedTuple):
    """A :class:`~allocsolve.models.dag.graph.CommGraph` as annealing reads it.

    Shapes as there. ``tail`` int64 (n, N): least time from the end of a task on a node to
    the end of the schedule. ``pred_data`` and ``pred_lag`` lie beside ``pred_task``. Node k
    has the lanes ``lane_offset[k] : lane_offset[k + 1]``, one for each slot. Task i shares
    its node with ``member[member_offset[i] : member_offset[i + 1]]``, itself included.
    ``choice`` lists the nodes of each task. ``has_zero``: some task may take no time.
    """

    duration: IntArray
    tail: IntArray
    pred_offset: IntArray
    pred_task: IntArray
    pred_data: IntArray
    pred_lag: IntArray
    succ_offset: IntArray
    succ_task: IntArray
    latency: IntArray
    data_time: IntArray
    linked: BoolArray
    lane_offset: IntArray
    release: IntArray
    memory: IntArray
    node_memory: IntArray
    member_offset: IntArray
    member: IntArray
    choice_offset: IntArray
    choice: IntArray
    exponential: FloatArray
    is_partial: bool
    limits_memory: bool
    has_zero: bool


class State(NamedTuple):
    """What annealing changes.

    Attributes
    ----------
    order, position
        int64 (n,): the tasks in order, and the place of each.
    node, end, lane
        int64 (n,) of the current state; lane -1 for a task without length.
    best_order, best_node
        int64 (n,) of the best state.
    old_end, old_lane, moved, old_node
        int64 (n,), the last two (2 n,): what a refused move restores.
    critical
        int64 (n,): a path of tasks that fixes the makespan.
    free
        int64 (lanes,), when each lane is free.
    load
        int64 (N,), memory in use.
    random
        int64 (2,), state of the generator.
    field
        int64 (7,), see ``CURRENT``.
    """

    order: IntArray
    position: IntArray
    node: IntArray
    end: IntArray
    lane: IntArray
    best_order: IntArray
    best_node: IntArray
    old_end: IntArray
    old_lane: IntArray
    moved: IntArray
    old_node: IntArray
    critical: IntArray
    free: IntArray
    load: IntArray
    random: IntArray
    field: IntArray


@kernel
def draw(random: IntArray, bound: int) -> int:
    """Return a number below ``bound`` (at most 2^31).

    L'Ecuyer, "Efficient and portable combined random number generators", Communications of
    the ACM 31, 1988: no step leaves 63 bits.
    """
    random[0] = (40014 * random[0]) % 2147483563
    random[1] = (40692 * random[1]) % 2147483399
    mixed = random[0] - random[1]
    if mixed < 1:
        mixed += 2147483562
    return int(((mixed - 1) * bound) // 2147483562)
