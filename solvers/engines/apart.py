"""Work that cannot be interrupted, in a thread that can be left behind.

Importing an engine, or its presolve, looks at no clock. Such work runs in a daemon thread, so
that the caller does not wait for it. An engine that still works while the interpreter is taken
down ends the process with an error: at its end a process waits a little for threads that were
left behind, or leaves with ``os._exit`` as the command line does.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

__all__ = ["GRACE", "leave_behind", "never", "run_apart"]

R = TypeVar("R")

_STEP = 0.05
"""Seconds between two questions whether to stop."""

GRACE = 0.25
"""Seconds that work may take to end by itself once it should stop."""


_PATIENCE = 5.0
"""Seconds that the end of a process waits for all threads that were left behind."""

_left: list[threading.Thread] = []
_registered = threading.Event()


def leave_behind(thread: threading.Thread) -> None:
    """Go on without a thread; only the end of the process waits for it, and not for long."""
    if not _registered.is_set():
        _registered.set()
        atexit.register(_wait_for_the_left)
    _left[:] = [other for other in _left if other.is_alive()]
    _left.append(thread)


def _wait_for_the_left() -> None:
    until = time.monotonic() + _PATIENCE
    for thread in _left:
        thread.join(max(0.0, until - time.monotonic()))


def never() -> bool:
    """Return False: nothing stops the work."""
    return False


def run_apart(
    work: Callable[[], R], stop: Callable[[], bool], name: str, grace: float = GRACE
) -> R | None:
    """Return what the work returns; None if it was left behind.

    Parameters
    ----------
    work
        Called in another thread; its errors are raised here.
    stop
        Asked again and again, by the caller's thread.
    grace
        Seconds that the work has left once ``stop`` says so.
    """
    job = _Job(work)
    thread = threading.Thread(target=job.run, name=name, daemon=True)
    thread.start()
    while not job.done.wait(_STEP):
        if stop():
            if not job.done.wait(grace):
                leave_behind(thread)
                return None
            break
    return job.result()


class _Job(Generic[R]):
    """Some work, and what came of it."""

    def __init__(self, work: Callable[[], R]) -> None:
        self.done = threading.Event()
        self._work = work
        self._results: list[R] = []
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do the work and keep its result or error for the thread that waits."""
        try:
            self._results.append(self._work())
        except BaseException as error:  # raised again by `result`
            self._error = error
        finally:
            self.done.set()

    def result(self) -> R:
        """Return the result, or raise what went wrong."""
        if self._error is not None:
            raise self._error
        return self._results[0]
