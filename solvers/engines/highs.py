"""HiGHS without its banner.

The first ``Highs()`` of a process prints a banner that no option stops, also from within
other modelling tools. It goes nowhere: one throw-away solver is built while descriptor 1
points to the null device.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from allocsolve.models.errors import SolverCrash, SolverMissing

if TYPE_CHECKING:
    import highspy

__all__ = ["highs", "interruptible", "require"]

_STDOUT = 1
_lock = threading.Lock()
_silenced = threading.Event()


def highs() -> highspy.Highs:
    """Return a silent HiGHS solver.

    Raises
    ------
    SolverMissing
        If highspy is not installed, or cannot be loaded (some versions cannot share a
        process with some versions of ortools).
    """
    try:
        import highspy
    except ImportError as error:
        raise SolverMissing(f"HiGHS needs highspy: pip install highspy ({error})") from None
    with _lock:
        if not _silenced.is_set():
            with _stdout_closed():
                highspy.Highs()  # type: ignore[no-untyped-call]  # highspy is not typed
            _silenced.set()
    solver = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy is not typed
    solver.silent()
    return solver


def interruptible(solver: highspy.Highs, stop: Callable[[], bool]) -> None:
    """Let a linear program end when ``stop`` says so, with the status of an interrupt.

    The simplex method asks it in every iteration; presolving does not, so a large program is
    best solved with :func:`allocsolve.solvers.engines.apart.run_apart`.
    """

    def look(event: highspy.HighsCallbackEvent) -> None:
        if event.data_in is not None and stop():
            event.data_in.user_interrupt = True

    solver.cbSimplexInterrupt += look


def require(status: highspy.HighsStatus, what: str) -> None:
    """Check the status of a call: HiGHS raises nothing and goes on after an error.

    Raises
    ------
    SolverCrash
        If the call failed.
    """
    import highspy

    if status == highspy.HighsStatus.kError:
        raise SolverCrash(f"HiGHS failed while {what}")


@contextmanager
def _stdout_closed() -> Iterator[None]:
    """Point descriptor 1 to the null device for a while; nothing to do if it is closed."""
    if sys.stdout is not None:
        sys.stdout.flush()
    try:
        saved = os.dup(_STDOUT)
    except OSError:
        yield
        return
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, _STDOUT)
    try:
        yield
    finally:
        os.dup2(saved, _STDOUT)
        os.close(saved)
        os.close(null)
