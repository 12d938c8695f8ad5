"""The command line ``allocsolve VERB ...``."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    The clock starts and the signals are caught before anything else is imported.
    """
    import sys
    import time

    started = time.monotonic()
    from allocsolve.cli.interrupts import Interrupts

    interrupts = Interrupts()
    interrupts.install()
    words = list(sys.argv[1:] if arguments is None else arguments)
    if words[:1] == ["solve"]:
        interrupts.defer()
    from allocsolve.cli.process import run

    return run(words, started, interrupts)
