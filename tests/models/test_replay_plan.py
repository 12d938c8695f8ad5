"""What a replay waits for: each wait of a plan is kept, none of another kind is added."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.data import Edge, Node, Setup, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.execution.dag import simulate
from allocsolve.models.execution.plan import plan_replay
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.nodes import Bimodal, Deterministic, Law
from allocsolve.models.processes import Process


def replayed(problem: DagProblem, schedule: Schedule, factor: float) -> float:
    """Return the makespan where every task takes that many times as long."""
    request = SimulationRequest(law=Deterministic(factor))
    return simulate(problem, [schedule], request)[0].mean


def test_a_task_without_length_is_waited_for() -> None:
    """It starts with its successor in the plan, and later in a slower world."""
    problem = DagProblem(
        tasks=[Task(id="a", work=1), Task(id="mark", work=0), Task(id="b", work=1)],
        edges=[Edge(source="a", target="mark"), Edge(source="mark", target="b")],
        nodes=[Node(id="x"), Node(id="y")],
    )
    schedule = Schedule.of(problem, [0, 1, 1], [0, 2, 5])
    assert schedule.makespan == 2
    assert replayed(problem, schedule, 3.0) == 6


def test_ranks_follow_the_planned_starts() -> None:
    """The order of the instance says nothing of the order on a node; ties are broken by it."""
    problem = DagProblem(
        tasks=[Task(id=name, work=1) for name in "abcd"],
        nodes=[Node(id="x", slots=2), Node(id="y")],
    )
    plan = plan_replay(Schedule.of(problem, [1, 0, 0, 0], [0, 2, 4, 7]))
    assert plan.rank.tolist() == [2, 0, 1, 0]


@pytest.mark.parametrize(("node", "makespan"), [(0, 2 + 3 + 2), (1, 2 + 7 + 2), (2, 2 + 1 + 2)])
def test_setup_times_of_a_node_come_before_those_of_all(node: int, makespan: int) -> None:
    """They count in the order of the tasks: the way back takes another time."""
    times = {("x", "p", "q"): 3, ("x", "q", "p"): 5, ("y", "p", "q"): 7, (None, "p", "q"): 1}
    problem = DagProblem(
        tasks=[Task(id="a", work=1, setup_class="p"), Task(id="b", work=1, setup_class="q")],
        nodes=[Node(id=name) for name in "xyz"],
        setups=[
            Setup(node=where, before=before, after=after, time=time)
            for (where, before, after), time in times.items()
        ],
    )
    schedule = Schedule.of(problem, [0, makespan - 3], [node, 3 + node])
    assert replayed(problem, schedule, 2.0) == makespan


def test_a_wait_for_data_and_one_for_a_node_are_both_kept() -> None:
    """Whichever is longer depends on how fast the links are, which the plan does not know."""
    problem = DagProblem(
        tasks=[Task(id="a", work=1, setup_class="p"), Task(id="b", work=1, setup_class="q")],
        edges=[Edge(source="a", target="b", data=2)],
        nodes=[Node(id="x"), Node(id="y")],
        setups=[Setup(before="p", after="q", time=3)],
    )
    schedule = Schedule.of(problem, [0, 4], [0, 3])
    arcs = plan_replay(schedule, places=[(0, 1), (1,)]).arcs
    assert arcs.source.tolist() == [0, 0]
    assert sorted(zip(arcs.lag.tolist(), arcs.transfer.tolist(), strict=True)) == [(0, 2), (3, 0)]
    assert arcs.from_start.tolist() == [False, False]
    assert np.sort(arcs.edge).tolist() == [-1, 0]


def _one(work: float, **fields: object) -> tuple[DagProblem, Schedule]:
    """Return one task on one node."""
    problem = DagProblem(
        tasks=[Task(id="a", work=work)], nodes=[msgspec.structs.replace(Node(id="x"), **fields)]
    )
    return problem, Schedule.of(problem, [0], [0])


@pytest.mark.parametrize(("factor", "makespan"), [(1.0, 2.0), (1.25, 3 + 2.5)])
def test_a_closed_time_is_not_touched_by_what_ends_when_it_begins(
    factor: float, makespan: float
) -> None:
    """A plan that uses a node up to the last moment is replayed as it is."""
    assert replayed(*_one(2, unavailable=[(2, 3)]), factor) == makespan


@pytest.mark.parametrize(("moment", "makespan"), [(2.0, 2.0), (1.5, math.inf)])
def test_a_task_that_ends_as_its_node_is_lost_has_ended(moment: float, makespan: float) -> None:
    """Only what would end later never ends."""
    process = Process(loss=Law(law="deterministic", value=moment))
    assert replayed(*_one(2, process=process), 1.0) == makespan


def test_a_wait_for_a_start_makes_its_source_critical() -> None:
    """The long task starts 2 after the short one: both decide when all is done, the third not."""
    problem = DagProblem(
        tasks=[Task(id="a", work=5), Task(id="b", work=9), Task(id="c", work=1)],
        edges=[
            Edge(source="a", target="b", min_lag=2, lag_from="start"),
            Edge(source="a", target="c"),
        ],
        nodes=[Node(id="x"), Node(id="y"), Node(id="z")],
    )
    schedule = Schedule.of(problem, [0, 2, 5], [0, 4, 8])
    assert replayed(problem, schedule, 1.0) == 11
    request = SimulationRequest(law=Bimodal(1.0, 1.0625, 0.5), replications=20)
    (found,) = simulate(problem, [schedule], request)
    assert found.criticality == {"a": 1.0, "b": 1.0, "c": 0.0}


def test_closed_times_are_passed_one_after_the_other() -> None:
    """Pushed behind one closed time a task may run into the next, however they are listed."""
    assert replayed(*_one(2, unavailable=[(5, 6), (2, 3)]), 1.5) == 6 + 3
    problem = DagProblem(
        tasks=[Task(id="a", work=1)],
        nodes=[Node(id="x", unavailable=[(5, 6)]), Node(id="y", unavailable=[(2, 3)])],
    )
    plan = plan_replay(Schedule.of(problem, [0], [0]), places=[(0, 1)])
    assert plan.windows == {0: ((2, 3), (5, 6))}


def test_slow_links_stretch_the_data_and_not_the_lag() -> None:
    """A lag of 3 stays, data of 2 take four times as long: 1 + 3 + 8 + 1."""
    problem = DagProblem(
        tasks=[Task(id="a", work=1), Task(id="b", work=1)],
        edges=[Edge(source="a", target="b", data=2, min_lag=3)],
        nodes=[Node(id="x"), Node(id="y")],
    )
    request = SimulationRequest(link_law=Deterministic(4.0))
    (found,) = simulate(problem, [Schedule.of(problem, [0, 6], [0, 3])], request)
    assert found.mean == 13


def test_a_task_that_waits_for_no_one_waits_for_its_release() -> None:
    """No arc leads to it, so nothing but the release holds it back."""
    problem = DagProblem(tasks=[Task(id="a", work=1, release=4)], nodes=[Node(id="x")])
    assert replayed(problem, Schedule.of(problem, [4], [0]), 2.0) == 6
