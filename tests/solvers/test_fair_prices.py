"""Prices mean the same for every objective and method, and the optimality conditions hold."""

from __future__ import annotations

import numpy as np
import pytest

import allocsolve
from allocsolve.models.fair.answer import FairResult
from allocsolve.models.fair.data import ResourceType
from allocsolve.models.fair.kkt import kkt_residuals
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.split import equal_split

OBJECTIVES = {
    "leximin": "leximin",
    "max_min": "interior_point",
    "nash": "interior_point",
    "nash_sharing_incentive": "interior_point",
    "alpha_fair": "interior_point",
    "finish_time_fairness": "interior_point",
    "makespan": "interior_point",
    "equal_throughput": "interior_point",
    "total_throughput": "auto",
    "cost": "auto",
}


def _draw(seed: int, *, time_cap: bool = True) -> FairProblem:
    """Draw a division whose types are scarce and whose deadlines can be met."""
    random = np.random.default_rng(seed)
    n, m = 14, 3
    pace = random.random((n, m)) * np.arange(1, m + 1)
    columns = {
        "weight": random.integers(1, 6, n).astype(float),
        "gang": 2.0 ** random.integers(0, 3, n),
        "remaining": random.integers(1, 9, n).astype(float),
        "elapsed": random.random(n),
        "isolated": 20 + 10 * random.random(n),
    }
    stock = np.array([3.0, 2.0, 2.0]) * columns["gang"].sum() / 60
    plain = FairProblem.from_arrays(pace, stock, columns=columns, time_cap=time_cap)
    columns["deadline"] = columns["remaining"] / equal_split(plain.arrays) * 1.05
    return FairProblem.from_arrays(
        pace, stock, cost=[1.0, 2.0, 4.0], columns=columns, time_cap=time_cap
    )


@pytest.mark.parametrize("time_cap", [True, False])
@pytest.mark.parametrize("objective", OBJECTIVES)
def test_the_conditions_hold(objective: str, time_cap: bool) -> None:
    """Both ways end where Karush, Kuhn and Tucker say, in the units of the objective."""
    for method, most in ((OBJECTIVES[objective], 1e-6), ("cvxpy", 1e-3)):
        problem = _draw(0, time_cap=time_cap)
        result = allocsolve.solve(problem, objective=objective, method=method, threads=1)
        found = kkt_residuals(result.allocation, objective)
        assert found is not None
        assert found.worst <= most, (method, found)


@pytest.mark.parametrize("method", ["auto", "cvxpy"])
@pytest.mark.parametrize(
    "objective", [name for name in OBJECTIVES if name != "nash_sharing_incentive"]
)
def test_prices_are_slopes(objective: str, method: str) -> None:
    """A little more of a type is worth its price, in the direction of better."""
    problem = _draw(1)
    options = {"normalise": "none"} if objective in ("leximin", "max_min") else {}

    def best(stock: np.ndarray) -> FairResult:
        """Solve with another stock, which does not move the equal split of any objective."""
        types = [
            ResourceType(id=kind.id, count=count, cost=kind.cost)
            for kind, count in zip(problem.types, stock.tolist(), strict=True)
        ]
        other = problem.replace(types=types)
        return allocsolve.solve(
            other, objective=objective, method=method, options=options, threads=1
        )

    stock, step = problem.arrays.capacity, 1e-3
    base = best(stock)
    prices = base.allocation.prices
    assert prices is not None
    assert (prices >= 0).all()
    assert prices.max() > 0
    sign = 1.0 if base.objective.sense.value == "max" else -1.0
    for j, more in enumerate(step * np.eye(3)):
        rise = best(stock + more).objective.value - best(stock - more).objective.value
        assert prices[j] == pytest.approx(
            sign * rise / (2 * step), rel=2e-2, abs=1e-3 * prices.max()
        )
