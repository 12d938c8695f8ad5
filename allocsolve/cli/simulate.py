"""``allocsolve simulate``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from allocsolve.cli import options
from allocsolve.cli.console import Console, tell

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem
    from allocsolve.models.execution.outcome import Simulation

__all__ = ["named", "replayed", "simulate", "summary"]

_STARTS = ("eager", "planned")
_DTYPES = ("float64", "float32")


def simulate(  # noqa: PLR0913, PLR0917  # one parameter for each option of the contract
    ctx: typer.Context,
    instance: options.Instance,
    solutions: options.Solutions,
    law: options.Law = None,
    law_file: options.LawFile = None,
    link_law: options.LinkLaw = None,
    quantile: options.Quantiles = None,
    deadline: options.Deadline = None,
    replications: options.Replications = None,
    precision: Annotated[
        str | None,
        typer.Option("--precision", metavar="P", help="Stop when the mean is known to 1% or 0.01."),
    ] = None,
    seed: options.Seed = "0",
    threads: options.Threads = None,
    starts: options.Starts = "eager",
    policy: options.Policies = None,
    dtype: Annotated[
        str, typer.Option("--dtype", metavar="TYPE", help="float64, or float32 for kind dag.")
    ] = "float64",
    samples: Annotated[
        bool, typer.Option("--samples", help="Put every sample into the document.")
    ] = False,
    progress: Annotated[
        str, typer.Option("--progress", metavar="HOW", help="auto, plain, json or none.")
    ] = "auto",
    format_name: options.Format = None,
    nodes: options.Nodes = None,
    index_base: options.IndexBase = None,
    output: options.Target = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Replay solutions on nodes that straggle, fail and talk; write one JSON document.

    A solution that the checker rejects is not simulated (exit 6). Several solutions, or several
    policies, see the same random numbers and are compared in pairs.

    Example: allocsolve simulate j301_1.sm plan.json --law gamma:shape=4,scale=0.25 --deadline 60
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli import inputs, values
    from allocsolve.cli.laws import law_files, law_option
    from allocsolve.cli.progress_bar import ProgressBar

    inputs.one_stdin(instance, *solutions, law_file)
    target = inputs.output_path(output)
    console.output.require(target)
    inputs.spare(target, instance, nodes, *solutions, law_file, *law_files(law, link_law))
    bar = ProgressBar(progress, "simulating", quiet=quiet)
    wanted: dict[str, Any] = {
        "replications": values.replications(replications),
        "precision": None if precision is None else values.ratio("--precision", precision),
        "seed": values.seed(seed),
        "quantiles": values.probabilities("--quantile", quantile),
        "deadline": None if deadline is None else values.number("--deadline", deadline),
        "threads": values.threads(threads),
        "law": law_option(law, law_file),
        "link_law": law_option(link_law, None),
        "starts": values.choice("--starts", starts, _STARTS),
        "policy": policy or None,
        "dtype": values.choice("--dtype", dtype, _DTYPES),
        "keep_samples": samples,
        "on_progress": bar if bar.active else None,
        "on_phase": tell if console.verbosity > 0 or (bar.active and not quiet) else None,
    }
    problem = inputs.read_instance(instance, format_name, nodes, index_base)
    try:
        answers = [inputs.read_answer(problem, name) for name in solutions]
        found = replayed(console, problem, named(solutions), answers, wanted)
    finally:
        bar.close()
    return _deliver(console, found, target)


def replayed(
    console: Console,
    problem: Problem,
    names: list[str],
    answers: Sequence[bytes],
    wanted: dict[str, Any],
) -> tuple[Simulation, ...]:
    """Check and replay until a signal; without a single replication it ends the process."""
    from allocsolve.api.simulating import Cancelled
    from allocsolve.api.simulating import simulate as replay
    from allocsolve.cli.interrupts import Interrupted
    from allocsolve.solvers.control import Token

    token = Token()
    console.interrupts.attach(token.cancel)
    try:
        found = replay(problem, *answers, names=names, token=token, **wanted)
    except Cancelled:
        raise Interrupted from None
    return found if isinstance(found, tuple) else (found,)


def named(solutions: list[str]) -> list[str]:
    """Return a short name for each file, different from the others."""
    stems = ["stdin" if name == "-" else Path(name).name.partition(".")[0] for name in solutions]
    if len(set(stems)) == len(stems):
        return stems
    if len(set(solutions)) == len(solutions):
        return list(solutions)
    return [f"{stem} #{k + 1}" for k, stem in enumerate(stems)]


def _deliver(console: Console, found: tuple[Simulation, ...], target: Path | None) -> int:
    from allocsolve.report.simulation import encode_simulation, simulation_document

    console.emit(encode_simulation(simulation_document(found)), target)
    console.warn(dict.fromkeys(warning for one in found for warning in one.warnings))
    for one in found:
        console.inform(summary(one))
    for line in compared(found):
        console.inform(line)
    if console.interrupts.exit_code is not None:
        tell("interrupted: the document holds what was drawn until then")
    return console.interrupts.exit_code or 0


def summary(of: Simulation) -> str:
    """Say in one line what a simulation found."""
    how = "exact" if of.replications is None else f"{of.replications} replications"
    facts = ["mean infinite" if of.infinite else f"mean {of.mean:.6g}"]
    facts += [f"q{q:g} {value:.6g}" for q, value in of.quantiles.items()]
    if of.deadline_probability is not None:
        facts.append(f"P(T <= {of.deadline:g}) = {of.deadline_probability:.4f}")
    return f"{of.name}: {', '.join(facts)} ({how})"


def compared(found: Sequence[Simulation]) -> list[str]:
    """Say of each pair of plans how they differ: the first minus the second."""
    return [
        f"{pair.first} - {pair.second}: mean {_signed(pair.mean_difference)}"
        f"{_within(pair.ci)}, {pair.first} is better with probability "
        f"{pair.probability_first_better:.4f}"
        for pair in found[0].comparison or ()
    ]


def _signed(value: float | None) -> str:
    return "unknown" if value is None else f"{value:+.6g}"


def _within(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f" ({ends[0]:+.6g} to {ends[1]:+.6g})"
