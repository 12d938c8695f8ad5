"""Prices, time prices and shares of one answer tell the same story."""

from __future__ import annotations

import numpy as np
import pytest

import allocsolve
from allocsolve.models.fair.data import Job, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.responses import Power, best_gain, best_time_price, offers_of


def sound(problem: FairProblem, objective: str, **options: str) -> allocsolve.Certificate:
    """Solve and demand that the proof holds in the eyes of the checker."""
    result = allocsolve.solve(problem, objective=objective, options=options, threads=1)
    assert result.status is allocsolve.Status.OPTIMAL
    allocsolve.check(problem, result).raise_if_violated()
    return result.certificate


@pytest.mark.parametrize("objective", ["nash", "leximin", "max_min", "total_throughput"])
def test_jobs_alike_but_for_the_gang(objective: str) -> None:
    """Without a time cap, jobs that are alike per unit are one class but keep their own gangs."""
    problem = FairProblem.from_arrays(
        [[3.0], [1.0], [2.0]], [3.0], columns={"gang": [3, 1, 2]}, time_cap=False
    )
    result = allocsolve.solve(problem, objective=objective, method="auto", threads=1)
    assert result.status is allocsolve.Status.OPTIMAL
    if objective != "total_throughput":
        assert result.allocation.utilities == pytest.approx([1.0, 1.0, 1.0])


@pytest.mark.parametrize("objective", ["nash", "nash_sharing_incentive"])
def test_time_prices_of_small_weights(objective: str) -> None:
    """Shares of small weights are known to few digits, yet time prices must prove the optimum."""
    problem = FairProblem.from_arrays(
        [[2.0], [3.0], [2.0], [2.0]], [2.0], columns={"weight": [1e3, 1.0, 1e-3, 1e3]}
    )
    sound(problem, objective)


def test_best_time_prices_prove_the_best_gains() -> None:
    """The bound with time prices must not be weaker than that of the best responses."""
    random = np.random.default_rng(1)
    problem = FairProblem.from_arrays(random.random((50, 3)), [3.0, 2.0, 1.0])
    arrays, prices = problem.arrays, np.array([2.0, 5.0, 9.0])
    for floor in (None, 0.3 * arrays.throughput.max(axis=1)):
        for alpha in (0.5, 1.0, 2.0):
            (offers,) = offers_of(arrays, prices, np.arange(50))
            gain = Power(arrays.weight, alpha)
            time = best_time_price(offers, gain, floor)
            unit = ((offers.price + time[:, None]) / offers.reach).min(axis=1)
            utility = np.maximum(gain.wish(unit), 0.0 if floor is None else floor)
            proved = time + gain.value(utility) - unit * utility
            assert proved == pytest.approx(best_gain(offers, gain, floor), abs=1e-12)


@pytest.mark.parametrize("time_cap", [True, False])
def test_finish_times_of_a_job_that_never_had_work(time_cap: bool) -> None:
    """A job without past and without work has the ratio 0/0 and must not stop the others."""
    problem = FairProblem.from_arrays(
        [[1.0], [2.0]],
        [1.0],
        columns={"remaining": [0.0, 4.0], "elapsed": [0.0, 0.0]},
        time_cap=time_cap,
    )
    certificate = sound(problem, "finish_time_fairness")
    assert certificate.kkt_residual == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("time_cap", [True, False])
def test_finish_times_keep_the_prices_of_the_ratio_reached(time_cap: bool) -> None:
    """Prices are those of the ratio of the answer, not of the one that was tried before it."""
    problem = FairProblem.from_arrays(
        [[2.0, 4.0, 1.0], [2.0, 2.0, 2.0]],
        [3.0, 2.0, 2.0],
        columns={"gang": [3, 3], "remaining": [1.0, 1.0]},
        time_cap=time_cap,
    )
    certificate = sound(problem, "finish_time_fairness")
    assert certificate.kkt_residual == pytest.approx(0.0, abs=1e-9)


def test_finish_times_bound_by_a_job_that_has_ended() -> None:
    """Where a job without work has the largest ratio, no unit more would help: prices are 0."""
    problem = FairProblem.from_arrays(
        [[1.0], [2.0]],
        [5.0],
        columns={"remaining": [0.0, 4.0], "elapsed": [5.0, 0.0]},
        time_cap=False,
    )
    assert sound(problem, "finish_time_fairness").kkt_residual == 0.0


@pytest.mark.parametrize(
    ("objective", "options"), [("total_throughput", {}), ("alpha_fair", {"alpha": "0"})]
)
def test_total_with_a_stock_that_solvers_overlook(objective: str, options: dict[str, str]) -> None:
    """The price of a tiny stock proves nothing if a solver rounds it: it has a closed form."""
    problem = FairProblem(
        types=[ResourceType(id="a", count=1000), ResourceType(id="b", count=1e-6)],
        jobs=[
            Job(id="x", throughput={"a": 9.9, "b": 4.1}),
            Job(id="y", throughput={"a": 0.2, "b": 4.9}, weight=2),
        ],
        time_cap=False,
    )
    sound(problem, objective, **options)


def test_a_makespan_is_offered_only_with_time_prices_that_prove_it() -> None:
    """Time prices that leave more than the tolerance would make the checker refuse an optimum."""
    random = np.random.default_rng(3)
    for _ in range(10):
        n = int(random.integers(3, 9))
        problem = FairProblem.from_arrays(
            10.0 ** random.uniform(-4.5, 4.5, (n, 3)),
            random.integers(1, 4, 3).astype(float),
            columns={"remaining": random.choice([1.0, 10.0, 1e3], n)},
        )
        result = allocsolve.solve(problem, objective="makespan", method="interior_point", threads=1)
        allocsolve.check(problem, result).raise_if_violated()
