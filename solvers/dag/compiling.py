"""Compiled loops within the limits of a run, or the same loops as plain Python.

Both give the same bytes, so the choice is one of time only. A compiler is worth its time if
the run that needs it lasts much longer; until then small instances are better served by plain
Python and by an engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.kernels import PLAIN_AT_ONCE, KernelSet, uncompiled
from allocsolve.solvers.control import Control
from allocsolve.solvers.loading import make_ready, while_running

__all__ = [
    "PLAIN_SEARCH",
    "UNCOMPILED",
    "is_worth_compiling",
    "loads_in_time",
    "loops",
    "make_ready",
]

R = TypeVar("R")

PLAIN_SEARCH = 0.5
"""Seconds of search in plain Python before an engine is asked, where nothing is compiled."""

UNCOMPILED = (
    "there was no time to load or compile the loops of annealing, so they ran as plain Python or "
    "not at all; 'allocsolve doctor --compile' compiles them once"
)
"""Said where the time limit, and no interrupt, left no time for them."""

_WORTH = 2.0
"""How many times as long as its compiler a search must be able to last."""


def loads_in_time(control: Control[Schedule], kernels: KernelSet) -> bool:
    """Whether kernels need no compiler, and there is time to load them."""
    if kernels.is_loaded():
        return True
    return bool(while_running(control, lambda: kernels.loads_within(control.remaining())))


@contextmanager
def loops(control: Control[Schedule], *sets: KernelSet, plain: float) -> Iterator[bool]:
    """Give the block kernels in the way that is done sooner: compiled, or as plain Python.

    Yields whether they can be called at all within the limits.

    Parameters
    ----------
    plain
        Seconds that the block takes in plain Python, roughly.
    """
    if _is_plain_sooner(control, sets, plain):
        with uncompiled():
            yield True
    else:
        yield make_ready(control, *sets)


def _is_plain_sooner(control: Control[Schedule], sets: Sequence[KernelSet], plain: float) -> bool:
    missing = [kernels for kernels in sets if not kernels.is_loaded()]
    loading, rest = sum(kernels.load_seconds() for kernels in missing), control.remaining()
    if plain <= max(PLAIN_AT_ONCE, loading):
        return True
    if not missing or rest < loading:
        return False
    cost = while_running(control, lambda: sum(kernels.seconds() for kernels in missing))
    return cost is None or plain < min(rest, cost)


def is_worth_compiling(control: Control[Schedule], kernels: KernelSet) -> bool:
    """Whether a search that can use all the time left should have its loops compiled first."""
    return control.remaining() >= _WORTH * kernels.compiling
