"""Loads of coded jobs: optimal where that can be enumerated, never worse than any rule."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
import pytest

import allocsolve
from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.check import check
from allocsolve.models.coded.data import Limits, MatMul, MatVec, Node, ObjectiveSpec, Scenarios
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law
from allocsolve.models.result import Status, Termination
from allocsolve.report.documents import result_bytes

FOUR = [(1.0, 1.0), (1.0, 1.0), (1 / 3, 3.0), (1 / 3, 3.0)]

M10 = list(
    zip(
        [0.445, 0.468, 0.141, 0.144, 0.999, 0.687, 0.311, 0.491, 0.977, 0.908],
        [4.0, 8.0, 0.5, 8.0, 2.0, 2.0, 4.0, 1.0, 8.0, 0.5],
        strict=True,
    )
)
"""Ten nodes of five rates (shift, rate)."""


def _problem(rows: int, pairs: Sequence[tuple[float, float]], **fields: object) -> CodedProblem:
    nodes = [
        Node(id=f"w{i}", runtime=Law(law="shifted_exponential", shift=shift, rate=rate))
        for i, (shift, rate) in enumerate(pairs)
    ]
    return CodedProblem(task=MatVec(rows=rows), nodes=nodes).replace(**fields)


def _solve(
    problem: CodedProblem, method: str = "auto", options: Mapping[str, str] | None = None
) -> CodedResult:
    result = allocsolve.solve(problem, method=method, time_limit=None, threads=1, options=options)
    assert allocsolve.check(problem, result).violations == ()
    return result


def _best(problem: CodedProblem, rows: int) -> float:
    """Return the least cost over all loads up to ``rows`` that the checker accepts."""
    sign = -1 if problem.objective_name == "deadline_probability" else 1
    values = []
    for loads in itertools.product(range(rows + 1), repeat=len(problem.nodes)):
        report = check(problem, CodedAnswer.of(loads))
        if report.valid and report.value is not None:
            values.append(sign * report.value)
    return sign * min(values, default=math.inf)


def test_the_listed_optimum_is_found_and_proven() -> None:
    """Four nodes and twelve rows: the optimum over all loads is known."""
    result = _solve(_problem(12, FOUR))
    assert result.status is Status.OPTIMAL
    assert result.objective.value == pytest.approx(4.36529530, abs=1e-8)
    assert [int(load) for load in result.assignment.loads] == [1, 1, 5, 5]
    assert result.baselines["hcmm_ceil"] == pytest.approx(5.06084747, abs=1e-8)
    assert result.metrics is not None
    assert result.metrics.quantiles[0.99] == pytest.approx(10.517527, abs=1e-6)


MEAN = ObjectiveSpec(name="mean")
QUANTILE = ObjectiveSpec(name="quantile", q=Fraction(9, 10))
DEADLINE = ObjectiveSpec(name="deadline_probability", deadline=2)
GOALS = [
    pytest.param(MEAN, id="mean"),
    pytest.param(QUANTILE, id="quantile"),
    pytest.param(DEADLINE, id="deadline"),
    pytest.param(ObjectiveSpec(name="cost", deadline=4, confidence=Fraction(3, 5)), id="cost"),
]


@pytest.mark.parametrize("method", ["optimise", "enumeration"])
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("seed", [1, 2])
def test_small_jobs_are_solved_as_by_plain_enumeration(
    method: str, goal: ObjectiveSpec, seed: int
) -> None:
    """The bound may cut off nothing that is better, for any objective and any limit."""
    draw = np.random.default_rng(seed)
    pairs = list(zip(draw.uniform(0.1, 1, 3), draw.choice([0.5, 1, 2, 4], 3), strict=True))
    problem = _problem(4, [(float(a), float(b)) for a, b in pairs], objective=goal)
    nodes = [
        Node(id=node.id, runtime=node.runtime, cost=cost, storage=3 if seed == 2 else None)
        for node, cost in zip(problem.nodes, (1, 2, 3), strict=True)
    ]
    limits = Limits(total_load=7, budget=13) if seed == 2 else Limits()
    problem = problem.replace(nodes=nodes, limits=limits)
    options = {"effort": "1"} if method == "optimise" else None
    result, best = _solve(problem, method, options), _best(problem, 4)
    assert result.status is (Status.OPTIMAL if math.isfinite(best) else Status.INFEASIBLE)
    if math.isfinite(best):
        assert result.objective.value == pytest.approx(best, rel=1e-8)


LAWS = (
    Law(law="weibull", shape=0.7, scale=0.5),
    Law(law="bimodal", base=0.5, slowdown=6, probability=0.2),
    Law(law="pareto", shape=1.8, scale=0.4),
    Law(law="shifted_exponential", shift=0.3, rate=2),
    Law(law="lognormal", log_mean=-1, log_std=1),
    Law(law="deterministic", value=0.8),
)


@pytest.mark.parametrize("seed", range(8))
def test_no_answer_is_worse_than_any_rule(seed: int) -> None:
    """That is the promise: by exact value, whatever the laws, limits and objective."""
    draw = np.random.default_rng(seed)
    count, goals = int(draw.integers(2, 9)), (MEAN, QUANTILE, DEADLINE)
    rows = int(draw.integers(count, 6 * count))
    nodes = [
        Node(id=str(i), runtime=LAWS[int(draw.integers(len(LAWS)))], storage=rows)
        for i in range(count)
    ]
    problem = CodedProblem(
        task=MatVec(rows=rows),
        nodes=nodes,
        objective=goals[seed % 3],
        limits=Limits(total_load=2 * rows, batches=1 + seed // 4),
    )
    result = _solve(problem, options={"effort": "1"})
    values = [value for value in result.baselines.values() if value is not None]
    assert len(values) >= 4
    if problem.objective_name == "deadline_probability":
        assert result.objective.value >= max(values) - 1e-12
    else:
        assert result.objective.value <= min(values) * (1 + 1e-12)


def test_tails_of_mixed_nodes_are_shorter_by_the_promised_share() -> None:
    """A quarter below HCMM rounded up, an eighth below the best tuned rule."""
    goal = ObjectiveSpec(name="quantile", q=Fraction(99, 100))
    result = _solve(_problem(100, M10, objective=goal))
    values = {name: value for name, value in result.baselines.items() if value is not None}
    assert values["hcmm_ceil"] == pytest.approx(26.186578829, abs=1e-8)
    assert values["hcmm_scaled"] == pytest.approx(22.43443058, abs=1e-7)
    assert values["load_balanced_scaled"] == pytest.approx(22.36579474, abs=1e-7)
    assert values["uniform"] == pytest.approx(24.893613539, abs=1e-8)
    assert result.objective.value <= 19.5804
    assert result.objective.bound is not None
    assert 17 < result.objective.bound < result.objective.value


def test_means_of_two_types_are_shorter_by_the_promised_share() -> None:
    """At least three percent below HCMM rounded up, and below the known good loads."""
    result = _solve(_problem(50, [(1.0, 1.0)] * 5 + [(1 / 3, 3.0)] * 5))
    value = result.baselines["hcmm_ceil"]
    assert value is not None
    assert value == pytest.approx(8.209994, abs=1e-6)
    assert result.objective.value <= min(0.97 * value, 7.941018)


def test_a_confidence_out_of_reach_is_proven_so() -> None:
    """No loads are complete by then surely enough: that is an answer, not a failure."""
    goal = ObjectiveSpec(name="cost", deadline=Fraction(3, 2), confidence=Fraction(99, 100))
    result = _solve(_problem(4, FOUR[:3], objective=goal))
    assert result.status is Status.INFEASIBLE


def test_an_infinite_mean_is_no_number_but_other_objectives_are_solved() -> None:
    """Pareto nodes of which all are needed have no mean."""
    nodes = [Node(id=c, runtime=Law(law="pareto", shape=0.4, scale=1)) for c in "ab"]
    problem = CodedProblem(task=MatVec(rows=3), nodes=nodes)
    result = _solve(problem, options={"effort": "1"})
    assert math.isinf(result.objective.value)
    assert b'"infinite": true' in result_bytes(result)
    median = problem.replace(objective=ObjectiveSpec(name="quantile", q=Fraction(1, 2)))
    assert math.isfinite(_solve(median, options={"effort": "1"}).objective.value)


@pytest.mark.parametrize("method", ["optimise", "enumeration", "milp", "partial_work"])
def test_work_that_takes_no_time_is_assigned(method: str) -> None:
    """A law that is always 0 leaves a search no times to look at."""
    nothing = Law(law="deterministic", value=0)
    nodes = [Node(id=c, runtime=nothing) for c in "ab"]
    result = _solve(CodedProblem(task=MatVec(rows=4), nodes=nodes), method)
    assert not any("failed" in warning for warning in result.warnings)
    assert result.objective.value == 0
    assert result.status is (Status.FEASIBLE if method == "partial_work" else Status.OPTIMAL)


def test_batches_that_are_free_are_chosen() -> None:
    """Without messages the finest work is best; a message has its price."""
    problem = _problem(40, FOUR, limits=Limits(batches="free", total_load=80))
    fine = _solve(problem, options={"effort": "2"})
    nodes = [Node(id=n.id, runtime=n.runtime, message=Fraction(3, 5)) for n in problem.nodes]
    dear = _solve(problem.replace(nodes=nodes), options={"effort": "2"})
    assert fine.assignment.batches == max(fine.assignment.loads)
    assert dear.assignment.batches is not None
    assert 1 < dear.assignment.batches < 12
    whole = _solve(_problem(40, FOUR), options={"effort": "2"})
    assert fine.objective.value < 0.75 * whole.objective.value


def test_products_of_matrices_count_with_their_threshold() -> None:
    """The need of a matrix product is the recovery threshold of its split."""
    problem = _problem(1, FOUR).replace(task=MatMul(rows=4, inner=4, columns=4, split=(2, 1, 2)))
    result = _solve(problem, options={"effort": "1"})
    assert result.status is Status.OPTIMAL
    assert result.objective.value == pytest.approx(_best(problem, 4), rel=1e-9)


def _drawn(seed: int, draws: int) -> Scenarios:
    rng = np.random.default_rng(seed)
    slow = 1 + 3.0 * (rng.random((draws, 1)) < 0.3)
    times = np.hstack([slow * rng.uniform(0.5, 1, (draws, 2)), rng.uniform(0.3, 2, (draws, 1))])
    return Scenarios(samples=times.round(3).tolist())


@pytest.mark.parametrize("goal", GOALS[:3])
def test_draws_are_searched_and_tried_on_the_other_half(goal: ObjectiveSpec) -> None:
    """Loads that only suit the draws that they were chosen on must be recognised."""
    problem = CodedProblem(
        task=MatVec(rows=4),
        nodes=[Node(id=c) for c in "abc"],
        scenarios=_drawn(2, 60),
        objective=goal,
    )
    result = _solve(problem, options={"effort": "1"})
    assert result.objective.value == pytest.approx(_best(problem, 4), rel=1e-9)
    assert any("on the other 30" in warning for warning in result.warnings)


def test_nodes_that_straggle_together_are_searched_by_their_joint_law() -> None:
    """Work on the other half of a group is no redundancy."""
    problem = _problem(4, FOUR[:3])
    nodes = [
        Node(id=n.id, runtime=n.runtime, group=group)
        for n, group in zip(problem.nodes, ("g", "g", None), strict=True)
    ]
    problem = problem.replace(nodes=nodes)
    result = _solve(problem, options={"effort": "1"})
    assert result.objective.value == pytest.approx(_best(problem, 4), rel=1e-9)
    assert result.objective.bound is not None
    assert result.objective.bound <= result.objective.value


@pytest.mark.parametrize("goal", GOALS[:2])
def test_laws_that_only_jump_are_proven_too(goal: ObjectiveSpec) -> None:
    """Lower sums between a few times say nothing about stairs: their proof needs every step."""
    laws = [
        Law(law="bimodal", base=0.4, slowdown=7, probability=0.3),
        Law(law="empirical", samples=[0.3, 0.5, 1.1, 2.9]),
        Law(law="deterministic", value=0.9),
    ]
    nodes = [Node(id=str(i), runtime=law) for i, law in enumerate(laws)]
    problem = CodedProblem(task=MatVec(rows=5), nodes=nodes, objective=goal)
    result = _solve(problem, options={"effort": "1"})
    assert result.status is Status.OPTIMAL
    assert result.objective.value == pytest.approx(_best(problem, 5), rel=1e-9)


def test_many_nodes_get_loads_that_no_factor_gives() -> None:
    """Where a sweep over single units takes too long, pairs of nodes still find better loads."""
    draw = np.random.default_rng(3)
    pairs = zip(draw.uniform(0.1, 1, 40).tolist(), draw.choice([0.5, 2, 8], 40), strict=True)
    goal = ObjectiveSpec(name="quantile", q=Fraction(99, 100))
    problem = _problem(400, [(a, float(b)) for a, b in pairs], objective=goal)
    result = _solve(problem, options={"effort": "1"})
    best = min(value for value in result.baselines.values() if value is not None)
    assert result.objective.value < 0.99 * best


def test_the_same_run_gives_the_same_document() -> None:
    """Random moves come from the seed."""
    problem = _problem(30, M10)
    first, second = (_solve(problem, options={"effort": "1"}) for _ in range(2))
    assert first.deterministic
    documents = [result_bytes(result).split(b'"timing"')[0] for result in (first, second)]
    assert documents[0] == documents[1]
    assert first.assignment == second.assignment


@pytest.mark.parametrize("limit", [0.05, 0.6])
def test_a_search_that_is_cut_short_has_an_answer(limit: float) -> None:
    """A large fleet is interrupted in the midst of its loops, and the result says so."""
    result = allocsolve.solve(_problem(400, M10 * 4), time_limit=limit, threads=1)
    assert result.termination is Termination.TIME_LIMIT
    assert result.status is Status.FEASIBLE


@pytest.mark.parametrize("rule", ["uniform", "hcmm_ceil", "load_balanced_scaled", "replication"])
def test_a_rule_gives_its_own_answer_beside_the_others(rule: str) -> None:
    """A method named after a rule must not hand in the answer of a better one."""
    result = _solve(_problem(12, FOUR), rule)
    assert result.status is Status.FEASIBLE
    assert result.objective.value == pytest.approx(result.baselines[rule])
    assert len(result.baselines) == 6
