"""Methods for gradients over rounds: plain codes, selective repetition, multiplexed codes.

The time of a round is that of the slowest node, in the worst case; loads of plain codes and of
selective repetition are the exact optimum for the copies that they need (heterogeneity-aware,
within storage, locality and budget), those of a multiplexed code are equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.baselines_gradient import GRADIENT_RULES, GradientJob
from allocsolve.models.coded.check import check
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.data import Gradient
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.rounds import MULTIPLEXED, REPEATED, Rounds
from allocsolve.models.result import Termination
from allocsolve.solvers.coded.ground import read_numbers
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, own_solver

__all__ = ["gc", "m_sgc", "round_answers", "solve", "sr_sgc"]

_PLAIN = "heterogeneity_aware"
_FAMILIES = {"gc": _PLAIN, "sr_sgc": REPEATED, "m_sgc": MULTIPLEXED}


def round_answers(problem: CodedProblem) -> Iterator[tuple[str, CodedAnswer]]:
    """Yield the schemes that have an answer that passes the checker, by name.

    A gradient of a single round has the plain code only.
    """
    assert isinstance(problem.task, Gradient)
    rounds = Rounds.of(problem.task, len(problem.nodes))
    if rounds is None:
        job = GradientJob(problem)
        yield from (("gc", a) for a in GRADIENT_RULES[_PLAIN](job) if job.allows(a))
        return
    for name, family in _FAMILIES.items():
        answer = _answer(problem, rounds, family)
        if answer is not None and not check(problem, answer).violations:
            yield name, answer


def _answer(problem: CodedProblem, rounds: Rounds, family: str) -> CodedAnswer | None:
    job, copies = GradientJob(problem), rounds.copies(family)
    if copies is None:
        return None
    job.copies = copies
    code = Code(family, stragglers=copies - 1, messages=1)
    if family == MULTIPLEXED:
        parts = rounds.multiplexed(job.task.partitions)
        found = None if parts is None else job.answer(parts, family)
    else:
        found = next((a for a in GRADIENT_RULES[_PLAIN](job) if job.allows(a)), None)
    return (
        None if found is None else CodedAnswer(found.loads, code, found.batches, found.partitions)
    )


def _solve(name: str, problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Offer one scheme, or the best of all."""
    read_numbers(name, control.limits.options, {})
    values: dict[str, float | None] = dict.fromkeys(_FAMILIES)
    for scheme, answer in round_answers(problem):
        values[scheme] = cost = exact_cost(problem, answer)
        if name in ("rounds", scheme):
            control.offer(answer, cost, scheme)
    warnings: tuple[str, ...] = ()
    if values.get(name, 0.0) is None:
        warnings = (f"'{name}' gives no answer here: {_why(problem, _FAMILIES[name])}",)
    ended = control.stopped() or Termination.FINISHED
    solver = own_solver(control, {})
    return finished(control, solver, ended, warnings=warnings, baselines=values)


def _why(problem: CodedProblem, family: str) -> str:
    task = problem.task
    assert isinstance(task, Gradient)
    rounds = Rounds.of(task, len(problem.nodes))
    if rounds is None:
        return "storage or a limit does not allow it, or the task has a single round"
    copies = rounds.copies(family)
    if copies is None:
        return "the burst does not divide the window less 1, or all nodes may straggle at once"
    if family == MULTIPLEXED and rounds.multiplexed(task.partitions) is None:
        least = rounds.nodes * (rounds.burst + (rounds.window - 1) * copies)
        return f"the partitions are no multiple of {least}"
    return "storage, locality or a limit of all loads does not allow it"


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Place partitions for stragglers over rounds, by the scheme of least time."""
    return _solve("rounds", problem, control)


gc = partial(_solve, "gc")
sr_sgc = partial(_solve, "sr_sgc")
m_sgc = partial(_solve, "m_sgc")
