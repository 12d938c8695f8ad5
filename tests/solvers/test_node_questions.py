"""Questions about lengths on nodes that differ: what they exclude, brute force excludes too."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.comm_tables import node_table
from allocsolve.models.dag.cut_paths import cut_paths
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_build import Builder
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.result import Bound
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.dag.node_questions import NodeQuestions, tight_gaps

Draw = Callable[[str, int], DagProblem]
Optimum = Callable[[DagProblem], int | None]
Judge = Callable[[Schedule | None], None]

FAMILIES = ("related", "unrelated", "eligible", "linked", "packed")


def _begun(problem: DagProblem, seconds: float) -> Control[Schedule] | None:
    """Return a control with a list schedule and a trivial bound, None without a schedule."""
    built = Builder(CommGraph.of(problem)).build("heft")
    if built is None:
        return None
    control = Control[Schedule](Limits(time.monotonic() + seconds))
    control.offer(built.schedule(), built.makespan, "heft")
    control.raise_bound(Bound(0, "none"))
    return control


@pytest.mark.parametrize("family", FAMILIES)
def test_questions_end_at_the_optimum(
    draw_cluster: Draw, optimum: Optimum, judge: Judge, family: str
) -> None:
    """With time enough they exclude all shorter lengths and find what is left, never more."""
    for seed in range(25):
        problem = draw_cluster(family, seed)
        control = _begun(problem, 60)
        if control is None:
            continue
        questions = NodeQuestions(node_table(CommGraph.of(problem)), control)
        assert questions.fits()
        questions.ask(time.monotonic() + 60)
        assert control.bound is not None
        assert control.value == control.bound.value == optimum(problem), seed
        judge(control.answer)


def test_questions_raise_the_bound_of_fifty_tasks() -> None:
    """Where minimising proves nothing in a minute, short lengths are excluded in a second."""
    problem = generate(
        "layered", tasks=50, seed=0, nodes=4, node_kind="unrelated", links="different", ccr=3.0
    )
    control = _begun(problem, 60)
    assert control is not None
    table = node_table(CommGraph.of(problem))
    NodeQuestions(table, control).ask(time.monotonic() + 20)
    assert control.bound is not None
    assert table.value * 1.05 < control.bound.value < 938  # a schedule of 938 is known


def test_no_time_asks_nothing() -> None:
    """A reading of the clock that has passed leaves the bound as it was."""
    problem = generate("layered", tasks=20, seed=0, node_kind="unrelated")
    control = _begun(problem, 60)
    assert control is not None
    NodeQuestions(node_table(CommGraph.of(problem)), control).ask(time.monotonic())
    assert control.bound == Bound(0, "none")


@pytest.mark.parametrize("seed", range(6))
def test_tight_gaps_imply_all_gaps(seed: int) -> None:
    """Together with edges and shortest durations they say as much as the whole table."""
    problem = generate("layered", tasks=25, seed=seed, node_kind="related", ccr=5.0)
    table = node_table(CommGraph.of(problem))
    graph, paths = table.graph, cut_paths(table)
    assert paths is not None
    least = graph.duration.min(axis=1)
    implied = np.full((graph.n, graph.n), -1)
    implied[graph.edge_source, graph.edge_target] = graph.edge_lag
    for a, b, gap in tight_gaps(table, paths):
        implied[a, b] = max(implied[a, b], gap)
    for middle in graph.order.tolist():
        left, right = implied[:, middle], implied[middle]
        way = left[:, None] + least[middle] + right[None, :]
        implied = np.where(
            (left[:, None] < 0) | (right[None, :] < 0), implied, np.maximum(implied, way)
        )
    assert np.array_equal(implied, paths.gap)
