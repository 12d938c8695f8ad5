"""Bounds and reasons on the families of the generators, against the brute-force oracle."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from allocsolve.instances.generators.dag import FAMILIES, generate
from allocsolve.models.dag import area
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.check import verify_reason
from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason

Optimum = Callable[[DagProblem], int | None]


def _settings(family: str) -> set[str]:
    return {setting.name for setting in FAMILIES[family].settings}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_bound_above_the_optimum(family: str, optimum: Optimum) -> None:
    """A second oracle and other instances: what bounds call impossible must be impossible."""
    feasible = 0
    few: dict[str, int | float | str]
    for seed in range(100):
        few = {"nodes": 2 + seed % 2} if "nodes" in _settings(family) else {}
        problem = generate(family, tasks=3 + seed % 3, seed=seed, **few)
        best, reason = optimum(problem), find_reason(problem)
        if best is None:
            assert reason is None or verify_reason(problem, reason), (seed, reason)
            continue
        feasible += 1
        assert reason is None, (seed, reason)
        assert all(bound.value <= best for bound in lower_bounds(problem)), seed
    assert feasible > 50


@pytest.mark.parametrize("family", FAMILIES)
def test_large_instances_are_bounded_without_search(family: str) -> None:
    """Sizes that no oracle reaches: either a reason that convinces, or explained bounds."""
    problem = generate(family, tasks=2000, seed=1)
    bounds, reason = lower_bounds(problem), find_reason(problem)
    if reason is not None:
        assert verify_reason(problem, reason)
        return
    assert bounds[0].value > 0
    assert "critical_path" in {bound.source for bound in bounds}
    assert all(bound.detail for bound in bounds)


def _unrelated(tasks: int, seed: int) -> DagProblem:
    draw = random.Random(seed)
    return DagProblem(
        tasks=[Task(id=f"t{i}") for i in range(tasks)],
        nodes=[Node(id=f"n{k}", slots=1 + k % 2) for k in range(4)],
        durations={
            f"t{i}": {f"n{k}": draw.randint(1, 9) for k in range(4) if k == i % 4 or k % 2}
            for i in range(tasks)
        },
    )


def _area(problem: DagProblem) -> int:
    return max(bound.value for bound in lower_bounds(problem) if bound.source == "node_area")


def test_a_sample_of_the_tasks_balances_the_nodes_for_all(
    optimum: Optimum, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights from a sample are valid for every task, and lose little; periods do not mislead."""
    large = _unrelated(4000, 1)
    whole = _area(large)
    monkeypatch.setattr(area, "_BALANCED_MODES", 2000)
    sampled = _area(_unrelated(4000, 1))
    assert 0.98 * whole <= sampled <= 1.02 * whole
    monkeypatch.setattr(area, "_BALANCED_MODES", 4)
    for seed in range(40):
        problem = _unrelated(5, seed)
        best = optimum(problem)
        assert best is not None
        assert _area(problem) <= best, seed
