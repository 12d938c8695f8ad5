"""Programs over draws: as enumeration where that is possible, and honest where it is not."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

import allocsolve
from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.costs import answer_of, exact_cost
from allocsolve.models.coded.data import Limits, MatVec, Node, ObjectiveSpec, Scenarios
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scores import DirectScores
from allocsolve.models.nodes import Law
from allocsolve.models.result import Sense, Status, Termination
from allocsolve.solvers.coded import cpsat, milp, scenarios
from allocsolve.solvers.coded.ground import Ground
from allocsolve.solvers.control import Limits as RunLimits
from allocsolve.solvers.control import RealControl, Token

METHODS = ("milp", "cpsat")
SEEDS = 200


def _instance(seed: int) -> CodedProblem:
    """Return a small job over listed draws with random limits; every objective in turn."""
    draw = np.random.default_rng(seed)
    nodes, rows = int(draw.integers(2, 4)), int(draw.integers(2, 6))
    additive = seed % 5 == 4
    times = draw.exponential(1, (int(draw.integers(1, 11)), nodes)) + 0.1
    digits = int(draw.integers(0, 4))  # few digits make ties
    goals = (
        ObjectiveSpec(name="mean"),
        ObjectiveSpec(name="quantile", q=Fraction(int(draw.integers(1, 20)), 20)),
        ObjectiveSpec(name="deadline_probability", deadline=float(draw.uniform(1, 8))),
        ObjectiveSpec(
            name="cost",
            deadline=float(draw.uniform(1, 10)),
            confidence=Fraction(int(draw.integers(1, 10)), 10),
        ),
    )
    return CodedProblem(
        task=MatVec(rows=rows),
        nodes=[
            Node(
                id=str(i),
                cost=Fraction(int(draw.integers(0, 9)), int(draw.integers(1, 4))),
                startup=int(draw.integers(0, 2)),
                message=Fraction(int(draw.integers(0, 3)), 10),
                storage=int(draw.integers(2, 6)) if draw.random() < 0.5 else None,
                speed=1 if additive else int(draw.integers(1, 4)),
                row_time=Fraction(int(draw.integers(0, 4)), 4) if additive else 0,
            )
            for i in range(nodes)
        ],
        scaling="additive" if additive else "load",
        scenarios=Scenarios(samples=np.round(times, digits).tolist()),
        limits=Limits(
            total_load=rows + int(draw.integers(0, 5)) if draw.random() < 0.4 else None,
            budget=rows * int(draw.integers(1, 9)) if draw.random() < 0.3 else None,
        ),
        objective=goals[seed % 4],
    )


def _least(problem: CodedProblem) -> float:
    """Return the least cost over all allowed loads, infinite if there are none."""
    domain = Domain.of(problem)
    return min(
        (
            exact_cost(problem, answer_of(problem, loads, 1))
            for loads in itertools.product(*(range(cap + 1) for cap in domain.caps.tolist()))
            if domain.allows(loads)
        ),
        default=math.inf,
    )


def _cost(result: CodedResult) -> float:
    return (
        -result.objective.value if result.objective.sense is Sense.MAX else result.objective.value
    )


def _solve(
    problem: CodedProblem,
    method: str,
    options: Mapping[str, str] | None = None,
    time_limit: float | None = None,
) -> CodedResult:
    result = allocsolve.solve(
        problem, method=method, time_limit=time_limit, threads=1, options=options
    )
    assert isinstance(result, CodedResult)
    return result


@pytest.mark.parametrize("block", range(8))
def test_both_methods_agree_with_enumeration(block: int) -> None:
    """Where draws are the law, the optimum is found and proven, whatever ties and limits do."""
    for seed in range(block, SEEDS, 8):
        problem = _instance(seed)
        best = _least(problem)
        for method in METHODS:
            result = _solve(problem, method)
            if math.isinf(best):
                assert result.status is Status.INFEASIBLE, (seed, method)
                continue
            assert result.status is Status.OPTIMAL, (seed, method, result.objective)
            assert _cost(result) == pytest.approx(best, rel=1e-8), (seed, method)
            assert allocsolve.check(problem, result).valid


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("whole", [True, False])
def test_programs_find_the_optimum_without_a_rule(
    method: str, whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rules are often optimal on small jobs; the engine must be able to do without."""
    if not whole:
        monkeypatch.setattr(scenarios, "_MOST_TIMES", 0)  # means by refinement
    engine = {"milp": milp, "cpsat": cpsat}[method]

    def no_rules(ground: Ground, *, offer: bool) -> None:
        """Compare with nothing, but begin at loads that are allowed."""
        del offer
        loads = ground.domain.repaired(ground.domain.caps.tolist())
        if loads is not None:
            ground.offer(ground.answer(loads, 1), "start")

    monkeypatch.setattr(scenarios, "compare", no_rules)
    for seed in range(24):
        problem = _instance(seed)
        best = _least(problem)
        control = RealControl[CodedAnswer](RunLimits())
        engine.solve(problem, control)
        if math.isfinite(best):
            assert control.value == pytest.approx(best, rel=1e-8), seed
            assert control.bound is not None
            assert control.bound.value == pytest.approx(best, rel=1e-8), seed


RACKS = CodedProblem(
    task=MatVec(rows=5),
    nodes=[
        Node(
            id=str(i),
            runtime=Law(law="shifted_exponential", shift=0.3, rate=1 + i),
            group="left" if i < 2 else None,
            cost=1 + i,
        )
        for i in range(3)
    ],
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "goal",
    [
        pytest.param(ObjectiveSpec(name="mean"), id="mean"),
        pytest.param(ObjectiveSpec(name="quantile", q=0.9), id="quantile"),
        pytest.param(ObjectiveSpec(name="deadline_probability", deadline=3), id="deadline"),
        pytest.param(ObjectiveSpec(name="cost", deadline=9, confidence=0.9), id="cost"),
    ],
)
def test_a_promise_on_a_sample_stands_beside_the_true_value(
    method: str, goal: ObjectiveSpec
) -> None:
    """A sample's optimum is judged by the true law; no proof or bound comes from the sample."""
    problem = RACKS.replace(objective=goal)
    result = _solve(problem, method, {"draws": "2000", "effort": "1"})
    options = result.solver.options
    assert options["draws"] == 2000
    assert isinstance(options["in_sample"], float)
    assert isinstance(options["out_of_sample"], float)
    assert options["in_sample"] == pytest.approx(options["out_of_sample"], rel=0.1)
    assert any("by the runtime laws" in warning for warning in result.warnings)
    sign = -1 if result.objective.sense is Sense.MAX else 1
    for value in result.baselines.values():
        assert value is None or sign * result.objective.value <= sign * value + 1e-9
    best = sign * _least(problem)
    assert sign * result.objective.value >= sign * best - 1e-9
    assert result.objective.value == pytest.approx(best, rel=0.05)
    if result.objective.bound is not None:
        assert sign * result.objective.bound <= sign * best + 1e-9
        assert "true laws" in str(result.certificate.bound_source)


@pytest.mark.parametrize("method", METHODS)
def test_a_few_draws_of_correlated_nodes_are_warned_of(method: str) -> None:
    """Fifty draws of racks say little; independent laws do not need draws at all."""
    result = _solve(RACKS, method, {"draws": "50", "effort": "1"})
    assert any("take 2000 or more" in warning for warning in result.warnings)


@pytest.mark.parametrize("method", METHODS)
def test_half_of_the_draws_judge_what_the_other_half_found(method: str) -> None:
    """Loads that only suit the draws that they were chosen on must be recognised."""
    draw = np.random.default_rng(5)
    problem = CodedProblem(
        task=MatVec(rows=4),
        nodes=[Node(id=c) for c in "abc"],
        scenarios=Scenarios(samples=np.round(draw.exponential(1, (60, 3)), 2).tolist()),
    )
    result = _solve(problem, method)
    assert result.status is Status.OPTIMAL
    assert any("on the other 30" in warning for warning in result.warnings)
    assert result.solver.options["in_sample"] != result.solver.options["out_of_sample"]


def _large() -> CodedProblem:
    draw = np.random.default_rng(0)
    slow = 1 + 4 * (draw.random((1000, 3)) < 0.15)[:, np.arange(10) % 3]
    times = (1 + draw.exponential(1, (1000, 10))) * slow / np.array([1] * 5 + [3] * 5)
    return CodedProblem(
        task=MatVec(rows=50),
        nodes=[Node(id=str(i)) for i in range(10)],
        scenarios=Scenarios(samples=times.tolist()),
        objective=ObjectiveSpec(name="deadline_probability", deadline=14),
    )


@pytest.mark.parametrize("method", METHODS)
def test_an_interrupt_ends_a_search_with_the_best_answer(method: str) -> None:
    """A program that nobody can solve must give back the rules' best when the caller has enough."""
    token = Token()
    timer = threading.Timer(2.0, token.cancel)
    timer.start()
    result = allocsolve.solve(_large(), method=method, time_limit=None, threads=1, token=token)
    timer.cancel()
    assert isinstance(result, CodedResult)
    assert result.termination is Termination.INTERRUPTED
    assert result.status is Status.FEASIBLE
    known = [value for value in result.baselines.values() if value is not None]
    assert result.objective.value >= max(known)


@pytest.mark.parametrize("method", METHODS)
def test_a_time_limit_is_told_and_nothing_is_claimed(method: str) -> None:
    """Without a proof there is a bound and a status that says so."""
    result = _solve(_large(), method, time_limit=3)
    assert result.status is Status.FEASIBLE
    assert result.termination is Termination.TIME_LIMIT
    assert not result.deterministic
    assert result.objective.bound is not None
    assert result.objective.bound >= result.objective.value


def test_moves_lead_away_from_loads_that_miss_a_confidence() -> None:
    """Such loads cost infinitely much, and any that keep the promise are better than that."""
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=[Node(id=c, cost=1) for c in "ab"],
        scenarios=Scenarios(samples=[[1, 9], [1, 8]]),
        objective=ObjectiveSpec(name="cost", deadline=2, confidence=0.9),
    )
    scores = DirectScores(problem, 1, Domain.of(problem))
    loads, value = np.array([1, 1]), np.array([math.inf])
    assert scores.score([1, 1]) == math.inf
    assert scores.scan(np.array([[0, 1]]), 1, loads, value) == 1
    assert (loads.tolist(), value.tolist()) == ([2, 0], [2.0])
