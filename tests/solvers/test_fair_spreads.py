"""Numbers spread over many powers of ten: right, or said to be short of a proof, never wrong."""

from __future__ import annotations

import numpy as np
import pytest

import allocsolve
from allocsolve.models.fair.problem import FairProblem


def _draw(
    power: int, seed: int, *, time_cap: bool, factor: np.ndarray | None = None
) -> FairProblem:
    """Draw throughputs spread over 10^power; ``factor`` multiplies those of each job."""
    random = np.random.default_rng(seed)
    n, m = 20, 3
    pace = random.random((n, m)) * 10.0 ** random.uniform(-power / 2, power / 2, (n, m))
    gang = 2.0 ** random.integers(0, 3, n)
    columns = {
        "weight": 10.0 ** random.uniform(-1, 1, n),
        "gang": gang,
        "remaining": 10 * random.random(n),
    }
    if factor is not None:
        pace = pace * factor[:, None]
    return FairProblem.from_arrays(
        pace, np.full(m, gang.sum() / 16 / m), columns=columns, time_cap=time_cap
    )


@pytest.mark.parametrize("time_cap", [True, False])
@pytest.mark.parametrize("objective", ["makespan", "equal_throughput", "max_min", "leximin"])
def test_spreads_up_to_1e12_are_proved(objective: str, time_cap: bool) -> None:
    """Rows and columns are scaled, so that tiny numbers are not lost beside huge ones."""
    options = {} if objective in ("makespan", "equal_throughput") else {"normalise": "none"}
    for power, seed in ((9, 2), (12, 0), (12, 1)):
        problem = _draw(power, seed, time_cap=time_cap)
        result = allocsolve.solve(problem, objective=objective, options=options, threads=1)
        assert result.status == "OPTIMAL", (power, seed, result.warnings)
        assert result.objective.gap is not None
        assert result.objective.gap <= 1e-8
        assert allocsolve.check(problem, result).valid


@pytest.mark.parametrize("objective", ["makespan", "equal_throughput", "leximin"])
def test_what_is_beyond_is_reported(objective: str) -> None:
    """Over 18 powers of ten an answer may fall short; then it says so, and by how much."""
    options = {"normalise": "none"} if objective == "leximin" else {}
    for seed in range(2):
        problem = _draw(18, seed, time_cap=True)
        result = allocsolve.solve(problem, objective=objective, options=options, threads=1)
        if result.answer is None:
            assert result.status == "ERROR"
            continue
        gap = result.objective.gap
        assert gap is not None
        assert (result.status == "OPTIMAL") == (gap <= 1e-8)
        assert result.status == "OPTIMAL" or any("gap" in text for text in result.warnings)


@pytest.mark.parametrize("objective", ["nash", "leximin"])
@pytest.mark.parametrize("seed", range(2))
def test_any_units_of_throughput_give_the_same_shares(objective: str, seed: int) -> None:
    """Each job in a unit of its own, up to 10^9 apart: equal utilities, and shares to 1e-6."""
    factor = 10.0 ** np.random.default_rng(seed).integers(-9, 10, 20)
    one, two = (
        allocsolve.solve(
            _draw(1, seed, time_cap=True, factor=each), objective=objective, threads=1
        ).allocation
        for each in (None, factor)
    )
    assert two.utilities / factor == pytest.approx(one.utilities, rel=1e-6)
    if objective == "nash":
        assert two.shares == pytest.approx(one.shares, abs=1e-6)
