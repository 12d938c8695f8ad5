"""Lengths that no schedule can have, shown by windows that narrow one another.

Destructive improvement (Klein and Scholl, "Computing lower bounds by destructive improvement: an
application to resource-constrained project scheduling", European Journal of Operational Research
112, 1999): suppose that a schedule ends by T, narrow what that leaves to each task, and if
nothing is left to some task, T + 1 is a lower bound. The rules are those of
:mod:`allocsolve.models.dag.refute_kernels` on the lines of
:mod:`allocsolve.models.dag.refute_lines`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.refute_kernels import narrow, shave
from allocsolve.models.dag.refute_lines import lines_of
from allocsolve.models.dag.refute_state import facts_of, windows_of
from allocsolve.models.dag.relaxation import Relaxation
from allocsolve.models.dag.search_kernels import WINDOWS as KERNELS
from allocsolve.models.dag.windows import SAFE

__all__ = ["KERNELS", "Refuter", "is_affordable", "warm"]

_MOST_TASKS = 1500
"""Tasks beyond which a question takes seconds."""

_ROUNDS = 12
"""Rounds over the lines in which windows may narrow one another."""

_STEPS, _SHAVED_STEPS = 4 * 10**7, 6 * 10**6
"""Steps of the loops, some five thousand millionths of a second each, that a question may take;
and steps of a round up to which shaving is worth its time."""

_SHAVINGS = 4
"""Rounds over the tasks in which ends of windows are cut off."""


def is_affordable(problem: DagProblem) -> bool:
    """Whether refutation can say something of a problem, within a second or so a question."""
    arrays = problem.arrays
    n = len(arrays.release)
    if not 0 < n <= _MOST_TASKS or bool((np.diff(arrays.mode_offset) == 0).any()):
        return False
    most = max(int(arrays.capacity.max(initial=1)), int(arrays.node_slots.sum()), 1)
    return not arrays.communicates and 4 * n * most * 12 * max(1, arrays.horizon) < SAFE


class Refuter:
    """Answers whether a schedule of at most some length is impossible.

    Parameters
    ----------
    problem
        One that :func:`is_affordable`.

    Attributes
    ----------
    facts, windows
        What the loops read, and the windows that the last question left.
    steps
        Of the loops in a round, roughly.
    """

    def __init__(self, problem: DagProblem) -> None:
        relaxation = Relaxation(problem)
        self.facts = facts_of(relaxation, lines_of(relaxation))
        self.windows = windows_of(self.facts)
        self._head, self._tail = relaxation.head, relaxation.tail
        self._ends = relaxation.latest_ends()
        sizes = np.diff(self.facts.line_offset)
        self.steps = 2 * int((sizes * sizes).sum()) + 1
        self._rounds = max(1, min(_ROUNDS, _STEPS // self.steps))
        # Where durations differ the end of a task says little of its start.
        fixed = relaxation.min_duration == relaxation.max_duration
        self._shaved: IntArray = np.flatnonzero(fixed & (self.steps <= _SHAVED_STEPS))

    def refutes(self, length: int) -> bool:
        """Whether the windows of schedules of at most ``length`` ticks contradict each other."""
        self.begin(length)
        return not narrow(self.facts, self.windows, self._rounds)

    def refutes_by_shaving(self, length: int, stop: Callable[[], bool]) -> bool:
        """Do the same, and also try for each task what its first and last starts lead to.

        Takes about as long as :meth:`refutes` for each task; ``stop`` is asked after each.
        """
        if self.refutes(length):
            return True
        windows = self.windows
        kept = np.stack([windows.head, windows.latest])
        for _ in range(_SHAVINGS):
            has_changed = False
            slack = kept[1][self._shaved] - kept[0][self._shaved]
            for task in self._shaved[np.argsort(slack, kind="stable")].tolist():
                if stop():
                    return False
                change = int(shave(self.facts, windows, kept, task))
                if change < 0:
                    return True
                if change > 0:
                    has_changed = True
                    if not self._spread(kept):
                        return True
            if not has_changed:
                return False
        return False

    def begin(self, length: int) -> None:
        """Set the windows to what paths leave to schedules of at most ``length`` ticks."""
        windows = self.windows
        windows.head[:] = self._head
        windows.latest[:] = np.minimum(self._ends, length - self._tail)
        self._forget()

    def _forget(self) -> None:
        """Let every line be looked at."""
        self.windows.clock[0] = 1
        self.windows.changed[:] = 1
        self.windows.looked[:] = 0

    def _spread(self, kept: IntArray) -> bool:
        """Narrow all windows by what was cut off; False if some task has no room."""
        windows = self.windows
        windows.head[:], windows.latest[:] = kept[0], kept[1]
        self._forget()
        if not narrow(self.facts, windows, self._rounds):
            return False
        kept[0], kept[1] = windows.head, windows.latest
        return True


def warm() -> None:
    """Call every kernel of it once."""
    from allocsolve.models.dag.data import Mode, Resource, Task

    modes = [Mode(duration=3, demand={"r": 1, "s": 1})]
    problem = DagProblem(
        tasks=[Task(id=name, modes=modes) for name in "abc"],
        resources=[Resource(id="r", capacity=2), Resource(id="s", capacity=1)],
    )
    Refuter(problem).refutes_by_shaving(9, lambda: False)
