"""Worked examples of fair division with exact values: evaluation, certificates, properties."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.answer import FairAnswer, Run
from allocsolve.models.fair.certificates import certified_bound, price_bound
from allocsolve.models.fair.check import check
from allocsolve.models.fair.claims import price_gap
from allocsolve.models.fair.data import Job, ResourceType
from allocsolve.models.fair.envy import envy_ratios
from allocsolve.models.fair.objectives import evaluate, gap, levels
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.split import equal_split

RAW = Settings(normalise="none")


def build(
    table: Sequence[Sequence[float]],
    stock: Sequence[float],
    *,
    cap: bool = False,
    demand: bool = False,
    **columns: Sequence[float],
) -> FairProblem:
    """Build a problem of jobs "0", "1", ... and types "g0", "g1", ..."""
    jobs = [
        _job(str(i), row, demand, {k: v[i] for k, v in columns.items()})
        for i, row in enumerate(table)
    ]
    types = [ResourceType(id=f"g{j}", count=count) for j, count in enumerate(stock)]
    return FairProblem(types=types, jobs=jobs, time_cap=cap)


def _job(token: str, row: Sequence[float], demand: bool, fields: dict[str, Any]) -> Job:
    amounts: Any = {f"g{j}": value for j, value in enumerate(row)}
    fields["demand" if demand else "throughput"] = amounts
    return Job(id=token, **fields)


def answer(problem: FairProblem, shares: object, **claims: Any) -> FairAnswer:
    """Return an answer from shares that may be fractions."""
    return FairAnswer(problem, np.array(shares, dtype=float), **claims)


def numbers(values: Any) -> FloatArray:
    """Return fractions as floats."""
    return np.array(values, dtype=float)


CAPPED = build([[10, 1], [6, 3]], [1, 2], cap=True)
CAPPED_NASH = [[Fraction(17, 18), Fraction(1, 18)], [Fraction(1, 18), Fraction(17, 18)]]
MARKETS = [
    pytest.param([[1, 1], [1, 4]], [1, 1], [[1, 0], [0, 1]], [1, 1], [1, 4], id="E04"),
    pytest.param(
        [[1, 2], [1, 4]],
        [1, 1],
        [[1, Fraction(1, 4)], [0, Fraction(3, 4)]],
        [Fraction(2, 3), Fraction(4, 3)],
        [Fraction(3, 2), 3],
        id="E05",
    ),
    pytest.param(
        [[1, 1.25], [1, 5]],
        [20, 20],
        [[20, 2], [0, 18]],
        [Fraction(2, 45), Fraction(1, 18)],
        [Fraction(45, 2), 90],
        id="E07",
    ),
    pytest.param([[2, 1], [1, 3]], [1, 1], [[1, 0], [0, 1]], [1, 1], [2, 3], id="H18"),
]


@pytest.mark.parametrize(("table", "stock", "shares", "prices", "utilities"), MARKETS)
def test_prices_certify_the_nash_allocation_of_a_market(
    table: Any, stock: Any, shares: Any, prices: Any, utilities: Any
) -> None:
    """Without a time cap Nash welfare is a Fisher market, whose prices are known exactly."""
    found = answer(build(table, stock), shares, prices=numbers(prices))
    assert found.utilities == pytest.approx(numbers(utilities), rel=1e-15)
    assert check(found.problem, found, name="nash").valid
    proved = price_gap(found.problem, found, "nash", evaluate(found, "nash"), RAW)
    assert proved == pytest.approx(0, abs=1e-15)


def test_other_prices_do_not_certify_a_market() -> None:
    """A certificate that any prices would pass proves nothing."""
    found = answer(build([[1, 2], [1, 4]], [1, 1]), [[1, 0.25], [0, 0.75]], prices=[1.0, 1.0])
    proved = price_gap(found.problem, found, "nash", evaluate(found, "nash"), RAW)
    assert proved is not None
    assert proved > 0.01


def test_time_capped_nash_is_certified_but_envious_and_below_the_equal_split() -> None:
    """With the time cap Nash welfare is Pareto efficient, not envy-free, and breaks the split."""
    found = answer(
        CAPPED,
        CAPPED_NASH,
        prices=numbers([Fraction(18, 19), 0]),
        time_prices=numbers([Fraction(2, 19), Fraction(18, 19)]),
    )
    assert found.utilities == pytest.approx(numbers([Fraction(19, 2), Fraction(19, 6)]), rel=1e-15)
    proved = price_gap(CAPPED, found, "nash", evaluate(found, "nash"), RAW)
    assert proved == pytest.approx(0, abs=1e-15)
    ratio, envied = envy_ratios(found)
    assert ratio[1] == pytest.approx(35 / 19, rel=1e-14)
    assert envied[1] == 0
    split = equal_split(CAPPED.arrays)
    assert split[1] == 4.5
    assert found.utilities[1] / split[1] == pytest.approx(19 / 27, rel=1e-14)
    broken = check(CAPPED, found, name="nash_sharing_incentive")
    assert [v.rule for v in broken.violations] == ["floor"]


def test_sharing_incentive_floors_are_certified() -> None:
    """With floors the equal split is best here; the price of the scarce type is 19/10."""
    found = answer(CAPPED, [[0.5, 0.5], [0.5, 0.5]], prices=numbers([Fraction(19, 10), 0]))
    assert found.utilities.tolist() == [5.5, 4.5]
    value = evaluate(found, "nash_sharing_incentive")
    bound = price_bound(CAPPED, "nash_sharing_incentive", found.prices)  # type: ignore[arg-type]  # given above
    assert bound == pytest.approx(value, rel=1e-14)


def test_time_capped_market() -> None:
    """Example E08: a sixth of the faster type changes hands under the cap."""
    problem = build([[1, 2], [1, 4]], [1, 1], cap=True)
    shares = [[Fraction(5, 6), Fraction(1, 6)], [Fraction(1, 6), Fraction(5, 6)]]
    found = answer(problem, shares)
    assert found.utilities == pytest.approx(numbers([Fraction(7, 6), Fraction(7, 2)]), rel=1e-15)
    prices = numbers([0, Fraction(6, 7)])
    assert price_bound(problem, "nash", prices) == pytest.approx(evaluate(found, "nash"), rel=1e-14)


def test_gangs_count_in_the_capacity_of_max_min() -> None:
    """Example E10: a gang of two on two units beside a job on one, level 1."""
    problem = build([[2], [1]], [2], cap=True, gang=[2, 1])
    found = answer(problem, [[0.5], [1]])
    assert evaluate(found, "max_min", RAW) == 1
    assert price_bound(problem, "max_min", numbers([0.5]), RAW) == pytest.approx(1, rel=1e-14)
    assert check(problem, found, name="max_min", settings=RAW).valid


def test_leximin_lists_every_level() -> None:
    """Example E13: the plain max-min LP may leave the second job at the first level."""
    problem = build([[1, 0], [0, 1]], [0.5, 1])
    found = answer(problem, [[0.5, 0], [0, 1]], levels=[0.5, 1.0])
    assert levels(problem, found.utilities, "leximin", RAW).tolist() == [0.5, 1.0]
    assert check(problem, found, name="leximin", settings=RAW).valid
    assert price_bound(problem, "leximin", numbers([1, 0]), RAW) == pytest.approx(0.5)


def test_finish_time_fairness() -> None:
    """Example E14: half of one unit each gives both jobs exactly their isolated time."""
    problem = build(
        [[1], [1]], [1], cap=True, isolated=[200, 600], elapsed=[100, 0], remaining=[50, 300]
    )
    found = answer(problem, [[0.5], [0.5]])
    assert evaluate(found, "finish_time_fairness") == 1.0
    assert price_bound(problem, "finish_time_fairness", numbers([1])) == pytest.approx(1, rel=1e-14)


def test_envy_free_efficiency_and_equal_throughput() -> None:
    """Examples E15 and E16: totals 9/2 and 4 of the same two jobs."""
    problem = build([[1, 2], [1, 4]], [1, 1])
    envy_free = answer(problem, [[1, Fraction(1, 4)], [0, Fraction(3, 4)]])
    assert evaluate(envy_free, "envy_free_efficiency") == 4.5
    assert check(problem, envy_free, name="envy_free_efficiency").valid
    equal = answer(problem, [[1, Fraction(1, 2)], [0, Fraction(1, 2)]])
    assert evaluate(equal, "equal_throughput") == 4
    assert check(problem, equal, name="equal_throughput").valid
    assert price_bound(problem, "equal_throughput", numbers([1, 2])) == pytest.approx(4, rel=1e-14)
    assert {v.rule for v in check(problem, equal, name="envy_free_efficiency").violations} == {
        "envy"
    }


def test_total_throughput() -> None:
    """Example E20: each type to whom it brings most, 5 in all."""
    problem = build([[1, 2], [1, 4]], [1, 1])
    found = answer(problem, [[1, 0], [0, 1]], prices=numbers([1, 4]))
    assert evaluate(found, "total_throughput") == 5
    assert price_gap(problem, found, "total_throughput", 5, RAW) == 0


@pytest.mark.parametrize(
    ("weights", "tasks", "level", "prices"),
    [
        pytest.param([1, 1], [3, 2], Fraction(2, 3), [1, 0], id="E01"),
        pytest.param(
            [2, 1], [Fraction(54, 13), Fraction(18, 13)], Fraction(6, 13), [0, 1], id="E02 weighted"
        ),
    ],
)
def test_dominant_resource_fairness(weights: Any, tasks: Any, level: Any, prices: Any) -> None:
    """The example of the DRF paper: 9 CPUs and 18 GB, equal dominant shares."""
    problem = build([[1, 4], [3, 1]], [9, 18], cap=True, demand=True, weight=weights)
    demand = numbers([[1, 4], [3, 1]])
    found = answer(problem, numbers(tasks)[:, None] * demand)
    assert found.utilities == pytest.approx(numbers(tasks), rel=1e-14)
    assert evaluate(found, "dominant_resource") == pytest.approx(float(level), rel=1e-14)
    assert check(problem, found, name="dominant_resource").valid
    bound = price_bound(problem, "dominant_resource", numbers(prices))
    assert bound == pytest.approx(float(level), rel=1e-14)


def test_cost_with_deadlines() -> None:
    """The dearer type is bought only as far as the deadline asks for it."""
    types = [ResourceType(id="slow", count=1, cost=1), ResourceType(id="fast", count=1, cost=5)]
    job = Job(id="j", throughput={"slow": 1, "fast": 3}, remaining=20, deadline=10)
    problem = FairProblem(types=types, jobs=[job])
    found = answer(problem, [[0.5, 0.5]])
    assert evaluate(found, "cost") == 3
    assert check(problem, found, name="cost").valid
    assert price_bound(problem, "cost", numbers([0, 0])) == pytest.approx(3, rel=1e-14)


def test_cost_without_deadlines_is_throughput_per_cost() -> None:
    """One pair of job and type is the best bargain, whatever the stock."""
    types = [ResourceType(id="slow", count=1, cost=1), ResourceType(id="fast", count=1, cost=5)]
    jobs = [Job(id="a", throughput={"slow": 1, "fast": 3}), Job(id="b", throughput={"fast": 20})]
    problem = FairProblem(types=types, jobs=jobs)
    assert evaluate(answer(problem, [[0, 0], [0, 0.5]]), "cost") == 4
    assert price_bound(problem, "cost", numbers([0, 0])) == 4


def test_completion_time_judges_runs() -> None:
    """Shortest first on one unit: mean end (1 + 3) / 2."""
    problem = build([[1], [1]], [1], remaining=[2, 1])
    runs = (Run(0, 0, 1.0, 3.0), Run(1, 0, 0.0, 1.0))
    found = answer(problem, [[0], [0]], runs=runs)
    assert evaluate(found, "completion_time") == 2
    assert check(problem, found, name="completion_time").valid
    clash = answer(problem, [[0], [0]], runs=(Run(0, 0, 0.5, 2.5), runs[1]))
    assert [v.rule for v in check(problem, clash, name="completion_time").violations] == ["runs"]


def test_zero_value_job_is_named_and_left_out() -> None:
    """A job that values nothing must not make the welfare minus infinity."""
    problem = build([[2, 1], [0, 0]], [1, 1])
    assert any("1 cannot get positive utility" in text for text in problem.warnings)
    found = answer(problem, [[1, 1], [0, 0]], prices=numbers([Fraction(2, 3), Fraction(1, 3)]))
    assert evaluate(found, "nash") == pytest.approx(1.0986122886681098)
    assert gap(problem, "nash", 1.0, 1.5) == 0.5
    assert price_gap(problem, found, "nash", evaluate(found, "nash"), RAW) == pytest.approx(0)


def test_type_without_stock_is_named_and_its_job_left_out() -> None:
    """Capacity 0 drives a utility to 0, whatever is allocated."""
    problem = build([[2, 1], [0, 3]], [1, 0])
    assert any("g1 has no stock" in text for text in problem.warnings)
    assert any("1 cannot get positive utility" in text for text in problem.warnings)
    found = answer(problem, [[1, 0], [0, 0]], prices=numbers([1, 0]))
    assert evaluate(found, "nash") == pytest.approx(np.log(2))
    assert price_gap(problem, found, "nash", evaluate(found, "nash"), RAW) == pytest.approx(0)


def test_throughputs_that_differ_by_twelve_orders_of_magnitude_are_certified() -> None:
    """Closed forms need no scaling: each job takes the type on which it is fast."""
    problem = build([[2e-6, 1e6], [1e6, 3e-6]], [1e7, 1])
    prices = numbers([1e-7, 1])
    found = answer(problem, [[0, 1], [1e7, 0]], prices=prices, time_prices=np.zeros(2))
    value = evaluate(found, "nash")
    assert value == pytest.approx(43.7491168, abs=1e-6)
    assert price_gap(problem, found, "nash", value, RAW) == pytest.approx(0, abs=1e-14)


def test_pairs_are_certified_with_unit_prices() -> None:
    """Two jobs of pace 10 share one unit at pace 6 each: the level is 6 instead of 5."""
    from allocsolve.models.fair.data import Pair

    base = build([[10], [10]], [1], cap=True)
    problem = base.replace(pairs=[Pair(jobs=("0", "1"), throughput={"g0": (6, 6)})])
    found = FairAnswer(
        problem,
        np.zeros((2, 1)),
        prices=numbers([1]),
        time_prices=np.zeros(2),
        job_prices=np.full(2, 1 / 12),
        pair_shares=np.ones((1, 1)),
    )
    assert found.utilities.tolist() == [6, 6]
    assert check(problem, found, name="max_min", settings=RAW).valid
    bound = certified_bound(
        problem,
        "max_min",
        found.prices,  # type: ignore[arg-type]  # given above
        found.time_prices,
        job_prices=found.job_prices,
        settings=RAW,
    )
    assert bound == pytest.approx(6, rel=1e-15)
