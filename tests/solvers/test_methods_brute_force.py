"""Every method on small random instances of every family, against brute force."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

import pytest

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.cpsat import build
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.solvers.control import Control, Limits, Outcome, Proof
from allocsolve.solvers.engines import cpsat
from allocsolve.solvers.engines.cpsat import EngineStatus

Case: TypeAlias = Callable[[str, int], tuple[DagProblem, int | None]]
Solve: TypeAlias = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge: TypeAlias = Callable[[Schedule | None], None]

FAMILIES = ("rcpsp", "multimode", "lags", "jobshop", "flexible", "communication")
BLOCKS = [range(first, first + 50) for first in range(0, 200, 50)]
HARD = {Feature.NONRENEWABLE, Feature.MAX_LAGS, Feature.DEADLINES}
"""Features with which finding any schedule is hard."""


def _seeds(block: range) -> str:
    return f"seeds {block.start}-{block.stop - 1}"


@pytest.mark.parametrize("block", BLOCKS, ids=_seeds)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("method", ["auto", "cpsat"])
def test_exact_methods_prove_the_brute_force_optimum(
    case: Case, solve: Solve, judge: Judge, method: str, family: str, block: range
) -> None:
    """A wrong OPTIMAL or a wrong INFEASIBLE is the worst that an exact method can say."""
    for seed in block:
        problem, optimum = case(family, seed)
        outcome, control = solve(problem, method)
        judge(control.answer)
        expected = Proof.INFEASIBLE if optimum is None else Proof.OPTIMAL
        assert (outcome.proof, control.value) == (expected, optimum), f"seed {seed}"
        assert optimum is None or (control.bound is not None and control.bound.value == optimum)


@pytest.mark.parametrize("block", BLOCKS, ids=_seeds)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_formulation_alone_has_the_brute_force_optimum(
    case: Case, judge: Judge, family: str, block: range
) -> None:
    """Without incumbents and bounds nothing hides what the model forbids or allows too much."""
    for seed in block:
        problem, optimum = case(family, seed)
        status, schedule = _solve_model(problem)
        judge(schedule)
        expected = EngineStatus.INFEASIBLE if optimum is None else EngineStatus.OPTIMAL
        assert status is expected, f"seed {seed}"
        assert schedule is None or schedule.makespan == optimum, f"seed {seed}"


def _solve_model(problem: DagProblem) -> tuple[EngineStatus, Schedule | None]:
    formulation = build(problem, problem.arrays.horizon)
    found: list[Schedule] = []
    control: Control[Schedule] = Control(Limits(time.monotonic() + 20))
    report = cpsat.run(
        formulation.model, control, lambda value: found.append(formulation.decode(value)), {}
    )
    return report.status, min(found, key=lambda schedule: schedule.makespan, default=None)


@pytest.mark.parametrize("block", BLOCKS, ids=_seeds)
@pytest.mark.parametrize("family", FAMILIES)
def test_list_scheduling_is_never_below_the_optimum(
    case: Case, solve: Solve, judge: Judge, family: str, block: range
) -> None:
    """It must always answer where that is easy, and call optimal only what is."""
    for seed in block:
        problem, optimum = case(family, seed)
        outcome, control = solve(problem, "list", options={"samples": "5"})
        judge(control.answer)
        if optimum is None:
            assert control.value is None
            continue
        assert control.value is not None or problem.features & HARD, f"seed {seed}"
        assert control.value is None or control.value >= optimum, f"seed {seed}"
        assert control.bound is None or control.bound.value <= optimum, f"seed {seed}"
        assert outcome.proof is not Proof.INFEASIBLE
        assert outcome.proof is not Proof.OPTIMAL or control.value == optimum, f"seed {seed}"


@pytest.mark.parametrize("family", ["rcpsp", "jobshop", "flexible", "communication"])
def test_list_scheduling_finds_most_optima_of_tiny_instances(
    case: Case, solve: Solve, family: str
) -> None:
    """A dispatcher that is only just feasible would pass the test above."""
    hits = 0
    for seed in range(50):
        problem, optimum = case(family, seed)
        hits += solve(problem, "list", options={"samples": "30"})[1].value == optimum
    assert hits >= 40
