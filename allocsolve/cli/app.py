"""The verbs and their options; what a verb needs is imported when it runs."""

from __future__ import annotations

from typing import Any

import typer

from allocsolve.cli import doctor, judge, solve, tables, transform

__all__ = ["command"]

_HELP = """Resource allocation with proofs: an instance goes in, a checked answer comes out.

Every verb has --help with an example. Results are one JSON document on standard output."""


def command() -> Any:  # noqa: ANN401  # typer hides the type of its commands
    """Build the command line."""
    app = typer.Typer(
        name="allocsolve",
        help=_HELP,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        no_args_is_help=True,
    )
    app.callback()(_root)
    for verb in (
        solve.solve,
        judge.check,
        judge.bound,
        transform.convert,
        transform.export,
        transform.plot,
        transform.generate,
        tables.formats,
        tables.methods,
        tables.schema,
        doctor.doctor,
    ):
        app.command()(verb)
    return typer.main.get_command(app)


def _root(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", is_eager=True, help="Show the version."),
) -> None:
    if version:
        from allocsolve import __version__

        typer.echo(f"allocsolve {__version__}")
        raise typer.Exit
    assert ctx.obj is not None
