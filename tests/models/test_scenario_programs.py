"""Programs over draws say exactly what loads are worth on them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from allocsolve.models.coded.bounds_scenarios import rateless_times
from allocsolve.models.coded.costs import answer_of, exact_cost
from allocsolve.models.coded.data import Limits, MatVec, Node, ObjectiveSpec, Scenarios
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scenario_programs import (
    Times,
    at_time,
    breakpoints,
    over_times,
    whole_terms,
)


def _problem(seed: int, **fields: object) -> CodedProblem:
    draw = np.random.default_rng(seed)
    additive = seed % 2 == 1
    nodes = [
        Node(
            id=c,
            startup=int(draw.integers(0, 2)),
            message=Fraction(int(draw.integers(0, 3)), 10),
            speed=1 if additive else int(draw.integers(1, 4)),
            row_time=Fraction(int(draw.integers(0, 3)), 4) if additive else 0,
        )
        for c in "abc"
    ]
    samples = np.round(draw.exponential(1, (7, 3)), 1).tolist()
    return CodedProblem(
        task=MatVec(rows=4),
        nodes=nodes,
        scaling="additive" if additive else "load",
        scenarios=Scenarios(samples=samples),
    ).replace(**fields)


def _times(problem: CodedProblem) -> Times:
    scenarios = problem.arrays.scenarios
    assert scenarios is not None
    return Times(problem, Domain.of(problem), scenarios)


@pytest.mark.parametrize("seed", range(6))
def test_a_program_over_all_times_is_the_mean(seed: int) -> None:
    """Rows at every time at which something can arrive add up to the mean of any loads."""
    problem = _problem(seed)
    times = _times(problem)
    low = rateless_times(problem, times.domain)
    grid = breakpoints(times, low, np.full(7, 1e6), 10_000)
    assert grid is not None
    every, some = over_times(times, grid), over_times(times, grid[:, ::3])
    for loads in itertools.product(range(5), repeat=3):
        if times.domain.allows(loads):
            mean = exact_cost(problem, answer_of(problem, loads, 1))
            assert every.value(loads) == pytest.approx(mean, rel=1e-12)
            assert some.value(loads) <= mean * (1 + 1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_program_at_a_time_counts_what_is_done_by_then(seed: int) -> None:
    """It must agree with the completion law also at times at which something arrives."""
    goal = ObjectiveSpec(name="deadline_probability", deadline=1)
    problem = _problem(seed, objective=goal)
    times = _times(problem)
    moments = [1.7, 3.0]
    for _ in range(6):
        moments.append(times.after(moments[-1]))
    for time in filter(math.isfinite, moments):
        program = at_time(times, time, "late", touching=True)
        asked = problem.replace(objective=ObjectiveSpec(name=goal.name, deadline=time))
        for loads in itertools.product(range(5), repeat=3):
            if times.domain.allows(loads):
                cost = exact_cost(asked, answer_of(asked, loads, 1))
                assert program.value(loads) / 7 - 1 == pytest.approx(cost, abs=1e-12)


def test_completed_loads_are_those_of_the_draws() -> None:
    """A load counts exactly where its node is done by the time, whatever rounding does."""
    problem = CodedProblem(
        task=MatVec(rows=5),
        nodes=[Node(id="a", startup=1), Node(id="b", speed=2)],
        scenarios=Scenarios(samples=[[Fraction(1), Fraction(1, 2)], [Fraction(3, 10), 2]]),
    )
    times = _times(problem)
    assert times.most(np.array([[3.0]])).tolist() == [[2, 5], [5, 3]]
    assert times.most(np.array([[3.0]]), before=True).tolist() == [[1, 5], [5, 2]]
    assert times.after(3.0) == pytest.approx(1 + 3)


def test_loads_that_cannot_matter_are_no_choices() -> None:
    """Without a limit only the largest load of those that count in the same rows is offered."""
    problem = _problem(0)
    free = at_time(_times(problem), 2.0, "late")
    tight = at_time(_times(problem.replace(limits=Limits(total_load=6))), 2.0, "late")
    for some, more, column in zip(free.choices(), tight.choices(), free.most.T, strict=True):
        assert some == sorted(set(column.tolist()) - {0})
        assert more == list(range(1, int(column.max()) + 1))


def test_too_many_times_are_not_listed() -> None:
    """A table of all times of a large job would not fit anywhere."""
    times = _times(_problem(0))
    assert breakpoints(times, np.zeros(7), np.ones(7), 7 * 12 - 1) is None


def test_prices_become_whole_exactly_or_are_rounded_down() -> None:
    """A budget in whole units may never allow less than the budget does."""
    assert whole_terms([Fraction(1, 3), Fraction(5, 2)], 10) == ([2, 15], Fraction(6))
    fine = [Fraction(math.pi), Fraction(1, 3)]
    found, unit = whole_terms(fine, 1000)
    assert all(0 <= exact * unit - whole < 1 for exact, whole in zip(fine, found, strict=True))
    assert sum(found) * 1000 > 2**50
