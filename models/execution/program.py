"""A replay plan laid out for compiled loops: rows of memory that are used again.

Each task writes one row (its ends in a group of replications), and one more if something waits
for its start. A row is free again after the last task that reads it, so a plan of a thousand
tasks keeps some dozens of rows, which stay in the cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray, integers, offsets
from allocsolve.models.execution.plan import ArcTable, ReplayPlan
from allocsolve.models.nodes import Deterministic, RuntimeLaw
from allocsolve.models.random import GROUP, FloatType, Words
from allocsolve.models.sampling import SCRATCH

CHUNK = 16
"""Tasks that are drawn before they are placed; more calls cost time, more rows cost cache."""

__all__ = ["CHUNK", "Memory", "Program", "Rows", "compile_program", "new_memory"]

Rows: TypeAlias = npt.NDArray[np.floating[Any]]
"""float32 or float64, as asked for."""


class Program(NamedTuple):
    """What the replay of a plan reads; one element for each task along the order of the plan.

    Attributes
    ----------
    task
        Index of the task, the stream of its draws.
    duration, earliest
        Ticks.
    factor
        What draws are multiplied by: the duration, or 1 if the durations are given.
    law
        Law of the factor of the duration; -1 if the durations are given.
    row, start_row
        Rows of its ends and starts, -1 if nothing waits for its start.
    ends
        Whether the makespan must look at it.
    loss
        Row of the moments at which its node is lost, -1 if it never is.
    arc_offset, arc_row, arc_lag, arc_transfer, arc_given
        What it waits for: the row to read, ticks to add, ticks to multiply by a given factor.
    factors
        How many of the transfers have given factors.
    window_offset, window_from, window_to
        Intervals in which it cannot run.
    law_code, law_offset, law_numbers
        The laws, see :data:`allocsolve.models.laws_base.LAW_CODES`.
    """

    task: IntArray
    duration: Rows
    earliest: Rows
    factor: Rows
    law: IntArray
    row: IntArray
    start_row: IntArray
    ends: BoolArray
    loss: IntArray
    arc_offset: IntArray
    arc_row: IntArray
    arc_lag: Rows
    arc_transfer: Rows
    arc_given: BoolArray
    factors: IntArray
    window_offset: IntArray
    window_from: Rows
    window_to: Rows
    law_code: IntArray
    law_offset: IntArray
    law_numbers: FloatArray


class Memory(NamedTuple):
    """What the replay of one group writes."""

    state: Rows
    best: Rows
    drawn: Rows
    wide: FloatArray
    scratch: FloatArray
    words: Words


def new_memory(program: Program) -> Memory:
    """Return memory for one thread."""
    dtype = program.duration.dtype
    rows = int(max(program.row.max(initial=0), program.start_row.max(initial=0))) + 1
    return Memory(
        state=np.empty((rows, GROUP), dtype),
        best=np.empty(GROUP, dtype),
        drawn=np.empty((CHUNK, GROUP), dtype),
        wide=np.empty(GROUP),
        scratch=np.empty((SCRATCH, GROUP)),
        words=np.empty((2, GROUP), np.uint32),
    )


def compile_program(
    plan: ReplayPlan,
    laws: Sequence[RuntimeLaw | None],
    dtype: FloatType,
    *,
    given: frozenset[int] = frozenset(),
    losses: Mapping[int, int] | None = None,
    random_links: bool = False,
) -> Program:
    """Lay out a plan.

    Parameters
    ----------
    laws
        By task, None for the planned duration.
    given
        Tasks whose durations are given.
    losses
        Row of the loss of each node that can be lost.
    random_links
        Whether factors of the transfers are given.
    """
    order = plan.order
    code, rank = _law_rows([laws[task] for task in order.tolist()])
    rank = np.where(np.isin(order, sorted(given)), -1, rank)
    rows = _Rows(plan)
    nodes = plan.node[order].tolist()
    given_arcs = (plan.arcs.transfer > 0) & random_links
    windows = [plan.windows.get(task, ()) for task in order.tolist()]
    flat = np.array([pair for row in windows for pair in row], dtype).reshape(-1, 2)
    return Program(
        task=order,
        duration=plan.duration[order].astype(dtype),
        earliest=plan.earliest[order].astype(dtype),
        factor=np.where(rank < 0, 1.0, plan.duration[order]).astype(dtype),
        law=rank,
        row=integers(rows.end),
        start_row=integers(rows.start),
        ends=_last(plan.arcs, order),
        loss=integers((losses or {}).get(node, -1) for node in nodes),
        arc_offset=plan.arcs.offset,
        arc_row=integers(rows.read),
        arc_lag=_lags(plan.arcs, random_links).astype(dtype),
        arc_transfer=plan.arcs.transfer.astype(dtype),
        arc_given=given_arcs,
        factors=np.diff(np.concatenate([[0], np.cumsum(given_arcs)])[plan.arcs.offset]),
        window_offset=offsets([len(row) for row in windows]),
        window_from=np.ascontiguousarray(flat[:, 0]),
        window_to=np.ascontiguousarray(flat[:, 1]),
        law_code=code.code,
        law_offset=code.offset,
        law_numbers=code.numbers,
    )


def _lags(arcs: ArcTable, random_links: bool) -> FloatArray:
    return arcs.lag if random_links else arcs.lag + arcs.transfer


@dataclass(frozen=True)
class _LawTable:
    code: IntArray
    offset: IntArray
    numbers: FloatArray


def _law_rows(laws: Sequence[RuntimeLaw | None]) -> tuple[_LawTable, IntArray]:
    """Return the distinct laws, and for each task which one it has."""
    known: dict[int, int] = {}
    distinct: list[RuntimeLaw] = []
    rank = []
    for law in laws:
        found = _UNCHANGED if law is None else law
        if id(found) not in known:
            known[id(found)] = len(distinct)
            distinct.append(found)
        rank.append(known[id(found)])
    forms = [law.kernel_form() for law in distinct]
    numbers = np.concatenate([np.empty(0), *(vector for _, vector in forms)])
    table = _LawTable(
        integers(code for code, _ in forms),
        offsets([len(vector) for _, vector in forms]),
        numbers,
    )
    return table, integers(rank)


_UNCHANGED = Deterministic(1.0)


def _last(arcs: ArcTable, order: IntArray) -> BoolArray:
    """Return, along the order, whether no other task ends later for sure."""
    ends = np.ones(len(order), np.bool_)
    ends[arcs.source[~arcs.from_start & (arcs.lag >= 0)]] = False
    return np.ascontiguousarray(ends[order])


@dataclass
class _Rows:
    """Rows of memory for ends and starts, given back after the last task that reads them.

    Attributes
    ----------
    end, start
        Row of each task along the order, -1 for none.
    read
        Row that each arc reads.
    """

    plan: ReplayPlan

    def __post_init__(self) -> None:
        self.end: list[int] = []
        self.start: list[int] = []
        self.read: list[int] = []
        self._free: list[int] = []
        self._used = 0
        self._place: dict[tuple[int, bool], int] = {}
        arcs = self.plan.arcs
        offset, source = arcs.offset.tolist(), arcs.source.tolist()
        kinds = arcs.from_start.tolist()
        last = self._last_reads(offset, source, kinds)
        returned: dict[int, list[int]] = {}
        for p, task in enumerate(self.plan.order.tolist()):
            self.end.append(self._take())
            self.start.append(self._take() if (task, True) in last else -1)
            self._place[task, False], self._place[task, True] = self.end[-1], self.start[-1]
            span = range(offset[p], offset[p + 1])
            self.read.extend(self._place[source[k], kinds[k]] for k in span)
            returned.setdefault(last.get((task, False), p), []).append(self.end[-1])
            if self.start[-1] >= 0:
                returned.setdefault(last[task, True], []).append(self.start[-1])
            self._free.extend(returned.pop(p, ()))

    def _take(self) -> int:
        if self._free:
            return self._free.pop()
        self._used += 1
        return self._used - 1

    @staticmethod
    def _last_reads(
        offset: Sequence[int], source: Sequence[int], kinds: Sequence[bool]
    ) -> dict[tuple[int, bool], int]:
        last = {}
        for p in range(len(offset) - 1):
            for k in range(offset[p], offset[p + 1]):
                last[source[k], kinds[k]] = p
        return last
