"""When a search over schedules is worth a compiler.

A compiler is worth its time if the run that needs it lasts much longer; until then small
instances are better served by plain Python and by an engine.
"""

from __future__ import annotations

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.kernels import KernelSet
from allocsolve.solvers.control import Control
from allocsolve.solvers.loading import while_running

__all__ = [
    "PLAIN_SEARCH",
    "UNCOMPILED",
    "is_worth_compiling",
    "loads_in_time",
]

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


def is_worth_compiling(control: Control[Schedule], kernels: KernelSet) -> bool:
    """Whether a search that can use all the time left should have its loops compiled first."""
    return control.remaining() >= _WORTH * kernels.compiling
