"""From an order and nodes to a schedule: appending the tasks one after another; compiled."""

from __future__ import annotations

from allocsolve.models.dag.anneal_state import REFUSED, Sites, State
from allocsolve.models.kernels import kernel

__all__ = ["decode"]


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
