"""Every method for fair division keeps the same promises for every objective and feature."""

from __future__ import annotations

import time
from functools import cache

import pytest

import allocsolve
from allocsolve.models.errors import UsageError
from allocsolve.models.fair.allocation import allocation_of
from allocsolve.models.fair.answer import FairResult
from allocsolve.models.fair.data import Entity, Job, Pair, ResourceType
from allocsolve.models.fair.problem import FairFeature, FairProblem
from allocsolve.models.result import Sense, Status, Termination
from allocsolve.report.documents import result_bytes
from allocsolve.report.fair_results import read_solution
from allocsolve.solvers.routes import METHODS, Method

SLACK = 5.0
"""Seconds over a limit that a busy machine may add."""

_PACES = ((4.0, 1.0), (3.0, 2.0), (1.0, 2.0), (2.0, 0.0))
_JOBS = [
    Job(id=f"j{i}", throughput={"fast": fast, "slow": slow}, remaining=3 + i, elapsed=1)
    for i, (fast, slow) in enumerate(_PACES)
]


def _division(*jobs: Job, **fields: object) -> FairProblem:
    types = [ResourceType(id="fast", count=1, cost=2), ResourceType(id="slow", count=1, cost=1)]
    common: dict[str, object] = {"types": types, "jobs": [*_JOBS, *jobs]}
    return FairProblem(**(common | fields))  # type: ignore[arg-type]  # the fields of a problem


def _more(**fields: object) -> Job:
    common: dict[str, object] = {"id": "more", "throughput": {"fast": 2, "slow": 3}, "remaining": 2}
    return Job(**(common | fields))  # type: ignore[arg-type]  # the fields of a job


PROBLEMS = {
    "plain": _division(),
    FairFeature.GANGS: _division(
        _more(gang=2),
        types=[ResourceType(id="fast", count=3, cost=2), ResourceType(id="slow", count=2, cost=1)],
    ),
    FairFeature.ENTITIES: _division(_more(entity="team"), entities=[Entity(id="team", weight=2)]),
    FairFeature.DEMANDS: _division(_more(throughput={"fast": 2}, demand={"slow": 0.25})),
    FairFeature.PAIRS: _division(
        pairs=[Pair(jobs=("j0", "j2"), throughput={"fast": (3, 0.8), "slow": (0.8, 1.5)})]
    ),
    FairFeature.DEADLINES: _division(_more(deadline=8)),
    FairFeature.NO_TIME_CAP: _division(time_cap=False),
}
"""One small instance for each feature."""

FAIR = [method for method in METHODS if method.kind == "fair"]
ALONE = {"completion_time", "partial_allocation", "envy_free_efficiency"}
"""Objectives without a meaning where jobs demand something or share units."""

CASES = [
    (method, objective, name)
    for method in FAIR
    for name, problem in PROBLEMS.items()
    if problem.features <= method.honours
    for objective in method.objectives
]


def _is_refused(objective: str, name: str) -> bool:
    return objective in ALONE and name in (FairFeature.DEMANDS, FairFeature.PAIRS)


TRIPLES = [
    pytest.param(*case, id=f"{case[0].name}-{case[1]}-{case[2]}")
    for case in CASES
    if not _is_refused(case[1], case[2])
]


def _solve(method: str, objective: str, name: str) -> FairResult:
    result = allocsolve.solve(
        PROBLEMS[name], method=method, objective=objective, time_limit=None, threads=1
    )
    assert isinstance(result, FairResult)
    return result


@cache
def _solved(method: str, objective: str, name: str) -> FairResult:
    return _solve(method, objective, name)


def _slack(result: FairResult) -> float:
    """Return what a proof leaves open, in units of the objective."""
    objective = result.objective
    return 1e-7 * max(abs(objective.value), 10.0)


def test_there_is_an_instance_for_every_feature() -> None:
    """A feature without one would escape all tests below; rounds belong to no method yet."""
    features = {value for name, value in vars(FairFeature).items() if name.isupper()}
    assert features - {FairFeature.ROUNDS} == set(PROBLEMS) - {"plain"}
    assert all(name in problem.features for name, problem in PROBLEMS.items() if name != "plain")


@pytest.mark.parametrize(("method", "objective", "name"), TRIPLES)
def test_answers_pass_the_checker_with_their_claims(
    method: Method, objective: str, name: str
) -> None:
    """Shares, value, status and prices must be what the checker finds; no bound is beyond."""
    result = _solved(method.name, objective, name)
    assert result.status in (Status.OPTIMAL, Status.FEASIBLE), result.warnings
    assert result.termination is Termination.FINISHED
    assert result.status is Status.OPTIMAL or result.warnings
    assert allocsolve.check(PROBLEMS[name], result).violations == ()
    if result.objective.bound is not None:
        sign = -1 if result.objective.sense is Sense.MAX else 1
        beyond = sign * (result.objective.bound - result.objective.value)
        assert beyond <= _slack(result)


@pytest.mark.parametrize(("method", "objective", "name"), TRIPLES)
def test_no_answer_is_better_than_an_optimum(method: Method, objective: str, name: str) -> None:
    """What `auto` proved to be optimal cannot be beaten by another method."""
    best, found = _solved("auto", objective, name), _solved(method.name, objective, name)
    if best.status is Status.OPTIMAL:
        sign = -1 if best.objective.sense is Sense.MAX else 1
        assert sign * found.objective.value >= sign * best.objective.value - _slack(best)


@pytest.mark.parametrize(
    ("method", "objective"),
    [
        pytest.param(*case[:2], id=f"{case[0].name}-{case[1]}")
        for case in CASES
        if case[2] == "plain"
    ],
)
def test_the_same_run_gives_the_same_document(method: Method, objective: str) -> None:
    """Everything but the timing is byte-identical, and comes back unchanged."""
    first, second = (
        _solved(method.name, objective, "plain"),
        _solve(method.name, objective, "plain"),
    )
    documents = [
        [line for line in result_bytes(result).splitlines() if b'"timing"' not in line]
        for result in (first, second)
    ]
    assert documents[0] == documents[1]
    again = read_solution(result_bytes(first), PROBLEMS["plain"])
    assert again.answer == allocation_of(first.allocation)


@pytest.mark.parametrize("name", [FairFeature.DEMANDS, FairFeature.PAIRS])
@pytest.mark.parametrize("objective", sorted(ALONE))
def test_what_has_no_meaning_is_refused(objective: str, name: str) -> None:
    """Nobody must take shares for an answer to a question that makes no sense."""
    with pytest.raises(UsageError, match=name):
        _solve("auto", objective, name)


@pytest.mark.parametrize("method", FAIR, ids=lambda method: method.name)
def test_no_time_means_no_search(method: Method) -> None:
    """`--time-limit 0` checks and bounds only."""
    result = allocsolve.solve(
        PROBLEMS["plain"], method=method.name, objective=method.objectives[0], time_limit=0
    )
    assert result.status is Status.UNKNOWN
    assert result.answer is None


@pytest.mark.parametrize("method", FAIR, ids=lambda method: method.name)
def test_the_time_limit_holds(method: Method) -> None:
    """A method that ignores its limit blocks whoever waits for it."""
    began = time.monotonic()
    allocsolve.solve(
        PROBLEMS["plain"],
        method=method.name,
        objective=method.objectives[0],
        time_limit=0.2,
        threads=1,
    )
    assert time.monotonic() - began <= 0.2 + SLACK
