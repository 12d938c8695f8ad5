"""The verbs; a call loads its own verb only, and what that verb needs when it runs."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Sequence
from typing import Any

import typer

__all__ = ["VERBS", "call", "command"]

_HELP = """Resource allocation with proofs: an instance goes in, a checked answer comes out.

Every verb has --help with an example. Results are one JSON document on standard output.
`allocsolve --version` shows the version,
`allocsolve --install-completion` completes verbs and options in the shell."""

_HOMES = {
    "solve": ("solve", "Solve an instance and write one JSON document."),
    "check": ("judge", "Judge a solution by every rule of its instance."),
    "simulate": ("simulate", "Replay solutions on nodes that straggle, fail and talk."),
    "fit": ("fit", "Fit runtime laws to measured durations."),
    "bound": ("judge", "Give bounds with their source, without searching for answers."),
    "convert": ("transform", "Convert an instance to another format."),
    "export": ("transform", "Write a program as MPS or LP, or a schedule as CSV or Chrome trace."),
    "plot": ("plot", "Draw a schedule, loads, shares, or the distribution of completion times."),
    "generate": ("transform", "Write a random instance."),
    "formats": ("tables", "List the instance formats."),
    "methods": ("tables", "List the methods of `solve`."),
    "schema": ("tables", "Print the JSON Schema of a document."),
    "doctor": ("doctor", "Tell what is installed."),
}
"""Each verb, the module of its function, and what the list of verbs says about it."""

VERBS = tuple(_HOMES)
"""The verbs in the order of the help."""


def call(words: Sequence[str], obj: object) -> object:
    """Parse the words that follow ``allocsolve`` and run the verb; return what it returns."""
    if words and words[0] in _HOMES:
        one, name = _build([words[0]]), f"allocsolve {words[0]}"
        _take_values_as_given(one)
        return one.main(args=list(words[1:]), prog_name=name, standalone_mode=False, obj=obj)
    return command(words).main(
        args=list(words), prog_name="allocsolve", standalone_mode=False, obj=obj
    )


def command(words: Sequence[str] = ()) -> Any:  # noqa: ANN401  # typer hides the type of its commands
    """Build the whole command line, with its options for completion if they are used.

    Only completion looks into the verbs; for the list of verbs their names are enough.
    """
    completes = "_ALLOCSOLVE_COMPLETE" in os.environ or "-completion" in "".join(words[:1])
    return _build(VERBS, completion=completes, names_only=not completes)


def _build(verbs: Sequence[str], *, completion: bool = False, names_only: bool = False) -> Any:  # noqa: ANN401  # as above
    app = typer.Typer(
        name="allocsolve",
        help=_HELP,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=completion,
    )
    for verb in verbs:
        if names_only:
            app.command(verb, help=_HOMES[verb][1])(_nothing)
        else:
            app.command(verb)(_function(verb))
    return typer.main.get_command(app)


def _nothing() -> None:
    """Stand for a verb in the list of verbs."""


def _function(verb: str) -> Callable[..., int]:
    module = importlib.import_module(f"allocsolve.cli.{_HOMES[verb][0]}")
    function: Callable[..., int] = getattr(module, verb)
    return function


class _AsGiven:
    """Leaves a value as the parser found it."""

    def coerce(self, value: object, param: Any, ctx: object) -> object:  # noqa: ANN401, ARG002  # typer's protocol
        """Return the value; no value of an option that may be repeated is an empty list."""
        several = param.multiple or param.nargs == -1
        return () if value is None and several else value


def _take_values_as_given(one: Any) -> None:  # noqa: ANN401  # a command of typer
    """Keep typer from loading its type converter, which costs more than all of its parsing.

    Every value is a text, a flag or a count; :mod:`allocsolve.cli.values` reads the texts.
    """
    for parameter in (*one.params, one.get_help_option(typer.Context(one))):
        parameter.get_runtime_param = _AsGiven
