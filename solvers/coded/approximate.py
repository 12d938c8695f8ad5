"""Method ``approximate``: the best number of copies and of results to wait for, within an error.

Nodes of similar speed form groups with the same partitions, for every number of groups; of each
grouping the least number of results is waited for whose expected squared error is accepted (see
:mod:`allocsolve.models.coded.approximate`). More results never come earlier, so that number is
best for its grouping. The exact value decides, also against the rules for exact gradients, whose
error is 0. Charles, Papailiopoulos and Ellenberg 2017.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.approximate import least_answers
from allocsolve.models.coded.baselines_gradient import GRADIENT_RULES, GradientJob
from allocsolve.models.coded.costs import exact_cost, values_of
from allocsolve.models.coded.data import Gradient
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.thresholds import APPROXIMATE
from allocsolve.models.exact import exact
from allocsolve.models.result import Termination
from allocsolve.solvers.coded.ground import read_numbers
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, infeasible, own_solver

__all__ = ["approximate_answers", "solve"]


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Place the partitions of a gradient of which an error is accepted."""
    assert isinstance(problem.task, Gradient)
    read_numbers(APPROXIMATE, control.limits.options, {})
    values: dict[str, float | None] = dict.fromkeys((APPROXIMATE, *GRADIENT_RULES))
    for name, answer in _candidates(problem):
        if control.stopped():
            break
        cost, known = exact_cost(problem, answer), values[name]
        if known is None or cost < known:
            values[name] = cost
        if math.isfinite(cost) or problem.objective_name != "cost":
            control.offer(answer, cost, name)
    solver = own_solver(control, {})
    if problem.task.error is not None and _workers(problem) <= problem.task.stragglers:
        return infeasible(solver, None)  # whoever is waited for may never answer
    ended = control.stopped() or Termination.FINISHED
    warnings: tuple[str, ...] = ()
    if values[APPROXIMATE] is None and ended is Termination.FINISHED:
        warnings = (f"'{APPROXIMATE}' gives no answer of its own here: {_why(problem)}",)
    return finished(control, solver, ended, warnings=warnings, baselines=values_of(problem, values))


def _workers(problem: CodedProblem) -> int:
    return int((problem.arrays.capacity > 0).sum())


def _why(problem: CodedProblem) -> str:
    task = problem.task
    if isinstance(task, Gradient) and task.error is None:
        return "the task accepts no error"
    if problem.arrays.holds is not None:
        return "groups need nodes that may hold every partition"
    return "storage, stragglers or a limit of all loads does not allow it"


def _candidates(problem: CodedProblem) -> Iterator[tuple[str, CodedAnswer]]:
    """Yield the rules for exact gradients and the approximate answers, if an error is accepted."""
    job = GradientJob(problem)
    if job.task.error is None:
        return
    for name, rule in GRADIENT_RULES.items():
        yield from ((name, answer) for answer in rule(job) if job.allows(answer))
    yield from ((APPROXIMATE, answer) for answer in approximate_answers(job))


def approximate_answers(job: GradientJob) -> Iterator[CodedAnswer]:
    """Yield approximate answers that keep all limits, for every number of groups.

    Partitions are shared out evenly, and by the mean speed of the groups. Most groups, whose loads
    are least, come first: that is what a short limit of time leaves.
    """
    if job.problem.arrays.holds is not None or job.task.error is None:
        return
    ranked = sorted(
        (i for i, cap in enumerate(job.caps) if cap > 0), key=lambda i: (job.time(i, 1), i)
    )
    for count in range(min(len(ranked), job.task.partitions), 0, -1):
        groups = [group.tolist() for group in np.array_split(np.array(ranked), count)]
        room = [min(job.caps[i] for i in group) for group in groups]
        seen = []
        for shares in (_even(job, count), _by_speed(job, groups, room)):
            if shares in seen or any(x > cap for x, cap in zip(shares, room, strict=True)):
                continue
            seen.append(shares)
            answer = _answer(job, groups, shares)
            if answer is not None and job.allows(answer):
                yield answer


def _even(job: GradientJob, count: int) -> list[int]:
    least, more = divmod(job.task.partitions, count)
    return [least + (g < more) for g in range(count)]


def _by_speed(job: GradientJob, groups: Sequence[Sequence[int]], room: Sequence[int]) -> list[int]:
    """Return shares that come one after another to the group that is done first on average.

    What no group has room for is left to the first one, which then has too much.
    """
    shares = [0] * len(groups)
    late = [_late(job, group, 1) for group in groups]
    for number in range(job.task.partitions):
        free = [g for g in range(len(groups)) if shares[g] < room[g]]
        if not free:
            shares[0] += job.task.partitions - number
            break
        chosen = min(free, key=lambda g: (late[g], g))
        shares[chosen] += 1
        late[chosen] = _late(job, groups[chosen], shares[chosen] + 1)
    return shares


def _late(job: GradientJob, group: Sequence[int], share: int) -> float:
    return math.fsum(job.time(i, share) for i in group) / len(group)


def _answer(
    job: GradientJob, groups: Sequence[Sequence[int]], shares: Sequence[int]
) -> CodedAnswer | None:
    """Return groups with their shares, None if no number of results has an accepted error."""
    assert job.task.error is not None
    parts: list[tuple[int, ...]] = [()] * len(job.caps)
    copies: list[int] = []
    for group, share in zip(groups, shares, strict=True):
        mine = tuple(range(len(copies), len(copies) + share))
        parts = [mine if i in group else part for i, part in enumerate(parts)]
        copies += [len(group)] * share
    nodes = sum(bool(mine) for mine in parts)
    limit = exact(job.task.error)
    awaited = least_answers(copies, nodes, limit, nodes - job.task.stragglers)
    return None if awaited is None else job.approximate(parts, min(copies), awaited)
