"""An edge may lead from a task to itself: then its lags bound the duration of the task."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.data import Edge, Mode, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import PositiveLagCycle, find_reason
from allocsolve.models.errors import FeatureRefused
from allocsolve.solvers.control import Control, Outcome, Proof
from allocsolve.solvers.routes import METHODS, refuse_unsupported

Solve: TypeAlias = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge: TypeAlias = Callable[[Schedule | None], None]


def _problem(**lags: Any) -> DagProblem:
    """A task of 1, 3 or 5, with one edge from its end (or start) to its own start."""
    modes = [Mode(duration=duration) for duration in (1, 3, 5)]
    return DagProblem(
        tasks=[Task(id="a", modes=modes), Task(id="b", modes=[Mode(duration=1)])],
        edges=[Edge(source="a", target="a", **lags), Edge(source="b", target="a")],
    )


@pytest.mark.parametrize("method", [row.name for row in METHODS if row.kind == "dag"])
@pytest.mark.parametrize(
    ("lags", "optimum"),
    [
        pytest.param({"min_lag": 0, "lag_from": "start"}, 2, id="says nothing"),
        pytest.param({"min_lag": -3}, 2, id="at most 3: the shortest mode will do"),
        pytest.param({"min_lag": -9, "max_lag": -2}, 4, id="at least 2"),
        pytest.param({"min_lag": -9, "max_lag": -5}, 6, id="at least 5"),
    ],
)
def test_every_method_finds_the_mode_that_the_lags_allow(
    solve: Solve, judge: Judge, method: str, lags: dict[str, Any], optimum: int
) -> None:
    """A mode that breaks such a lag gives a schedule that the checker refuses."""
    problem = _problem(**lags)
    row = next(row for row in METHODS if row.name == method)
    if not problem.features <= row.honours:
        with pytest.raises(FeatureRefused):
            refuse_unsupported(row, problem, "makespan")
        return
    _, control = solve(problem, method)
    judge(control.answer)
    assert control.value == optimum


@pytest.mark.parametrize("method", ["auto", "cpsat"])
def test_lags_that_no_mode_satisfies_are_infeasible(solve: Solve, method: str) -> None:
    """Each of the two lags alone leaves a mode; both together leave none."""
    outcome, control = solve(_problem(min_lag=-4, max_lag=-4), method)
    assert (outcome.proof, control.answer) == (Proof.INFEASIBLE, None)


def test_a_positive_lag_from_a_task_to_itself_is_a_cycle_of_one() -> None:
    """The reason names the task, as for any other cycle."""
    reason = find_reason(_problem(min_lag=2, lag_from="start"))
    assert reason == PositiveLagCycle(path=["a"], length=2)
