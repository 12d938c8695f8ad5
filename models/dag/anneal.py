"""Annealing over a node for every task and an order of all tasks: the compiled loops.

A state is decoded by appending the tasks in their order, each to its node; every schedule
that starts no task later than it must can be written so. A move changes some nodes and
shifts one task within the part of the order that its neighbours leave. Only what stands
behind the first change is decoded, and no further than it takes to see that the move will
be refused: the random limit is drawn first, and the end of a task plus the least time that
its node leaves after it (its *tail*) never exceeds the makespan.

Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983.
"""

from __future__ import annotations

from typing import NamedTuple

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.kernels import kernel

__all__ = [
    "BEST",
    "CURRENT",
    "DRAWS",
    "FRESH",
    "MOVED",
    "REFUSED",
    "SHIFT_FROM",
    "SHIFT_TO",
    "Sites",
    "State",
    "anneal",
    "decode",
]

REFUSED = 2**62
"""Value of a state that breaks a rule or exceeds the limit."""

DRAWS = 4096
"""Length of the table of exponential deviates."""

CURRENT, BEST, MOVED, SHIFT_FROM, SHIFT_TO, CRITICAL, FRESH = range(7)
"""Fields of ``State.field``: values, size of the log of nodes, the shift, the critical path."""

_REACH = 512
"""Places of the order that a shift looks over at most."""

_TRIES = 4
"""Attempts to find a task whose node can change."""


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
def _draw(random: IntArray, bound: int) -> int:
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


@kernel
def _open_lanes(sites: Sites, state: State, first: int) -> int:
    """Write when each lane is free before a place of the order; return the latest end there."""
    missing = state.free.size
    for lane in range(missing):
        state.free[lane] = -1
    latest, place = 0, first - 1
    while place >= 0 and (missing > 0 or sites.has_zero):
        task = state.order[place]
        lane = state.lane[task]
        latest = max(latest, state.end[task])
        if lane >= 0 and state.free[lane] < 0:
            state.free[lane] = state.end[task]
            missing -= 1
        place -= 1
    for lane in range(state.free.size):
        state.free[lane] = max(state.free[lane], 0)
        latest = max(latest, state.free[lane])
    return latest


@kernel
def _arrival(sites: Sites, state: State, task: int, node: int) -> int:
    """Return when a task may start on its node by release and precedence."""
    ready = sites.release[task]
    for q in range(sites.pred_offset[task], sites.pred_offset[task + 1]):
        source, data = sites.pred_task[q], sites.pred_data[q]
        moment = state.end[source] + sites.pred_lag[q]
        home = state.node[source]
        if home != node and data > 0:
            if sites.is_partial and not sites.linked[home, node]:
                return REFUSED
            moment += sites.latency[home, node] + data * sites.data_time[home, node]
        ready = max(ready, moment)
    return int(ready)


@kernel
def _lane(sites: Sites, state: State, node: int, ready: int) -> int:
    """Return the lane that is free last but in time, or else the one that is free first."""
    best = sites.lane_offset[node]
    for lane in range(best + 1, sites.lane_offset[node + 1]):
        here, there = state.free[lane], state.free[best]
        if there > ready:
            if here < there:
                best = lane
        elif there < here <= ready:
            best = lane
    return int(best)


@kernel
def decode(sites: Sites, state: State, first: int, limit: int) -> tuple[int, int]:
    """Place the tasks from a place of the order on; return where it stopped and the makespan.

    The makespan is REFUSED, and not all is placed, if it would exceed the limit.
    """
    latest = _open_lanes(sites, state, first)
    for place in range(first, state.order.size):
        task = state.order[place]
        node = state.node[task]
        start, length = _arrival(sites, state, task, node), sites.duration[task, node]
        if start >= REFUSED:
            return place, REFUSED
        lane = -1
        if length > 0:
            lane = _lane(sites, state, node, start)
            start = max(start, state.free[lane])
            state.free[lane] = start + length
        end = start + length
        state.old_end[task], state.old_lane[task] = state.end[task], state.lane[task]
        state.end[task], state.lane[task] = end, lane
        if end + sites.tail[task, node] > limit:
            return place + 1, REFUSED
        latest = max(latest, end)
    return state.order.size, latest


@kernel
def _settle(sites: Sites, state: State, task: int, node: int) -> int:
    """Put a task and its group on a node; return the first place that this changes."""
    first = state.order.size
    if state.node[task] == node or sites.duration[task, node] < 0:
        return first
    for q in range(sites.member_offset[task], sites.member_offset[task + 1]):
        mate, count = sites.member[q], state.field[MOVED]
        state.moved[count], state.old_node[count] = mate, state.node[mate]
        state.field[MOVED] += 1
        state.load[state.node[mate]] -= sites.memory[mate]
        state.load[node] += sites.memory[mate]
        state.node[mate] = node
        first = min(first, state.position[mate])
    return first


@kernel
def _fits(sites: Sites, state: State) -> bool:
    """Whether every node has the memory for its tasks."""
    for node in range(state.load.size):  # noqa: SIM110  # kernels have no generators
        if state.load[node] > sites.node_memory[node]:
            return False
    return True


@kernel
def _neighbour(sites: Sites, state: State, task: int) -> int:
    """Return a random predecessor or successor, or the task itself if it has none."""
    before = sites.pred_offset[task + 1] - sites.pred_offset[task]
    after = sites.succ_offset[task + 1] - sites.succ_offset[task]
    if before + after == 0:
        return task
    chosen = _draw(state.random, before + after)
    if chosen < before:
        return int(sites.pred_task[sites.pred_offset[task] + chosen])
    return int(sites.succ_task[sites.succ_offset[task] + chosen - before])


@kernel
def _any_node(sites: Sites, state: State, task: int) -> int:
    count = sites.choice_offset[task + 1] - sites.choice_offset[task]
    return int(sites.choice[sites.choice_offset[task] + _draw(state.random, count)])


@kernel
def _change_node(sites: Sites, state: State, task: int) -> int:
    """Put a task on another node at random."""
    for _ in range(_TRIES):
        node = _any_node(sites, state, task)
        if node != state.node[task]:
            return _settle(sites, state, task, node)
    return int(state.order.size)


@kernel
def _join(sites: Sites, state: State, task: int) -> int:
    """Put a task on the node of a predecessor or successor."""
    return _settle(sites, state, task, state.node[_neighbour(sites, state, task)])


@kernel
def _swap(sites: Sites, state: State, task: int) -> int:
    """Let two tasks change their nodes."""
    for _ in range(_TRIES):
        other = _draw(state.random, state.order.size)
        here, there = state.node[task], state.node[other]
        if here != there and sites.duration[task, there] >= 0 and sites.duration[other, here] >= 0:
            first = _settle(sites, state, task, there)
            return min(first, _settle(sites, state, other, here))
    return int(state.order.size)


@kernel
def _gather(sites: Sites, state: State, task: int) -> int:
    """Put a task and all its predecessors, or all its successors, on one node."""
    node = state.node[task]
    if _draw(state.random, 2) == 0:
        node = _any_node(sites, state, task)
    first = _settle(sites, state, task, node)
    if _draw(state.random, 2) == 0:
        for q in range(sites.pred_offset[task], sites.pred_offset[task + 1]):
            first = min(first, _settle(sites, state, sites.pred_task[q], node))
    else:
        for q in range(sites.succ_offset[task], sites.succ_offset[task + 1]):
            first = min(first, _settle(sites, state, sites.succ_task[q], node))
    return first


@kernel
def _slide(state: State, origin: int, goal: int) -> None:
    """Take the task at one place of the order to another place."""
    task, place = state.order[origin], origin
    step = 1 if goal > origin else -1
    while place != goal:
        other = state.order[place + step]
        state.order[place] = other
        state.position[other] = place
        place += step
    state.order[goal] = task
    state.position[task] = goal


@kernel
def _last_place(sites: Sites, state: State, task: int, ahead: bool) -> int:
    """Return how far the neighbours of a task let it move in the order."""
    if ahead:
        low = max(0, state.position[task] - _REACH)
        for q in range(sites.pred_offset[task], sites.pred_offset[task + 1]):
            low = max(low, state.position[sites.pred_task[q]] + 1)
        return int(low)
    high = min(state.order.size - 1, state.position[task] + _REACH)
    for q in range(sites.succ_offset[task], sites.succ_offset[task + 1]):
        high = min(high, state.position[sites.succ_task[q]] - 1)
    return int(high)


@kernel
def _shift(sites: Sites, state: State, task: int) -> int:
    """Take a task past some others of its node; return the first place that this changes."""
    ahead = _draw(state.random, 2) == 0
    origin, last = state.position[task], _last_place(sites, state, task, ahead)
    step = -1 if ahead else 1
    passed, place = 0, origin
    while place != last:
        place += step
        passed += state.node[state.order[place]] == state.node[task]
    if passed == 0:
        return int(state.order.size)
    left, goal = 1 + _draw(state.random, passed), origin
    while left > 0:
        goal += step
        left -= state.node[state.order[goal]] == state.node[task]
    _slide(state, origin, goal)
    state.field[SHIFT_FROM], state.field[SHIFT_TO] = origin, goal
    return int(min(origin, goal))


@kernel
def _blocker(sites: Sites, state: State, task: int) -> int:
    """Return a task whose end fixes the start of a task, -1 if none does."""
    node = state.node[task]
    start = state.end[task] - sites.duration[task, node]
    for q in range(sites.pred_offset[task], sites.pred_offset[task + 1]):
        source, data = sites.pred_task[q], sites.pred_data[q]
        moment, home = state.end[source] + sites.pred_lag[q], state.node[source]
        if home != node and data > 0:
            moment += sites.latency[home, node] + data * sites.data_time[home, node]
        if moment == start:
            return int(source)
    lane, place = state.lane[task], state.position[task] - 1
    while lane >= 0 and place >= 0:
        other = state.order[place]
        if state.lane[other] == lane:
            return other if state.end[other] == start else -1
        place -= 1
    return -1


@kernel
def _trace(sites: Sites, state: State) -> None:
    """Write a path of tasks, each of which fixes the start of the next, to the makespan."""
    task = 0
    for other in range(state.end.size):
        if state.end[other] > state.end[task]:
            task = other
    count = 0
    while task >= 0 and count < state.critical.size:
        state.critical[count] = task
        count += 1
        task = _blocker(sites, state, task)
    state.field[CRITICAL], state.field[FRESH] = count, 1


@kernel
def _pick(sites: Sites, state: State) -> int:
    """Return a task at random, every other time one of the critical path."""
    if _draw(state.random, 2) == 0:
        return _draw(state.random, state.order.size)
    if state.field[FRESH] == 0:
        _trace(sites, state)
    return int(state.critical[_draw(state.random, state.field[CRITICAL])])


@kernel
def _propose(sites: Sites, state: State) -> int:
    """Make a move; return the first place of the order that it changes, n for none."""
    state.field[MOVED] = 0
    state.field[SHIFT_FROM] = state.field[SHIFT_TO] = 0
    task, kind, first = _pick(sites, state), _draw(state.random, 100), state.order.size
    if kind < 28:
        first = _change_node(sites, state, task)
    elif kind < 50:
        first = _join(sites, state, task)
    elif kind < 60:
        first = _swap(sites, state, task)
    elif kind < 68:
        first = _gather(sites, state, task)
    if kind >= 68 or _draw(state.random, 10) < 3:
        first = min(first, _shift(sites, state, task))
    return first


@kernel
def _take_back(sites: Sites, state: State, first: int, reached: int) -> None:
    """Undo a move that was decoded from one place of the order up to another."""
    for place in range(first, reached):
        task = state.order[place]
        state.end[task], state.lane[task] = state.old_end[task], state.old_lane[task]
    if state.field[SHIFT_FROM] != state.field[SHIFT_TO]:
        _slide(state, state.field[SHIFT_TO], state.field[SHIFT_FROM])
    for entry in range(state.field[MOVED] - 1, -1, -1):
        task, node = state.moved[entry], state.old_node[entry]
        state.load[state.node[task]] -= sites.memory[task]
        state.load[node] += sites.memory[task]
        state.node[task] = node


@kernel
def anneal(
    sites: Sites, state: State, steps: int, temperature: float, cooling: float, target: int
) -> float:
    """Make so many moves, or stop at a best value of ``target``; return the temperature.

    ``state`` holds a state that is decoded. A move is accepted if the makespan rises by no
    more than an exponential deviate times the temperature: the rule of Metropolis.
    """
    size = state.order.size
    for _ in range(steps):
        temperature *= cooling
        rise = temperature * sites.exponential[_draw(state.random, DRAWS)]
        limit = state.field[CURRENT] + int(rise)
        first, reached, value = _propose(sites, state), 0, REFUSED
        if first < size and (not sites.limits_memory or _fits(sites, state)):
            reached, value = decode(sites, state, first, limit)
        if value > limit:
            _take_back(sites, state, first, reached)
            continue
        state.field[CURRENT], state.field[FRESH] = value, 0
        if value < state.field[BEST]:
            state.field[BEST] = value
            for place in range(size):
                task = state.order[place]
                state.best_order[place] = task
                state.best_node[task] = state.node[task]
            if value <= target:
                break
    return temperature
