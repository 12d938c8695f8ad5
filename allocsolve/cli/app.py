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
    "solve": "solve",
    "check": "judge",
    "bound": "judge",
    "convert": "transform",
    "export": "transform",
    "plot": "transform",
    "generate": "transform",
    "formats": "tables",
    "methods": "tables",
    "schema": "tables",
    "doctor": "doctor",
}
"""Each verb and the module of its function."""

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
    """Build the whole command line, with its options for completion if they are used."""
    completes = "_ALLOCSOLVE_COMPLETE" in os.environ
    return _build(list(_HOMES), completion=completes or "-completion" in "".join(words[:1]))


def _build(verbs: Sequence[str], *, completion: bool = False) -> Any:  # noqa: ANN401  # as above
    app = typer.Typer(
        name="allocsolve",
        help=_HELP,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        add_completion=completion,
    )
    for verb in verbs:
        app.command(verb)(_function(verb))
    return typer.main.get_command(app)


def _function(verb: str) -> Callable[..., int]:
    module = importlib.import_module(f"allocsolve.cli.{_HOMES[verb]}")
    function: Callable[..., int] = getattr(module, verb)
    return function


class _AsGiven:
    """Leaves a value as the parser found it."""

    def coerce(self, value: object, param: Any, ctx: object) -> object:  # noqa: ANN401, ARG002  # typer's protocol
        several = param.multiple or param.nargs == -1
        return () if value is None and several else value


def _take_values_as_given(one: Any) -> None:  # noqa: ANN401  # a command of typer
    """Keep typer from loading its type converter, which costs more than all of its parsing.

    Every value is a text, a flag or a count; :mod:`allocsolve.cli.values` reads the texts.
    """
    for parameter in (*one.params, one.get_help_option(typer.Context(one))):
        parameter.get_runtime_param = _AsGiven
