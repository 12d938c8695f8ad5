"""What is claimed of a division is proved by the prices in its document."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import allocsolve
from allocsolve.models import kernels
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.check import check
from allocsolve.models.fair.claims import PROVED, price_gap
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.split import equal_split, split_shares
from allocsolve.models.kernels import KernelSet
from allocsolve.solvers.control import Limits, RealControl
from allocsolve.solvers.fair.presenting import offer
from allocsolve.solvers.fair.structured import at_level

EVEN = FairProblem.from_arrays(
    np.ones((7, 2)),
    [1.0, 2.0],
    columns={"weight": [1000.0, 0.5, 1000.0, 1.0, 0.001, 0.5, 0.001]},
    time_cap=False,
)


def test_an_optimum_of_two_methods_passes_the_checker() -> None:
    """One method has the better shares and the other one the prices: both must be told."""
    result = allocsolve.solve(EVEN, objective="nash_sharing_incentive", threads=1)
    assert result.status == "OPTIMAL"
    assert allocsolve.check(EVEN, result).violations == ()


@pytest.mark.parametrize("order", ["shares first", "prices first"])
def test_the_best_shares_take_the_best_prices(order: str) -> None:
    """A bound that other prices prove is no proof of what a document says."""
    problem = FairProblem.from_arrays([[10, 1], [6, 3]], [1, 2])
    problem = problem.aiming_at("nash", problem.settings)
    best = np.array([[17 / 18, 1 / 18], [1 / 18, 17 / 18]])
    right = FairAnswer(problem, best * 0.9, prices=np.array([18 / 19, 0]))
    wrong = FairAnswer(problem, best, prices=np.array([1.0, 1.0]))
    control: RealControl[FairAnswer] = RealControl(Limits())
    for answer in (wrong, right) if order == "shares first" else (right, wrong):
        offer(answer, control, "a method")
    assert control.answer is not None
    assert control.answer.shares == pytest.approx(best)
    assert control.answer.prices == pytest.approx([18 / 19, 0])
    value = -(control.value or 0.0)
    found = price_gap(problem, control.answer, "nash", value, problem.settings)
    assert found is not None
    assert abs(found) <= PROVED


@pytest.mark.parametrize(
    ("pace", "weight", "count"),
    [([0.0157778, 61.97387], [2.0, 1000.0], 2.0), ([0.4637996, 0.8085129], [1.0, 1.0], 2.0)],
)
def test_more_than_the_level_is_taken_off(
    pace: list[float], weight: list[float], count: float
) -> None:
    """The convex program asks for the level at least: what is above it made the answer wrong."""
    problem = FairProblem.from_arrays(np.array(pace)[:, None], [count], columns={"weight": weight})
    for method in ("cvxpy", "auto"):
        result = allocsolve.solve(problem, objective="equal_throughput", method=method, threads=1)
        assert result.status == "OPTIMAL", result.warnings
        level = result.allocation.utilities / np.array(weight)
        assert level == pytest.approx(min(np.array(pace) / weight), rel=1e-9)


def test_shared_time_stays_where_levels_are_cut() -> None:
    """What a pair brings one job cannot be cut without the other one: its own time can."""
    problem = FairProblem.from_arrays(np.ones((3, 1)), [2.0])
    problem = problem.with_pairs([[0, 1]], np.full((1, 1, 2), 0.5), [0])
    problem = problem.aiming_at("equal_throughput", problem.settings)
    answer = FairAnswer(problem, np.array([[0.5], [0.0], [1.0]]), pair_shares=np.array([[0.4]]))
    cut = at_level(problem, answer)
    assert cut.utilities == pytest.approx([0.2, 0.2, 0.2])
    assert cut.pair_shares == pytest.approx(np.array([[0.4]]))


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let no loop be compiled, in this process or in a cache, and let compiling fail the test."""

    def refuse(self: KernelSet) -> float:
        raise AssertionError(f"{self.name} was compiled")

    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(kernels._Kernel, "is_loaded", lambda _: False)
    monkeypatch.setattr(kernels._Kernel, "is_cached", lambda _: False)
    monkeypatch.setattr(KernelSet, "build", refuse)


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("method", ["auto", "interior_point"])
@pytest.mark.parametrize(
    "name",
    [
        "nash",
        "nash_sharing_incentive",
        "alpha_fair",
        "max_min",
        "makespan",
        "finish_time_fairness",
        "equal_throughput",
    ],
)
def test_there_is_an_answer_where_compiling_does_not_fit(name: str, method: str) -> None:
    """On a new machine a short limit ended without any answer, though an equal split is one."""
    pace = np.random.default_rng(1).random((9_000, 4)) + 0.1
    problem = FairProblem.from_arrays(pace, [400, 200, 100, 9], columns={"remaining": pace[:, 0]})
    result = allocsolve.solve(problem, objective=name, method=method, time_limit=5, threads=1)
    assert result.status == "FEASIBLE", result.warnings
    assert any("doctor --compile" in warning for warning in result.warnings)
    assert allocsolve.check(problem, result).violations == ()
    assert result.objective.bound is not None


@pytest.mark.usefixtures("cold")
def test_many_jobs_of_few_kinds_need_no_compiler() -> None:
    """Jobs that are alike are one in the loops: what counts is how many kinds there are."""
    pace = np.random.default_rng(1).random((20, 4))[np.arange(8_000) % 20]
    problem = FairProblem.from_arrays(pace, [400, 200, 100, 9])
    for method in ("auto", "price_box"):
        result = allocsolve.solve(problem, objective="nash", method=method, time_limit=9, threads=1)
        assert result.status == "OPTIMAL", result.warnings


@pytest.mark.parametrize("time_cap", [True, False])
@pytest.mark.parametrize("split", ["equal", "weighted"])
def test_shares_of_the_equal_split_bring_its_utility(split: str, time_cap: bool) -> None:
    """An answer of equal parts must be what floors and normalisers say that it is."""
    generator = np.random.default_rng(2)
    columns = {"gang": generator.integers(1, 4, 9), "weight": generator.random(9) + 0.1}
    problem = FairProblem.from_arrays(
        generator.random((9, 3)), [3, 2, 40], columns=columns, time_cap=time_cap
    )
    settings = problem.settings.with_options({"split": split})
    shares = split_shares(problem.arrays, settings)
    answer = FairAnswer(problem, shares)
    assert answer.utilities == pytest.approx(equal_split(problem.arrays, settings))
    assert check(problem, answer, name="nash_sharing_incentive", settings=settings).valid
