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
    from allocsolve.models.coded.problem import CodedProblem
    from allocsolve.models.dag.answer import Schedule
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.execution.outcome import Simulation
    from allocsolve.models.fair.answer import FairAnswer

__all__ = ["plot"]

_WHAT = {
    "dag": ("gantt", "ecdf"),
    "coded": ("assignment", "law", "loads", "ecdf"),
    "fair": ("shares", "ecdf"),
}
"""What can be drawn of each kind, the default of one solution first."""

_SEVERAL = {"dag": "ecdf", "coded": "law", "fair": "ecdf"}
"""What is drawn of several solutions by default."""

_OF_ONE = ("gantt", "assignment", "shares")
"""What shows one solution only."""

_STILL = ("gantt", "shares", "loads")
"""What shows plans as they are, without any law."""

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
            "--what",
            metavar="W",
            help="gantt, assignment, law, loads, shares or ecdf (default: by the kind).",
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
    """Draw a schedule, loads, shares, or the distribution of completion times (extra `plot`).

    Kind dag: gantt (also of a median or a bad replication), ecdf. Kind coded: assignment (exact
    laws of the answer and of the rules of the literature, and the loads), law, loads, ecdf. Kind
    fair: shares (with utilities and prices), ecdf. Several solutions or policies are drawn
    together by law, loads and ecdf.

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
        drawn = allowed[0] if len(solutions) == 1 else _SEVERAL[problem.kind]
    if drawn in _OF_ONE and len(solutions) > 1:
        several = " or ".join(name for name in allowed if name not in _OF_ONE)
        raise UsageError(
            f"--what {drawn} draws one solution\n  allowed: one SOLUTION, or --what {several}"
        )
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
    idle = list(wanted) if drawn in _STILL else []
    if replication != "planned":
        idle = ["deadline"]
    for name in idle:
        if _is_given(wanted, name):
            can = "" if drawn != "gantt" or name == "deadline" else ", or --replication median"
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
        drawn = {
            "assignment": self._assignment,
            "law": self._law,
            "loads": self._loads,
            "shares": self._shares,
        }
        return drawn.get(what, self._ecdf)()

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

    def _assignment(self) -> bytes:
        from allocsolve.cli.simulate import named
        from allocsolve.models.coded.law import NoExactLaw
        from allocsolve.plots import assignment
        from allocsolve.solvers.control import Token

        if self._is_changed():
            return self._ecdf()
        token = Token()
        self.console.interrupts.attach(token.cancel)
        (name,) = named(list(self.names))
        try:
            return assignment(
                self._coded(),
                self.data[0],
                name=name,
                form=self.form,
                title=self.title,
                token=token,
                deadline=self._deadline(),
            )
        except NoExactLaw:
            tell("the completion law has no exact form: its distribution is drawn from samples")
            return self._ecdf()

    def _law(self) -> bytes:
        from allocsolve.models.coded.law import NoExactLaw
        from allocsolve.plots import completion

        if self._is_changed():
            return self._ecdf()
        try:
            return completion(
                self._coded(),
                self._by_name(),
                deadline=self._deadline(),
                form=self.form,
                title=self.title,
            )
        except NoExactLaw:
            return self._ecdf()

    def _loads(self) -> bytes:
        from allocsolve.plots import loads

        return loads(self._coded(), self._by_name(), form=self.form, title=self.title)

    def _is_changed(self) -> bool:
        """Whether nodes are other ones than the instance says, which takes a simulation."""
        return any(_is_given(self.wanted, name) for name in ("law", "link_law", "starts", "policy"))

    def _coded(self) -> CodedProblem:
        return cast("CodedProblem", self.problem)

    def _by_name(self) -> dict[str, bytes]:
        from allocsolve.cli.simulate import named

        return dict(zip(named(list(self.names)), self.data, strict=True))

    def _deadline(self) -> float | None:
        deadline = self.wanted["deadline"]
        if deadline is None:
            deadline = self._coded().objective.deadline
        return None if deadline is None else float(deadline)

    def _shares(self) -> bytes:
        from allocsolve.api.answers import checked_answer
        from allocsolve.plots import shares

        answer = cast("FairAnswer", checked_answer(self.problem, self.data[0]))
        return shares(answer, form=self.form, title=self.title)
