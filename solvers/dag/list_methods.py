"""The methods of compiled list scheduling, and the portfolio that keeps the best of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_board import KERNELS
from allocsolve.models.dag.list_plain import plain_schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason
from allocsolve.models.result import Scalar, Termination
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag.opening import offer_sequence
from allocsolve.solvers.dag.settings import read_words
from allocsolve.solvers.ending import finished, infeasible, own_solver
from allocsolve.solvers.loading import loops

__all__ = [
    "APPENDING",
    "HEFT_SETTINGS",
    "SETTINGS",
    "begin",
    "clusters",
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
    "plain",
    "portfolio",
    "ready_loops",
    "sufferage",
]

SETTINGS: Mapping[str, Sequence[str]] = {"placement": ("published", "insertion", "append")}
"""``placement``: whether a task may start in a gap before tasks that were placed earlier, or
only after them; unless it is set, as the authors of each method do."""

HEFT_SETTINGS: Mapping[str, Sequence[str]] = {
    **SETTINGS,
    "ranks": ("mean", "median", "best", "worst", "all"),
}
"""``ranks``: how the ranks of HEFT estimate times that differ between nodes; ``all`` tries
each and keeps the best schedule."""

APPENDING = frozenset({"etf", "dls", "min_min", "max_min", "sufferage"})
"""Methods whose authors append."""

PATIENCE = 0.3
"""Seconds after an interrupt in which a run without an answer may still find its first one."""

_UNCOMPILED = (
    "there was no time to load or compile the list schedulers, so the plain list schedule was "
    "used; 'allocsolve doctor --compile' compiles them once"
)

_PROMPT = 2000
"""Tasks up to which an interrupted run still has time for a plain list schedule."""


def begin(problem: DagProblem, control: Control[Schedule]) -> CommGraph:
    """Return the arrays of a problem; offer the warm start and raise a first bound."""
    control.phase("list schedule")
    if control.warm_start is not None:
        control.offer(control.warm_start, control.warm_start.makespan, "warm_start")
    if control.bound is None:
        for bound in lower_bounds(problem)[:1]:
            control.raise_bound(bound)
    return CommGraph.of(problem)


def ready_loops(
    graph: CommGraph, control: Control[Schedule], rules: Sequence[str], repeats: int = 1
) -> AbstractContextManager[bool]:
    """Give a block the loops of some rules; it is told whether they can be called.

    Parameters
    ----------
    repeats
        How often each rule is carried out.
    """
    from allocsolve.models.dag.list_build import plain_seconds

    seconds = repeats * sum(plain_seconds(graph, all_ready=rule in APPENDING) for rule in rules)
    return loops(control, KERNELS, plain=seconds)


def offer_rules(
    graph: CommGraph,
    control: Control[Schedule],
    rules: Sequence[str],
    placement: str = "published",
    statistics: Sequence[str] = ("mean",),
) -> Termination:
    """Offer the schedule of each rule until the run should end; the first one is completed.

    Each rule may take an equal share of the time that is left; what it leaves over goes to
    the rules after it.

    Returns
    -------
    Termination
        ``FINISHED`` if every rule was carried out.
    """
    from allocsolve.models.dag.list_build import Builder

    turn = _Turn(control)
    builder = Builder(graph, stop=turn.is_over)
    ways = [(rule, statistic) for rule in rules for statistic in statistics]
    for done, (rule, statistic) in enumerate(ways):
        turn.begin(len(ways) - done)
        if turn.is_over():
            break
        inserts = rule not in APPENDING if placement == "published" else placement == "insertion"
        found = builder.build(rule, inserts=inserts, statistic=statistic)
        if found is not None:
            source = rule if statistic == "mean" else f"{rule}_{statistic}"
            control.offer(found.schedule(), found.makespan, source)
    cut = Termination.TIME_LIMIT if turn.was_cut else Termination.FINISHED
    return control.stopped() or cut


class _Turn:
    """The time of one rule after another."""

    def __init__(self, control: Control[Schedule]) -> None:
        self._control = control
        self._left_at_end = -math.inf
        self.was_cut = False
        """Whether some rule was stopped because its share was used up."""

    def begin(self, waiting: int) -> None:
        """Give the next rule its share among so many that wait, itself included."""
        left = self._control.remaining()
        self._left_at_end = -math.inf if math.isinf(left) else left - left / waiting

    def is_over(self) -> bool:
        """Whether the rule should end; a run without an answer goes on to its first one."""
        if _should_stop(self._control):
            return True
        if self._control.answer is None or self._control.remaining() > self._left_at_end:
            return False
        self.was_cut = True
        return True


def _should_stop(control: Control[Schedule]) -> bool:
    """Whether to end now; a run without an answer goes on to its first one, if that is near."""
    if control.answer is None:
        return control.token.age() > PATIENCE
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
    if control.answer is None and control.stopped() is not None:
        offer_sequence(problem, control)
    reason = find_reason(problem) if control.answer is None else None
    if reason is not None:
        return infeasible(solver, reason)
    return finished(control, solver, ended_by, deterministic=not warnings, warnings=warnings)


def plain(
    problem: DagProblem, graph: CommGraph, control: Control[Schedule], options: Mapping[str, Scalar]
) -> Outcome:
    """Take the plain list schedule, and say why; none if an interrupt leaves no time for it."""
    if control.token.cancelled and graph.n > _PROMPT:
        offer_sequence(problem, control)
        if control.answer is not None:
            return conclude(problem, control, Termination.INTERRUPTED, options)
    schedule = plain_schedule(graph, lambda: _should_stop(control))
    if schedule is not None:
        control.offer(schedule, schedule.makespan, "list")
    ended_by = control.stopped() or Termination.FINISHED
    warnings = () if control.token.cancelled else (_UNCOMPILED,)
    return conclude(problem, control, ended_by, options, warnings=warnings)


def _solve(
    method: str, rules: Sequence[str], problem: DagProblem, control: Control[Schedule]
) -> Outcome:
    known = HEFT_SETTINGS if method == "heft" else SETTINGS
    words = read_words(method, control.limits.options, known)
    shown = {key: word for key, word in words.items() if word != known[key][0]}
    graph = begin(problem, control)
    ranks = words.get("ranks", "mean")
    statistics = known["ranks"][:-1] if ranks == "all" else (ranks,)
    with ready_loops(graph, control, rules, len(statistics)) as can_run:
        if not can_run:
            return plain(problem, graph, control, shown)
        ended_by = offer_rules(graph, control, rules, words["placement"], statistics)
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
