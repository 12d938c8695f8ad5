"""``allocsolve plot``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from allocsolve.cli import options
from allocsolve.cli.console import Console, tell

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem
    from allocsolve.models.coded.answer import CodedAnswer
    from allocsolve.models.coded.problem import CodedProblem
    from allocsolve.models.dag.answer import Schedule
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.execution.outcome import Simulation
    from allocsolve.models.fair.answer import FairAnswer

__all__ = ["plot"]

_WHAT = {"dag": ("gantt", "ecdf"), "coded": ("law", "ecdf"), "fair": ("shares", "ecdf")}
"""What can be drawn of each kind, the default first."""

_REPLICATIONS = ("planned", "median", "bad")


def plot(  # noqa: PLR0913, PLR0917  # one parameter for each option
    ctx: typer.Context,
    instance: options.Instance,
    solutions: options.Solutions,
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="FILE", help="A .svg, .png or .html file.")
    ],
    what: Annotated[
        str,
        typer.Option(
            "--what", metavar="W", help="gantt, ecdf, law or shares (default: by the kind)."
        ),
    ] = "auto",
    replication: Annotated[
        str,
        typer.Option(
            "--replication", metavar="R", help="Gantt chart: planned, median or bad replication."
        ),
    ] = "planned",
    law: options.Law = None,
    law_file: options.LawFile = None,
    link_law: options.LinkLaw = None,
    deadline: options.Deadline = None,
    replications: options.Replications = None,
    seed: options.Seed = "0",
    starts: options.Starts = "eager",
    policy: options.Policies = None,
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Title (default: the name).")
    ] = None,
    format_name: options.Format = None,
    nodes: options.Nodes = None,
    index_base: options.IndexBase = None,
    verbose: options.Verbose = 0,
    quiet: options.Quiet = False,
) -> int:
    """Draw a schedule, shares, or the distribution of completion times (needs extra `plot`).

    Kind dag: gantt (also of a median or a bad replication), ecdf. Kind coded: law (exact), ecdf.
    Kind fair: shares, ecdf. Several solutions or policies are drawn together by ecdf and law.

    Example: allocsolve plot j301_1.sm plan.json -o plan.svg
    """
    console: Console = ctx.obj
    console.begin(verbose, quiet=quiet)
    from allocsolve.cli import inputs, values
    from allocsolve.cli.laws import law_files, law_option

    target = Path(output)
    form = values.choice("suffix of -o", target.suffix.lower(), (".svg", ".png", ".html"))
    values.choice("--replication", replication, _REPLICATIONS)
    console.output.require(target)
    inputs.one_stdin(instance, *solutions, law_file)
    inputs.spare(target, instance, nodes, *solutions, law_file, *law_files(law, link_law))
    wanted: dict[str, Any] = {
        "law": law_option(law, law_file),
        "link_law": law_option(link_law, None),
        "deadline": None if deadline is None else values.number("--deadline", deadline),
        "replications": values.replications(replications),
        "seed": values.seed(seed),
        "starts": values.choice("--starts", starts, ("eager", "planned")),
        "policy": policy or None,
    }
    problem = inputs.read_instance(instance, format_name, nodes, index_base)
    drawn = _drawn(problem, what, solutions)
    _refuse_idle(drawn, replication, wanted)
    strange: list[str] = []
    data = [inputs.read_answer(problem, name, strange) for name in solutions]
    pen = _Pen(console, problem, solutions, data, wanted, form[1:], title)
    console.emit(pen.draw(drawn, replication), target)
    console.warn([*problem.warnings, *strange])
    if console.interrupts.exit_code is not None:
        tell("interrupted: the picture shows what was drawn until then")
    return console.interrupts.exit_code or 0


def _drawn(problem: Problem, what: str, solutions: Sequence[str]) -> str:
    """Return what is drawn.

    Raises
    ------
    UsageError
        If the kind has no such picture, or it shows one solution only.
    """
    from allocsolve.cli.values import choice
    from allocsolve.models.errors import UsageError

    allowed = _WHAT[problem.kind]
    drawn = choice("--what", what, ("auto", *allowed))
    if drawn == "auto":
        drawn = allowed[0] if len(solutions) == 1 or allowed[0] == "law" else "ecdf"
    if drawn in ("gantt", "shares") and len(solutions) > 1:
        raise UsageError(f"--what {drawn} draws one solution\n  allowed: one SOLUTION, or ecdf")
    return drawn


_DEFAULTS = {"seed": 0, "starts": "eager"}
"""Values of options that are not None when they are not given."""


def _is_given(wanted: dict[str, Any], name: str) -> bool:
    return bool(wanted[name] != _DEFAULTS.get(name))


def _refuse_idle(drawn: str, replication: str, wanted: dict[str, Any]) -> None:
    """Refuse options that change nothing in the picture.

    Raises
    ------
    UsageError
        If there is one; it says which pictures it is for.
    """
    from allocsolve.models.errors import UsageError

    if replication != "planned" and drawn != "gantt":
        raise UsageError(
            f"--replication {replication} has no effect on --what {drawn}"
            "\n  allowed: --replication with --what gantt of one SOLUTION of kind dag"
        )
    if len(wanted["policy"] or ()) > 1 and replication != "planned":
        raise UsageError(f"--replication {replication} draws one policy\n  allowed: one --policy")
    idle = {"shares": list(wanted), "gantt": list(wanted)}.get(drawn, [])
    if replication != "planned":
        idle = ["deadline"]
    for name in idle:
        if _is_given(wanted, name):
            can = "" if drawn == "shares" or name == "deadline" else ", or --replication median"
            raise UsageError(
                f"--{name.replace('_', '-')} has no effect on --what {drawn}"
                f"\n  allowed: --{name.replace('_', '-')} with --what ecdf{can}"
            )


@dataclass(frozen=True)
class _Pen:
    """Draws what the verb is asked for."""

    console: Console
    problem: Problem
    names: Sequence[str]
    data: Sequence[bytes]
    wanted: dict[str, Any]
    form: str
    title: str | None

    def draw(self, what: str, replication: str) -> bytes:
        """Return the picture."""
        if what == "gantt":
            return self._gantt() if replication == "planned" else self._replication(replication)
        if what == "law":
            return self._law()
        return self._shares() if what == "shares" else self._ecdf()

    def _gantt(self) -> bytes:
        """Draw a schedule as it is written, even if the checker would reject it."""
        from allocsolve.plots import gantt

        problem = cast("DagProblem", self.problem)
        return gantt(problem, self.data[0], form=self.form, title=self.title)

    def _replication(self, label: str) -> bytes:
        from allocsolve.api.answers import checked_answer
        from allocsolve.plots import replication_gantt

        problem = cast("DagProblem", self.problem)
        schedule = cast("Schedule", checked_answer(problem, self.data[0]))
        modes = problem.arrays.mode_index[schedule.mode].tolist()
        (found,) = self._simulated()
        return replication_gantt(
            problem, found, label, modes=modes, form=self.form, title=self.title
        )

    def _simulated(self) -> tuple[Simulation, ...]:
        from allocsolve.cli.simulate import named, replayed

        wanted = {**self.wanted, "keep_samples": True}
        return replayed(self.console, self.problem, named(list(self.names)), self.data, wanted)

    def _ecdf(self) -> bytes:
        from allocsolve.plots import ecdf

        unit = getattr(self.problem, "time_unit", None)
        return ecdf(self._simulated(), form=self.form, title=self.title, time_unit=unit)

    def _law(self) -> bytes:
        from allocsolve.api.answers import checked_answers
        from allocsolve.cli.simulate import named
        from allocsolve.models.coded.law import NoExactLaw
        from allocsolve.plots import completion

        if any(_is_given(self.wanted, name) for name in ("law", "link_law", "starts", "policy")):
            return self._ecdf()
        problem = cast("CodedProblem", self.problem)
        answers, names, _ = checked_answers(problem, self.data, named(list(self.names)))
        by_name = dict(zip(names, cast("list[CodedAnswer]", answers), strict=True))
        deadline = self.wanted["deadline"]
        if deadline is None:
            deadline = problem.objective.deadline
        try:
            return completion(
                problem,
                by_name,
                deadline=None if deadline is None else float(deadline),
                form=self.form,
                title=self.title,
            )
        except NoExactLaw:
            return self._ecdf()

    def _shares(self) -> bytes:
        from allocsolve.api.answers import checked_answer
        from allocsolve.plots import shares

        answer = cast("FairAnswer", checked_answer(self.problem, self.data[0]))
        return shares(answer, form=self.form, title=self.title)
