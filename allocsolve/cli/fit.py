"""``allocsolve fit``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allocsolve.cli import options
from allocsolve.cli.console import Console

if TYPE_CHECKING:
    from allocsolve.report.fit import FitReport

__all__ = ["fit"]


def fit(  # noqa: PLR0913, PLR0917  # one parameter for each option
    ctx: typer.Context,
    trace: Annotated[
        str, typer.Argument(metavar="TRACE", help="CSV or Parquet file; - is standard input.")
    ],
    column: Annotated[
        str | None,
        typer.Option("--column", metavar="NAME", help="Of the durations, or 'end - start'."),
    ] = None,
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="COLUMN=TEXT", help="Only such rows; may be repeated."),
    ] = None,
    family: Annotated[
        list[str] | None,
        typer.Option("--family", metavar="LAW", help="May be repeated (default: all that fit)."),
    ] = None,
    resamples: Annotated[
        str, typer.Option("--resamples", metavar="N", help="For the p-values; 0 for none.")
    ] = "199",
    seed: options.Seed = "0",
    plot: Annotated[
        str | None,
        typer.Option("--plot", metavar="FILE", help="Draw the fits: a .svg, .png or .html file."),
    ] = None,
    output: options.Target = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Fit runtime laws to measured durations and write them as JSON, the best first.

    Each law is fitted by maximum likelihood, ranked by BIC, and tested (Kolmogorov-Smirnov,
    Anderson-Darling; p-values by bootstrap). `option` in the document is what `--law` takes; for
    any law, also a mixture, it takes the document as @FILE.

    Example: allocsolve fit trace.csv --column duration
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli import inputs, values

    target, picture = inputs.output_path(output), None if plot is None else Path(plot)
    console.output.require(target)
    if picture is not None:
        values.choice("suffix of --plot", picture.suffix.lower(), (".svg", ".png", ".html"))
        console.output.require(picture)
    inputs.spare(target, trace, plot)
    inputs.spare(picture, trace)
    number, count = values.seed(seed), values.whole("--resamples", resamples, 0, 100_000)
    rows = values.settings(where, "--where")

    from allocsolve.api.fitting import fit as fit_laws
    from allocsolve.report.fit import encode_fit, fit_document

    report = fit_laws(
        trace, family or None, column=column, where=rows, seed=number, resamples=count
    )
    if picture is not None:
        from allocsolve.plots import fits

        console.emit(fits(report, form=picture.suffix.lower()[1:]), picture)
    console.emit(encode_fit(fit_document(report)), target)
    console.inform(_summary(report))
    return 0


def _summary(report: FitReport) -> str:
    rows = [
        f"{fit.law.name}: BIC {fit.bic:.6g}, mean {fit.law.mean():.6g}{_p_value(fit)}"
        for fit in report
    ]
    return "\n  ".join([f"{report.count} durations, mean {report.mean:.6g}", *rows[:4]])


def _p_value(fit: object) -> str:
    test = getattr(fit, "kolmogorov_smirnov", None)
    return "" if test is None or test.p_value is None else f", p {test.p_value:.3f}"
