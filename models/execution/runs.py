"""Running a compiled plan over replications: blocks, threads, and what is recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import Lock, local

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.execution.disturbances import Disturbances
from allocsolve.models.execution.plan import ReplayPlan, plan_replay
from allocsolve.models.execution.program import Memory, Program, Rows, compile_program, new_memory
from allocsolve.models.execution.replay import Given, Span, mark_critical, replay32, replay64
from allocsolve.models.execution.rounds import Cancelled
from allocsolve.models.kernels import KernelSet, runs_plain
from allocsolve.models.nodes import Exponential, RuntimeLaw
from allocsolve.models.processes import NodeProcess
from allocsolve.models.random import GROUP, FloatType, round_keys, top_word
from allocsolve.models.threads import ContextPool

__all__ = ["KERNELS", "PLAIN_SECONDS", "Recording", "Replayer", "warm"]

_TASKS = 16_384
"""Tasks of one call of a kernel; a call takes some hundredths of a second."""


KERNELS = KernelSet(
    name="the replay of schedules",
    module="allocsolve.models.execution.runs",
    entry="replay64",
    warm="warm",
    compiling=60.0,
    loading=2.0,
)

PLAIN_SECONDS = 1e-4
"""Seconds that a task in a replication takes in plain Python on a slow core (5e-5 measured)."""


@dataclass(frozen=True, eq=False)
class Recording:
    """Starts and ends of some replications, float (n, k), ticks; ``best`` are the makespans.

    ``durations`` and ``lost`` are by task as well: how long it ran, and how much of that was
    lost by failures. ``transfers`` are factors by arc, no rows if transfers are as planned.
    """

    first: int
    start: Rows
    end: Rows
    best: Rows
    lost: FloatArray
    transfers: Rows


class Replayer:
    """Replays one plan.

    Parameters
    ----------
    plan
        The recursion.
    program
        The same, laid out.
    disturbances
        What gives the rows that the program wants.
    seed
        Seed of all draws.
    """

    def __init__(
        self, plan: ReplayPlan, program: Program, disturbances: Disturbances, seed: int
    ) -> None:
        self.plan, self.program, self._disturbances = plan, program, disturbances
        self._keys, self._top = round_keys(seed, len(plan.order)), top_word(seed)
        self._kernel = replay32 if program.duration.dtype == np.float32 else replay64
        self._local = local()
        tick = plan.problem.arrays.tick
        self._unit = float(tick.numerator), float(tick.denominator)
        self._segments = list(disturbances.segments(_TASKS))

    def runs_plain(self) -> bool:
        """Whether the loops run as plain Python here and now."""
        return runs_plain(self._kernel)

    def units(self, ticks: Rows) -> FloatArray:
        """Return times in input units; whole numbers of ticks are rounded correctly."""
        return np.asarray(ticks.astype(np.float64) * self._unit[0] / self._unit[1])

    def sample(
        self,
        first: int,
        count: int,
        *,
        block: int = GROUP,
        threads: int = 1,
        progress: Callable[[int], object] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> FloatArray:
        """Return the makespans of the replications ``first`` to ``first + count - 1``.

        They do not depend on ``block`` (replications of one job) and ``threads``.

        Raises
        ------
        Cancelled
            If ``cancelled`` says so; it is asked after each call of a kernel.
        """
        out = np.empty(count)
        stop, told = cancelled or (lambda: False), _Counter(progress)

        def work(job: tuple[int, int]) -> None:
            for group, low, high in _groups(*job):
                best = self._replay(group, self._none(), 0, stop)
                at = group * GROUP - first
                out[at + low : at + high] = self.units(best[low:high])
            told.count(job[1])

        jobs = [(at, min(block, first + count - at)) for at in range(first, first + count, block)]
        if threads == 1:
            for job in jobs:
                work(job)
        else:
            with ContextPool(threads) as pool:
                for _ in pool.map(work, jobs):
                    pass
        return out

    def record(self, first: int, count: int) -> Recording:
        """Return the replications ``first`` to ``first + count - 1`` in full."""
        n, dtype = len(self.plan.order), self.program.duration.dtype
        found = Recording(
            first,
            np.empty((n, count), dtype),
            np.empty((n, count), dtype),
            np.empty(count, dtype),
            np.zeros((n, count)),
            np.empty((len(self.plan.arcs.source) if self._disturbances.links else 0, count), dtype),
        )
        for group, low, high in _groups(first, count):
            at = group * GROUP + low - first
            part = slice(at, at + high - low)
            target = Recording(
                first,
                found.start[:, part],
                found.end[:, part],
                found.best[part],
                found.lost[:, part],
                found.transfers[:, part],
            )
            self._record_group(group, low, high, target)
        return found

    def _record_group(self, group: int, low: int, high: int, target: Recording) -> None:
        start, end = np.empty_like(target.start), np.empty_like(target.end)
        best = self._replay(group, (start, end), low, lambda: False)
        target.start[:], target.end[:], target.best[:] = start, end, best[low:high]
        if target.transfers.size:
            for k, row in self._disturbances.transfers(group):
                target.transfers[k] = row[low:high]
        for task, row in self._disturbances.lost(group):
            target.lost[task] = row[low:high]

    def _none(self) -> tuple[Rows, Rows]:
        empty = np.empty((0, 0), self.program.duration.dtype)
        return empty, empty

    def _memory(self) -> Memory:
        if not hasattr(self._local, "memory"):
            self._local.memory = new_memory(self.program)
        found: Memory = self._local.memory
        return found

    def _replay(
        self, group: int, record: tuple[Rows, Rows], column: int, stop: Callable[[], bool]
    ) -> Rows:
        memory = self._memory()
        memory.best[:] = 0.0
        drawn = self._disturbances.of_group(group)
        for begin, end in self._segments:
            if stop():
                raise Cancelled
            given = Given(drawn.rows(begin, end), drawn.losses, *record)
            span = Span(begin, end, group, self._top, column)
            self._kernel(self.program, memory, self._keys, given, span)
        return memory.best


class _Counter:
    """Adds up what threads have done."""

    def __init__(self, progress: Callable[[int], object] | None) -> None:
        self._progress, self._done, self._lock = progress, 0, Lock()

    def count(self, done: int) -> None:
        """Add replications and tell how many there are."""
        with self._lock:
            self._done += done
            if self._progress is not None:
                self._progress(self._done)


def _groups(first: int, count: int) -> Iterator[tuple[int, int, int]]:
    """Yield each group that the replications touch, and which of its columns they are."""
    for group in range(first // GROUP, -(-(first + count) // GROUP)):
        low, high = first - group * GROUP, first + count - group * GROUP
        yield group, max(low, 0), min(high, GROUP)


def warm() -> None:
    """Call every kernel once with the types of real use."""
    problem = DagProblem(tasks=[Task(id="a", work=1)], nodes=[Node(id="n")])
    plan = plan_replay(Schedule.of(problem, [0], [0]))
    law: RuntimeLaw = Exponential(1.0)
    precisions: tuple[FloatType, ...] = ("float64", "float32")
    for dtype in precisions:
        disturbances = Disturbances(plan, [law], [NodeProcess()], None, 0, dtype)
        replayer = Replayer(plan, compile_program(plan, [law], dtype), disturbances, 0)
        record = replayer.record(0, 1)
        given = Given(record.transfers, record.transfers, record.start, record.end)
        arcs, critical = plan.arcs, np.zeros((1, 1), np.bool_)
        mark_critical(replayer.program, arcs.source, arcs.from_start, given, record.best, critical)
