"""Compiled passes of the interior point method that find a step: predictor and corrector."""

from __future__ import annotations

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import inlined, kernel
from allocsolve.solvers.fair.block_kernels import Work, apply, factorise, room
from allocsolve.solvers.fair.interior_kernels import Jobs, Point, System, dual_residual, look

__all__ = ["correct", "predict"]

Asked = tuple[FloatArray, FloatArray]
"""Price and cost of each type, and the step of the prices, (m,) each."""

Levels = tuple[float, float]
"""The level and its step."""

Tail = tuple[float, float, float, float]
"""Steps of idle time and its price, of slack and its price."""


@kernel
def predict(
    jobs: Jobs,
    point: Point,
    step: Point,
    asked: Asked,
    levels: Levels,
    alpha: float,
    system: System,
) -> None:
    """Find the step towards products of 0, for given steps of prices and level.

    Only its products are stored, in ``step``, with what they and a target change in the right
    side of the system. The first two of ``sums`` are the step lengths, the next three what the
    products fall along the step.
    """
    count, types = jobs.pace.shape
    share, reduced, idle, time, slack, price = point
    to_share, _, to_idle, _, to_slack, _ = step
    sums, work = system.sums, room(types)
    move, dual = work.move, work.dual
    sums[:], sums[:2] = 0, 1
    system.target[:], system.second[:] = 0, 0
    for i in range(count):
        tail, stiff = _step_of(i, jobs, point, step, asked, levels, alpha, -1.0, work, sums)
        falls, rises, both = time[i] * tail[0], idle[i] * tail[1], tail[0] * tail[1]
        to_idle[i] = both
        for j in range(types):
            product = move[j] * dual[j]
            falls += reduced[i, j] * move[j]
            rises += share[i, j] * dual[j]
            both += product
            to_share[i, j] = product
        if slack.size > 0:
            product = tail[2] * tail[3]
            falls += price[i] * tail[2]
            rises += slack[i] * tail[3]
            both += product
            to_slack[i] = product
        sums[2] += falls
        sums[3] += rises
        sums[4] += both
        _change_right_side(i, jobs, point, step, stiff, work, system)


@kernel
def correct(
    jobs: Jobs,
    point: Point,
    step: Point,
    asked: Asked,
    levels: Levels,
    alpha: float,
    target: float,
    sums: FloatArray,
) -> None:
    """Replace the products in ``step`` by the step that makes all products equal ``target``.

    The first two of ``sums`` are the step lengths.
    """
    count, types = jobs.pace.shape
    to_share, to_reduced, to_idle, to_time, to_slack, to_price = step
    work = room(types)
    move, dual = work.move, work.dual
    sums[:], sums[:2] = 0, 1
    for i in range(count):
        tail, _ = _step_of(i, jobs, point, step, asked, levels, alpha, target, work, sums)
        for j in range(types):
            to_share[i, j], to_reduced[i, j] = move[j], dual[j]
        to_idle[i], to_time[i] = tail[0], tail[1]
        if to_slack.size > 0:
            to_slack[i], to_price[i] = tail[2], tail[3]


@inlined
def _step_of(
    i: int,
    jobs: Jobs,
    point: Point,
    step: Point,
    asked: Asked,
    levels: Levels,
    alpha: float,
    target: float,
    work: Work,
    sums: FloatArray,
) -> tuple[Tail, float]:
    """Find the step of one job: shares into ``work.move``, their duals into ``work.dual``.

    With a target below 0 it leads to products of 0, and ``step`` is not read. The largest
    relative falls, primal and dual, are kept in the first two of ``sums``. Returns the rest of
    the step and the stiffness.
    """
    pace, _, _, slope, gang = jobs
    share, reduced, idle, time, slack, price = point
    per_share, root, _, _, _, side, move, extra, dual, _ = work
    spare, lack, rise, curve, stiff = look(i, jobs, point, levels[0], alpha)
    hold, at_idle, at_slack = time[i] / idle[i], 0.0, 0.0
    if target >= 0:
        at_idle = (target - step.idle[i]) / idle[i]
        if slack.size > 0:
            at_slack = (target - step.slack[i]) / slack[i]
    own = price[i] if slack.size > 0 else 0.0
    pull = stiff * (slope[i] * levels[1] - lack) + at_slack - own
    push = time[i] + hold * spare - at_idle
    paid, change = asked
    factorise(i, share, reduced, pace, curve + stiff, hold, work)
    for j in range(paid.size):
        extra[j] = (target - step.share[i, j]) * per_share[j] if target >= 0 else 0.0
        wrong = dual_residual(i, j, jobs, point, paid[j], rise + own)
        side[j] = extra[j] - reduced[i, j] + wrong - change[j] * gang[i]
    apply(pull, push, side, work, move)
    used, gained, primal, fallen = 0.0, 0.0, sums[0], sums[1]
    for j in range(paid.size):
        rise = move[j] * per_share[j]
        dual[j] = extra[j] - reduced[i, j] * (1 + rise)
        primal = max(primal, -rise)
        fallen = max(fallen, 1 + rise - extra[j] * root[j] * root[j] * per_share[j])
        used += move[j]
        gained += pace[i, j] * move[j]
    to_time = hold * (used - spare) + at_idle - time[i]
    to_idle = (at_idle - to_time) / hold - idle[i]
    sums[0], sums[1] = max(primal, -to_idle / idle[i]), max(fallen, -to_time / time[i])
    if slack.size == 0:
        return (to_idle, to_time, 0.0, 0.0), stiff
    to_slack = gained - slope[i] * levels[1] + lack
    to_price = at_slack - stiff * to_slack - price[i]
    sums[0] = max(sums[0], -to_slack / slack[i])
    sums[1] = max(sums[1], -to_price / price[i])
    return (to_idle, to_time, to_slack, to_price), stiff


@inlined
def _change_right_side(
    i: int, jobs: Jobs, point: Point, step: Point, stiff: float, work: Work, system: System
) -> None:
    """Add what a target and the products of the first step change in the right side."""
    pace, _, _, slope, gang = jobs
    idle, slack = point.idle, point.slack
    to_share, _, to_idle, _, to_slack, _ = step
    per_share, side, one, two = work.per_share, work.side, work.more, work.dual
    target, second, last = system.target, system.second, pace.shape[1]
    by_slack, by_product = 0.0, 0.0
    if slack.size > 0:
        by_slack = 1 / slack[i]
        by_product = -to_slack[i] * by_slack
        target[last] -= slope[i] * by_slack
        second[last] -= slope[i] * by_product
    by_idle = 1 / idle[i]
    for j in range(last):
        side[j] = per_share[j]
    apply(by_slack, -by_idle, side, work, one)
    for j in range(last):
        side[j] = -to_share[i, j] * per_share[j]
    apply(by_product, to_idle[i] * by_idle, side, work, two)
    border = stiff * slope[i]
    for j in range(last):
        target[j] += gang[i] * one[j]
        second[j] += gang[i] * two[j]
        target[last] += border * pace[i, j] * one[j]
        second[last] += border * pace[i, j] * two[j]
