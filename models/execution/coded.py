"""Replays of coded jobs: exact where the law is, Monte Carlo elsewhere.

All answers of a call see the same random numbers: the time X of a node (in scaling ``per_row``
of each of its rows) in a replication does not depend on the answer. Nodes of one group read the
same numbers. Scenarios are not drawn: each of them counts once, which is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.completion import completion_of
from allocsolve.models.coded.law import CompletionLaw, NoExactLaw, completion_law
from allocsolve.models.coded.law_tails import completion_index
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.value import objective_value
from allocsolve.models.errors import UsageError
from allocsolve.models.execution.coded_runs import CodedReplay, Samples
from allocsolve.models.execution.outcome import Comparison, Simulation
from allocsolve.models.execution.request import DEFAULT_REPLICATIONS, SimulationRequest
from allocsolve.models.execution.summary import (
    compare,
    mean_interval,
    moments,
    quantile,
    quantile_interval,
    replications_needed,
    wilson_interval,
)
from allocsolve.models.random import GENERATOR, GROUP

__all__ = ["simulate"]

_DETAILED = 2 * GROUP
"""Replications from which utilisation and wasted work are counted if the law is exact."""

_PILOT = 2 * GROUP
_MOST = 10**8

Progress = Callable[[float], object]
Cancelled = Callable[[], bool]


def simulate(
    problem: CodedProblem,
    answers: Sequence[CodedAnswer],
    request: SimulationRequest,
    *,
    names: Sequence[str] | None = None,
    on_progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> list[Simulation]:
    """Return the completion law of answers that pass the checker.

    The method is ``exact`` where the law is, also if replications are asked for; utilisation,
    wasted work and comparisons are then counted from samples. Otherwise all is.

    Parameters
    ----------
    names
        Names of the answers, for comparisons.
    on_progress
        Called with the share that is done, 0 to 1.
    cancelled
        Asked between blocks; what was drawn until then is reported, with a warning.

    Raises
    ------
    UsageError
        If the request asks for something that coded jobs do not have.
    """
    _refuse(request)
    problem = _under_law(problem, request)
    labels = list(names or (f"answer {k + 1}" for k in range(len(answers))))
    laws = [_law(problem, answer) for answer in answers]
    replay = CodedReplay(problem, answers, request.seed)
    samples = _draw(replay, request, laws, on_progress, cancelled)
    found = [
        _describe_exactly(law, request)
        if law
        else _describe(samples[k], _index(problem, answers[k]), request)
        for k, law in enumerate(laws)
    ]
    return [
        replace(
            result,
            name=labels[k],
            planned=_planned(problem, answers[k], laws[k]),
            utilisation=samples[k].utilisation(problem),
            wasted_work=samples[k].wasted,
            detailed=len(samples[k].times),
            comparison=_comparisons(k, labels, samples, laws),
            samples=samples[k].times if request.keep_samples else None,
            warnings=_warnings(replay, cancelled),
        )
        for k, result in enumerate(found)
    ]


def _refuse(request: SimulationRequest) -> None:
    if request.policy is not None:
        raise UsageError("coded jobs are not re-scheduled: a policy has no effect on them")
    if request.starts != "eager":
        raise UsageError("coded jobs have no planned start times")
    if request.link_law is not None:
        raise UsageError("coded jobs have no links; 'message' of a node is the time of a result")


def _under_law(problem: CodedProblem, request: SimulationRequest) -> CodedProblem:
    """Return the problem with the law of the request on every node."""
    if request.law is None:
        return problem
    record = request.law.to_record()
    nodes = [msgspec.structs.replace(node, runtime=record) for node in problem.nodes]
    return problem.replace(nodes=nodes, scenarios=None)


def _law(problem: CodedProblem, answer: CodedAnswer) -> CompletionLaw | None:
    try:
        law = completion_law(problem, answer)
        law.quantile(0.5)
    except NoExactLaw:
        return None
    return law


def _draw(
    replay: CodedReplay,
    request: SimulationRequest,
    laws: Sequence[CompletionLaw | None],
    on_progress: Progress | None,
    cancelled: Cancelled | None,
) -> list[Samples]:
    """Draw as many replications as are needed."""
    wanted = request.replications or (DEFAULT_REPLICATIONS if request.precision is None else _MOST)
    if all(laws) and len(laws) == 1 and not request.keep_samples:
        wanted = min(wanted, _DETAILED)
    first = wanted if request.precision is None else min(wanted, _PILOT)
    samples = replay.run(first, on_progress, cancelled)
    if request.precision is not None and not all(laws):
        needed = max(replications_needed(moments(s.times), request.precision) for s in samples)
        samples = replay.run(min(needed, wanted), on_progress, cancelled)
    return samples


def _describe_exactly(law: CompletionLaw, request: SimulationRequest) -> Simulation:
    found = law.quantiles(request.quantiles)
    deadline = request.deadline
    return Simulation(
        kind="coded",
        method="exact",
        mean=law.mean,
        std=law.std,
        quantiles=dict(zip(request.quantiles, found, strict=True)),
        deadline=deadline,
        deadline_probability=None if deadline is None else law.deadline_probability(deadline),
        extra={"mean_error": law.mean_error},
    )


def _describe(samples: Samples, index: float, request: SimulationRequest) -> Simulation:
    """Describe samples of a time with a tail ``t^-index``: without a mean none is estimated."""
    times, known = samples.times, moments(samples.times)
    ordered, deadline = np.sort(times), request.deadline
    met = int((times <= deadline).sum()) if deadline is not None else 0
    return Simulation(
        kind="coded",
        method="monte_carlo",
        mean=math.inf if index <= 1 else known.mean,
        std=math.inf if index <= 2 else known.std,
        quantiles={q: quantile(ordered, q) for q in request.quantiles},
        generator=GENERATOR,
        path="numpy",
        dtype="float64",
        seed=request.seed,
        replications=len(times),
        mean_ci=None if index <= 2 else mean_interval(known),
        quantile_cis={q: quantile_interval(ordered, q) for q in request.quantiles},
        deadline=deadline,
        deadline_probability=None if deadline is None else met / len(times),
        deadline_ci=None if deadline is None else wilson_interval(met, len(times)),
    )


def _index(problem: CodedProblem, answer: CodedAnswer) -> float:
    try:
        return completion_index(completion_of(problem, answer))
    except NoExactLaw:
        return math.inf


def _planned(problem: CodedProblem, answer: CodedAnswer, law: CompletionLaw | None) -> float | None:
    """Return the value of the objective if it is a time that is known without sampling."""
    name = problem.objective_name
    if name == "worst_case":
        return float(objective_value(problem, answer))
    if law is None or name not in ("mean", "quantile"):
        return None
    return law.mean if name == "mean" else law.quantile(float(problem.objective.q or 0.5))


def _comparisons(
    k: int,
    labels: Sequence[str],
    samples: Sequence[Samples],
    laws: Sequence[CompletionLaw | None],
) -> tuple[Comparison, ...] | None:
    """Compare one answer with all others on the same numbers; means exactly where they are."""
    if len(samples) < 2:
        return None
    found = []
    for other in range(len(samples)):
        if other == k:
            continue
        pair = compare((labels[k], labels[other]), samples[k].times, samples[other].times)
        mine, theirs = laws[k], laws[other]
        if mine and theirs:
            pair = _with_exact_means(pair, mine.mean, theirs.mean)
        found.append(pair)
    return tuple(found)


def _with_exact_means(pair: Comparison, first: float, second: float) -> Comparison:
    finite = math.isfinite(first) and math.isfinite(second)
    return replace(pair, mean_difference=first - second if finite else None, ci=None)


def _warnings(replay: CodedReplay, cancelled: Cancelled | None) -> tuple[str, ...]:
    if cancelled is not None and replay.was_cancelled:
        return ("interrupted: fewer replications were drawn than were asked for",)
    return ()
