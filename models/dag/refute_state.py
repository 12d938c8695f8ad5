"""What refutation reads and changes: arcs, lines, and the windows of the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import IntArray, offsets
from allocsolve.models.dag.refute_lines import Line
from allocsolve.models.dag.relaxation import Relaxation

__all__ = ["Facts", "Windows", "facts_of", "windows_of"]


class Facts(NamedTuple):
    """What holds for every schedule; n tasks, a arcs, l lines, all times in ticks.

    Attributes
    ----------
    duration
        int64 (n,), the shortest of each task.
    arc_source, arc_target
        int64 (a,), sources in an order that most arcs follow.
    arc_weight, arc_from_end
        int64 (a,): least time from the start, and from the end, of the source to the start of
        the target.
    line_offset
        int64 (l + 1,), rows of ``line_task`` and ``line_demand``.
    line_capacity, line_unary
        int64 (l,); the latter 1 where no two tasks can overlap.
    """

    duration: IntArray
    arc_source: IntArray
    arc_target: IntArray
    arc_weight: IntArray
    arc_from_end: IntArray
    line_offset: IntArray
    line_task: IntArray
    line_demand: IntArray
    line_capacity: IntArray
    line_unary: IntArray


class Windows(NamedTuple):
    """The windows of the tasks, and scratch of the longest line.

    Attributes
    ----------
    head, latest
        int64 (n,): least start and greatest end of each task.
    changed
        int64 (n,): when the window of a task was last changed, by ``clock``.
    looked
        int64 (l,): when a line was last looked at.
    clock
        int64 (1,).
    low, high, length, lift
        int64 (k,): window and duration of each task of a line, and what its start is raised to.
    first, last, work
        int64 (k,), of energetic reasoning: when a task comes into an interval, when all of it
        is in, how much that is.
    by_first, by_last
        int64 (k,), tasks of the line sorted by these.
    cuts
        int64 (2 * k,), left ends of the intervals.
    """

    head: IntArray
    latest: IntArray
    changed: IntArray
    looked: IntArray
    clock: IntArray
    low: IntArray
    high: IntArray
    length: IntArray
    lift: IntArray
    first: IntArray
    last: IntArray
    work: IntArray
    by_first: IntArray
    by_last: IntArray
    cuts: IntArray


def facts_of(relaxation: Relaxation, lines: Sequence[Line]) -> Facts:
    """Return the arrays of a problem and its lines."""
    arcs = relaxation.arcs
    order = np.argsort(relaxation.position[arcs.source], kind="stable")
    empty = [np.zeros(0, np.int64)]
    return Facts(
        duration=relaxation.min_duration.astype(np.int64),
        arc_source=arcs.source[order].astype(np.int64),
        arc_target=arcs.target[order].astype(np.int64),
        arc_weight=arcs.weight[order].astype(np.int64),
        arc_from_end=arcs.from_end[order].astype(np.int64),
        line_offset=offsets([len(line.tasks) for line in lines]),
        line_task=np.concatenate([*empty, *(line.tasks for line in lines)]).astype(np.int64),
        line_demand=np.concatenate([*empty, *(line.demand for line in lines)]).astype(np.int64),
        line_capacity=np.array([line.capacity for line in lines], np.int64),
        line_unary=np.array([line.is_unary for line in lines], np.int64),
    )


def windows_of(facts: Facts) -> Windows:
    """Return windows that are to be filled, with scratch."""
    n, lines = len(facts.duration), len(facts.line_capacity)
    most = int(np.diff(facts.line_offset).max(initial=0))

    def row(size: int) -> IntArray:
        return np.zeros(size, np.int64)

    return Windows(
        head=row(n),
        latest=row(n),
        changed=row(n),
        looked=row(lines),
        clock=row(1),
        low=row(most),
        high=row(most),
        length=row(most),
        lift=row(most),
        first=row(most),
        last=row(most),
        work=row(most),
        by_first=row(most),
        by_last=row(most),
        cuts=row(2 * most),
    )
