"""Jobs with demands: Leontief resources alone, and beside exchangeable types."""

from __future__ import annotations

import numpy as np
import pytest

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.execution.fair import simulate
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.bounds import lower_bounds
from allocsolve.models.fair.certificates import price_bound
from allocsolve.models.fair.check import check
from allocsolve.models.fair.data import Job, ResourceType
from allocsolve.models.fair.envy import envy_ratios
from allocsolve.models.fair.objectives import alone, evaluate, scale
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.split import equal_split
from allocsolve.models.fair.weighted import weighted_bound
from allocsolve.models.nodes import Exponential, Pareto

TYPES = [
    ResourceType(id="fast", count=1),
    ResourceType(id="slow", count=2),
    ResourceType(id="memory", count=12),
]
JOBS = [
    Job(id="mixed", throughput={"fast": 4, "slow": 1}, demand={"memory": 2}, remaining=4),
    Job(id="gpu", throughput={"fast": 3, "slow": 2}, remaining=4),
    Job(id="store", demand={"memory": 4}, remaining=4),
]
PROBLEM = FairProblem(types=TYPES, jobs=JOBS)


def best(f: FloatArray) -> tuple[float, FloatArray, FloatArray]:
    """Solve ``max t, U_i >= t f_i`` over shares of types; memory follows from the utilities."""
    from scipy.optimize import linprog

    # columns: mixed fast, mixed slow, gpu fast, gpu slow, store, t
    rows = [
        [1, 0, 1, 0, 0, 0],
        [0, 1, 0, 1, 0, 0],
        [8, 2, 0, 0, 4, 0],
        [1, 1, 0, 0, 0, 0],
        [0, 0, 1, 1, 0, 0],
        [-4, -1, 0, 0, 0, f[0]],
        [0, 0, -3, -2, 0, f[1]],
        [0, 0, 0, 0, -1, f[2]],
    ]
    found = linprog([0, 0, 0, 0, 0, -1], A_ub=rows, b_ub=[1, 2, 12, 1, 1, 0, 0, 0], method="highs")
    a, b, c, d, store, level = found.x
    shares = np.array([[a, b, 2 * (4 * a + b)], [c, d, 0], [0, 0, 4 * store]])
    times = np.array([*-found.ineqlin.marginals[3:5], 0.0])
    return level, shares, np.concatenate([-found.ineqlin.marginals[:3], times])


@pytest.mark.parametrize("name", ["max_min", "dominant_resource", "makespan"])
def test_mixed_demands_are_certified(name: str) -> None:
    """Duals of the program with memory written out certify it in both ways."""
    settings = Settings()
    level, shares, duals = best(scale(PROBLEM, name, settings))
    answer = FairAnswer(PROBLEM, shares, prices=duals[:3], time_prices=duals[3:])
    value = 1 / level if name == "makespan" else level
    assert check(PROBLEM, answer, name=name).valid
    assert evaluate(answer, name) == pytest.approx(value, rel=1e-9)
    assert price_bound(PROBLEM, name, duals[:3]) == pytest.approx(value, rel=1e-9)
    assert weighted_bound(PROBLEM, name, duals[:3], duals[3:]) == pytest.approx(value, rel=1e-9)


def test_split_and_whole_stock_of_demands() -> None:
    """A third of everything, and all of it, by hand."""
    assert equal_split(PROBLEM.arrays) == pytest.approx([2.0, 7 / 3, 1.0])
    assert alone(PROBLEM.arrays).tolist() == [6.0, 7.0, 3.0]


def test_memory_that_is_missing_limits_progress() -> None:
    """A share of a type without the memory beside it brings only what the memory allows."""
    answer = FairAnswer(PROBLEM, np.array([[1.0, 0, 2], [0, 1, 0], [0, 0, 4]]))
    assert answer.utilities.tolist() == [1.0, 2.0, 1.0]


def test_amounts_of_a_resource_are_no_time() -> None:
    """The time cap counts shares of types; four units of memory are no four shares."""
    answer = FairAnswer(PROBLEM, np.array([[1.0, 0, 8], [0, 1, 0], [0, 0, 4]]))
    assert check(PROBLEM, answer, name="total_throughput").valid
    over = FairAnswer(PROBLEM, np.array([[1.0, 0.1, 8], [0, 1, 0], [0, 0, 3]]))
    assert [v.rule for v in check(PROBLEM, over, name="max_min").violations] == ["time_cap"]


def test_envy_of_a_bundle_needs_all_that_is_demanded() -> None:
    """Nobody envies memory without units, and the store envies the memory of the mixed job."""
    answer = FairAnswer(PROBLEM, np.array([[1.0, 0, 8], [0, 1, 0], [0, 0, 4]]))
    ratio, envied = envy_ratios(answer)
    assert ratio.tolist() == [0.0, 1.5, 2.0]
    assert envied.tolist()[1:] == [0, 0]


def test_bounds_without_search_hold_with_demands() -> None:
    """Guessed prices include those of resources."""
    level, _, _ = best(scale(PROBLEM, "dominant_resource", Settings()))
    found = lower_bounds(PROBLEM, "dominant_resource")
    assert len(found) == 2
    assert all(bound.value >= level - 1e-12 for bound in found)


class Half:
    """Gives the mixed job and the store fixed amounts while they are there."""

    name = "half"

    def shares(self, time: float, active: IntArray, remaining: FloatArray) -> FloatArray:
        """Return the same shares whenever it is asked."""
        assert len(remaining) == len(active)
        return np.array([[0.5, 0, 4], [0, 1, 0], [0, 0, 4.0]])[active] + 0 * time


def test_demands_progress_under_a_policy() -> None:
    """Paces 2, 2 and 1: the jobs of work 4 end at 2, 2 and 4."""
    answer = FairAnswer(PROBLEM, np.zeros((3, 3)))
    (result,) = simulate(PROBLEM, [answer], SimulationRequest(), policy=Half())
    assert result.mean == 4.0
    request = SimulationRequest(replications=300, law=Exponential(rate=1.0))
    (slow,) = simulate(PROBLEM, [answer], request, policy=Half())
    assert slow.mean > 4.0


def test_a_job_with_demands_is_as_slow_as_the_slowest() -> None:
    """Its tail is that of the worst of its laws, not of all together."""
    answer = FairAnswer(PROBLEM, np.array([[0.5, 0.5, 5], [0.5, 0.5, 0], [0, 0, 4]]))
    request = SimulationRequest(replications=50, law=Pareto(shape=1.0, scale=1.0))
    (result,) = simulate(PROBLEM, [answer], request)
    assert result.infinite
