"""Bounds from lengths that are refuted, within a share of the time.

First the question is what windows alone refute, which takes milliseconds; then, with shaving,
for as long as there is time. The step between two lengths doubles after each success and is a
quarter after each failure, so that few questions are left without an answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import WINDOWS
from allocsolve.models.exact import plain
from allocsolve.models.result import Bound
from allocsolve.solvers.control import Control
from allocsolve.solvers.dag.compiling import loads_in_time
from allocsolve.solvers.engines.apart import never
from allocsolve.solvers.loading import loops, make_ready

__all__ = ["refute"]

_PLAIN_STEP = 1e-6
"""Seconds that plain Python takes for a step of the loops, roughly."""

_QUESTIONS, _TRIES = 60, 20
"""Rounds over all lines without shaving, and with it for each task, roughly."""


def refute(
    problem: DagProblem,
    control: Control[Schedule],
    seconds: float,
    *,
    stop: Callable[[], bool] = never,
    shaves: bool = True,
    compiles: bool = False,
) -> None:
    """Raise the bound by lengths that are refuted; an instance it cannot take is left alone.

    Parameters
    ----------
    seconds
        After which no more questions are asked.
    stop
        Asked again and again, beside what the control says.
    shaves
        Whether ends of windows are tried as well, which takes long.
    compiles
        Whether the loops may be compiled, or run as plain Python; else they are used only if
        they are there.
    """
    from allocsolve.models.dag.refutation import Refuter, is_affordable

    if not is_affordable(problem):
        return
    until = time.monotonic() + seconds

    def is_over() -> bool:
        return time.monotonic() > until or control.stopped() is not None or stop()

    def shave(length: int) -> bool:
        return refuter.refutes_by_shaving(length, is_over)

    refuter = Refuter(problem)
    tries = _QUESTIONS + (_TRIES * len(problem.tasks) if shaves else 0)
    with _loops(control, _PLAIN_STEP * refuter.steps * tries, compiles=compiles) as can_run:
        if can_run:
            _climb(problem, control, refuter.refutes, "windows", is_over)
        if can_run and shaves:
            _climb(problem, control, shave, "shaving", is_over)


def _loops(
    control: Control[Schedule], plain: float, *, compiles: bool
) -> AbstractContextManager[bool]:
    """Give the loops: as they are, or compiled or plain if they are not there yet."""
    if compiles:
        return loops(control, WINDOWS, plain=plain)
    return nullcontext(loads_in_time(control, WINDOWS) and make_ready(control, WINDOWS))


def _climb(
    problem: DagProblem,
    control: Control[Schedule],
    refutes: Callable[[int], bool],
    source: str,
    is_over: Callable[[], bool],
) -> None:
    """Refute ever longer lengths, up to one below the best schedule."""
    step = 1
    while step > 0 and not is_over():
        lower = 0 if control.bound is None else control.bound.value
        most = _longest(problem, control)
        if lower > most:
            return
        length = min(lower + step - 1, most)
        if refutes(length):
            control.raise_bound(Bound(length + 1, source, _because(problem, source, length)))
            step *= 2
        else:
            step = (length - lower + 1) // 4


def _longest(problem: DagProblem, control: Control[Schedule]) -> int:
    """Return the longest length that it makes sense to refute."""
    horizon = int(problem.arrays.horizon)
    return (horizon if control.value is None else min(control.value, horizon)) - 1


def _because(problem: DagProblem, source: str, length: int) -> str:
    by = "" if source == "windows" else ", after first and last starts of tasks were tried in turn"
    end = plain(problem.units(length))
    return f"some task is left without a place to be if all must end by {end}{by}"
