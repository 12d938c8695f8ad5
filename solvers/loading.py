"""Making compiled loops ready within the limits of a run, whatever its kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from allocsolve.models.kernels import KernelSet
from allocsolve.solvers.control import ControlOf
from allocsolve.solvers.engines.apart import run_apart

__all__ = ["make_ready", "while_running"]

AnswerT = TypeVar("AnswerT")
CostT = TypeVar("CostT", int, float)
R = TypeVar("R")


def make_ready(control: ControlOf[AnswerT, CostT], *sets: KernelSet) -> bool:
    """Compile or load kernels; tell whether they can be called now.

    They cannot if the time left is too short for them, or if it was over, or the run was
    cancelled, before they were there. Numba cannot be interrupted: what it does is left to its
    thread then.
    """
    if all(kernels.is_loaded() for kernels in sets):
        return True

    def build() -> bool:
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
