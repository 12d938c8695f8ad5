"""What every verb needs: the clock, the output, the signals, and a voice on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from allocsolve.cli.interrupts import Interrupts
from allocsolve.cli.output import Output

__all__ = ["Console", "tell"]

_LONGEST_ERROR = 5


def tell(text: str) -> None:
    """Write a message of at most five lines to standard error."""
    lines = text.splitlines() or [""]
    if len(lines) > _LONGEST_ERROR:
        lines = [*lines[: _LONGEST_ERROR - 1], f"  ... and {len(lines) - _LONGEST_ERROR + 1} more"]
    try:
        sys.stderr.write(f"allocsolve: {chr(10).join(lines)}\n")
        sys.stderr.flush()
    except (AttributeError, OSError, ValueError):  # standard error is closed
        return


class Console:
    """The surroundings of a verb.

    Attributes
    ----------
    started
        Reading of :func:`time.monotonic` when the process began to work.
    verbosity
        -1 errors only, 0 warnings too, 1 and more also what goes on.
    """

    def __init__(self, started: float, output: Output, interrupts: Interrupts) -> None:
        self.started = started
        self.output = output
        self.interrupts = interrupts
        self.verbosity = 0

    def begin(self, verbose: int = 0, *, quiet: bool = False) -> None:
        """Start the work of a verb: from now on nothing reaches standard output unasked."""
        self.verbosity = -1 if quiet else verbose
        self.output.hide_text()

    def warn(self, warnings: Iterable[str]) -> None:
        """Show warnings, unless told to be quiet."""
        if self.verbosity >= 0:
            for warning in warnings:
                tell(f"warning: {warning}")

    def inform(self, text: str) -> None:
        """Say what goes on, if asked to be verbose."""
        if self.verbosity > 0:
            tell(text)

    def emit(self, data: bytes | str, target: Path | None = None) -> None:
        """Write the document of the verb to a file or to standard output."""
        self.output.emit(data.encode() if isinstance(data, str) else data, target)
