"""Replaying schedules: many drawn executions of the same plans on the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.execution.detail import describe, pick, show
from allocsolve.models.execution.disturbances import Disturbances
from allocsolve.models.execution.estimate import estimate
from allocsolve.models.execution.laws import (
    has_finite_moments,
    loses_work,
    node_laws,
    node_processes,
    task_laws,
)
from allocsolve.models.execution.outcome import Simulation
from allocsolve.models.execution.plan import plan_replay
from allocsolve.models.execution.policy_runs import PolicyRun
from allocsolve.models.execution.program import compile_program
from allocsolve.models.execution.request import (
    DEFAULT_REPLICATIONS,
    DEFAULT_UNDER_POLICY,
    SimulationRequest,
)
from allocsolve.models.execution.rounds import Drawn, Watch, draw_asked, draw_number
from allocsolve.models.execution.runs import Replayer
from allocsolve.models.execution.summary import compare_all
from allocsolve.models.nodes import Deterministic
from allocsolve.models.random import GROUP

__all__ = ["prepare", "simulate"]

_BLOCK = 2 * GROUP
"""Replications of one job of a thread."""

_FIRST_UNDER_POLICY = 16
"""Replications of the first round under a policy; later rounds grow."""

_ROUND, _ROUND_UNDER_POLICY = 2 * 10**8, 10**4
"""Tasks times replications of a round at most: about a second."""

_MAY_BE_LOST = (
    "a node may be lost before its work is done: if that is possible, the mean is infinite, "
    "whatever the samples say"
)

_MAY_BE_INFINITE = (
    "under the policy the mean or the variance may be infinite: the mean is that of the samples"
)


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
    drawn = _draw(_Parts(parts, request), Watch(on_progress, cancelled))
    found = [
        _describe(part, values, request).replace(name=label)
        for part, values, label in zip(parts, drawn.samples, labels, strict=True)
    ]
    pairs = compare_all(found, drawn.samples)
    return [
        one.replace(comparison=pairs, warnings=(*one.warnings, *drawn.warnings)) for one in found
    ]


@dataclass(frozen=True, eq=False)
class _Part:
    """A schedule that is ready to be replayed."""

    replayer: Replayer
    disturbances: Disturbances
    random: bool
    policy: PolicyRun | None


@dataclass(frozen=True, eq=False)
class _Parts:
    """Schedules that are replayed together."""

    parts: Sequence[_Part]
    request: SimulationRequest

    @property
    def rounds(self) -> tuple[int, int]:
        """Replications of the first round, and of every round at most."""
        tasks = max(1, len(self.parts[0].replayer.plan.order)) if self.parts else 1
        if self.request.policy is not None:
            return _FIRST_UNDER_POLICY, max(_FIRST_UNDER_POLICY, _ROUND_UNDER_POLICY // tasks)
        return GROUP, max(GROUP, _ROUND // tasks)

    def draw(self, first: int, count: int, watch: Watch) -> list[FloatArray]:
        """Return the next makespans of each schedule."""
        total = len(self.parts)
        return [
            self._draw(part, first, count, watch.within(i, 1, total))
            for i, part in enumerate(self.parts)
        ]

    def _draw(self, part: _Part, first: int, count: int, watch: Watch) -> FloatArray:
        if part.policy is not None:
            return part.policy.sample(first, count, watch)
        return part.replayer.sample(
            first,
            count,
            block=_BLOCK,
            threads=self.request.threads,
            progress=lambda done: watch.tell(done / count),
            cancelled=watch.cancelled,
        )


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


def _draw(source: _Parts, watch: Watch) -> Drawn:
    """Draw as many replications as are asked for; one where nothing is random."""
    if not any(part.random for part in source.parts):
        return draw_number(source, 1, watch)
    under_policy = source.request.policy is not None
    return draw_asked(
        source,
        source.request,
        watch,
        default=DEFAULT_UNDER_POLICY if under_policy else DEFAULT_REPLICATIONS,
        has_interval=[
            part.random and all(_finite_moments(part, source.request)) for part in source.parts
        ],
    )


def _finite_moments(part: _Part, request: SimulationRequest) -> tuple[bool, bool]:
    """Return what is known; a policy may end what the plan would wait for."""
    if part.policy is not None:
        return True, True
    of, plan = part.disturbances, part.replayer.plan
    if loses_work(plan, of.laws, of.processes):
        return False, False
    return has_finite_moments(plan, of.laws, of.processes, request.link_law)


def _doubts(part: _Part, request: SimulationRequest) -> list[str]:
    """Return what is not known of the mean."""
    of, plan = part.disturbances, part.replayer.plan
    if part.policy is None:
        is_open = loses_work(plan, of.laws, of.processes) is None
        return [_MAY_BE_LOST] if is_open else []
    known = has_finite_moments(plan, of.laws, of.processes, request.link_law)
    if not all(known) or any(process.loss is not None for process in of.processes):
        return [_MAY_BE_INFINITE]
    return []


def _describe(part: _Part, samples: FloatArray, request: SimulationRequest) -> Simulation:
    plan = part.replayer.plan
    finite_mean, finite_variance = _finite_moments(part, request)
    found = estimate(
        "dag",
        samples,
        request,
        random=part.random,
        path=_path(part),
        dtype=request.dtype,
        finite_mean=finite_mean,
        finite_variance=finite_variance,
    )
    found = found.replace(
        planned=float(plan.problem.units(plan.planned)),
        warnings=(*plan.warnings, *found.warnings, *_doubts(part, request)),
    )
    return _with_detail(part, found, samples)


def _path(part: _Part) -> Literal["compiled", "plain"]:
    """Return how the replications ran: policies, and loops without a compiler, are plain Python."""
    return "plain" if part.policy is not None or part.replayer.runs_plain() else "compiled"


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
