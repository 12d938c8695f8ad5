"""The schedule of last resort is valid wherever one node can run everything."""

from __future__ import annotations

import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import DefaultLink, Edge, Node, Task
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.network import build_network
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.sequential import sequential_plan, sequential_schedule
from allocsolve.solvers.control import Control, Limits
from allocsolve.solvers.dag.opening import open_run

TWO = [Node(id="slow"), Node(id="fast", speed=2)]

PROBLEMS = {
    "lags, releases and no links": DagProblem(
        tasks=[
            Task(id="a", work=4, release=3),
            Task(id="b", work=0, colocate="x"),
            Task(id="c", work=2, colocate="x"),
        ],
        edges=[
            Edge(source="c", target="a", data=5, min_lag=7),
            Edge(source="a", target="b", data=1),
        ],
        nodes=TWO,
        default_link=DefaultLink(bandwidth=0),
    ),
    "slots of unrelated nodes": generate(
        "layered", tasks=30, seed=1, node_kind="unrelated", links="different", slots=2
    ),
    "no tasks": DagProblem(tasks=[], nodes=TWO),
}


@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_tasks_one_after_another_are_accepted(problem: DagProblem) -> None:
    """It is offered without another look at the rules, so it has to obey them all."""
    schedule = sequential_schedule(CommGraph.of(problem))
    assert schedule is not None
    assert not check(problem, schedule.entries()).violations


def test_the_node_that_works_least_is_taken() -> None:
    """Twice the speed, half the length: 3 + 4/2 after the lag of 7 and 2/2."""
    schedule = sequential_schedule(CommGraph.of(PROBLEMS["lags, releases and no links"]))
    assert schedule is not None
    assert PROBLEMS["lags, releases and no links"].units(schedule.makespan) == 1 + 7 + 2


NOT_ENOUGH = {
    "no common node": DagProblem(
        tasks=[Task(id="a", work=1, eligible=["fast"]), Task(id="b", work=1, eligible=["slow"])],
        nodes=TWO,
    ),
    "memory": DagProblem(
        tasks=[Task(id=i, work=1, memory=2) for i in "ab"],
        nodes=[Node(id=i, memory=3) for i in "mn"],
    ),
}


@pytest.mark.parametrize("problem", NOT_ENOUGH.values(), ids=NOT_ENOUGH)
def test_no_schedule_where_one_node_is_not_enough(problem: DagProblem) -> None:
    """A schedule on a node that cannot run a task would be refused by the checker."""
    assert sequential_schedule(CommGraph.of(problem)) is None


def test_a_run_that_is_cancelled_at_once_has_an_answer() -> None:
    """The first schedule gives up when the time is over; some schedule is at hand even then."""
    problem = generate("layered", tasks=1500, seed=1, node_kind="related")
    control: Control[Schedule] = Control(Limits())
    control.token.cancel()
    open_run(problem, control)
    assert control.answer is not None


ALONE = {
    "resources": generate("rcpsp", tasks=40, seed=3, resource_strength=0.1),
    "bound to nodes": generate("jobshop", tasks=30, seed=2),
    "some nodes each": generate("flexible", tasks=30, seed=2),
    "data": generate("communication", tasks=30, seed=2, nodes=3),
    "lags from starts and a release": DagProblem(
        tasks=[Task(id="a", work=4, release=3), Task(id="b", work=1)],
        edges=[Edge(source="a", target="b", min_lag=9, lag_from="start")],
        nodes=TWO,
    ),
}


@pytest.mark.parametrize("problem", ALONE.values(), ids=ALONE)
def test_one_after_another_needs_no_common_node(problem: DagProblem) -> None:
    """Whatever fits alone has this schedule, so that no limit leaves it without an answer."""
    plan = sequential_plan(build_network(problem))
    assert plan is not None
    assert not check(problem, plan.schedule(problem).entries()).violations


@pytest.mark.parametrize("problem", NOT_ENOUGH.values(), ids=NOT_ENOUGH)
def test_one_after_another_is_never_wrong(problem: DagProblem) -> None:
    """Where one task alone may not choose its node, it may give nothing, but nothing false."""
    plan = sequential_plan(build_network(problem))
    assert plan is None or not check(problem, plan.schedule(problem).entries()).violations
