"""Every way to bound an instance with an engine, on instances whose optimum is enumerated."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.data import (
    Elastic,
    Gradient,
    MatVec,
    Node,
    ObjectiveSpec,
    Scenarios,
)
from allocsolve.models.coded.data import Limits as CodedLimits
from allocsolve.models.coded.law import NoExactLaw
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import FeatureRefused
from allocsolve.models.exact import Number
from allocsolve.models.nodes import Law
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.routes import BOUNDS, BoundRoute

Optimum = Callable[[DagProblem], int | None]

DAG = [way for way in BOUNDS if way.kind == "dag"]

WAYS = [way for way in DAG if way.name != "windows"]
"""Those of tasks that choose among nodes."""


BUNDLED = Path(__file__).resolve().parents[2] / "instances" / "bundled"

FAMILIES = ("related", "unrelated", "eligible", "linked", "packed")


def _problems() -> list[DagProblem]:
    return [
        generate("communication", tasks=5, seed=seed, machine=kind)
        for seed in range(3)
        for kind in ("related", "unrelated")
    ]


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
        for way in DAG:
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


def _coded(**fields: object) -> CodedProblem:
    law = Law(law="shifted_exponential", shift=0.5, rate=1)
    nodes = [Node(id=f"n{i}", runtime=law, speed=1 + i, cost=1 + i) for i in range(3)]
    return CodedProblem(task=MatVec(rows=3), nodes=nodes).replace(**fields)


SAMPLES: list[list[Number]] = [[1, 2, 4], [2, 1, 3], [3, 3, 1], [1, 5, 2]]
CODED = {
    "independent": _coded(),
    "batches": _coded(limits=CodedLimits(batches=2)),
    "scenarios": _coded(
        nodes=[Node(id=f"n{i}", cost=1 + i) for i in range(3)],
        scenarios=Scenarios(samples=SAMPLES),
    ),
}
SETTINGS = {"q": "0.8", "deadline": "3", "confidence": "0.5"}
OF = {"quantile": ["q"], "deadline_probability": ["deadline"], "cost": ["deadline", "confidence"]}


@pytest.mark.parametrize("objective", ["mean", "quantile", "deadline_probability", "cost"])
@pytest.mark.parametrize("name", CODED)
def test_no_bound_of_products_is_beyond_the_best_loads(name: str, objective: str) -> None:
    """All loads are compared with what the verb says, which used to say nothing."""
    problem, own = CODED[name], {key: SETTINGS[key] for key in OF.get(objective, [])}
    numbers = {key: float(value) for key, value in own.items()}
    aimed = problem.replace(objective=ObjectiveSpec(name=objective, **numbers))  # type: ignore[arg-type]  # checked there
    batches = [1, 2] if problem.limits.batches == 2 else [None]
    best = min(
        exact_cost(aimed, CodedAnswer.of(loads, batches=count))
        for loads in itertools.product(range(4), repeat=3)
        if sum(loads) >= 3
        for count in batches
    )
    report = allocsolve.bound(problem, objective, options=own)
    sign = -1 if objective == "deadline_probability" else 1
    if not report.bounds:
        assert (name, objective) in {("batches", "cost"), ("scenarios", "cost")}
        assert report.explanation
        return
    assert report.best is not None
    assert sign * float(report.best) <= best + 1e-12
    assert sign * float(report.best) > (best - 0.6 * abs(best))
    assert all(entry.source and entry.detail for entry in report.bounds)


@pytest.mark.parametrize(
    "task", [Gradient(partitions=4, stragglers=1), Elastic(recovery_threshold=2)]
)
def test_worst_cases_are_bounded_and_other_objectives_say_why_not(
    task: Gradient | Elastic,
) -> None:
    """Who reads an empty list has to know whether to wait longer or to ask for something else."""
    problem = _coded(task=task)
    report = allocsolve.bound(problem)
    assert report.best == pytest.approx(allocsolve.solve(problem, threads=1).objective.known)
    assert report.bounds[0].source
    other = allocsolve.bound(problem, "mean")
    assert other.bounds == []
    assert "'worst_case' is bounded" in (other.explanation or "")


def test_no_method_is_named_that_refuses_too() -> None:
    """A reader who is sent from method to method never learns that only sampling is left."""
    rough = Law(law="weibull", shape=0.5, scale=1)
    problem = _coded(scaling="per_row", nodes=[Node(id="n", runtime=rough)])
    with pytest.raises(FeatureRefused, match="of node 'n' have no closed form") as caught:
        allocsolve.solve(problem, method="milp")
    assert caught.value.alternatives == ()
    with pytest.raises(NoExactLaw, match="simulate it"):
        allocsolve.solve(problem)
    assert "simulate it" in (allocsolve.bound(problem).explanation or "")
    smooth = Law(law="exponential", rate=1)
    with pytest.raises(FeatureRefused, match="methods that do: auto"):
        allocsolve.solve(
            _coded(scaling="per_row", nodes=[Node(id="n", runtime=smooth)]), method="milp"
        )
