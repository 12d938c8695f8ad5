"""Structured methods and convex programs agree, on ordinary and on nasty divisions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import allocsolve
from allocsolve.models.fair.answer import FairResult
from allocsolve.models.fair.data import Job, Pair, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reason_types import SloConflict
from allocsolve.solvers.fair.interior import solve_interior
from allocsolve.solvers.fair.price_box import solve_in_box
from allocsolve.solvers.fair.program import Division

SETS = (
    "plain",
    "ties",
    "zeros",
    "weights",
    "spread",
    "scarce",
    "empty type",
    "identical",
    "near ties",
    "one of each",
)


def draw(kind: str, n: int, m: int, seed: int = 0, *, time_cap: bool = True) -> FairProblem:
    """Draw a division in which types are scarce, of one of the sets."""
    random = np.random.default_rng(seed)
    pace = random.random((n, m)) * np.arange(1, m + 1)
    gang, weight = 2.0 ** random.integers(0, 3, n), random.integers(1, 6, n).astype(float)
    if kind == "ties":
        pace, gang, weight = random.integers(1, 4, (n, m)).astype(float), np.ones(n), np.ones(n)
    elif kind == "zeros":
        pace = pace * (random.random((n, m)) < 0.5)
    elif kind == "weights":
        weight = 10.0 ** random.uniform(-3, 3, n)
    elif kind == "spread":
        pace = pace * 10.0 ** random.uniform(-4.5, 4.5, (n, m))
    elif kind == "identical":
        pace = np.tile(pace[:1], (n, 1))
    elif kind == "near ties":
        pace = 1 + 1e-9 * random.random((n, m))
    stock = np.full(m, gang.sum() / 16 / m)
    if kind == "scarce":
        stock = stock * 10.0 ** random.uniform(-9, 0, m)
    elif kind == "empty type":
        stock[0] = 0
    elif kind == "one of each":
        stock[:] = 1
    columns = {
        "weight": weight,
        "gang": gang,
        "remaining": random.integers(1, 9, n).astype(float),
        "elapsed": random.random(n),
    }
    return FairProblem.from_arrays(pace, stock, columns=columns, time_cap=time_cap)


def run(problem: FairProblem, objective: str, method: str, **options: str) -> FairResult:
    return allocsolve.solve(problem, objective=objective, method=method, threads=1, options=options)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("objective", ["nash", "max_min"])
@pytest.mark.parametrize("n", [3, 40, 200])
def test_nasty_divisions_are_proved(kind: str, objective: str, n: int) -> None:
    """Zeros, ties, spreads and empty types must not cost digits: the gap is certified."""
    problem = draw(kind, n, 3, seed=n)
    result = run(problem, objective, "auto")
    assert result.status == "OPTIMAL", result.warnings
    assert result.objective.gap is not None
    assert result.objective.gap <= 1e-8
    assert allocsolve.check(problem, result).valid


@pytest.mark.parametrize(
    ("kind", "n", "m", "objective"),
    [
        pytest.param("empty type", 60, 2, "nash", id="one-type-left"),
        pytest.param("empty type", 500, 2, "max_min", id="one-type-left-for-levels"),
        pytest.param("empty type", 4000, 2, "max_min", id="no-job-is-left-in-a-box"),
        pytest.param("scarce", 5, 8, "nash", id="stock-of-ten-to-minus-ten"),
        pytest.param("scarce", 60, 8, "nash", id="stock-of-ten-to-minus-nine"),
    ],
)
def test_the_interior_point_needs_no_second_opinion(
    kind: str, n: int, m: int, objective: str
) -> None:
    """One type has no second direction, scarce types begin with prices of their own size, and a
    box in which no job is left has a level nevertheless.
    """
    result = run(draw(kind, n, m, n + 1), objective, "price_box")
    assert result.status == "OPTIMAL", result.warnings


@pytest.mark.parametrize("time_cap", [True, False])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("objective", "options"),
    [
        pytest.param("nash", {}, id="nash"),
        pytest.param("max_min", {}, id="max-min"),
        pytest.param("max_min", {"equal_split": "proportional"}, id="max-min-gavel"),
        pytest.param("nash_sharing_incentive", {}, id="floors"),
        pytest.param("nash_sharing_incentive", {"split": "weighted"}, id="weighted-floors"),
        pytest.param("alpha_fair", {"alpha": "2"}, id="alpha-2"),
        pytest.param("alpha_fair", {"alpha": "0.5"}, id="alpha-half"),
        pytest.param("makespan", {}, id="makespan"),
        pytest.param("equal_throughput", {}, id="equal"),
    ],
)
def test_both_ways_agree(
    objective: str, options: dict[str, str], seed: int, time_cap: bool
) -> None:
    """The compiled method and the readable program share nothing but the instance."""
    problem = draw("plain", 25, 3, seed, time_cap=time_cap)
    ours = run(problem, objective, "interior_point", **options)
    plain = run(problem, objective, "cvxpy", **options)
    assert (ours.status, plain.status) == ("OPTIMAL", "OPTIMAL"), (ours.warnings, plain.warnings)
    assert ours.objective.value == pytest.approx(plain.objective.value, rel=1e-7)
    if objective in ("nash", "nash_sharing_incentive", "alpha_fair"):
        assert ours.allocation.utilities == pytest.approx(plain.allocation.utilities, rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_finish_times_agree(seed: int) -> None:
    """The cone program reaches seven digits only; the levels reach the proof."""
    problem = draw("plain", 25, 3, seed)
    ours = run(problem, "finish_time_fairness", "auto")
    plain = run(problem, "finish_time_fairness", "cvxpy")
    assert ours.status == "OPTIMAL"
    assert ours.objective.value == pytest.approx(plain.objective.value, rel=1e-5)


@pytest.mark.parametrize("kind", SETS)
def test_leximin_is_the_one_of_plain_levels(kind: str) -> None:
    """Stages of capacity must end where a program for each level ends."""
    for seed in range(2):
        problem = draw(kind, 12, 3, seed)
        staged, plain = (run(problem, "leximin", method) for method in ("leximin", "cvxpy"))
        assert staged.status == plain.status == "OPTIMAL"
        levels, known = staged.allocation.levels, plain.allocation.levels
        assert levels == pytest.approx(known, rel=1e-7)


def test_leximin_needs_few_programs() -> None:
    """At most m (2 + log2 n) linear programs, where a program for each level needs up to n."""
    problem = draw("plain", 300, 3)
    result = run(problem, "leximin", "leximin")
    assert result.status == "OPTIMAL"
    assert int(result.solver.options["programs"]) <= 3 * (2 + np.ceil(np.log2(300)))


@pytest.mark.parametrize("gains", [True, False], ids=["gains", "levels"])
@pytest.mark.parametrize("kind", ["plain", "ties", "weights", "spread"])
def test_the_box_reduces_exactly(kind: str, gains: bool) -> None:
    """The reduction drops most jobs; what it finds is the optimum of all of them."""
    arrays = draw(kind, 3000, 3).arrays
    gain, slope = (arrays.weight, None) if gains else (None, arrays.weight)
    division = Division(arrays.throughput, arrays.gang, arrays.capacity, gain=gain, slope=slope)
    boxed, whole = solve_in_box(division, small=300), solve_interior(division)
    # Where jobs bound the level by their own reach, prices are worth nothing beside it.
    nothing = (1e-9 if gains else 1e-5 * whole.level) / arrays.capacity.max()
    assert boxed.prices == pytest.approx(whole.prices, rel=1e-6, abs=nothing)
    assert boxed.level == pytest.approx(whole.level, rel=1e-8)


@pytest.mark.parametrize("objective", ["nash", "max_min", "leximin"])
@pytest.mark.parametrize("time_cap", [True, False])
def test_identical_jobs_share_a_variable(objective: str, time_cap: bool) -> None:
    """Merged jobs get the utilities that they get one by one."""
    problem = draw("plain", 8, 3, time_cap=time_cap)
    arrays = problem.arrays
    many = np.repeat(np.arange(8), 5)
    columns = {"weight": arrays.weight[many], "gang": arrays.gang[many]}
    alike = FairProblem.from_arrays(
        arrays.throughput[many], arrays.capacity * 5, columns=columns, time_cap=time_cap
    )
    merged = run(alike, objective, "auto").allocation
    single = run(alike, objective, "cvxpy").allocation
    assert merged.utilities == pytest.approx(single.utilities, rel=1e-4)
    assert merged.utilities.reshape(8, 5) == pytest.approx(
        np.tile(merged.utilities[::5, None], 5), rel=1e-12
    )


@pytest.mark.parametrize("objective", ["nash", "leximin"])
@pytest.mark.parametrize("power", [-9, 9])
def test_units_of_throughput_do_not_matter(objective: str, power: int) -> None:
    """Steps, epochs or samples: the same shares, and utilities in the new unit."""
    problem = draw("plain", 15, 3)
    factor = 10.0 ** (power * np.linspace(0, 1, 15))
    columns = {"weight": problem.arrays.weight, "gang": problem.arrays.gang}
    other = FairProblem.from_arrays(
        problem.arrays.throughput * factor[:, None], problem.arrays.capacity, columns=columns
    )
    one, two = (run(each, objective, "auto").allocation for each in (problem, other))
    assert two.utilities / factor == pytest.approx(one.utilities, rel=1e-6)


@pytest.mark.parametrize("objective", ["nash", "leximin"])
def test_units_of_types_do_not_matter(objective: str) -> None:
    """Counting units by the thousand changes nothing where time is not limited."""
    problem = draw("plain", 15, 3, time_cap=False)
    factor = 10.0 ** np.array([-9.0, 0.0, 9.0])
    columns = {"weight": problem.arrays.weight, "gang": problem.arrays.gang}
    other = FairProblem.from_arrays(
        problem.arrays.throughput * factor,
        problem.arrays.capacity / factor,
        columns=columns,
        time_cap=False,
    )
    one, two = (run(each, objective, "auto").allocation for each in (problem, other))
    assert two.utilities == pytest.approx(one.utilities, rel=1e-6)


def _with_deadlines(deadline: float) -> FairProblem:
    return FairProblem(
        types=[ResourceType(id="g", count=1, cost=2), ResourceType(id="h", count=5, cost=1)],
        jobs=[
            Job(id="a", throughput={"g": 1}, remaining=6, deadline=deadline),
            Job(id="b", throughput={"g": 1}, remaining=6, deadline=deadline),
            Job(id="c", throughput={"h": 1}, remaining=6, deadline=deadline),
        ],
    )


def test_the_cheapest_way_to_meet_deadlines() -> None:
    """Each of a and b needs 6/20 of g, c as much of h: 0.6 * 2 + 0.3 in all."""
    result = run(_with_deadlines(20), "cost", "auto")
    assert result.status == "OPTIMAL"
    assert result.objective.value == pytest.approx(1.5)


def test_contradictory_deadlines_are_explained() -> None:
    """Jobs a and b need 12 units of g in 8: the deadlines must be 1.5 times as far away."""
    problem = _with_deadlines(8)
    result = run(problem, "cost", "auto")
    assert result.status == "INFEASIBLE"
    reason = result.certificate.reason
    assert isinstance(reason, SloConflict)
    assert reason.jobs == ["a", "b"]
    assert reason.relaxation == pytest.approx(1.5)
    assert "1.5 times" in reason.sentence()
    relaxed = _with_deadlines(8 * 1.5 * (1 + 1e-9))
    assert run(relaxed, "cost", "auto").status == "OPTIMAL"


def test_value_for_money_without_deadlines() -> None:
    """All that is bought is bought where a unit of cost brings most."""
    problem = FairProblem.from_arrays(
        [[4.0, 3.0], [2.0, 1.0]], [1.0, 1.0], cost=[2.0, 1.0], columns={"weight": [1.0, 1.0]}
    )
    result = run(problem, "cost", "auto")
    assert result.status.value == "OPTIMAL"
    assert result.objective.value == pytest.approx(3.0)


def test_pairs_share_units() -> None:
    """Two jobs that lose a fifth by sharing gain 1.6 times as much together."""
    problem = FairProblem(
        types=[ResourceType(id="g", count=1)],
        jobs=[Job(id="a", throughput={"g": 1}), Job(id="b", throughput={"g": 1})],
        pairs=[Pair(jobs=("a", "b"), throughput={"g": (0.8, 0.8)})],
    )
    for objective in ("nash", "max_min", "leximin", "total_throughput"):
        result = run(problem, objective, "auto", normalise="none")
        assert result.status == "OPTIMAL", (objective, result.warnings)
        assert result.allocation.utilities.sum() == pytest.approx(1.6, rel=1e-6)


def test_matching_is_the_best_of_all_orders() -> None:
    """Each job on its unit in every order: the mean of the ends can be enumerated."""
    random = np.random.default_rng(1)
    pace = random.integers(1, 5, (5, 2)).astype(float)
    problem = FairProblem.from_arrays(
        pace, [1.0, 1.0], columns={"remaining": random.integers(1, 9, 5).astype(float)}
    )
    result = run(problem, "completion_time", "auto")
    assert result.status == "OPTIMAL"
    time = problem.arrays.jobs.remaining[:, None] / pace
    best = np.inf
    for code in range(2**5):
        place = np.array([(code >> i) & 1 for i in range(5)])
        ends = 0.0
        for kind in (0, 1):
            here = np.sort(time[place == kind, kind])
            ends += float(np.cumsum(here).sum())
        best = min(best, ends / 5)
    assert result.objective.value == pytest.approx(best)


def test_gangs_of_several_sizes_are_no_proof() -> None:
    """With mixed gangs the method says that it does not know."""
    problem = FairProblem.from_arrays(
        np.ones((3, 1)), [4.0], columns={"remaining": [1.0, 2.0, 3.0], "gang": [1.0, 2.0, 4.0]}
    )
    result = run(problem, "completion_time", "auto")
    assert result.status == "FEASIBLE"
    assert allocsolve.check(problem, result).valid


def test_nothing_to_divide() -> None:
    """No job that gains anything: an allocation of nothing, proved."""
    problem = FairProblem.from_arrays(np.zeros((2, 2)), [1.0, 1.0])
    for method in ("auto", "cvxpy", "interior_point"):
        result = run(problem, "nash", method)
        assert result.status == "OPTIMAL"
        assert not result.allocation.shares.any()


_BOTH_LOOPS = """
import sys, numpy as np
from allocsolve.models.kernels import runs_plain
from allocsolve.solvers.fair.interior import run_steps, solve_interior
from allocsolve.solvers.fair.price_box import solve_in_box
from allocsolve.solvers.fair.program import Division
draw = np.random.default_rng(0)
pace, weight = draw.random((90, 3)), draw.integers(1, 5, 90).astype(float)
for rule in ({"gain": weight}, {"slope": weight}):
    division = Division(pace, np.ones(90), np.full(3, 2.0), **rule)
    for found in (solve_interior(division), solve_in_box(division, small=20)):
        print(found.share.tobytes().hex(), found.prices.tobytes().hex())
print("plain" if runs_plain(run_steps) else "compiled", file=sys.stderr)
"""


def test_compiled_and_plain_loops_give_the_same_bytes(tmp_path: Path) -> None:
    """Whether there was time to compile must not show in the answer.

    The loops are called without the front door, which runs so few jobs as plain Python anyway.
    """
    compiled, plain = (
        subprocess.run(
            [sys.executable, "-c", _BOTH_LOOPS],
            cwd=tmp_path,
            env=os.environ | {"NUMBA_DISABLE_JIT": flag},
            capture_output=True,
            text=True,
            check=True,
        )
        for flag in ("0", "1")
    )
    assert (compiled.stderr, plain.stderr) == ("compiled\n", "plain\n")
    assert len(plain.stdout.splitlines()) == 4
    assert compiled.stdout == plain.stdout
