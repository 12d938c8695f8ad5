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

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.completion import completion_of
from allocsolve.models.coded.law import CompletionLaw, NoExactLaw, completion_law
from allocsolve.models.coded.law_tails import completion_index
from allocsolve.models.coded.law_terms import tail_index
from allocsolve.models.coded.problem import CodedProblem, Feature
from allocsolve.models.coded.value import objective_value
from allocsolve.models.errors import FeatureRefused
from allocsolve.models.execution.coded_runs import CodedReplay
from allocsolve.models.execution.estimate import estimate
from allocsolve.models.execution.outcome import Simulation
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.rounds import Drawn, Watch, draw_asked, draw_number
from allocsolve.models.execution.summary import compare_all
from allocsolve.models.random import GROUP

__all__ = ["simulate"]

_DETAILED = 2 * GROUP
"""Replications from which utilisation and wasted work are counted if the law is exact."""

_UNDECIDED = (
    "too many nodes have heavy tails to decide whether the mean is finite: it is told as infinite"
)


def simulate(
    problem: CodedProblem,
    answers: Sequence[CodedAnswer],
    request: SimulationRequest,
    *,
    names: Sequence[str] | None = None,
    on_progress: Callable[[float], object] | None = None,
    cancelled: Callable[[], bool] | None = None,
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
    Cancelled
        If the run was cancelled before anything was drawn.
    FeatureRefused
        If stragglers change over rounds.
    """
    if Feature.SEQUENTIAL in problem.features:
        raise FeatureRefused("simulate", [Feature.SEQUENTIAL], ())
    problem = _under_law(problem, request)
    labels = list(names or (f"answer {k + 1}" for k in range(len(answers))))
    laws = [_law(problem, answer) for answer in answers]
    indices = [_index(problem, answer) for answer in answers]
    tails = [index for index, _ in indices]
    replay = CodedReplay(problem, answers, request.seed)
    drawn = _draw(replay, request, laws, tails, Watch(on_progress, cancelled))
    counted = replay.counts()
    found = [
        replace(
            _describe(law, drawn.samples[k], tails[k], request),
            name=labels[k],
            planned=_planned(problem, answers[k], law),
            utilisation=counted[k].utilisation(problem),
            wasted_work=counted[k].wasted,
            detailed=len(drawn.samples[k]),
            samples=drawn.samples[k] if request.keep_samples else None,
        )
        for k, law in enumerate(laws)
    ]
    pairs = compare_all(found, drawn.samples)
    return [
        replace(
            one,
            comparison=pairs,
            warnings=(*one.warnings, *drawn.warnings, *([] if sure or index > 1 else [_UNDECIDED])),
        )
        for one, (index, sure) in zip(found, indices, strict=True)
    ]


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
    tails: Sequence[float],
    watch: Watch,
) -> Drawn:
    """Draw as many replications as are needed; each scenario once."""
    scenarios = replay.problem.arrays.scenarios
    if scenarios is not None:
        return draw_number(replay, len(scenarios), watch)
    if all(laws) and len(laws) == 1 and not request.keep_samples:
        return draw_number(replay, min(request.replications or _DETAILED, _DETAILED), watch)
    is_estimated = [law is None and index > 2 for law, index in zip(laws, tails, strict=True)]
    return draw_asked(replay, request, watch, has_interval=is_estimated)


def _describe(
    law: CompletionLaw | None, times: FloatArray, index: float, request: SimulationRequest
) -> Simulation:
    """Describe a time with a tail ``t^-index``: without a mean none is estimated."""
    if law is not None:
        return _describe_exactly(law, request)
    return estimate(
        "coded",
        times,
        request,
        random=True,
        path="numpy",
        finite_mean=index > 1,
        finite_variance=index > 2,
    )


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


def _index(problem: CodedProblem, answer: CodedAnswer) -> tuple[float, bool]:
    """Return the index of the tail, or else the least of a node, and whether it is exact.

    No job has a heavier tail than its heaviest node.
    """
    try:
        return completion_index(completion_of(problem, answer)), True
    except NoExactLaw:
        known = [tail_index(law) for law in problem.arrays.laws]
        return float(min((x for x in known if x is not None), default=math.inf)), False


def _planned(problem: CodedProblem, answer: CodedAnswer, law: CompletionLaw | None) -> float | None:
    """Return the value of the objective if it is a time that is known without sampling."""
    name = problem.objective_name
    if name == "worst_case":
        return float(objective_value(problem, answer))
    if law is None or name not in ("mean", "quantile"):
        return None
    return law.mean if name == "mean" else law.quantile(float(problem.objective.q or 0.5))
