"""What methods for fair division say when they cannot answer as asked."""

from __future__ import annotations

import pytest

import allocsolve
from allocsolve.models.fair.answer import FairResult
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import OBJECTIVE_NAMES
from allocsolve.solvers.fair.leximin import Stages
from allocsolve.solvers.fair.price_box import solve_in_box

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


@pytest.mark.parametrize(
    ("method", "status"),
    [
        pytest.param("auto", "INFEASIBLE", id="auto: the convex program decides"),
        pytest.param("cvxpy", "INFEASIBLE", id="cvxpy"),
        pytest.param("interior_point", "UNKNOWN", id="it has no proof, and no answer"),
    ],
)
def test_floors_out_of_reach(method: str, status: str) -> None:
    """Proportional splits are scaled to a whole time share: of scarce types too much for all."""
    scarce = FairProblem.from_arrays([[1.0, 2.0], [2.0, 3.0], [3.0, 1.0], [2.0, 2.0]], [1, 1])
    result: FairResult = allocsolve.solve(
        scarce,
        objective="nash_sharing_incentive",
        method=method,
        options={"equal_split": "proportional"},
        threads=1,
    )
    assert (result.status, result.answer) == (status, None)
    told = any("equal split" in warning for warning in result.warnings)
    assert told == (status == "UNKNOWN")


def test_some_levels_are_no_leximin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices prove the first level only: an answer without the others is no optimum."""

    def one_stage(self: Stages, _: object) -> None:
        self._stage()

    monkeypatch.setattr(Stages, "run", one_stage)
    problem = FairProblem.from_arrays([[1, 0], [1, 0], [0, 5], [1, 5]], [1, 1])
    result = allocsolve.solve(problem, objective="leximin", threads=1)
    assert result.status == "FEASIBLE"
    gap = result.objective.gap
    assert gap is None or gap > 1e-3
    assert any("all levels" in warning for warning in result.warnings)


def test_a_truthful_answer_needs_exact_nash_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts of shares that are far from the Nash ones are no optimum, whoever found them."""
    monkeypatch.setattr(
        "allocsolve.solvers.fair.partial.solve_in_box", lambda rest, **_: solve_in_box(rest, 1e-3)
    )
    result = allocsolve.solve(PROBLEM, objective="partial_allocation", threads=1)
    assert result.status == "FEASIBLE"
    assert any("Nash allocations" in warning for warning in result.warnings)
