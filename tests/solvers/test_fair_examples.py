"""Worked examples of fair division with exact values, through the front door."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allocsolve
from allocsolve.models.fair.answer import FairResult
from allocsolve.models.fair.envy import envy_ratios
from allocsolve.models.fair.kkt import kkt_residuals
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.split import equal_split

Example = dict[str, Any]

E22 = np.array([[10.0, 1.0], [6.0, 3.0]])


def _numbers(values: Any) -> Any:
    if isinstance(values, list):
        return [_numbers(value) for value in values]
    return float(Fraction(str(values)))


def _problem(example: Example, **columns: object) -> FairProblem:
    return FairProblem.from_arrays(
        np.array(example["u"], dtype=float),
        _numbers(example["cap"]),
        time_cap=bool(example.get("time_cap")),
        columns=columns,
    )


def _solve(problem: FairProblem, objective: str, method: str, **options: str) -> FairResult:
    result = allocsolve.solve(
        problem, objective=objective, method=method, threads=1, options=options
    )
    assert result.status == "OPTIMAL", result.warnings
    assert allocsolve.check(problem, result).valid
    conditions = kkt_residuals(result.allocation, objective)
    if conditions is not None:
        assert conditions.worst <= 1e-5
    return result


@pytest.fixture(scope="module")
def examples(cases_dir: Path) -> dict[str, Example]:
    text = (cases_dir / "fair_examples.json").read_text(encoding="utf-8")
    return {example["id"]: example for example in json.loads(text)["examples"]}


@pytest.mark.parametrize("method", ["auto", "interior_point", "cvxpy"])
@pytest.mark.parametrize("name", ["E04", "E05", "E07", "E08", "E22"])
def test_nash_welfare(examples: dict[str, Example], name: str, method: str) -> None:
    """Utilities, shares and prices of Nash welfare are known in fractions."""
    example = examples[name]
    result = _solve(_problem(example), "nash", method)
    answer = result.allocation
    assert answer.utilities == pytest.approx(_numbers(example["U"]), rel=2e-6)
    if "x" in example:
        assert answer.shares == pytest.approx(np.array(_numbers(example["x"])), abs=2e-6)
    if "x01" in example:
        assert answer.shares[0, 1] == pytest.approx(_numbers(example["x01"]), abs=2e-6)
    if "prices" in example:
        assert answer.prices == pytest.approx(np.array(_numbers(example["prices"])), abs=2e-6)
    if "time_multipliers" in example:
        times = np.array(_numbers(example["time_multipliers"]))
        assert answer.time_prices == pytest.approx(times, abs=2e-6)


def test_nash_with_a_time_cap_is_not_free_of_envy(examples: dict[str, Example]) -> None:
    """Job 2 envies job 1 and is below its equal split: such numbers are measured."""
    example = examples["E22"]
    problem = _problem(example)
    answer = _solve(problem, "nash", "auto").allocation
    ratio, _ = envy_ratios(answer)
    assert ratio[1] == pytest.approx(_numbers(example["envy_ratio_job2"]), rel=1e-5)
    part = answer.utilities[1] / equal_split(problem.arrays)[1]
    assert part == pytest.approx(_numbers(example["sharing_incentive_ratio_job2"]), rel=1e-5)


@pytest.mark.parametrize("method", ["auto", "cvxpy"])
def test_floors_give_the_equal_split_back(method: str) -> None:
    """Where only the equal split keeps all floors there is no interior to start from."""
    problem = FairProblem.from_arrays(E22, [1, 2])
    answer = _solve(problem, "nash_sharing_incentive", method).allocation
    assert answer.utilities == pytest.approx([5.5, 4.5], rel=1e-6)


@pytest.mark.parametrize("name", ["E01", "E02"])
@pytest.mark.parametrize("objective", ["dominant_resource"])
def test_dominant_resource_fairness(
    examples: dict[str, Example], name: str, objective: str
) -> None:
    """The example of the paper, and the same with weights."""
    example = examples[name]
    demand = np.array(example["demand"], dtype=float)
    problem = FairProblem.from_arrays(
        np.zeros_like(demand),
        example["cap"],
        time_cap=False,
        columns={"demand": demand, "weight": example.get("weights", [1, 1])},
    )
    answer = _solve(problem, objective, "auto").allocation
    assert answer.utilities == pytest.approx(_numbers(example["tasks"]), rel=1e-6)


@pytest.mark.parametrize("method", ["auto", "interior_point", "cvxpy"])
def test_gangs_count_in_max_min(examples: dict[str, Example], method: str) -> None:
    """A gang of two takes two units for each unit of time."""
    example = examples["E10"]
    problem = _problem(example | {"time_cap": 1}, gang=np.array(example["s"], dtype=float))
    result = _solve(problem, "max_min", method, normalise="none")
    assert result.objective.value == pytest.approx(_numbers(example["level"]), rel=1e-7)


@pytest.mark.parametrize("time_cap", [False, True])
def test_leximin_goes_on_where_max_min_stops(examples: dict[str, Example], time_cap: bool) -> None:
    """A max-min answer may leave a type idle; leximin may not."""
    example = examples["E13"] | {"time_cap": time_cap}
    result = _solve(_problem(example), "leximin", "auto", normalise="none")
    assert result.allocation.levels == pytest.approx(_numbers(example["levels"]), rel=1e-7)


@pytest.mark.parametrize("method", ["auto", "interior_point", "cvxpy"])
def test_finish_time_fairness(examples: dict[str, Example], method: str) -> None:
    """Both jobs have half of one unit, and finish as they would alone."""
    example = examples["E14"]
    problem = FairProblem.from_arrays(
        np.ones((2, 1)),
        [1.0],
        columns={
            "elapsed": example["elapsed"],
            "remaining": example["remaining"],
            "isolated": example["iso"],
        },
    )
    result = _solve(problem, "finish_time_fairness", method)
    assert result.objective.value == pytest.approx(_numbers(example["rho"]), rel=1e-7)
    assert result.allocation.utilities == pytest.approx(_numbers(example["theta"]), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "objective"),
    [
        pytest.param("E15", "envy_free_efficiency", id="envy-free"),
        pytest.param("E16", "equal_throughput", id="equal"),
        pytest.param("E20", "total_throughput", id="total"),
    ],
)
@pytest.mark.parametrize("method", ["auto", "cvxpy"])
def test_totals(examples: dict[str, Example], name: str, objective: str, method: str) -> None:
    """Total throughput, alone and under two ideas of fairness."""
    example = examples[name]
    result = _solve(_problem(example), objective, method)
    assert result.objective.value == pytest.approx(_numbers(example["total"]), rel=1e-7)


def test_partial_allocation(examples: dict[str, Example]) -> None:
    """Each job keeps the part by which it shrinks the other."""
    example = examples["E18"]
    problem = _problem(example)
    nash = _solve(problem, "nash", "auto").allocation
    answer = _solve(problem, "partial_allocation", "auto").allocation
    parts = answer.utilities / nash.utilities
    assert parts == pytest.approx(_numbers(example["factors"]), rel=1e-6)


@pytest.mark.parametrize(
    ("stock", "levels"),
    [
        pytest.param(2.6, [1, 2, 3, 3], id="two jobs need all of their time"),
        pytest.param(1.5, [15 / 17] * 4, id="none does"),
        pytest.param(9, [1, 2, 10, 10], id="all do"),
    ],
)
def test_levels_go_on_above_jobs_that_need_all_of_their_time(
    stock: float, levels: list[float]
) -> None:
    """A job at its own reach stops, and the others share what it cannot use, by hand."""
    problem = FairProblem.from_arrays([[10.0], [1.0], [10.0], [2.0]], [stock])
    for method in ("leximin", "cvxpy"):
        result = _solve(problem, "leximin", method, normalise="none")
        assert np.sort(result.allocation.utilities) == pytest.approx(levels, rel=1e-7)
