"""``allocsolve convert``, ``export`` and ``generate``."""

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

__all__ = ["convert", "export", "generate"]

_SCHEDULE_SUFFIXES = {".csv": "csv", ".json": "chrome", ".trace": "chrome"}
_MODEL_SUFFIXES = {".mps": "mps", ".lp": "lp"}


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
    if to is None and path is not None:
        wanted = output_format(path, problem.kind)
    data, losses = to_bytes(problem, wanted, "" if path is None else path.suffix.lower())
    console.emit(data, path)
    console.warn([*problem.warnings, *losses])
    return 0


def export(  # noqa: PLR0913, PLR0917  # one parameter for each option
    ctx: typer.Context,
    instance: options.Instance,
    solution: Annotated[
        str | None,
        typer.Argument(metavar="[SOLUTION]", help="Solution document, to write its schedule."),
    ] = None,
    formulation: Annotated[
        str | None,
        typer.Option(
            "--formulation",
            metavar="NAME",
            help="Of a task graph: auto (default), disjunctive or time_indexed.",
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="FORM", help="csv, chrome, mps or lp (default: suffix)."),
    ] = None,
    format_name: options.Format = None,
    nodes: options.Nodes = None,
    index_base: options.IndexBase = None,
    output: options.Target = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Write a program as MPS or LP, or a schedule as CSV or Chrome trace.

    Without SOLUTION the instance (a task graph, or a coded job over its draws or a sample of 2000)
    is written as a program that any solver reads, without being solved; with SOLUTION its schedule
    is written (chrome://tracing, Perfetto).

    Example: allocsolve export j301_1.sm -o model.mps --formulation disjunctive
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli.inputs import output_path, read_program, spare

    target = output_path(output)
    form = _export_form(target, to, solution, formulation)
    console.output.require(target)
    spare(target, instance, solution, nodes)
    if solution is None:
        problem = read_program(instance, format_name, nodes, index_base)

        from allocsolve.api.formulations import model_bytes

        data: str | bytes = model_bytes(problem, form, formulation or "auto")
    else:
        problem, entries = _scheduled(instance, solution, format_name, nodes, index_base)

        from allocsolve.report.export import schedule_text

        data = schedule_text(problem, entries, form)
    console.emit(data, target)
    console.warn(problem.warnings)
    return 0


def _export_form(
    target: Path | None, to: str | None, solution: str | None, formulation: str | None
) -> str:
    from allocsolve.cli.values import choice
    from allocsolve.models.errors import UsageError

    if solution is not None and formulation is not None:
        raise UsageError("--formulation writes a program and takes no SOLUTION: leave one out")
    forms = _MODEL_SUFFIXES if solution is None else _SCHEDULE_SUFFIXES
    allowed = sorted(set(forms.values()))
    if to is not None:
        return choice("--to", to, allowed)
    if target is None:
        return "lp" if solution is None else "csv"
    form = forms.get(target.suffix.lower())
    if form is None:
        what = "a program; a schedule needs SOLUTION" if solution is None else "a schedule"
        raise UsageError(
            f"'{target.name}' names no form of {what}"
            f"\n  allowed: {', '.join(forms)}, or --to {'|'.join(allowed)}"
        )
    return form


def _scheduled(
    instance: str, solution: str, format_name: str | None, nodes: str | None, base: str | None
) -> tuple[DagProblem, Sequence[ScheduledTask]]:
    """Read an instance and the schedule of a solution document."""
    from allocsolve.cli.inputs import one_stdin, read_dag, read_document
    from allocsolve.models.errors import InputError

    one_stdin(instance, solution)
    problem = read_dag(instance, format_name, nodes, base)
    data = read_document(solution)

    from allocsolve.report.results import read_solution

    label = "<stdin>" if solution == "-" else solution
    try:
        claim = read_solution(data, problem)
    except InputError as error:
        raise error.located(label) from None
    if claim.answer is None:
        raise InputError(
            "the document holds no schedule", allowed="a document with a schedule", source=label
        )
    return problem, claim.answer


def generate(
    ctx: typer.Context,
    family: Annotated[str, typer.Argument(metavar="KIND", help="Family of instances, see below.")],
    tasks: Annotated[
        str,
        typer.Option("--tasks", metavar="N", help="Number of tasks (coded: nodes; fair: jobs)."),
    ] = "30",
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

    Kinds: rcpsp, multimode, lags, jobshop, flexible, communication, layered, fork, join,
    fork_join, series_parallel, out_tree, in_tree, stencil, lu, cholesky, mapreduce, pipeline;
    coded (--tasks counts nodes): two_types, mixed_rates, bimodal, heavy_tails, weibull, rented,
    racks, gradient, elastic; fair (--tasks counts jobs): cluster, kinds, deadlines.

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
    from allocsolve.instances.generators.families import draw_family

    wanted = to or ("native" if target is None else output_format(target))
    problem = draw_family(family, count, number, **table)
    data, losses = to_bytes(problem, wanted)
    console.emit(data, target)
    console.warn(losses)
    return 0
