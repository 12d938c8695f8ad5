"""SIGINT and SIGTERM: the first one ends the run and keeps its answer, the second one exits."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["Interrupted", "Interrupts"]

_PATIENCE = 0.7
"""Seconds after which reading is given up; an interrupt is answered within a second."""

_AGAIN = 0.2
"""Seconds until an interrupt is raised again: a destructor or callback may swallow it."""


_ECHO = 0.1
"""Seconds within which the same signal counts once: ``timeout`` and job control send one to
the process and one to its group."""


class Interrupted(BaseException):
    """A signal came while there was no run whose answer could be kept."""


class Interrupts:
    """What became of the signals of this process.

    Attributes
    ----------
    number
        The signal that came first, None if none came.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._came = 0.0
        self._deferred = False
        self._cancel: Callable[[], None] | None = None

    def install(self) -> None:
        """Catch both signals; without a main thread, or where they are ignored, do nothing."""
        for number in (signal.SIGINT, signal.SIGTERM):
            try:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    signal.signal(number, self._handle)
            except ValueError:
                return
        self._report = sys.unraisablehook
        sys.unraisablehook = self._keep_silent

    def _keep_silent(self, event: UnraisableHookArgs) -> None:
        """Say nothing of an interrupt that was swallowed: it comes again."""
        if event.exc_type is not Interrupted:
            self._report(event)

    @property
    def exit_code(self) -> int | None:
        """128 + the signal that came, None if none came."""
        return None if self.number is None else 128 + self.number

    def defer(self) -> None:
        """From now on a signal waits for :meth:`attach`, but not for long."""
        self._deferred = True

    def attach(self, cancel: Callable[[], None]) -> None:
        """From now on the first signal calls ``cancel``; at once if it has come already."""
        self._set_alarm(0)
        self._cancel = cancel
        if self.number is not None:
            cancel()

    def settle(self) -> None:
        """Raise no more: the interrupt has arrived where it ends the process."""
        self._set_alarm(0)

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self.number is not None:
            if number == self.number and time.monotonic() - self._came < _ECHO:
                return
            os._exit(128 + number)
        self.number, self._came = number, time.monotonic()
        if self._cancel is not None:
            self._cancel()
        elif self._deferred:
            self._set_alarm(_PATIENCE)
        else:
            self._set_alarm(_AGAIN)
            raise Interrupted

    def _set_alarm(self, seconds: float) -> None:
        if hasattr(signal, "setitimer"):
            if seconds:
                signal.signal(signal.SIGALRM, self._give_up)
            signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN if seconds else 0)

    @staticmethod
    def _give_up(_: int, __: FrameType | None) -> None:
        raise Interrupted
