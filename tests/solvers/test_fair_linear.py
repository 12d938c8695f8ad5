"""Linear objectives: handed to HiGHS directly, reduced by boxes, and as readable programs."""

from __future__ import annotations

import numpy as np
import pytest

import allocsolve
from allocsolve.models.fair.kkt import kkt_residuals
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reason_types import SloConflict
from allocsolve.models.fair.split import equal_split
from allocsolve.solvers.fair.linear_box import choose, solve_linear_in_box, unit_prices
from allocsolve.solvers.fair.linear_program import Linear, solve_linear


def _never() -> bool:
    return False


def _draw(kind: str, n: int, m: int, seed: int, *, needs: bool) -> Linear:
    """Draw a program whose types are scarce."""
    random = np.random.default_rng(seed)
    pace = random.random((n, m)) * np.arange(1, m + 1)
    gang, weight = 2.0 ** random.integers(0, 3, n), random.integers(1, 6, n).astype(float)
    if kind == "ties":
        pace, weight = random.integers(1, 4, (n, m)).astype(float), np.ones(n)
    elif kind == "zeros":
        pace *= random.random((n, m)) < 0.5
        pace[:, 0] += 0.1
    stock = np.full(m, gang.sum() / (40 if kind == "few" else 8))
    if not needs:
        return Linear(pace, pace * weight[:, None], gang.astype(np.float64), stock)
    most = pace.max(axis=1)
    need = most * random.random(n) * {"idle": 1e-3, "few": 0.03}.get(kind, 0.15)
    cost = np.array([1.0, 2.0, 4.0, 8.0])[:m]
    return Linear(pace, -gang[:, None] * cost, gang.astype(np.float64), stock, need)


@pytest.mark.parametrize("needs", [False, True], ids=["gains", "needs"])
@pytest.mark.parametrize("kind", ["plain", "ties", "zeros", "few", "idle"])
def test_the_box_loses_nothing(kind: str, needs: bool) -> None:
    """Sampled, reduced and put together again it is an optimum of the whole program."""
    program = _draw(kind, 4000, 3, 1, needs=needs)
    boxed = solve_linear_in_box(program, _never, small=1200)
    whole = solve_linear(program, _never)
    assert (boxed is None) == (whole is None)
    if boxed is None or whole is None:
        pytest.fail("the needs can be met")
    value, best = ((program.worth * found.share).sum() for found in (boxed, whole))
    assert value == pytest.approx(best, rel=1e-9)
    assert (program.gang @ boxed.share <= program.stock * (1 + 1e-9)).all()
    assert (boxed.share.sum(axis=1) <= 1 + 1e-9).all()
    if program.need is not None:
        gained = (program.pace * boxed.share).sum(axis=1)
        assert (gained >= program.need * (1 - 1e-9)).all()
    assert boxed.prices @ program.stock == pytest.approx(
        whole.prices @ program.stock, rel=1e-6, abs=1e-9 * abs(best)
    )


@pytest.mark.parametrize("needs", [False, True], ids=["gains", "needs"])
def test_sure_choices_are_best_in_the_whole_box(needs: bool) -> None:
    """At any prices in the box no other choice is worth more; else the box would lose."""
    program = _draw("plain", 300, 3, 2, needs=needs)
    prices = np.array([1.0, 2.0, 1.5])
    low, high = prices * 0.9, prices * 1.1
    share, sure = choose(program, prices, low, high)
    assert 30 < sure.sum() < 300
    random = np.random.default_rng(0)
    for _ in range(20):
        other = low + (high - low) * random.random(3)
        there, _ = choose(program, other, other, other)
        assert share[sure] == pytest.approx(there[sure], abs=1e-12)


def test_unit_prices_are_slopes() -> None:
    """What a little more of its need costs a job, by a difference."""
    program = _draw("plain", 50, 3, 3, needs=True)
    assert program.need is not None
    prices, step = np.array([1.0, 3.0, 0.5]), 1e-7
    costs = []
    for need in (program.need, program.need * (1 + step)):
        moved = Linear(program.pace, program.worth, program.gang, program.stock, need)
        share, _ = choose(moved, prices, prices, prices)
        costs.append(((program.gang[:, None] * prices - program.worth) * share).sum(axis=1))
    rise = (costs[1] - costs[0]) / (program.need * step)
    assert unit_prices(program, prices) == pytest.approx(rise, rel=1e-5)


def _problem(n: int, seed: int, *, time_cap: bool, deadlines: bool = True) -> FairProblem:
    random = np.random.default_rng(seed)
    pace = random.random((n, 3)) * np.arange(1, 4)
    pace[random.random((n, 3)) < 0.2] = 0
    columns = {
        "weight": random.integers(1, 6, n).astype(float),
        "gang": 2.0 ** random.integers(0, 3, n),
        "remaining": random.integers(1, 9, n).astype(float),
    }
    stock = np.full(3, columns["gang"].sum() / 16)
    plain = FairProblem.from_arrays(pace, stock, columns=columns, time_cap=time_cap)
    with np.errstate(divide="ignore"):
        deadline = np.where(random.random(n) < 0.8, columns["remaining"] / 0.8, np.inf)
        deadline /= equal_split(plain.arrays)
    if deadlines:
        columns["deadline"] = np.where(np.isnan(deadline), np.inf, deadline)
    return FairProblem.from_arrays(
        pace, stock, cost=[1.0, 2.0, 4.0], columns=columns, time_cap=time_cap
    )


@pytest.mark.parametrize("time_cap", [True, False])
@pytest.mark.parametrize("objective", ["total_throughput", "cost", "value"])
@pytest.mark.parametrize("n", [1, 7, 60])
def test_both_ways_agree(objective: str, n: int, time_cap: bool) -> None:
    """Values, prices and conditions are those of the readable program."""
    problem = _problem(n, n, time_cap=time_cap, deadlines=objective == "cost")
    name = "cost" if objective == "value" else objective
    ours, plain = (
        allocsolve.solve(problem, objective=name, method=method, threads=1)
        for method in ("linear", "cvxpy")
    )
    assert (ours.status, plain.status) == ("OPTIMAL", "OPTIMAL"), (ours.warnings, plain.warnings)
    assert ours.objective.value == pytest.approx(plain.objective.value, rel=1e-8)
    for result in (ours, plain):
        found = kkt_residuals(result.allocation, name)
        assert (found is None) == (objective == "value")
        assert found is None or found.worst <= 1e-8
        if objective == "value":
            prices = result.allocation.prices
            assert prices is not None
            assert not prices.any()


def test_many_identical_jobs_share_a_variable() -> None:
    """Ten thousand jobs of seven sorts are solved as seven, and get what the seven get."""
    problem = _problem(7, 1, time_cap=True)
    arrays, many = problem.arrays, np.repeat(np.arange(7), 1500)
    columns = {
        name: getattr(arrays.jobs, name)[many]
        for name in ("weight", "gang", "remaining", "deadline")
    }
    alike = FairProblem.from_arrays(
        arrays.throughput[many], arrays.capacity * 1500, cost=arrays.cost, columns=columns
    )
    for objective in ("total_throughput", "cost"):
        one, all_ = (
            allocsolve.solve(each, objective=objective, threads=1) for each in (problem, alike)
        )
        assert all_.status == "OPTIMAL"
        assert all_.objective.value == pytest.approx(1500 * one.objective.value, rel=1e-9)


def test_a_large_conflict_is_explained() -> None:
    """Deadlines of many jobs that cannot be met: the factor, verified by prices."""
    problem = _problem(1200, 3, time_cap=True)
    arrays = problem.arrays
    columns = {name: getattr(arrays.jobs, name) for name in ("weight", "gang", "remaining")}
    columns["deadline"] = arrays.jobs.deadline / 3
    tight = FairProblem.from_arrays(arrays.throughput, arrays.capacity, columns=columns)
    result = allocsolve.solve(tight, objective="cost", threads=1)
    assert result.status == "INFEASIBLE"
    reason = result.certificate.reason
    assert isinstance(reason, SloConflict)
    relaxation = reason.relaxation
    assert relaxation is not None
    assert relaxation > 1
    columns["deadline"] = columns["deadline"] * relaxation * (1 + 1e-7)
    loose = FairProblem.from_arrays(arrays.throughput, arrays.capacity, columns=columns)
    assert allocsolve.solve(loose, objective="cost", threads=1).status == "OPTIMAL"
