"""``allocsolve solve``."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer

from allocsolve.cli import options
from allocsolve.cli.console import Console, tell
from allocsolve.cli.output import OutputError

if TYPE_CHECKING:
    from allocsolve.api.progress import Progress
    from allocsolve.instances.kinds import Problem
    from allocsolve.models.result import Result
    from allocsolve.solvers.dag.robust import RobustRequest

__all__ = ["Voice", "solve", "summary"]

_EXIT_CODES = {"OPTIMAL": 0, "FEASIBLE": 0, "INFEASIBLE": 3, "UNKNOWN": 5, "ERROR": 1}


def solve(  # noqa: PLR0913, PLR0917  # one parameter for each option of the contract
    ctx: typer.Context,
    instance: options.Instance,
    method: Annotated[
        str, typer.Option("--method", metavar="M", help="See `allocsolve methods`.")
    ] = "auto",
    objective: Annotated[
        str | None,
        typer.Option("--objective", metavar="O", help="What to optimise (default: by kind)."),
    ] = None,
    time_limit: Annotated[
        str,
        typer.Option("--time-limit", metavar="TIME", help="30s, 500ms, 2m, seconds, 0 or none."),
    ] = "60s",
    gap: Annotated[
        str, typer.Option("--gap", metavar="GAP", help="Good enough: 1% or 0.01.")
    ] = "0",
    threads: Annotated[
        str | None,
        typer.Option("--threads", metavar="N", help="Threads (default: physical cores)."),
    ] = None,
    seed: options.Seed = "0",
    warm_start: Annotated[
        str | None,
        typer.Option("--warm-start", metavar="SOLUTION", help="An earlier answer to start from."),
    ] = None,
    progress: Annotated[
        str, typer.Option("--progress", metavar="HOW", help="auto, plain, json or none.")
    ] = "auto",
    log: Annotated[
        str | None, typer.Option("--log", metavar="FILE", help="Write every event to a file.")
    ] = None,
    robust: Annotated[
        str | None,
        typer.Option("--robust", metavar="q=Q", help="Choose by a quantile on drawn nodes."),
    ] = None,
    law: options.Law = None,
    law_file: options.LawFile = None,
    settings: options.Settings = None,
    format_name: options.Format = None,
    nodes: options.Nodes = None,
    index_base: options.IndexBase = None,
    output: options.Target = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Solve an instance and write one JSON document.

    With --robust q=0.95 the schedule is not the one that is shortest as planned, but the one
    whose makespan has the least 0.95 quantile on nodes drawn from --law, or from their own.

    Example: allocsolve solve j301_1.sm --time-limit 30s -o plan.json
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli import inputs, values

    inputs.one_stdin(instance, warm_start)
    wanted: dict[str, Any] = {
        "method": method,
        "objective": objective,
        "time_limit": values.duration("--time-limit", time_limit),
        "gap": values.ratio("--gap", gap),
        "threads": values.threads(threads),
        "seed": values.seed(seed),
        "options": values.settings(settings),
        "robust": _robust(robust, law, law_file),
    }
    target = inputs.output_path(output)
    console.output.require(target)
    log_file = Path(log) if log else None
    inputs.spare(target, instance, nodes, log, *_law_files(law))
    inputs.spare(log_file, instance, nodes, warm_start)
    with Voice(console, progress, log_file) as voice:
        began = time.monotonic()
        problem = inputs.read_instance(instance, format_name, nodes, index_base)
        wanted |= {"started": console.started, "elapsed": {"read": time.monotonic() - began}}
        result = _run(console, problem, wanted, voice, warm_start)
        voice.conclude(result)
    code = _deliver(console, result, target)
    voice.confirm()
    return code


def _law_files(law: str | None) -> list[str]:
    """Return the documents that ``--law`` names; nothing is loaded if it is not there."""
    if law is None:
        return []
    from allocsolve.cli.laws import law_files

    return law_files(law)


def _robust(robust: str | None, law: str | None, law_file: str | None) -> RobustRequest | None:
    """Return what ``--robust`` asks for; nothing is loaded if it is not there."""
    if robust is None and law is None and law_file is None:
        return None
    from allocsolve.api.robust import robust_request
    from allocsolve.cli.laws import law_option

    return robust_request(robust, law_option(law, law_file))


def _run(
    console: Console,
    problem: Problem,
    wanted: dict[str, Any],
    voice: Voice,
    warm_start: str | None,
) -> Result[object]:
    from allocsolve.api.request import Request
    from allocsolve.api.solving import Callbacks, run
    from allocsolve.cli.inputs import read_document
    from allocsolve.models.errors import InputError
    from allocsolve.solvers.control import Token

    token = Token()
    start = None if warm_start is None else read_document(warm_start)
    console.interrupts.attach(token.cancel)
    callbacks = Callbacks(on_event=voice.listener, token=token)
    try:
        return run(problem, Request(**wanted), callbacks, start)
    except InputError as error:
        raise error.located(warm_start or "") from None


def _deliver(console: Console, result: Result[object], target: Path | None) -> int:
    from allocsolve.report.documents import result_bytes

    console.emit(result_bytes(result), target)
    console.warn(result.warnings)
    console.inform(summary(result))
    for line in robust_lines(result):
        console.inform(line)
    if result.certificate.reason is not None and console.verbosity >= 0:
        tell(result.certificate.reason.sentence())
    return console.interrupts.exit_code or _EXIT_CODES[result.status.value]


def summary(result: Result[object]) -> str:
    """Say in one line how a run ended."""
    objective = result.objective
    known = {objective.name: objective.known, "bound": objective.bound}
    facts = [f"{name} {value}" for name, value in known.items() if value is not None]
    facts.append(f"{result.timing.get('total', 0.0):.2f} s")
    return f"{result.status} ({result.termination}): {', '.join(facts)}"


def robust_lines(result: Result[object]) -> list[str]:
    """Say what a robust choice gains and costs, nothing if there was none."""
    robust = getattr(result, "robust", None)
    if robust is None:
        return []
    chosen, nominal = robust.chosen, robust.nominal
    gain = "unknown" if robust.gain is None else f"{robust.gain:.2%}"
    return [
        f"robust: q{robust.quantile:g} {chosen.value:.6g} of the chosen schedule, "
        f"{nominal.value:.6g} of the nominal one; gain {gain}, price {robust.price:.2%}"
    ]


class Voice:
    """Where events go: to standard error as ``--progress`` asks, and to the log."""

    def __init__(self, console: Console, progress: str, log: Path | None) -> None:
        from allocsolve.cli.events import reporter

        self._reporter = reporter(progress, quiet=console.verbosity < 0)
        self._log = log
        self._file: TextIO | None = None
        self._failure: OutputError | None = None

    def __enter__(self) -> Voice:
        if self._log is not None:
            try:
                self._file = self._log.open("w", encoding="utf-8", errors="backslashreplace")
            except OSError as error:
                raise OutputError(f"{self._log}: {error.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        self._reporter.close()
        self._end_log()

    def _end_log(self) -> None:
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close()
        except OSError as error:
            self._lose_log(error)

    def _lose_log(self, error: OSError) -> None:
        """Remember the first failure: a log that cannot be written costs no answer."""
        if self._failure is None:
            self._failure = OutputError(f"{self._log}: {error.strerror}")
        self._end_log()

    @property
    def listener(self) -> Callable[[Progress], None] | None:
        """The function to call with events, None if nobody listens."""
        return self._hear if self._reporter.active or self._file is not None else None

    def _hear(self, event: Progress) -> None:
        from allocsolve.cli.events import plain_line

        self._reporter(event)
        self._write(plain_line(event))

    def confirm(self) -> None:
        """Tell that the log could not be written, now that the answer is.

        Raises
        ------
        OutputError
            If so.
        """
        if self._failure is not None:
            raise self._failure

    def conclude(self, result: Result[object]) -> None:
        """Write warnings and the end of the run to the log."""
        for warning in result.warnings:
            self._write(f"warning: {warning}")
        self._write(summary(result))

    def _write(self, line: str) -> None:
        if self._file is None:
            return
        try:
            self._file.write(line + "\n")
            self._file.flush()
        except OSError as error:
            self._lose_log(error)
