"""Replaying schedules: many drawn executions of the same plans on the same numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.execution.detail import describe, pick, show
from allocsolve.models.execution.disturbances import Disturbances
from allocsolve.models.execution.laws import (
    has_finite_moments,
    node_laws,
    node_processes,
    task_laws,
)
from allocsolve.models.execution.outcome import Comparison, Simulation
from allocsolve.models.execution.plan import plan_replay
from allocsolve.models.execution.policy_runs import PolicyRun
from allocsolve.models.execution.program import compile_program
from allocsolve.models.execution.request import (
    DEFAULT_REPLICATIONS,
    DEFAULT_UNDER_POLICY,
    SimulationRequest,
)
from allocsolve.models.execution.runs import Cancelled, Replayer
from allocsolve.models.execution.summary import (
    compare,
    moments,
    replications_needed,
    summarize,
)
from allocsolve.models.nodes import Deterministic
from allocsolve.models.random import GENERATOR, GROUP

__all__ = ["prepare", "simulate"]

_BLOCK = 2 * GROUP
"""Replications of one job of a thread."""

_PILOT = GROUP
"""Replications after which a run with a precision looks how many it needs."""

_FIRST_UNDER_POLICY = 16
"""Replications of the first round under a policy; later rounds grow."""

_ROUND, _ROUND_UNDER_POLICY = 2 * 10**8, 10**4
"""Tasks times replications of a round at most: about a second."""

_LARGEST = 10_000_000
"""Replications at which a run with a precision gives up."""

_INTERRUPTED = "interrupted: fewer replications were drawn than were asked for"


def simulate(
    problem: DagProblem,
    schedules: Sequence[Schedule],
    request: SimulationRequest,
    *,
    names: Sequence[str] | None = None,
    on_progress: Callable[[float], object] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[Simulation]:
    """Replay schedules of one instance on common random numbers.

    Parameters
    ----------
    schedules
        Valid schedules of ``problem``.
    request
        How often and under which law.
    names
        Names of the schedules in comparisons; by default ``plan 1``, ``plan 2``, ...
    on_progress
        Called with the share of the work that is done, from the thread that did it.
    cancelled
        Asked several times a second; when it says so, what was drawn until then is reported,
        with a warning.

    Returns
    -------
    list of Simulation
        One for each schedule; each holds the comparisons of all pairs. The method is ``exact``
        if nothing is random.

    Raises
    ------
    InputError
        If a law or a process of a node is impossible.
    Cancelled
        If ``cancelled`` said so before anything was drawn.
    """
    labels = list(names or [f"plan {i + 1}" for i in range(len(schedules))])
    parts = [prepare(problem, schedule, request) for schedule in schedules]
    watch = _Watch(on_progress, cancelled)
    samples = _sample(parts, request, watch)
    found = [
        _describe(part, values, request, label)
        for part, values, label in zip(parts, samples, labels, strict=True)
    ]
    if watch.was_cancelled:
        found = [one.replace(warnings=(*one.warnings, _INTERRUPTED)) for one in found]
    if len(found) < 2:
        return found
    pairs = tuple(_compare(found, samples, i, j) for i, j in combinations(range(len(found)), 2))
    return [one.replace(comparison=pairs) for one in found]


@dataclass(frozen=True, eq=False)
class _Part:
    """A schedule that is ready to be replayed."""

    replayer: Replayer
    disturbances: Disturbances
    random: bool
    policy: PolicyRun | None


@dataclass
class _Watch:
    on_progress: Callable[[float], object] | None
    cancelled: Callable[[], bool] | None
    was_cancelled: bool = False

    def tell(self, share: float) -> None:
        if self.on_progress is not None:
            self.on_progress(share)

    def within(self, done: int, size: int, total: int) -> _Watch:
        """Return the watch of a part of the work, which tells the share of the whole."""
        return _Watch(lambda share: self.tell((done + share * size) / total), self.cancelled)


def prepare(problem: DagProblem, schedule: Schedule, request: SimulationRequest) -> _Part:
    """Return everything that the replay of a schedule needs."""
    plan = plan_replay(schedule, request.starts)
    laws = task_laws(plan, request.law, node_laws(problem))
    processes = node_processes(problem)
    disturbances = Disturbances(
        plan, laws, processes, request.link_law, request.seed, request.dtype
    )
    program = compile_program(
        plan,
        laws,
        request.dtype,
        given=disturbances.tasks,
        losses=disturbances.losses,
        random_links=disturbances.links,
    )
    random = (
        any(law is not None and not isinstance(law, Deterministic) for law in laws)
        or bool(disturbances.tasks or disturbances.losses)
        or disturbances.links
    )
    replayer = Replayer(plan, program, disturbances, request.seed)
    run = None
    if request.policy is not None:
        run = PolicyRun(schedule, disturbances, request.law, node_laws(problem), request.policy)
    return _Part(replayer, disturbances, random, run)


def _sample(parts: Sequence[_Part], request: SimulationRequest, watch: _Watch) -> list[FloatArray]:
    """Return the samples of each part, as many of each."""
    if not any(part.random for part in parts):
        return [_draw(part, 0, 1, request, watch) for part in parts]
    if request.precision is None:
        count = request.replications or _default(request)
        return _draw_all(parts, 0, count, request, watch)
    limit = request.replications or _LARGEST
    samples = _draw_all(parts, 0, min(_PILOT, limit), request, watch)
    needed = max(replications_needed(moments(each), request.precision) for each in samples)
    done = len(samples[0])
    if needed <= done or done >= limit or watch.was_cancelled:
        return samples
    more = _draw_all(parts, done, min(needed, limit) - done, request, watch)
    return [np.concatenate(pair) for pair in zip(samples, more, strict=True)]


def _default(request: SimulationRequest) -> int:
    return DEFAULT_REPLICATIONS if request.policy is None else DEFAULT_UNDER_POLICY


def _draw_all(
    parts: Sequence[_Part], first: int, count: int, request: SimulationRequest, watch: _Watch
) -> list[FloatArray]:
    """Draw in rounds that grow, so that an interrupted run has what earlier rounds gave.

    Raises
    ------
    Cancelled
        If the run is cancelled before there are two replications of each part.
    """
    found: list[list[FloatArray]] = [[] for _ in parts]
    done, (size, most) = 0, _rounds(parts, request)
    while done < count:
        size = min(size, count - done)
        try:
            drawn = _draw_round(parts, first + done, size, request, watch.within(done, size, count))
        except Cancelled:
            watch.was_cancelled = True
            if first + done < 2:
                raise
            break
        for each, samples in zip(found, drawn, strict=True):
            each.append(samples)
        done, size = done + size, min(4 * size, most)
    return [np.concatenate([np.empty(0), *each]) for each in found]


def _rounds(parts: Sequence[_Part], request: SimulationRequest) -> tuple[int, int]:
    """Return the replications of the first round, and of every round at most."""
    tasks = max(1, len(parts[0].replayer.plan.order))
    if request.policy is not None:
        return _FIRST_UNDER_POLICY, max(_FIRST_UNDER_POLICY, _ROUND_UNDER_POLICY // tasks)
    return GROUP, max(GROUP, _ROUND // tasks)


def _draw_round(
    parts: Sequence[_Part], first: int, count: int, request: SimulationRequest, watch: _Watch
) -> list[FloatArray]:
    return [
        _draw(part, first, count, request, watch.within(i, 1, len(parts)))
        for i, part in enumerate(parts)
    ]


def _draw(
    part: _Part, first: int, count: int, request: SimulationRequest, watch: _Watch
) -> FloatArray:
    if part.policy is not None:
        return part.policy.sample(first, count, watch.tell, watch.cancelled)
    return part.replayer.sample(
        first,
        count,
        block=_BLOCK,
        threads=request.threads,
        progress=lambda done: watch.tell(done / count),
        cancelled=watch.cancelled,
    )


def _describe(
    part: _Part, samples: FloatArray, request: SimulationRequest, name: str
) -> Simulation:
    plan, problem = part.replayer.plan, part.replayer.plan.problem
    finite_mean, finite_variance = has_finite_moments(
        plan, part.disturbances.laws, part.disturbances.processes, request.link_law
    )
    summary = summarize(
        samples,
        request.quantiles,
        request.deadline,
        finite_mean=finite_mean or not part.random,
        finite_variance=finite_variance or not part.random,
    )
    simulation = Simulation(
        kind="dag",
        name=name,
        method="monte_carlo" if part.random else "exact",
        mean=summary.mean,
        std=summary.std,
        quantiles=summary.quantiles,
        generator=GENERATOR if part.random else None,
        path=_path(part),
        dtype=request.dtype,
        seed=request.seed if part.random else None,
        replications=len(samples) if part.random else None,
        mean_ci=summary.mean_ci if part.random else None,
        quantile_cis=summary.quantile_cis if part.random else {},
        deadline=request.deadline,
        deadline_probability=summary.deadline_probability,
        deadline_ci=summary.deadline_ci if part.random else None,
        planned=float(problem.units(plan.planned)),
        samples=samples if request.keep_samples else None,
        warnings=_warnings(part, summary.mean, request),
    )
    return _with_detail(part, simulation, samples)


def _path(part: _Part) -> Literal["compiled", "plain"] | None:
    if not part.random:
        return None
    return "compiled" if part.policy is None else "plain"


def _with_detail(part: _Part, simulation: Simulation, samples: FloatArray) -> Simulation:
    marks = pick(samples, np.sort(samples))
    if part.policy is not None:
        return part.policy.detailed(simulation, marks)
    detail = describe(part.replayer, len(samples))
    extra = {} if detail.late is None else {"maximum_lag_broken": detail.late}
    return replace(
        simulation,
        utilisation=detail.utilisation,
        wasted_work=detail.wasted_work,
        criticality=detail.criticality,
        detailed=detail.replications,
        examples=tuple(show(part.replayer, *mark) for mark in marks) if part.random else (),
        extra=extra,
    )


def _warnings(part: _Part, mean: float, request: SimulationRequest) -> tuple[str, ...]:
    found = [*part.replayer.plan.warnings]
    if math.isinf(mean):
        found.append("the mean is infinite; quantiles and probabilities say what can be said")
        if request.precision is not None:
            found.append("no number of replications gives an infinite mean a precision")
    return tuple(found)


def _compare(
    found: Sequence[Simulation], samples: Sequence[FloatArray], i: int, j: int
) -> Comparison:
    pair = compare((found[i].name, found[j].name), samples[i], samples[j])
    if math.isfinite(found[i].mean) and math.isfinite(found[j].mean):
        return pair
    return replace(pair, mean_difference=None, ci=None)
