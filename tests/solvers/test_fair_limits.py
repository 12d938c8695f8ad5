"""What methods for fair division say when they cannot answer as asked."""

from __future__ import annotations

import pytest

import allocsolve
from allocsolve.models.fair.answer import FairResult
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import OBJECTIVE_NAMES

PROBLEM = FairProblem.from_arrays(
    [[10, 1], [6, 3]], [1, 2], cost=[1, 2], columns={"remaining": [3.0, 4.0]}
)


@pytest.mark.parametrize("objective", OBJECTIVE_NAMES)
def test_a_limit_that_is_over_is_no_error(objective: str) -> None:
    """Who comes too late has an answer or none, and never a crash or a word about what is not."""
    result: FairResult = allocsolve.solve(PROBLEM, objective=objective, time_limit=1e-6, threads=1)
    assert result.status in ("OPTIMAL", "FEASIBLE", "UNKNOWN"), result.warnings
    if result.answer is None:
        assert result.status == "UNKNOWN"
        assert not any("maximised" in warning for warning in result.warnings)
