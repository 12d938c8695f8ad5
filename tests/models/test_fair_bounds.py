"""Certificates against linear and convex programs: valid always, tight for the right prices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.bounds import lower_bounds
from allocsolve.models.fair.certificates import TIGHT, ceilings, certified_bound, price_bound
from allocsolve.models.fair.check import check
from allocsolve.models.fair.envy import envy_ratios
from allocsolve.models.fair.kernel_sets import CERTIFICATES
from allocsolve.models.fair.objectives import OBJECTIVES, evaluate, scale, sense_of
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.response_kernels import walk
from allocsolve.models.fair.responses import Power, best_gain, least_cost, offers_of
from allocsolve.models.fair.settings import OBJECTIVE_NAMES, Settings
from allocsolve.models.fair.split import equal_split
from allocsolve.models.fair.weighted import weighted_bound
from allocsolve.models.result import Sense

SEEDS = range(6)


def draw(seed: int, *, n: int = 7, m: int = 3, cap: bool = True) -> FairProblem:
    """Draw a capacity-bound instance with zeros, ties, gangs, weights and every column."""
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 6, (n, m)) * rng.choice([0.5, 1, 3], (n, 1))
    table[0] = table[1]
    columns = {
        "weight": rng.choice([0.1, 1, 5], n),
        "gang": rng.choice([1, 2, 4], n),
        "remaining": rng.uniform(1, 20, n),
        "elapsed": rng.uniform(0, 5, n),
        "isolated": rng.uniform(5, 30, n),
    }
    return FairProblem.from_arrays(
        table,
        rng.choice([0, 0.5, 1, 2], m) if seed % 2 else rng.uniform(0.5, 2, m),
        cost=rng.uniform(1, 5, m),
        columns=columns,
        time_cap=cap,
    )


def solve(problem: FairProblem, f: FloatArray, *, floors: FloatArray | None = None) -> Any:
    """Solve ``max t, U_i >= t f_i`` (or least cost with floors) by an independent LP solver."""
    from scipy.optimize import linprog

    arrays = problem.arrays
    n, m = arrays.throughput.shape
    rows, right = [], []
    for j in range(m):
        row = np.zeros((n, m))
        row[:, j] = arrays.gang
        rows.append(np.append(row.ravel(), 0))
        right.append(arrays.capacity[j])
    for i in range(n) if arrays.time_cap else ():
        row = np.zeros((n, m))
        row[i] = 1
        rows.append(np.append(row.ravel(), 0))
        right.append(1.0)
    for i in range(n):
        row = np.zeros((n, m))
        row[i] = -arrays.throughput[i]
        needed = 0.0 if floors is None else -floors[i]
        rows.append(np.append(row.ravel(), f[i]))
        right.append(needed)
    goal = np.zeros(n * m + 1)
    if floors is None:
        goal[-1] = -1
    else:
        goal[:-1] = np.outer(arrays.gang, arrays.cost).ravel()
    return linprog(goal, A_ub=np.array(rows), b_ub=right, bounds=(0, None), method="highs")


def reached(problem: FairProblem) -> FairProblem:
    """Keep the jobs that can have a positive utility."""
    keep = np.flatnonzero(problem.arrays.reachable)
    columns = {
        name: getattr(problem.arrays.jobs, name)[keep]
        for name in ("weight", "gang", "remaining", "elapsed", "isolated")
    }
    return FairProblem.from_arrays(
        problem.arrays.throughput[keep],
        problem.arrays.capacity,
        cost=problem.arrays.cost,
        columns=columns,
        time_cap=problem.time_cap,
    )


@pytest.mark.parametrize("cap", [True, False], ids=["cap", "no cap"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", ["max_min", "makespan", "equal_throughput"])
def test_duals_of_a_linear_program_certify_its_value(name: str, seed: int, cap: bool) -> None:
    """Strong duality: the prices of HiGHS close the gap in both certificates."""
    problem = reached(draw(seed, cap=cap))
    settings = Settings()
    f = scale(problem, name, settings)
    found = solve(problem, f)
    m, n = len(problem.types), len(problem.jobs)
    prices = -found.ineqlin.marginals[:m]
    times = -found.ineqlin.marginals[m : m + n] if cap else np.zeros(n)
    best = found.x[-1]
    value = {"makespan": 1 / best, "equal_throughput": best * f.sum()}.get(name, best)
    assert price_bound(problem, name, prices, settings) == pytest.approx(value, rel=1e-9)
    assert weighted_bound(problem, name, prices, times) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_cost_with_deadlines_is_certified(seed: int) -> None:
    """The prices of the least-cost program certify it."""
    base = reached(draw(seed))
    needs = 0.6 * solve(base, np.ones(len(base.jobs))).x[-1]
    deadline = base.arrays.jobs.remaining / needs
    columns = {
        "remaining": base.arrays.jobs.remaining,
        "deadline": deadline,
        "gang": base.arrays.gang,
    }
    problem = FairProblem.from_arrays(
        base.arrays.throughput, base.arrays.capacity, cost=base.arrays.cost, columns=columns
    )
    found = solve(problem, np.zeros(len(deadline)), floors=np.full(len(deadline), needs))
    m = len(problem.types)
    prices = -found.ineqlin.marginals[:m]
    times = -found.ineqlin.marginals[m : m + len(deadline)]
    assert price_bound(problem, "cost", prices) == pytest.approx(found.fun, rel=1e-9)
    assert weighted_bound(problem, "cost", prices, times) == pytest.approx(found.fun, rel=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_finish_time_fairness_is_certified(seed: int) -> None:
    """Bisection over linear programs finds the ratio; the prices of the last one prove it."""
    problem = reached(draw(seed))
    jobs = problem.arrays.jobs
    low, high = float((jobs.elapsed / jobs.isolated).max()), 1e6
    prices = np.zeros(len(problem.types))
    for _ in range(70):
        middle = (low + high) / 2
        found = solve(problem, jobs.remaining / (middle * jobs.isolated - jobs.elapsed))
        if found.x[-1] >= 1:
            high = middle
        else:
            low = middle
            prices = -found.ineqlin.marginals[: len(prices)]
    bound = price_bound(problem, "finish_time_fairness", prices)
    assert bound == pytest.approx(high, rel=1e-7)


@pytest.mark.parametrize("cap", [True, False], ids=["cap", "no cap"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "alpha"),
    [("nash", 1), ("nash_sharing_incentive", 1), ("alpha_fair", 2.0), ("alpha_fair", 0.5)],
)
def test_duals_of_a_convex_program_certify_its_value(
    name: str, alpha: float, seed: int, cap: bool
) -> None:
    """The prices of Clarabel certify the welfare within what it solves to."""
    import cvxpy as cp

    problem = reached(draw(seed, cap=cap))
    arrays, settings = problem.arrays, Settings(alpha=alpha)
    x = cp.Variable(arrays.throughput.shape, nonneg=True)
    utility = cp.sum(cp.multiply(arrays.throughput, x), axis=1)
    stock = arrays.gang @ x <= arrays.capacity
    time = cp.sum(x, axis=1) <= (1 if cap else 1e6)
    floors = [utility >= equal_split(arrays)] if name == "nash_sharing_incentive" else []
    power = utility if alpha == 1 else cp.power(utility, 1 - alpha)
    gain = cp.log(utility) if alpha == 1 else power / (1 - alpha)
    program = cp.Problem(cp.Maximize(arrays.weight @ gain), [stock, time, *floors])
    program.solve(solver="CLARABEL")
    prices, times = np.maximum(stock.dual_value, 0), np.maximum(time.dual_value, 0)
    bounds = (
        price_bound(problem, name, prices, settings),
        weighted_bound(problem, name, prices, times, settings=settings),
    )
    for bound in bounds:
        assert bound == pytest.approx(program.value, rel=1e-5, abs=1e-5)
        assert bound >= program.value - 1e-6 * (1 + abs(program.value))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OBJECTIVE_NAMES)
def test_no_prices_prove_too_much(name: str, seed: int) -> None:
    """Whatever the prices, the bound is on the right side of every allocation."""
    rng = np.random.default_rng(seed)
    problem = draw(seed)
    arrays = problem.arrays
    shares = rng.random(arrays.throughput.shape) * (arrays.capacity > 0)
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1)
    shares *= np.min(
        arrays.capacity / np.maximum(arrays.gang @ shares, 1e-300),
        where=arrays.capacity > 0,
        initial=1,
    )
    for settings in (Settings(), Settings(alpha=0.0), Settings(alpha=3.0, normalise="none")):
        answer = FairAnswer(problem, shares)
        value = evaluate(answer, name, settings)
        if name == "equal_throughput":  # what is left if all come down to the lowest
            rows = arrays.reachable
            value = min(answer.utilities[rows] / arrays.weight[rows]) * arrays.weight[rows].sum()
        if name == "nash_sharing_incentive" and not check(problem, answer, name=name).valid:
            continue
        for scale_of in (0, 0.01, 1, 100):
            prices, times = scale_of * rng.random(3), scale_of * rng.random(len(arrays.gang))
            bound = certified_bound(problem, name, prices, times, settings=settings)
            if sense_of(problem, name) is Sense.MAX:
                assert bound >= value - 1e-9 * abs(value)
            else:
                assert bound <= value * (1 + 1e-9)


def test_every_objective_has_a_row() -> None:
    """Names, definitions and certificates stay together."""
    assert tuple(OBJECTIVES) == OBJECTIVE_NAMES
    assert set(OBJECTIVE_NAMES) >= TIGHT
    for row in OBJECTIVES.values():
        assert row.definition
        assert row.source


@pytest.mark.parametrize("seed", SEEDS)
def test_least_cost_is_that_of_a_linear_program(seed: int) -> None:
    """The lower hull of the offers against HiGHS, one job after another."""
    from scipy.optimize import linprog

    problem, rng = draw(seed, m=4), np.random.default_rng(seed)
    arrays = problem.arrays
    rows = np.flatnonzero(arrays.reachable)
    prices = rng.random(4) * rng.integers(0, 2, 4)
    (offers,) = offers_of(arrays, prices, rows)
    for part in (0.0, 0.3, 0.9, 1.0, 1.1):
        wanted = part * offers.reach.max(axis=1)
        cost, slope = least_cost(offers, wanted)
        for k in range(len(rows)):
            found = linprog(
                offers.price[k],
                A_ub=[-offers.reach[k], np.ones(4)],
                b_ub=[-wanted[k], 1],
                method="highs",
            )
            assert (part > 1) == (not found.success)
            if found.success:
                assert cost[k] == pytest.approx(found.fun, abs=1e-12)
            else:
                assert np.isinf(cost[k])
        less, _ = least_cost(offers, 0.99 * wanted)
        fine = np.isfinite(cost)
        tangent = cost[fine] - slope[fine] * 0.01 * wanted[fine]
        assert (less[fine] >= tangent - 1e-12).all()


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 3.0])
def test_best_gain_is_the_best_on_a_fine_grid(alpha: float) -> None:
    """No utility on a grid beats the closed form, and the best of the grid comes close."""
    problem = draw(2, m=4)
    rows = np.flatnonzero(problem.arrays.reachable)
    (offers,) = offers_of(problem.arrays, np.array([0.2, 0.0, 1.0, 0.5]), rows)
    gain = Power(problem.arrays.weight[rows], alpha)
    for floor in (None, 0.5 * offers.reach.max(axis=1)):
        best = best_gain(offers, gain, floor)
        start = 1e-6 if floor is None else 0.5
        values = [
            gain.value(part * offers.reach.max(axis=1))
            - least_cost(offers, part * offers.reach.max(axis=1))[0]
            for part in np.linspace(start, 1, 801)
        ]
        grid = np.max(values, axis=0)
        assert (best >= grid - 1e-9).all()
        assert best == pytest.approx(grid, abs=2e-2)


@pytest.mark.parametrize("cap", [True, False], ids=["cap", "no cap"])
def test_equal_split_and_envy_are_those_of_linear_programs(cap: bool) -> None:
    """Greedy filling of a fractional knapsack is optimal."""
    from scipy.optimize import linprog

    problem = draw(4, cap=cap)
    arrays, n = problem.arrays, len(problem.jobs)
    split = equal_split(arrays)
    shares = np.random.default_rng(0).random(arrays.throughput.shape) / n
    answer = FairAnswer(problem, shares)
    ratio, envied = envy_ratios(answer)

    def most(i: int, limits: FloatArray) -> float:
        found = linprog(
            -arrays.throughput[i],
            A_ub=np.ones((1, 3)),
            b_ub=[1 if cap else 1e9],
            bounds=list(zip(np.zeros(3), limits, strict=True)),
            method="highs",
        )
        return float(-found.fun)

    for i in range(n):
        assert split[i] == pytest.approx(most(i, arrays.capacity / n / arrays.gang[i]), abs=1e-12)
        if not arrays.reachable[i]:
            assert (ratio[i], envied[i]) == (0, -1)
            continue
        worth = arrays.gang / arrays.weight * arrays.weight[i] / arrays.gang[i]
        others = [
            most(i, worth[k] * shares[k]) if k != i and arrays.reachable[k] else 0 for k in range(n)
        ]
        assert ratio[i] == pytest.approx(max(others) / answer.utilities[i], rel=1e-12)


def test_splits_of_settings() -> None:
    """Proportional and weighted splits by hand: counts 1 and 3, weights 1 and 3, gang 2."""
    problem = FairProblem.from_arrays(
        [[4.0, 8], [4, 8]], [1, 3], columns={"weight": [1, 3], "gang": [1, 2]}, time_cap=False
    )
    assert equal_split(problem.arrays).tolist() == [14.0, 7.0]
    weighted = equal_split(problem.arrays, Settings(split="weighted"))
    assert weighted.tolist() == [7.0, 10.5]
    proportional = equal_split(problem.arrays, Settings(equal_split="proportional"))
    assert proportional.tolist() == [7.0, 3.5]


@pytest.mark.parametrize("name", sorted(TIGHT))
def test_bounds_without_search(name: str) -> None:
    """Both bounds hold, the tightest comes first, and none is infinite."""
    problem = draw(2)
    found = lower_bounds(problem, name)
    assert found
    assert all(np.isfinite(bound.value) for bound in found)
    values = [bound.value for bound in found]
    assert values == sorted(values, reverse=sense_of(problem, name) is Sense.MIN)
    assert (ceilings(problem) >= 0).all()


def test_a_million_jobs_are_certified_block_by_block() -> None:
    """Copies of one instance: n times the stock gives n times the bound."""
    small = draw(2, n=10)
    arrays = small.arrays
    copies = 7000
    large = FairProblem.from_arrays(
        np.tile(arrays.throughput, (copies, 1)),
        arrays.capacity * copies,
        columns={k: np.tile(getattr(arrays.jobs, k), copies) for k in ("weight", "gang")},
    )
    prices = np.array([0.3, 0.5, 0.7])
    for name in ("nash", "total_throughput"):
        once = price_bound(small, name, prices)
        assert price_bound(large, name, prices) == pytest.approx(copies * once, rel=1e-11)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_compiled_walk_gives_the_closed_forms(seed: int) -> None:
    """Two ways to the same optimum: all segments, and a walk along the hull."""
    problem, rng = draw(seed, n=60, m=5), np.random.default_rng(seed)
    rows = np.flatnonzero(problem.arrays.reachable)
    prices = rng.random(5) * rng.integers(0, 2, 5)
    (offers,) = offers_of(problem.arrays, prices, rows)
    many, most = replace(offers, many=True), offers.reach.max(axis=1)
    for part in (0.0, 0.4, 1.0, 1.5):
        found = [least_cost(of, part * most) for of in (offers, many)]
        for one, other in zip(*found, strict=True):
            fine = np.isfinite(found[0][0]) & (part * most > 0)  # at 0 any slope below is one
            assert one[fine] == pytest.approx(other[fine], rel=1e-12, abs=1e-14)
        for alpha in (0.0, 1.0):
            gain = Power(problem.arrays.weight[rows], alpha)
            first, second = (best_gain(of, gain, part * most) for of in (offers, many))
            assert first == pytest.approx(second, rel=1e-12, abs=1e-14)


def test_the_compiled_walk_gives_the_bytes_of_plain_python() -> None:
    """No fast mathematics: whoever compiles, the certificate is the same to the last bit."""
    problem = draw(3, n=40, m=4)
    rows = np.flatnonzero(problem.arrays.reachable)
    (offers,) = offers_of(problem.arrays, np.array([0.3, 0.0, 1.1, 0.7]), rows)
    plain = getattr(walk, "py_func", walk)
    weight, floor = problem.arrays.weight[rows], 0.2 * offers.reach.max(axis=1)
    for linear in (False, True):
        arguments = (offers.reach, offers.price, weight, floor, linear)
        assert walk(*arguments).tobytes() == plain(*arguments).tobytes()


def test_the_kernels_are_built_by_name() -> None:
    """`allocsolve doctor --compile` needs a function that calls each kernel."""
    assert CERTIFICATES.build() >= 0
    assert CERTIFICATES.is_ready()
