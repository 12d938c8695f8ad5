"""``allocsolve check`` and ``allocsolve bound``."""

from __future__ import annotations

from typing import Annotated

import typer

from allocsolve.cli import options, values
from allocsolve.cli.console import Console, tell

__all__ = ["bound", "check"]

_VALUE = {"dag": "makespan"}
"""What the value of an answer is called, where it has one name."""


def check(
    ctx: typer.Context,
    instance: options.Instance,
    solution: options.Solution,
    format_name: options.Format = None,
    nodes: options.Nodes = None,
    index_base: options.IndexBase = None,
    output: options.Target = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Judge a solution by every rule of its instance; exit 0 if it is right, else 6.

    The outcome is a JSON document; each broken rule is also told on standard error.

    Example: allocsolve check j301_1.sm plan.json
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli.inputs import (
        one_stdin,
        output_path,
        read_document,
        read_instance,
        spare,
    )

    one_stdin(instance, solution)
    target = output_path(output)
    console.output.require(target)
    spare(target, instance, solution, nodes)
    problem = read_instance(instance, format_name, nodes, index_base)
    data = read_document(solution)

    from allocsolve.api.judging import check as judge
    from allocsolve.models.errors import InputError
    from allocsolve.report.checks import check_document, encode_check

    try:
        report = judge(problem, data)
    except InputError as error:
        raise error.located("<stdin>" if solution == "-" else solution) from None
    console.emit(encode_check(check_document(problem, report)), target)
    console.warn(report.warnings)
    for violation in report.violations:
        tell(f"{violation.rule}: {violation.message}")
    console.inform(_summary(report.valid, problem.kind, report.value))
    return 0 if report.valid else 6


def _summary(valid: bool, kind: str, value: float | None) -> str:
    if not valid:
        return "not valid"
    if value is None:
        return "nothing contradicts the claim"
    return f"valid, {_VALUE.get(kind, 'value')} {value}"


def bound(  # noqa: PLR0913, PLR0917  # one parameter for each option
    ctx: typer.Context,
    instance: options.Instance,
    objective: Annotated[
        str | None,
        typer.Option("--objective", metavar="O", help="What is bounded (default: by kind)."),
    ] = None,
    time_limit: str = typer.Option(
        "60s", "--time-limit", metavar="T", help="For bounds that need an engine; 0 for none."
    ),
    settings: options.Settings = None,
    format_name: options.Format = None,
    nodes: options.Nodes = None,
    index_base: options.IndexBase = None,
    output: options.Target = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Give bounds with their source, without searching for answers.

    Exit 0, or 3 if the instance is proven to have no answer. Where no bound is known, the list
    is empty, and why is told on standard error. --set takes what the objective leaves open, such
    as q=0.9 or deadline=3.

    Example: allocsolve bound j301_1.sm
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli.inputs import output_path, read_instance, spare

    target = output_path(output)
    console.output.require(target)
    spare(target, instance, nodes)
    problem = read_instance(instance, format_name, nodes, index_base)

    from allocsolve.api.bounding import bound as find_bounds
    from allocsolve.report.bounds import encode_bounds

    seconds = values.duration("--time-limit", time_limit)
    wanted = values.settings(settings)
    report = find_bounds(problem, objective, time_limit=seconds, options=wanted)
    console.emit(encode_bounds(report), target)
    console.warn(problem.warnings)
    if report.explanation and console.verbosity >= 0:
        tell(report.explanation)
    return 3 if report.reason is not None else 0
