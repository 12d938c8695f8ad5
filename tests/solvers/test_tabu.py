"""Tabu search on shops: every state is a schedule, small shops are solved, the same bytes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.shop_climber import Climber, Peak
from allocsolve.models.dag.shop_data import Shop, excuse, shop_of
from allocsolve.models.dag.shop_lists import arrange, dispatch, mix
from allocsolve.models.dag.shop_state import (
    BEST,
    HEAD,
    ITERATION,
    MACHINE,
    MAKESPAN,
    Orders,
    orders_of,
)
from allocsolve.models.dag.shop_tabu import begin, tabu
from allocsolve.solvers.control import Control, Outcome

Optimum = Callable[[DagProblem], int | None]
Solve = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge = Callable[[Schedule | None], None]


def _shop(family: str, tasks: int, seed: int) -> DagProblem:
    return generate(family, tasks=tasks, seed=seed, machines=4, max_duration=9)


def _started(shop: Shop, seed: int) -> Orders:
    """Return orders with a random schedule without delay."""
    orders, listed = orders_of(shop, seed), np.zeros((2, len(shop.task)), np.int64)
    dispatch(shop, listed[0], listed[1], orders.field)
    arrange(orders, listed[0], listed[1])
    return orders


def _now(problem: DagProblem, shop: Shop, orders: Orders) -> Schedule:
    """Return the schedule of the orders as they are."""
    start, machine = orders.table[:, HEAD].copy(), orders.table[:, MACHINE].copy()
    peak = Peak(int(orders.field[MAKESPAN]), np.stack([np.argsort(start), machine]), start)
    return peak.schedule(problem, shop)


@pytest.mark.parametrize("family", ["jobshop", "flexible"])
@pytest.mark.parametrize("seed", range(20))
def test_small_shops_are_solved_to_the_optimum(
    family: str, seed: int, solve: Solve, judge: Judge, optimum: Optimum
) -> None:
    """On so few operations some runs must come across the best orders."""
    problem = _shop(family, 6, seed)
    _, control = solve(problem, "tabu", options={"runs": "8"})
    judge(control.answer)
    assert control.value == optimum(problem)


@pytest.mark.parametrize("family", ["jobshop", "flexible"])
@pytest.mark.parametrize("seed", range(4))
def test_every_move_leads_to_a_schedule(family: str, seed: int) -> None:
    """A move that closed a cycle would leave operations out, or heads too small."""
    problem = _shop(family, 24, seed)
    shop = shop_of(problem)
    orders = _started(shop, seed)
    begin(orders, 8)
    for _ in range(150):
        tabu(orders, 10**6, 1, 8, 0)
        schedule = _now(problem, shop, orders)
        report = check(problem, schedule.entries())
        assert report.valid, report.violations
        assert schedule.makespan == orders.field[MAKESPAN] >= orders.field[BEST]


@pytest.mark.parametrize("family", ["jobshop", "flexible"])
def test_any_move_that_is_looked_at_leads_to_a_schedule(family: str) -> None:
    """Where all moves are forbidden one is drawn, so even those that promise nothing are made."""
    problem = _shop(family, 24, 7)
    shop = shop_of(problem)
    for seed in range(12):
        orders = _started(shop, seed)
        begin(orders, 8)
        for _ in range(60):
            orders.pair_until[:], orders.machine_until[:] = 2**31 - 1, 2**31 - 1
            orders.field[BEST] = 1
            tabu(orders, 10**6, 1, 8, 0)
            schedule = _now(problem, shop, orders)
            assert schedule.makespan == orders.field[MAKESPAN]
            report = check(problem, schedule.entries())
            assert report.valid, report.violations


@pytest.mark.parametrize("family", ["jobshop", "flexible"])
def test_crossovers_of_two_lists_are_schedules(family: str) -> None:
    """A crossover needs no repair, whatever its stretch is."""
    problem = _shop(family, 24, 5)
    shop = shop_of(problem)
    climber, peaks = Climber(shop, 3), []
    for _ in range(2):
        climber.start()
        climber.climb(200, 0)
        peaks.append(climber.peak())
    orders, child = orders_of(shop, 9), np.zeros((2, 24), np.int64)
    for _ in range(40):
        mix(peaks[0].listed, peaks[1].listed, child, orders.field)
        assert sorted(child[0].tolist()) == list(range(24))
        arrange(orders, child[0], child[1])
        report = check(problem, _now(problem, shop, orders).entries())
        assert report.valid, report.violations


def test_plain_loops_give_the_same_bytes() -> None:
    """Where a kernel runs is a question of time only."""
    plain = getattr(tabu, "plain", lambda: tabu)()
    found = []
    for loop in (tabu, plain):
        orders = _started(shop_of(_shop("flexible", 15, 2)), 4)
        begin(orders, 5)
        loop(orders, 1000, 60, 5, 0)
        found.append(tuple(array.tobytes() for array in orders))
    assert found[0] == found[1]


def test_counts_of_forbidden_moves_begin_anew_before_they_overflow() -> None:
    """They have 32 bits; a run of hours must not end with moves that are never forbidden."""
    climber = Climber(shop_of(_shop("jobshop", 16, 1)), 0)
    climber.start()
    climber._orders.field[ITERATION] = 2**30 + 1
    climber.start()
    assert climber.moves < 1000
    assert not climber._orders.pair_until.any()


def test_a_number_of_runs_repeats_itself(solve: Solve) -> None:
    """The same seed gives the same schedule."""
    problem = _shop("jobshop", 36, 3)
    runs = [solve(problem, "tabu", options={"runs": "3"}) for _ in range(2)]
    first, second = (run[1].answer for run in runs)
    assert first is not None
    assert second is not None
    assert first.start.tolist() == second.start.tolist()
    assert all(outcome.deterministic for outcome, _ in runs)


def _tasks(count: int) -> list[Task]:
    return [Task(id=f"t{i}", work=1 + i) for i in range(count)]


@pytest.mark.parametrize(
    ("problem", "what"),
    [
        pytest.param(
            DagProblem(tasks=_tasks(2), nodes=[Node(id="x", slots=2)]), "several", id="slots"
        ),
        pytest.param(
            DagProblem(
                tasks=_tasks(3),
                nodes=[Node(id="x")],
                edges=[Edge(source="t0", target="t2"), Edge(source="t1", target="t2")],
            ),
            "no chains",
            id="two predecessors",
        ),
        pytest.param(
            DagProblem(tasks=[Task(id="a", work=0)], nodes=[Node(id="x")]), "no time", id="empty"
        ),
        pytest.param(
            DagProblem(tasks=[Task(id="a", work=1, release=1)], nodes=[Node(id="x")]),
            "release dates",
            id="release",
        ),
    ],
)
def test_other_instances_are_no_shops(
    problem: DagProblem, what: str, solve: Solve, judge: Judge
) -> None:
    """The search would leave out what it does not know, so annealing takes its place."""
    assert what in (excuse(problem) or "")
    outcome, control = solve(problem, "tabu", seconds=2)
    judge(control.answer)
    assert any(what in said for said in outcome.warnings)
