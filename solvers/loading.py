"""Compiled loops within the limits of a run, or the same loops as plain Python.

Both give the same bytes, so the choice is one of time only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from allocsolve.models.kernels import PLAIN_AT_ONCE, KernelSet, uncompiled
from allocsolve.solvers.control import ControlOf
from allocsolve.solvers.engines.apart import run_apart

__all__ = ["loops", "make_ready", "while_running"]

AnswerT = TypeVar("AnswerT")
CostT = TypeVar("CostT", int, float)
R = TypeVar("R")


@contextmanager
def loops(
    control: ControlOf[AnswerT, CostT],
    *sets: KernelSet,
    plain: float,
    before: Callable[[], object] | None = None,
) -> Iterator[bool]:
    """Give the block kernels in the way that is done sooner: compiled, or as plain Python.

    Yields whether they can be called at all within the limits.

    Parameters
    ----------
    plain
        Seconds that the block takes in plain Python, roughly.
    before
        Called before anything is compiled: what can be said without these kernels.
    """
    if _is_plain_sooner(control, sets, plain):
        with uncompiled():
            yield True
    else:
        yield make_ready(control, *sets, before=before)


def _is_plain_sooner(
    control: ControlOf[AnswerT, CostT], sets: Sequence[KernelSet], plain: float
) -> bool:
    missing = [kernels for kernels in sets if not kernels.is_loaded()]
    loading, rest = sum(kernels.load_seconds() for kernels in missing), control.remaining()
    if plain <= max(PLAIN_AT_ONCE, loading):
        return True
    if not missing or rest < loading:
        return False
    cost = while_running(control, lambda: sum(kernels.seconds() for kernels in missing))
    return cost is None or plain < min(rest, cost)


def make_ready(
    control: ControlOf[AnswerT, CostT],
    *sets: KernelSet,
    before: Callable[[], object] | None = None,
) -> bool:
    """Compile or load kernels; tell whether they can be called now.

    They cannot if the time left is too short for them, or if it was over, or the run was
    cancelled, before they were there. Numba cannot be interrupted: what it does is left to its
    thread then.
    """
    if all(kernels.is_loaded() for kernels in sets):
        return True

    def build() -> bool:
        if before is not None and not all(kernels.is_ready() for kernels in sets):
            before()
        for kernels in sets:
            if not kernels.fits(control.remaining()):
                return False
            if not kernels.is_loaded():
                kernels.build()
        return True

    return bool(while_running(control, build))


def while_running(control: ControlOf[AnswerT, CostT], work: Callable[[], R]) -> R | None:
    """Let numba work until the run is over; None if it was left behind."""

    def is_over() -> bool:
        return control.token.cancelled or control.remaining() <= 0

    return run_apart(work, is_over, "numba", 0.0)
