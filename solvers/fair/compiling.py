"""Compiled loops within the limits of a run, or the same loops as plain Python.

Both give the same bytes, so the choice is one of time only.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.kernels import PLAIN_AT_ONCE, KernelSet, uncompiled
from allocsolve.solvers.control import RealControl
from allocsolve.solvers.loading import make_ready

__all__ = ["UNCOMPILED", "loops"]

UNCOMPILED = (
    "the loops of this method are not compiled, and compiling does not fit into the time limit; "
    "'allocsolve doctor --compile' does it once"
)

_PLAIN = 4e-4
"""Seconds that plain Python takes for a number of the table of throughputs, all steps together."""


@contextmanager
def loops(
    problem: FairProblem, control: RealControl[FairAnswer], *sets: KernelSet
) -> Iterator[bool]:
    """Give the block kernels in the way that is done sooner; yield whether they can be called."""
    plain = _PLAIN * problem.arrays.throughput.size
    loading = sum(kernels.loading for kernels in sets if not kernels.is_loaded())
    needed = sum(kernels.seconds() for kernels in sets)
    if plain <= max(PLAIN_AT_ONCE, loading) or plain < min(control.remaining(), needed):
        with uncompiled():
            yield True
        return
    yield make_ready(control, *sets)
