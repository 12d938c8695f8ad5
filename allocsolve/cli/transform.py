"""``allocsolve convert``, ``export``, ``plot`` and ``generate``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allocsolve.cli import options
from allocsolve.cli.console import Console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allocsolve.models.dag.answer import ScheduledTask
    from allocsolve.models.dag.problem import DagProblem

__all__ = ["convert", "export", "generate", "plot"]

_EXPORT_SUFFIXES = {".csv": "csv", ".json": "chrome", ".trace": "chrome"}


def convert(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="IN", help="Instance; - is standard input.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="File; - is standard output.")],
    to: Annotated[
        str | None, typer.Option("--to", metavar="NAME", help="Format of OUT (default: suffix).")
    ] = None,
    format_name: options.Format = None,
    nodes: options.Nodes = None,
    index_base: options.IndexBase = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Convert an instance to another format and tell what that format cannot hold.

    Example: allocsolve convert j301_1.sm j301_1.json
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli.inputs import output_path, read_instance

    path = output_path(target)
    console.output.require(path)

    from allocsolve.api.files import output_format, to_bytes

    wanted = to or ("native" if path is None else output_format(path))
    problem = read_instance(source, format_name, nodes, index_base)
    data, losses = to_bytes(problem, wanted)
    console.emit(data, path)
    console.warn([*problem.warnings, *losses])
    return 0


def export(
    ctx: typer.Context,
    instance: options.Instance,
    solution: options.Solution,
    to: Annotated[
        str | None, typer.Option("--to", metavar="FORM", help="csv or chrome (default: suffix).")
    ] = None,
    format_name: options.Format = None,
    nodes: options.Nodes = None,
    index_base: options.IndexBase = None,
    output: options.Target = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Write a schedule as CSV or as a Chrome trace (chrome://tracing, Perfetto).

    Example: allocsolve export j301_1.sm plan.json -o plan.csv
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli.inputs import output_path, spare

    target = output_path(output)
    form = _export_form(target, to)
    console.output.require(target)
    spare(target, instance, solution, nodes)
    problem, entries = _scheduled(instance, solution, format_name, nodes, index_base)

    from allocsolve.report.export import schedule_text

    console.emit(schedule_text(problem, entries, form), target)
    console.warn(problem.warnings)
    return 0


def _export_form(target: Path | None, to: str | None) -> str:
    from allocsolve.cli.values import choice
    from allocsolve.models.errors import UsageError

    if to is not None:
        return choice("--to", to, ("csv", "chrome"))
    if target is None:
        return "csv"
    form = _EXPORT_SUFFIXES.get(target.suffix.lower())
    if form is None:
        raise UsageError(
            f"'{target.name}' names no form of a schedule"
            "\n  allowed: .csv (table), .json or .trace (Chrome trace), or --to csv|chrome"
        )
    return form


def _scheduled(
    instance: str, solution: str, format_name: str | None, nodes: str | None, base: str | None
) -> tuple[DagProblem, Sequence[ScheduledTask]]:
    """Read an instance and the schedule of a solution document."""
    from allocsolve.cli.inputs import one_stdin, read_document, read_instance
    from allocsolve.models.errors import InputError

    one_stdin(instance, solution)
    problem = read_instance(instance, format_name, nodes, base)
    data = read_document(solution)

    from allocsolve.report.results import read_solution

    label = "<stdin>" if solution == "-" else solution
    try:
        claim = read_solution(data, problem)
    except InputError as error:
        raise error.located(label) from None
    if claim.entries is None:
        raise InputError(
            "the document holds no schedule", allowed="a document with a schedule", source=label
        )
    return problem, claim.entries


def plot(
    ctx: typer.Context,
    instance: options.Instance,
    solution: options.Solution,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="A .svg, .png or .html file.")
    ],
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Title (default: the name).")
    ] = None,
    format_name: options.Format = None,
    nodes: options.Nodes = None,
    index_base: options.IndexBase = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Draw the Gantt chart of a schedule (needs the extra `plot`).

    Example: allocsolve plot j301_1.sm plan.json -o plan.svg
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli import values
    from allocsolve.cli.inputs import spare

    target = Path(output)
    form = values.choice("suffix of -o", target.suffix.lower(), (".svg", ".png", ".html"))
    console.output.require(target)
    spare(target, instance, solution, nodes)
    problem, entries = _scheduled(instance, solution, format_name, nodes, index_base)

    from allocsolve.plots import gantt

    console.emit(gantt(problem, entries, form=form[1:], title=title), target)
    console.warn(problem.warnings)
    return 0


def generate(
    ctx: typer.Context,
    family: Annotated[str, typer.Argument(metavar="KIND", help="Family of instances, see below.")],
    tasks: Annotated[str, typer.Option("--tasks", metavar="N", help="Number of tasks.")] = "30",
    seed: options.Seed = "0",
    settings: options.Settings = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="NAME", help="Format (default: suffix).")
    ] = None,
    output: options.Target = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Write a random instance; the same seed gives the same instance.

    Kinds: rcpsp, multimode, lags, jobshop, flexible, communication.

    Example: allocsolve generate rcpsp --tasks 30 --seed 1 -o random.json
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli import values
    from allocsolve.cli.inputs import output_path

    number, count = values.seed(seed), values.whole("--tasks", tasks, 0, 1_000_000)
    table = values.settings(settings)
    target = output_path(output)
    console.output.require(target)

    from allocsolve.api.files import output_format, to_bytes
    from allocsolve.instances.generators.dag import generate as draw

    wanted = to or ("native" if target is None else output_format(target))
    problem = draw(family, tasks=count, seed=number, **table)
    data, losses = to_bytes(problem, wanted)
    console.emit(data, target)
    console.warn(losses)
    return 0
