"""Method `approximate`: the best copies and results to wait for, within an accepted error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import allocsolve
from allocsolve.models.coded.answer import Code, CodedAnswer, CodedResult
from allocsolve.models.coded.check import check
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.data import Gradient, Limits, Node, ObjectiveSpec
from allocsolve.models.coded.decoding import repetition_error
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import FeatureRefused
from allocsolve.models.execution.coded_runs import CodedReplay
from allocsolve.models.execution.rounds import Watch
from allocsolve.models.nodes import Law
from allocsolve.models.result import Status

LAW = Law(law="shifted_exponential", shift=1, rate=0.5)
GOALS = (
    ObjectiveSpec(name="mean"),
    ObjectiveSpec(name="worst_case"),
    ObjectiveSpec(name="quantile", q=0.99),
    ObjectiveSpec(name="deadline_probability", deadline=7),
)


def _problem(nodes: int = 6, *, error: float | None = 0.2, **fields: Any) -> CodedProblem:
    storage, stragglers = fields.pop("storage", None), fields.pop("stragglers", 1)
    workers = [Node(id=f"w{i}", runtime=LAW, storage=storage) for i in range(nodes)]
    task = Gradient(partitions=nodes, stragglers=stragglers, error=error)
    return CodedProblem(**{"task": task, "nodes": workers, "objective": GOALS[0], **fields})


def _solve(problem: CodedProblem, method: str = "approximate") -> CodedResult:
    result = allocsolve.solve(problem, method=method, threads=1, time_limit=None)
    assert isinstance(result, CodedResult)
    return result


def _repeated(problem: CodedProblem, copies: int, awaited: int) -> CodedAnswer:
    nodes = len(problem.nodes)
    parts = [[i // copies * copies + j for j in range(copies)] for i in range(nodes)]
    code = Code("approximate", k=awaited, copies=copies)
    return CodedAnswer.of([copies] * nodes, code=code, partitions=parts)


@pytest.mark.parametrize("goal", GOALS, ids=lambda goal: goal.name)
@pytest.mark.parametrize(
    ("nodes", "error", "storage"),
    [(4, 0.0, None), (6, 0.05, None), (6, 0.2, 2), (6, 0.4, None), (4, 0.7, 1)],
)
def test_no_copies_and_answers_are_better(
    goal: ObjectiveSpec, nodes: int, error: float, storage: int | None
) -> None:
    """On equal nodes no pair (d, r) whose error is accepted beats the answer."""
    problem = _problem(nodes, error=error, storage=storage, objective=goal)
    pairs = [
        (d, r)
        for d in range(1, (storage or nodes) + 1)
        for r in range(1, nodes)
        if nodes % d == 0 and repetition_error(nodes, d, r) <= nodes * error + 1e-12
    ]
    costs = {pair: exact_cost(problem, _repeated(problem, *pair)) for pair in pairs}
    assert all(check(problem, _repeated(problem, *pair)).valid for pair in pairs)
    result = _solve(problem)
    sign = -1 if goal.name == "deadline_probability" else 1
    found = result.baselines["approximate"]
    assert found is not None
    best = min(costs.values())
    assert sign * found <= best + 1e-9 * abs(best)
    if error < 0.4 or nodes == 4:  # else groups of several sizes are better than any of the pairs
        assert sign * found == pytest.approx(best, rel=1e-9)
    known = [sign * value for value in result.baselines.values() if value is not None]
    assert sign * result.objective.value == pytest.approx(min(known), rel=1e-12)


def test_an_accepted_error_saves_time_and_costs_nothing() -> None:
    """More error is never slower; no error at all is what an exact gradient costs."""
    values = [_solve(_problem(error=e)).objective.value for e in (0, 0.05, 0.2, 0.5, 0.8)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 2 * values[-1]
    rules = _solve(_problem(error=None), "fractional_repetition")
    assert values[0] <= rules.objective.value


def test_auto_takes_it_where_an_error_is_accepted() -> None:
    """With an error auto answers the same; without one nothing of it is seen."""
    result = _solve(_problem(), "auto")
    assert result.assignment == _solve(_problem()).assignment
    assert result.assignment.code.family == "approximate"
    assert any("approximate" in warning for warning in result.warnings)
    assert "approximate" not in _solve(_problem(4, error=None), "auto").baselines


def test_other_methods_refuse_an_accepted_error() -> None:
    """An exact method would prove an optimum that an approximate answer beats."""
    for method in ("partitions", "heterogeneity_aware", "placement"):
        with pytest.raises(FeatureRefused, match="approximate gradients"):
            _solve(_problem(objective=GOALS[1]), method)


def test_without_an_error_it_says_so() -> None:
    """The method does not pretend that some error were accepted."""
    result = _solve(_problem(error=None))
    assert result.status is Status.UNKNOWN
    assert any("accepts no error" in warning for warning in result.warnings)


def test_nobody_is_left_to_wait_for() -> None:
    """If all nodes may be silent, no error helps."""
    assert _solve(_problem(3, stragglers=3, error=0.9), "auto").status is Status.INFEASIBLE


def test_too_little_storage_for_one_copy_is_infeasible() -> None:
    """Every partition has to be somewhere, and once is enough."""
    result = _solve(_problem(4, storage=1, error=0.5, stragglers=1), "auto")
    assert result.assignment.code.copies == 1
    short = _problem(4, storage=1, limits=Limits(total_load=3))
    assert _solve(short, "auto").status is Status.INFEASIBLE


def test_nodes_that_hold_some_partitions_get_an_exact_gradient() -> None:
    """Groups need equal data; the rules for data locality still answer."""
    problem = _problem(4)
    nodes = [Node(id=str(i), runtime=LAW, holds=[i, (i + 1) % 4]) for i in range(4)]
    result = _solve(problem.replace(nodes=nodes), "auto")
    assert result.assignment.code.family == "heterogeneity_aware"
    assert any("hold every partition" in warning for warning in result.warnings)


def test_a_replay_waits_for_as_many_results() -> None:
    """Samples of the law must have its mean, also where nodes differ."""
    nodes = [
        Node(id=f"w{i}", runtime=LAW, speed=speed, message=0.1)
        for i, speed in enumerate((1, 1, 2, 2, 3))
    ]
    task = Gradient(partitions=7, stragglers=1, error=0.25)
    problem = CodedProblem(task=task, nodes=nodes, objective=GOALS[0])
    result = _solve(problem, "auto")
    assert result.assignment.code.family == "approximate"
    assert allocsolve.simulate(problem, result).mean == pytest.approx(result.objective.value)
    sampled = CodedReplay(problem, [result.assignment], 7).draw(0, 20_000, Watch())[0]
    assert sampled.mean() == pytest.approx(result.objective.value, rel=0.02)
    early = replace(result.assignment, code=replace(result.assignment.code, k=3))
    assert exact_cost(problem, early) < 0.95 * result.objective.value
