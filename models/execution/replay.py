"""The compiled replay of one group of replications: maxima and sums of whole rows.

With durations as planned every number is an integer of ticks, so the replay gives exactly what
a plain loop over the tasks gives: there are only maxima, sums, and products with the draws.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from allocsolve.models.arrays import BoolArray, IntArray
from allocsolve.models.execution.program import CHUNK, Memory, Program, Rows
from allocsolve.models.kernels import kernel
from allocsolve.models.random import Words
from allocsolve.models.sampling import draw32, draw64

__all__ = [
    "DURATIONS",
    "FAILURES",
    "LINKS",
    "LOSS",
    "SLOWDOWN",
    "Given",
    "Span",
    "mark_critical",
    "replay32",
    "replay64",
]

DURATIONS, LINKS, SLOWDOWN, FAILURES, LOSS = range(5)
"""Purposes of draws; the streams are tasks, edges, tasks or nodes, tasks, and nodes."""


class Span(NamedTuple):
    """Which part of the work a call does.

    Attributes
    ----------
    begin, end
        Positions along the order of the plan.
    group, top
        Group of replications, upper word of the seed.
    column
        First replication of the group that is recorded.
    """

    begin: int
    end: int
    group: int
    top: int
    column: int


class Given(NamedTuple):
    """Rows that are handed in, and arrays that record what happens.

    Attributes
    ----------
    rows
        (k, GROUP): durations of tasks, and factors of transfers, in the order in which the
        tasks from ``begin`` on use them (first the factors of a task, then its duration).
    losses
        (l, GROUP): when nodes are lost, ticks.
    start, end
        (n, columns), by task; no columns if nothing is recorded.
    """

    rows: Rows
    losses: Rows
    start: Rows
    end: Rows


@kernel
def replay64(program: Program, memory: Memory, keys: Words, given: Given, span: Span) -> None:
    """Replay some tasks in double precision."""
    used = 0
    for begin in range(span.begin, span.end, CHUNK):
        end = min(begin + CHUNK, span.end)
        for p in range(begin, end):
            law = program.law[p]
            if law >= 0 and program.duration[p] > 0.0:
                draw64(
                    memory.drawn[p - begin],
                    memory.scratch,
                    memory.words,
                    keys[program.task[p]],
                    span.group,
                    (DURATIONS, 0, span.top),
                    program.law_code[law],
                    program.law_numbers[program.law_offset[law] : program.law_offset[law + 1]],
                )
        used = _place(program, memory, given, (begin, end, span.column, used))


@kernel
def replay32(program: Program, memory: Memory, keys: Words, given: Given, span: Span) -> None:
    """Replay some tasks in single precision; see :func:`replay64`."""
    used = 0
    for begin in range(span.begin, span.end, CHUNK):
        end = min(begin + CHUNK, span.end)
        for p in range(begin, end):
            law = program.law[p]
            if law >= 0 and program.duration[p] > 0.0:
                draw32(
                    memory.drawn[p - begin],
                    memory.wide,
                    memory.scratch,
                    memory.words,
                    keys[program.task[p]],
                    span.group,
                    (DURATIONS, 0, span.top),
                    program.law_code[law],
                    program.law_numbers[program.law_offset[law] : program.law_offset[law + 1]],
                )
        used = _place(program, memory, given, (begin, end, span.column, used))


@kernel
def _place(program: Program, memory: Memory, given: Given, part: tuple[int, int, int, int]) -> int:
    """Compute starts and ends of a few tasks from their draws.

    ``part`` is their first and last position, the first column that is recorded and the number
    of given rows used before. Return the number used after.
    """
    begin, end, column, used = part
    for p in range(begin, end):
        out, drawn = memory.state[program.row[p]], memory.drawn[p - begin]
        first, last = program.arc_offset[p], program.arc_offset[p + 1]
        earliest, lags = program.earliest[p], program.arc_lag
        _wait(out, earliest, memory.state, program.arc_row, lags, first, last)
        if program.factors[p] > 0:
            used = _wait_given(out, program, memory.state, given.rows, (p, used))
        if program.law[p] < 0:
            drawn[:] = given.rows[used]
            used += 1
        if program.window_offset[p] < program.window_offset[p + 1]:
            _avoid_all(out, drawn, program, p)
        _record(given.start, out, program.task[p], column)
        if program.start_row[p] >= 0:
            memory.state[program.start_row[p]][:] = out
        if program.duration[p] > 0.0:
            _extend(out, drawn, program.factor[p])
        if program.loss[p] >= 0:
            _lose(out, given.losses[program.loss[p]])
        _record(given.end, out, program.task[p], column)
        if program.ends[p]:
            _keep_larger(memory.best, out)
    return used


@kernel
def _wait(
    out: Rows,
    earliest: np.floating[Any],
    state: Rows,
    rows: IntArray,
    lags: Rows,
    first: int,
    last: int,
) -> None:
    """Write the starts that the arcs ``first`` to ``last - 1`` allow, two arcs at a time."""
    if first == last:
        _fill(out, earliest)
        return
    if (last - first) % 2:
        _begin(out, earliest, state[rows[first]], lags[first])
        first += 1
    else:
        one, two = state[rows[first]], state[rows[first + 1]]
        _begin_twice(out, earliest, one, lags[first], two, lags[first + 1])
        first += 2
    for k in range(first, last, 2):
        _raise_twice(out, state[rows[k]], lags[k], state[rows[k + 1]], lags[k + 1])


@kernel
def _wait_given(
    out: Rows, program: Program, state: Rows, given: Rows, place: tuple[int, int]
) -> int:
    """Raise starts to what transfers with given factors allow; return the given rows used."""
    p, used = place
    for k in range(program.arc_offset[p], program.arc_offset[p + 1]):
        if program.arc_given[k]:
            lag, transfer = program.arc_lag[k], program.arc_transfer[k]
            _raise_by(out, state[program.arc_row[k]], lag, transfer, given[used])
            used += 1
    return used


@kernel
def _avoid_all(out: Rows, drawn: Rows, program: Program, p: int) -> None:
    if program.duration[p] > 0.0:
        for w in range(program.window_offset[p], program.window_offset[p + 1]):
            begin, end = program.window_from[w], program.window_to[w]
            _avoid(out, drawn, program.factor[p], begin, end)


@kernel
def _fill(out: Rows, value: np.floating[Any]) -> None:
    for i in range(out.size):
        out[i] = value


@kernel
def _begin(out: Rows, earliest: np.floating[Any], source: Rows, lag: np.floating[Any]) -> None:
    for i in range(out.size):
        a = source[i] + lag
        out[i] = earliest if earliest > a else a


@kernel
def _begin_twice(
    out: Rows,
    earliest: np.floating[Any],
    one: Rows,
    lag: np.floating[Any],
    two: Rows,
    other_lag: np.floating[Any],
) -> None:
    for i in range(out.size):
        a, b = one[i] + lag, two[i] + other_lag
        a = a if a > b else b
        out[i] = earliest if earliest > a else a


@kernel
def _raise_twice(
    out: Rows, one: Rows, lag: np.floating[Any], two: Rows, other_lag: np.floating[Any]
) -> None:
    for i in range(out.size):
        a, b = one[i] + lag, two[i] + other_lag
        a = a if a > b else b
        out[i] = out[i] if out[i] > a else a


@kernel
def _keep_larger(out: Rows, other: Rows) -> None:
    for i in range(out.size):
        out[i] = out[i] if out[i] > other[i] else other[i]


@kernel
def _raise_by(
    out: Rows, source: Rows, lag: np.floating[Any], transfer: np.floating[Any], factor: Rows
) -> None:
    for i in range(out.size):
        other = source[i] + (lag + transfer * factor[i])
        out[i] = out[i] if out[i] > other else other


@kernel
def _extend(out: Rows, drawn: Rows, factor: np.floating[Any]) -> None:
    """Turn starts into ends."""
    for i in range(out.size):
        out[i] = out[i] + drawn[i] * factor


@kernel
def _avoid(
    out: Rows,
    drawn: Rows,
    factor: np.floating[Any],
    begin: np.floating[Any],
    end: np.floating[Any],
) -> None:
    """Move starts behind an interval in which the node cannot run the task."""
    for i in range(out.size):
        out[i] = end if out[i] < end and out[i] + drawn[i] * factor > begin else out[i]


@kernel
def _lose(out: Rows, loss: Rows) -> None:
    """Let tasks that would end after their node is lost never end."""
    for i in range(out.size):
        if out[i] > loss[i]:
            out[i] = np.inf


@kernel
def _record(target: Rows, row: Rows, task: int, column: int) -> None:
    for i in range(target.shape[1]):
        target[task, i] = row[column + i]


@kernel
def mark_critical(
    program: Program,
    sources: IntArray,
    from_start: BoolArray,
    recorded: Given,
    best: Rows,
    critical: BoolArray,
) -> None:
    """Mark, backwards, the tasks without slack: what made the last end as late as it is.

    Parameters
    ----------
    sources, from_start
        Of each arc.
    recorded
        Starts and ends; ``rows`` are the factors of the transfers by arc, (0, k) if none are.
    best
        (k,), the makespans.
    critical
        bool (n, k), all False.
    """
    for p in range(program.task.size - 1, -1, -1):
        task = program.task[p]
        for i in range(best.size):
            if recorded.end[task, i] == best[i]:
                critical[task, i] = True
        for k in range(program.arc_offset[p], program.arc_offset[p + 1]):
            origin = recorded.start if from_start[k] else recorded.end
            for i in range(best.size):
                lag = program.arc_lag[k]
                if program.arc_given[k]:
                    lag = lag + program.arc_transfer[k] * recorded.rows[k, i]
                if critical[task, i] and origin[sources[k], i] + lag == recorded.start[task, i]:
                    critical[sources[k], i] = True
