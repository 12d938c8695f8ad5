"""The methods of compiled list scheduling, and the portfolio that keeps the best of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_board import KERNELS
from allocsolve.models.dag.list_plain import plain_schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason
from allocsolve.models.result import Scalar, Termination
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag.ending import finished, infeasible, own_solver
from allocsolve.solvers.dag.settings import read_words

__all__ = [
    "SETTINGS",
    "begin",
    "clusters",
    "compiled",
    "conclude",
    "cpop",
    "dls",
    "etf",
    "heft",
    "max_min",
    "min_min",
    "offer_rules",
    "one_node",
    "peft",
    "portfolio",
    "sufferage",
]

SETTINGS: Mapping[str, Sequence[str]] = {"placement": ("published", "insertion", "append")}
"""``placement``: whether a task may start in a gap before tasks that were placed earlier, or
only after them; unless it is set, as the authors of each method do."""

_APPENDING = frozenset({"etf", "dls", "min_min", "max_min", "sufferage"})
"""Methods whose authors append."""

_UNCOMPILED = (
    "the compiled list schedulers are not in the cache and do not fit into the time limit, so "
    "the plain list schedule was used; 'allocsolve doctor --compile' builds them once"
)


def begin(problem: DagProblem, control: Control[Schedule]) -> CommGraph:
    """Return the arrays of a problem; offer the warm start and raise a first bound."""
    control.phase("list schedule")
    if control.warm_start is not None:
        control.offer(control.warm_start, control.warm_start.makespan, "warm_start")
    if control.bound is None:
        for bound in lower_bounds(problem)[:1]:
            control.raise_bound(bound)
    return CommGraph.of(problem)


def compiled(control: Control[Schedule]) -> bool:
    """Whether the time limit leaves room to make the compiled loops ready."""
    return KERNELS.fits(control.remaining())


def offer_rules(
    graph: CommGraph, control: Control[Schedule], rules: Sequence[str], placement: str = "published"
) -> Termination:
    """Offer the schedule of each rule until the run should end; the first one is completed.

    Returns
    -------
    Termination
        ``FINISHED`` if every rule was carried out.
    """
    from allocsolve.models.dag.list_build import Builder

    builder = Builder(graph, stop=lambda: _should_stop(control))
    for rule in rules:
        if _should_stop(control):
            break
        inserts = rule not in _APPENDING if placement == "published" else placement == "insertion"
        found = builder.build(rule, inserts=inserts)
        if found is not None:
            control.offer(found.schedule(), found.makespan, rule)
    return control.stopped() or Termination.FINISHED


def _should_stop(control: Control[Schedule]) -> bool:
    """Whether to end now; a run without an answer goes on to its first one."""
    if control.answer is None:
        return control.token.cancelled
    return control.stopped() is not None


def conclude(
    problem: DagProblem,
    control: Control[Schedule],
    ended_by: Termination,
    options: Mapping[str, Scalar],
    *,
    warnings: tuple[str, ...] = (),
) -> Outcome:
    """Return the outcome of a run; without an answer, with the reason if one is known."""
    solver = own_solver(control, options)
    reason = find_reason(problem) if control.answer is None else None
    if reason is not None:
        return infeasible(solver, reason)
    return finished(control, solver, ended_by, deterministic=not warnings, warnings=warnings)


def _plain(
    problem: DagProblem, graph: CommGraph, control: Control[Schedule], options: Mapping[str, Scalar]
) -> Outcome:
    """Take the plain list schedule, and say why."""
    schedule = plain_schedule(graph, lambda: _should_stop(control))
    if schedule is not None:
        control.offer(schedule, schedule.makespan, "list")
    ended_by = control.stopped() or Termination.FINISHED
    return conclude(problem, control, ended_by, options, warnings=(_UNCOMPILED,))


def _solve(
    method: str, rules: Sequence[str], problem: DagProblem, control: Control[Schedule]
) -> Outcome:
    words = read_words(method, control.limits.options, SETTINGS)
    shown = {key: word for key, word in words.items() if word != SETTINGS[key][0]}
    graph = begin(problem, control)
    if not compiled(control):
        return _plain(problem, graph, control, shown)
    ended_by = offer_rules(graph, control, rules, words["placement"])
    return conclude(problem, control, ended_by, shown)


def _method(rule: str) -> Callable[[DagProblem, Control[Schedule]], Outcome]:
    def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
        return _solve(rule, (rule,), problem, control)

    solve.__doc__ = f"Find a schedule with the list scheduler ``{rule}``."
    return solve


heft = _method("heft")
cpop = _method("cpop")
peft = _method("peft")
etf = _method("etf")
dls = _method("dls")
min_min = _method("min_min")
max_min = _method("max_min")
sufferage = _method("sufferage")
one_node = _method("one_node")
clusters = _method("clusters")


def portfolio(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Run every list scheduler, the quickest first, and keep the best schedule."""
    rules = ("heft", "one_node", "clusters", "cpop", "peft", "etf", "dls", "min_min")
    return _solve("portfolio", (*rules, "max_min", "sufferage"), problem, control)
