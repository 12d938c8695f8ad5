"""The frame of every call: parse, run the verb, and map each exception to its exit code."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence

from allocsolve.cli.console import Console, tell
from allocsolve.cli.interrupts import Interrupted, Interrupts
from allocsolve.cli.output import Output, OutputError

__all__ = ["run"]

_INTERNAL_ERROR = 1
_USAGE_ERROR = 2


def run(words: Sequence[str], started: float, interrupts: Interrupts) -> int:
    """Run a verb and return the exit code; leave at once if a solver thread still works."""
    console = Console(started, Output(), interrupts)
    code = _guarded(words, console)
    _flush()
    if interrupts.number is not None or threading.active_count() > 1:
        os._exit(code)
    return code


def _guarded(words: Sequence[str], console: Console) -> int:
    try:
        return _dispatch(words, console)
    except OutputError as error:
        tell(str(error))
        return error.exit_code
    except (Interrupted, KeyboardInterrupt):
        console.interrupts.settle()
        tell("interrupted")
        return console.interrupts.exit_code or 130
    except RecursionError as error:
        return _internal(error, console)
    except MemoryError:
        tell("out of memory")
        return _INTERNAL_ERROR
    except Exception as error:  # the last frame: everything becomes an exit code
        return _exit_code(error, console)


def _dispatch(words: Sequence[str], console: Console) -> int:
    if list(words) == ["--version"]:
        return _version(console)

    from typer.exceptions import TyperException

    from allocsolve.cli.app import VERBS, call

    if not words and "_ALLOCSOLVE_COMPLETE" not in os.environ:
        tell(f"a verb is missing\n  allowed: {', '.join(VERBS)}\n  remedy: see 'allocsolve --help'")
        return _USAGE_ERROR
    console.output.show_text()
    try:
        done = call(words, console)
    except TyperException as error:
        tell(_explained(error))
        return _USAGE_ERROR
    finally:
        console.output.hide_text()
    return done if isinstance(done, int) else 0


def _version(console: Console) -> int:
    from allocsolve import __version__

    console.emit(f"allocsolve {__version__}\n")
    return 0


def _explained(error: Exception) -> str:
    message = getattr(error, "message", "") or str(error)
    context = getattr(error, "ctx", None)
    format_message = getattr(error, "format_message", None)
    if format_message is not None:
        message = format_message() or message
    if context is None:
        return str(message)
    return f"{message}\n  remedy: see '{context.command_path} --help'"


def _exit_code(error: Exception, console: Console) -> int:
    from allocsolve.models.errors import AllocsolveError, SolverCrash

    if isinstance(error, AllocsolveError) and not isinstance(error, SolverCrash):
        tell(str(error))
        return error.exit_code
    return _internal(error, console)


def _internal(error: Exception, console: Console) -> int:
    if console.verbosity > 0:
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    tell(
        f"internal error: {type(error).__name__}: {str(error)[:200]}"
        "\n  remedy: please report it with the instance; -v shows where it happened"
    )
    return _INTERNAL_ERROR


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            continue
