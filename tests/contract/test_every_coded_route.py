"""Every method for coded jobs keeps the same promises on every small instance that it honours."""

from __future__ import annotations

import math
import time
from functools import cache

import pytest

import allocsolve
from allocsolve.models.coded.answer import CodedResult
from allocsolve.models.coded.data import (
    Elastic,
    Gradient,
    Limits,
    MatMul,
    MatVec,
    Node,
    ObjectiveSpec,
    Scenarios,
    Sequential,
)
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import FeatureRefused
from allocsolve.models.nodes import Law
from allocsolve.models.result import Sense, Status, Termination
from allocsolve.report.coded_results import read_solution
from allocsolve.report.documents import result_bytes
from allocsolve.solvers.routes import METHODS, Method

SLACK = 5.0
"""Seconds over a limit that a busy machine may add."""

_LAWS = (
    Law(law="shifted_exponential", shift=0.5, rate=2),
    Law(law="weibull", shape=0.8, scale=1),
    Law(law="gamma", shape=2, scale=0.4),
)
_NODES = [Node(id=f"w{i}", runtime=law, cost=i + 1) for i, law in enumerate(_LAWS)]
_QUANTILE = ObjectiveSpec(name="quantile", q=0.9)
_MEAN = ObjectiveSpec(name="mean")


def _rows(**fields: object) -> CodedProblem:
    return CodedProblem(task=MatVec(rows=5), nodes=_NODES).replace(**fields)


def _draws() -> Scenarios:
    return Scenarios(samples=[[1 + k % 3, 1 + k % 4, 2 + k % 2] for k in range(12)])


PROBLEMS = {
    "rows": _rows(),
    "quantile": _rows(objective=_QUANTILE),
    "deadline": _rows(objective=ObjectiveSpec(name="deadline_probability", deadline=3)),
    "cost": _rows(objective=ObjectiveSpec(name="cost", deadline=5, confidence=0.5)),
    "limits": _rows(limits=Limits(total_load=8, budget=16)),
    "storage": _rows(nodes=[Node(id=n.id, runtime=n.runtime, storage=3) for n in _NODES]),
    "batches": _rows(limits=Limits(batches="free", total_load=10)),
    "messages": _rows(
        limits=Limits(batches=3),
        nodes=[Node(id=n.id, runtime=n.runtime, message=0.1, startup=0.2) for n in _NODES],
    ),
    "additive": _rows(
        scaling="additive", nodes=[Node(id=n.id, runtime=n.runtime, row_time=0.3) for n in _NODES]
    ),
    "each row": _rows(
        scaling="per_row",
        nodes=[Node(id=c, runtime=_LAWS[i % 3 // 2 * 2]) for i, c in enumerate("abc")],
    ),
    "groups": _rows(
        nodes=[
            Node(id=n.id, runtime=n.runtime, group="g" if i else None) for i, n in enumerate(_NODES)
        ]
    ),
    "draws": _rows(nodes=[Node(id=c) for c in "abc"], scenarios=_draws()),
    "quantile of draws": _rows(
        nodes=[Node(id=c) for c in "abc"], scenarios=_draws(), objective=_QUANTILE
    ),
    "products": _rows(task=MatMul(rows=4, inner=4, columns=4, split=(1, 2, 2))),
    "dead node": _rows(nodes=[*_NODES, Node(id="dead", runtime=_LAWS[0], speed=0)]),
    "heavy": _rows(nodes=[Node(id=c, runtime=Law(law="pareto", shape=0.4, scale=1)) for c in "ab"]),
    "gradient": _rows(task=Gradient(partitions=4, stragglers=1)),
    "gradient, mean": _rows(
        task=Gradient(partitions=3, stragglers=1), objective=ObjectiveSpec(name="mean")
    ),
    "local data": CodedProblem(
        task=Gradient(partitions=3, stragglers=1),
        nodes=[Node(id=str(i), holds=[i, (i + 1) % 3]) for i in range(3)],
    ),
    "parts of messages": _rows(task=Gradient(partitions=4, stragglers=1, messages=2)),
    "stragglers": _rows(task=Gradient(partitions=4, stragglers=3)),
    "accepted error": _rows(task=Gradient(partitions=6, stragglers=0, error=0.4)),
    "accepted error, mean": _rows(
        task=Gradient(partitions=6, stragglers=1, error=0.4), objective=_MEAN
    ),
    "elastic": _rows(task=Elastic(recovery_threshold=2)),
    "rounds": _rows(
        task=Gradient(partitions=9, stragglers=0, sequential=Sequential(burst=1, window=2, lam=1))
    ),
    "stored blocks": CodedProblem(
        task=Elastic(recovery_threshold=1, stragglers=1, partitions=3),
        nodes=[Node(id=str(i), speed=1 + i, cost=i, holds=[i, (i + 1) % 3]) for i in range(3)],
        limits=Limits(budget=5),
    ),
    "elastic, mean": _rows(
        task=Elastic(recovery_threshold=1, stragglers=1), objective=ObjectiveSpec(name="mean")
    ),
}
"""One small instance for each feature and objective."""


def _fits(method: Method, problem: CodedProblem) -> bool:
    return problem.features <= method.honours and problem.objective_name in method.objectives


CODED = [method for method in METHODS if method.kind == "coded"]
PAIRS = [
    pytest.param(method, name, id=f"{method.name}-{name}")
    for method in CODED
    for name, problem in PROBLEMS.items()
    if _fits(method, problem)
]


def _solve(method: str, name: str) -> CodedResult:
    rows = isinstance(PROBLEMS[name].task, MatVec | MatMul)
    options = {"effort": "1"} if rows and method in ("auto", "optimise") else None
    result = allocsolve.solve(
        PROBLEMS[name], method=method, time_limit=None, threads=1, options=options
    )
    assert isinstance(result, CodedResult)
    return result


@cache
def _solved(method: str, name: str) -> CodedResult:
    return _solve(method, name)


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_answers_pass_the_checker_with_their_claims(method: Method, name: str) -> None:
    """Value, status and reason must be what the checker finds; no bound is beyond the value."""
    result = _solved(method.name, name)
    assert result.status is not Status.ERROR, result.warnings
    assert result.termination is Termination.FINISHED
    if result.status is not Status.UNKNOWN:
        assert allocsolve.check(PROBLEMS[name], result).violations == ()
    objective = result.objective
    if objective.known is not None and objective.bound is not None:
        sign = -1 if objective.sense is Sense.MAX else 1
        assert sign * objective.bound <= sign * objective.value + 1e-8 * abs(objective.value)


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_no_answer_is_worse_than_that_of_auto_claims(method: Method, name: str) -> None:
    """What `auto` proved to be optimal cannot be beaten by another method."""
    best, found = _solved("auto", name), _solved(method.name, name)
    if best.status is Status.INFEASIBLE:
        assert found.status in (Status.INFEASIBLE, Status.UNKNOWN)
    elif best.status is Status.OPTIMAL and found.answer is not None:
        sign = -1 if best.objective.sense is Sense.MAX else 1
        if math.isinf(best.objective.value):
            assert math.isinf(found.objective.value)
            return
        slack = 1e-8 * abs(best.objective.value)
        assert sign * found.objective.value >= sign * best.objective.value - slack


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_the_same_run_gives_the_same_document(method: Method, name: str) -> None:
    """Everything but the timing is byte-identical, and comes back unchanged."""
    first, second = _solved(method.name, name), _solve(method.name, name)
    documents = [
        [line for line in result_bytes(result).splitlines() if b'"timing"' not in line]
        for result in (first, second)
    ]
    assert documents[0] == documents[1]
    again = read_solution(result_bytes(first), PROBLEMS[name]).answer
    if not isinstance(PROBLEMS[name].task, Elastic):  # thirds become decimals in documents
        assert again == first.answer


@pytest.mark.parametrize("method", CODED, ids=lambda method: method.name)
def test_no_time_means_no_search(method: Method) -> None:
    """`--time-limit 0` checks and bounds only."""
    name = next(name for name, problem in PROBLEMS.items() if _fits(method, problem))
    result = allocsolve.solve(PROBLEMS[name], method=method.name, time_limit=0)
    assert result.status is Status.UNKNOWN
    assert result.answer is None


@pytest.mark.parametrize("method", CODED, ids=lambda method: method.name)
def test_the_time_limit_holds(method: Method) -> None:
    """A method that ignores its limit blocks whoever waits for it."""
    name = next(name for name, problem in PROBLEMS.items() if _fits(method, problem))
    began = time.monotonic()
    allocsolve.solve(PROBLEMS[name], method=method.name, time_limit=0.2, threads=1)
    assert time.monotonic() - began <= 0.2 + SLACK


def test_rounds_of_stragglers_have_no_law() -> None:
    """Jobs overlap, so a mean or a replay of a single one would mean nothing."""
    mean = PROBLEMS["rounds"].replace(objective=_MEAN)
    with pytest.raises(FeatureRefused, match="rounds"):
        allocsolve.solve(mean, method="partitions")
    result = _solved("rounds", "rounds")
    with pytest.raises(FeatureRefused, match="rounds"):
        allocsolve.simulate(PROBLEMS["rounds"], result)
