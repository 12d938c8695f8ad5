"""Progress of a long run: lines, JSON lines, or one line that is written over."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from allocsolve.cli.values import choice

if TYPE_CHECKING:
    from allocsolve.api.progress import Progress

__all__ = ["Reporter", "json_line", "plain_line", "reporter"]

MODES = ("auto", "plain", "json", "none")


class Reporter:
    """Writes events to a stream in one form; an error of the stream ends the reports."""

    def __init__(self, stream: TextIO | None, write: Callable[[TextIO, Progress], None]) -> None:
        self._stream = stream
        self._write = write

    @property
    def active(self) -> bool:
        """Whether anything is written."""
        return self._stream is not None

    def __call__(self, progress: Progress) -> None:
        """Report an event."""
        if self._stream is None:
            return
        try:
            self._write(self._stream, progress)
            self._stream.flush()
        except (OSError, ValueError):
            self._stream = None

    def close(self) -> None:
        """End the line that was written over."""
        if self._stream is not None and self._write is _rewrite:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def reporter(mode: str, *, quiet: bool) -> Reporter:
    """Return what ``--progress MODE`` asks for.

    Raises
    ------
    UsageError
        If there is no such mode.
    """
    choice("--progress", mode, MODES)
    if mode == "json":
        return Reporter(sys.stderr, lambda stream, event: _line(stream, json_line(event)))
    if mode == "plain":
        return Reporter(sys.stderr, lambda stream, event: _line(stream, plain_line(event)))
    on_terminal = sys.stderr is not None and sys.stderr.isatty()
    if mode == "auto" and on_terminal and not quiet:
        return Reporter(sys.stderr, _rewrite)
    return Reporter(None, _rewrite)


def json_line(event: Progress) -> str:
    """Return an event as a JSON object on one line."""
    return json.dumps(
        {
            "type": event.type,
            "time": round(event.time, 3),
            "value": event.value,
            "bound": event.bound,
            "gap": event.gap,
            "source": event.source,
        }
    )


def plain_line(event: Progress) -> str:
    """Return an event as text: time, incumbent, bound, gap, source."""
    gap = "-" if event.gap is None else f"{event.gap:.2%}"
    return (
        f"{event.time:8.2f} s  {event.type:9}  incumbent {_shown(event.value):>10}  "
        f"bound {_shown(event.bound):>10}  gap {gap:>8}  {event.source}"
    )


def _shown(value: int | float | None) -> str:
    return "-" if value is None else f"{value:.10g}"


def _line(stream: TextIO, text: str) -> None:
    stream.write(text + "\n")


def _rewrite(stream: TextIO, event: Progress) -> None:
    stream.write("\r\x1b[K" + plain_line(event)[:110])
