"""Moves of annealing: other nodes for some tasks, another place in the order; compiled."""

from __future__ import annotations

from allocsolve.models.dag.anneal_state import (
    CRITICAL,
    FRESH,
    MOVED,
    SHIFT_FROM,
    SHIFT_TO,
    Sites,
    State,
    draw,
)
from allocsolve.models.kernels import kernel

__all__ = ["fits", "propose", "take_back"]

_REACH = 512
"""Places of the order that a shift looks over at most."""

_TRIES = 4
"""Attempts to find a task whose node can change."""


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
def fits(sites: Sites, state: State) -> bool:
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
    chosen = draw(state.random, before + after)
    if chosen < before:
        return int(sites.pred_task[sites.pred_offset[task] + chosen])
    return int(sites.succ_task[sites.succ_offset[task] + chosen - before])


@kernel
def _any_node(sites: Sites, state: State, task: int) -> int:
    count = sites.choice_offset[task + 1] - sites.choice_offset[task]
    return int(sites.choice[sites.choice_offset[task] + draw(state.random, count)])


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
        other = draw(state.random, state.order.size)
        here, there = state.node[task], state.node[other]
        if here != there and sites.duration[task, there] >= 0 and sites.duration[other, here] >= 0:
            first = _settle(sites, state, task, there)
            return min(first, _settle(sites, state, other, here))
    return int(state.order.size)


@kernel
def _gather(sites: Sites, state: State, task: int) -> int:
    """Put a task and all its predecessors, or all its successors, on one node."""
    node = state.node[task]
    if draw(state.random, 2) == 0:
        node = _any_node(sites, state, task)
    first = _settle(sites, state, task, node)
    if draw(state.random, 2) == 0:
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
    ahead = draw(state.random, 2) == 0
    origin, last = state.position[task], _last_place(sites, state, task, ahead)
    step = -1 if ahead else 1
    passed, place = 0, origin
    while place != last:
        place += step
        passed += state.node[state.order[place]] == state.node[task]
    if passed == 0:
        return int(state.order.size)
    left, goal = 1 + draw(state.random, passed), origin
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
    if draw(state.random, 2) == 0:
        return draw(state.random, state.order.size)
    if state.field[FRESH] == 0:
        _trace(sites, state)
    return int(state.critical[draw(state.random, state.field[CRITICAL])])


@kernel
def propose(sites: Sites, state: State) -> int:
    """Make a move; return the first place of the order that it changes, n for none."""
    state.field[MOVED] = 0
    state.field[SHIFT_FROM] = state.field[SHIFT_TO] = 0
    task, kind, first = _pick(sites, state), draw(state.random, 100), state.order.size
    if kind < 28:
        first = _change_node(sites, state, task)
    elif kind < 50:
        first = _join(sites, state, task)
    elif kind < 60:
        first = _swap(sites, state, task)
    elif kind < 68:
        first = _gather(sites, state, task)
    if kind >= 68 or draw(state.random, 10) < 3:
        first = min(first, _shift(sites, state, task))
    return first


@kernel
def take_back(sites: Sites, state: State, first: int, reached: int) -> None:
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
