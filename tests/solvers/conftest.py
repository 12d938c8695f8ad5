"""Small instances of every family, and a run of a method."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.check import check
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.exact import plain
from allocsolve.solvers.control import Control, Event, Limits, Outcome, Token
from allocsolve.solvers.routes import method_named

__all__ = ["Case", "Judge", "Run", "Solve"]

SETTINGS: dict[str, tuple[int, dict[str, int | float | str]]] = {
    "rcpsp": (6, {"max_duration": 4, "resources": 2, "resource_factor": 1}),
    "multimode": (4, {"max_duration": 4, "modes": 2, "nonrenewable": 1, "resources": 1}),
    "lags": (5, {"max_duration": 4, "resources": 2, "slack": 0.6, "network_complexity": 1}),
    "jobshop": (6, {"max_duration": 4, "machines": 3}),
    "flexible": (5, {"max_duration": 4, "machines": 3, "operations": 2, "flexibility": 0.67}),
    "communication": (5, {"max_work": 4, "nodes": 2, "network_complexity": 1}),
}
"""Per family: number of tasks and settings that keep brute force fast."""

Case: TypeAlias = Callable[[str, int], tuple[DagProblem, int | None]]
Run: TypeAlias = tuple[Outcome, Control[Schedule]]
Solve: TypeAlias = Callable[..., Run]
Judge: TypeAlias = Callable[[Schedule | None], None]


@pytest.fixture(scope="session")
def case(optimum: Callable[[DagProblem], int | None]) -> Case:
    """Draw an instance of a family by its seed, with its brute-force optimum in ticks."""

    @cache
    def draw(family: str, seed: int) -> tuple[DagProblem, int | None]:
        tasks, settings = SETTINGS[family]
        problem = generate(family, tasks=tasks, seed=seed, **settings)
        return problem, optimum(problem)

    return draw


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Fail unless a schedule passes the checker with the makespan it claims."""

    def require_right(schedule: Schedule | None) -> None:
        if schedule is not None:
            report = check(schedule.problem, schedule.entries())
            assert report.valid, report.violations
            assert report.value == plain(schedule.problem.units(schedule.makespan))

    return require_right


@pytest.fixture(scope="session")
def solve() -> Solve:
    """Run a method on a problem; the seconds of the limit count from now."""

    def run(
        problem: DagProblem,
        method: str = "auto",
        *,
        seconds: float | None = 20,
        gap: float = 0.0,
        threads: int = 1,
        seed: int = 0,
        options: Mapping[str, str] | None = None,
        token: Token | None = None,
        listener: Callable[[Event], None] | None = None,
        warm_start: Schedule | None = None,
    ) -> Run:
        deadline = None if seconds is None else time.monotonic() + seconds
        limits = Limits(deadline, gap, threads, seed, options or {})
        control = Control(limits, token, listener, warm_start)
        return method_named("dag", method).load()(problem, control), control

    return run
