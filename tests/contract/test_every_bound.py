"""Every way to bound an instance with an engine, on instances whose optimum is enumerated."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.routes import BOUNDS, BoundRoute

Optimum = Callable[[DagProblem], int | None]


FAMILIES = ("related", "unrelated", "eligible", "linked", "packed")


def _problems() -> list[DagProblem]:
    return [
        generate("communication", tasks=5, seed=seed, machine=kind)
        for seed in range(3)
        for kind in ("related", "unrelated")
    ]


@pytest.mark.parametrize("way", BOUNDS, ids=lambda way: way.name)
def test_no_bound_is_above_the_optimum(way: BoundRoute, optimum: Optimum) -> None:
    """A bound above the optimum would prove answers that are wrong."""
    for problem in _problems():
        best = optimum(problem)
        assert best is not None
        found = way.load()(problem, Control[Schedule](Limits()))
        assert found
        assert all(0 < bound.value <= best for bound in found)
        assert all(bound.source and bound.detail for bound in found)


@pytest.mark.parametrize("family", FAMILIES)
def test_bounds_hold_whatever_the_nodes_allow(
    draw_cluster: Callable[[str, int], DagProblem], optimum: Optimum, family: str
) -> None:
    """Slots, missing links, memory, groups and lags are read, or left out, never misread."""
    for seed in range(40):
        problem = draw_cluster(family, seed)
        best = optimum(problem)
        for way in BOUNDS:
            found = way.load()(problem, Control[Schedule](Limits()))
            assert best is None or all(bound.value <= best for bound in found), (way.name, seed)


def test_a_report_holds_the_bounds_of_engines_if_there_is_time() -> None:
    """With a limit of 0 no engine is loaded; the other bounds are there all the same."""
    problem = _problems()[0]
    all_sources = {entry.source for entry in allocsolve.bound(problem).bounds}
    quick = {entry.source for entry in allocsolve.bound(problem, time_limit=0).bounds}
    assert {"node_table", "cut_path", "area_lp", "getf_lp"} == all_sources - quick
    assert "critical_path" in quick


def test_projects_are_bounded_without_engines() -> None:
    """Nothing is to be shared among nodes where there are none."""
    problem = generate("rcpsp", tasks=5, seed=0)
    assert all(way.load()(problem, Control[Schedule](Limits())) == [] for way in BOUNDS)
