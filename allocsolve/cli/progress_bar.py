"""Progress of work whose amount is known: a bar, lines, or JSON lines."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any, TextIO

from allocsolve.cli.events import MODES
from allocsolve.cli.values import choice

if TYPE_CHECKING:
    from tqdm import tqdm

__all__ = ["ProgressBar", "json_line"]

_SMALLEST_STEP = 0.1
"""Seconds between two reports, at least."""


def json_line(share: float, seconds: float) -> str:
    """Return a report as a JSON object on one line."""
    return json.dumps({"type": "progress", "time": round(seconds, 3), "share": round(share, 6)})


class ProgressBar:
    """Reports the share that is done to standard error, in the form ``--progress MODE`` asks for.

    Parameters
    ----------
    mode
        ``auto`` (a bar on a terminal, else nothing), ``plain``, ``json`` or ``none``.
    label
        What is done.
    quiet
        Whether ``auto`` shows nothing.

    Raises
    ------
    UsageError
        If there is no such mode.
    """

    def __init__(self, mode: str, label: str, *, quiet: bool) -> None:
        choice("--progress", mode, MODES)
        self._stream: TextIO | None = sys.stderr
        on_terminal = sys.stderr is not None and sys.stderr.isatty()
        if mode == "none" or (mode == "auto" and (quiet or not on_terminal)):
            self._stream = None
        self._mode, self._label = mode, label
        self._began = time.monotonic()
        self._told = -1.0
        self._bar: tqdm[Any] | None = None

    @property
    def active(self) -> bool:
        """Whether anything is shown."""
        return self._stream is not None

    def __call__(self, share: float) -> None:
        """Report the share of the work that is done, 0 to 1."""
        seconds = time.monotonic() - self._began
        if self._stream is None or (share < 1 and seconds - self._told < _SMALLEST_STEP):
            return
        self._told = seconds
        try:
            self._show(self._stream, share, seconds)
            self._stream.flush()
        except (OSError, ValueError):  # standard error is closed
            self._stream = None

    def _show(self, stream: TextIO, share: float, seconds: float) -> None:
        if self._mode == "json":
            stream.write(json_line(share, seconds) + "\n")
        elif self._mode == "plain":
            stream.write(f"{seconds:8.2f} s  {self._label} {share:7.1%}\n")
        else:
            self._move(stream, share)

    def _move(self, stream: TextIO, share: float) -> None:
        if self._bar is None:
            from tqdm import tqdm

            form = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
            self._bar = tqdm(total=1.0, desc=self._label, file=stream, leave=False, bar_format=form)
        self._bar.update(max(0.0, share - self._bar.n))

    def close(self) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.close()
