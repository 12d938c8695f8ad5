"""Every way to bound an instance with an engine, on instances whose optimum is enumerated."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.problem import DagProblem
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.routes import BOUNDS, BoundRoute

Optimum = Callable[[DagProblem], int | None]


BUNDLED = Path(__file__).resolve().parents[2] / "instances" / "bundled"

FAMILIES = ("related", "unrelated", "eligible", "linked", "packed")


def _problems() -> list[DagProblem]:
    return [
        generate("communication", tasks=5, seed=seed, machine=kind)
        for seed in range(3)
        for kind in ("related", "unrelated")
    ]


WAYS = [way for way in BOUNDS if way.name != "windows"]
"""Those of tasks that choose among nodes."""


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)
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
    assert all(way.load()(problem, Control[Schedule](Limits())) == [] for way in WAYS)


@pytest.mark.parametrize("family", ["rcpsp", "multimode", "lags", "jobshop", "flexible"])
def test_refuted_lengths_of_projects_and_shops(family: str, optimum: Optimum) -> None:
    """Windows bound them without an engine: above what is known at once, never the optimum."""
    (way,) = (way for way in BOUNDS if way.name == "windows")
    for seed in range(40):
        problem = generate(family, tasks=5, seed=seed)
        best = optimum(problem)
        found = way.load()(problem, Control[Schedule](Limits()))
        plain = max((bound.value for bound in lower_bounds(problem)), default=0)
        assert all(bound.source in ("windows", "shaving") for bound in found)
        assert all(bound.detail for bound in found)
        assert best is None or all(plain < bound.value <= best for bound in found), seed


def test_a_report_of_a_shop_names_what_was_refuted() -> None:
    """The best bound comes first, with its source, in units of the input."""
    problem = allocsolve.read(BUNDLED / "ft06.txt")
    report = allocsolve.bound(problem)
    assert report.best == 55
    assert report.bounds[0].source == "windows"
    assert "54" in report.bounds[0].detail
