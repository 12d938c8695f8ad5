"""Space sharing: merged by class and job by job it is the same."""

from __future__ import annotations

import numpy as np
import pytest

import allocsolve
from allocsolve.models.fair.kkt import kkt_residuals
from allocsolve.models.fair.problem import FairProblem


def _draw(jobs: int, kinds: int, seed: int, *, apart: bool, time_cap: bool = True) -> FairProblem:
    """Draw jobs of some kinds, any two of which may share; ``apart`` makes no two alike.

    A little elapsed time matters for no objective here, but tells jobs apart.
    """
    random = np.random.default_rng(seed)
    pace = 0.2 + random.random((kinds, 2))
    kept = 0.5 + 0.4 * random.random((kinds, kinds))
    kind = np.arange(jobs) % kinds
    first, second = np.triu_indices(jobs, 1)
    one, other = np.divmod(np.arange(kinds * kinds), kinds)
    rates = np.stack([pace[one] * kept[one, other, None], pace[other] * kept[other, one, None]], 2)
    columns = {
        "weight": random.integers(1, 4, kinds).astype(float)[kind],
        "remaining": random.integers(1, 9, kinds).astype(float)[kind],
        "elapsed": np.arange(jobs) / jobs if apart else np.zeros(jobs),
        "deadline": np.full(jobs, 200.0),
    }
    problem = FairProblem.from_arrays(
        pace[kind],
        [jobs / 8, jobs / 6],
        cost=[2.0, 1.0],
        columns=columns,
        time_cap=time_cap,
    )
    ends = np.column_stack([first, second])
    return problem.with_pairs(ends, rates, kind[first] * kinds + kind[second])


@pytest.mark.parametrize(
    ("objective", "seed", "time_cap"),
    [
        pytest.param(objective, seed, time_cap, id=f"{objective}-{seed}-{time_cap}")
        for seed, time_cap in ((0, True), (1, False))
        for objective in (
            "max_min",
            "leximin",
            "nash",
            "alpha_fair",
            "makespan",
            "total_throughput",
            "equal_throughput",
            "cost",
        )
    ],
)
def test_classes_lose_nothing(objective: str, seed: int, time_cap: bool) -> None:
    """What is merged reaches the same value, and its prices prove it for every pair."""
    values = []
    for apart in (False, True):
        problem = _draw(12, 3, seed, apart=apart, time_cap=time_cap)
        result = allocsolve.solve(problem, objective=objective, threads=1)
        assert result.status == "OPTIMAL", (result.warnings, result.objective.gap)
        assert allocsolve.check(problem, result).valid
        found = kkt_residuals(result.allocation, objective)
        assert found is not None
        assert found.worst <= 1e-4
        values.append(result.objective.value)
    assert values[0] == pytest.approx(values[1], rel=1e-7)


def test_sharing_is_worth_something() -> None:
    """With pairs more is done than without, or the test above would compare nothing."""
    problem = _draw(12, 3, 0, apart=False)
    with_pairs, alone = (
        allocsolve.solve(each, objective="total_throughput", threads=1)
        for each in (problem, problem.replace(pairs=()))
    )
    assert with_pairs.objective.value > 1.05 * alone.objective.value
    assert with_pairs.allocation.pair_shares is not None
    assert with_pairs.allocation.pair_shares.max() > 0


def test_thousands_of_pairs_make_a_small_program() -> None:
    """300 jobs of 6 kinds have 44 850 pairs and 21 classes of them."""
    problem = _draw(300, 6, 2, apart=False)
    result = allocsolve.solve(problem, objective="max_min", threads=1)
    assert result.status == "OPTIMAL"
    assert np.ptp(result.allocation.utilities.reshape(-1, 6), axis=0) == pytest.approx(
        np.zeros(6), abs=1e-9
    )
