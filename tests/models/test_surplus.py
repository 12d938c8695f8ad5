"""Nodes that no schedule needs are left out, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule, ScheduledTask
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Edge, Link, Mode, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.surplus import core_of

EDGES = [Edge(source="a", target="b", data=1), Edge(source="a", target="c", data=1)]
TASKS = [Task(id="a", work=2), Task(id="b", work=3), Task(id="c", work=4)]


def _like_nodes(count: int) -> list[Node]:
    return [Node(id=f"n{k}", speed=2) for k in range(count)]


@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_stays(
    seed: int, optimal_schedule: Callable[[DagProblem], Schedule | None]
) -> None:
    """Leaving out one node too many would cost the best schedule."""
    settings: dict[str, int | float | str] = {
        "nodes": 5,
        "machine": "identical",
        "ratio": 0.1 * seed,
    }
    whole = generate("communication", tasks=4, seed=seed, **settings)
    whole = whole.replace(links=[], default_link=None)
    core = core_of(whole)
    assert len(core.problem.nodes) == 4
    best, least = optimal_schedule(whole), optimal_schedule(core.problem)
    assert best is not None
    assert least is not None
    assert best.makespan == least.makespan
    lifted = core.lift(least)
    assert lifted.problem is whole
    assert check(whole, lifted.entries()).value == whole.units(best.makespan)


def test_a_schedule_of_the_whole_moves_to_the_nodes_that_are_kept() -> None:
    """A warm start may use the last nodes; sharing a node must stay sharing a node."""
    project = Task(id="p", modes=[Mode(duration=9), Mode(duration=1)])
    whole = DagProblem(tasks=[*TASKS, project], edges=EDGES, nodes=_like_nodes(9))
    entries = [
        ScheduledTask(task, Fraction(start), Fraction(end), node, mode)
        for task, start, end, node, mode in [
            ("a", "0", "1", "n8", 0),
            ("b", "1", "2.5", "n8", 0),
            ("c", "2", "4", "n5", 0),
            ("p", "0", "1", None, 1),
        ]
    ]
    core = core_of(whole)
    lowered = core.lower(Schedule.from_entries(whole, entries))
    assert [entry.node for entry in lowered.entries()] == ["n0", "n0", "n1", None]
    assert [entry.mode for entry in lowered.entries()] == [0, 0, 0, 1]
    assert check(core.problem, lowered.entries()).valid
    assert core.lift(lowered).entries() == lowered.entries()


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"nodes": [*_like_nodes(4), Node(id="other", speed=3)]}, id="speed"),
        pytest.param({"nodes": [*_like_nodes(4), Node(id="m", speed=2, memory=1)]}, id="memory"),
        pytest.param({"links": [Link(between=("n0", "n4"), latency=9)]}, id="links"),
        pytest.param(
            {"tasks": [*TASKS[:2], Task(id="c", work=4, eligible=["n4"])]}, id="eligible nodes"
        ),
        pytest.param({"nodes": _like_nodes(3)}, id="no surplus"),
    ],
)
def test_nodes_that_differ_all_stay(changes: dict[str, object]) -> None:
    """The last of unlike nodes may be the one that matters."""
    whole = DagProblem(tasks=TASKS, edges=EDGES, nodes=_like_nodes(5)).replace(**changes)
    core = core_of(whole)
    assert core.problem is whole
    schedule = Schedule.of(whole, [0, 0, 0], whole.arrays.mode_offset[:-1].tolist())
    assert core.lower(schedule) is schedule
    assert core.lift(schedule) is schedule


@pytest.mark.parametrize(
    "starts",
    [pytest.param([0, 10, 20], id="right start"), pytest.param([0, 0, 0], id="mended start")],
)
def test_a_result_names_the_problem_that_was_asked(starts: list[int]) -> None:
    """What was left out is nobody's business outside: answers and incumbents are of the whole."""
    whole = DagProblem(tasks=TASKS, edges=EDGES, nodes=_like_nodes(50))
    seen: list[allocsolve.Incumbent] = []
    start = Schedule.of(whole, starts, [49, 98, 147])
    result = allocsolve.solve(whole, warm_start=start, on_incumbent=seen.append)
    assert result.objective.value == 3.5
    assert result.schedule.problem is whole
    assert all(incumbent.schedule.problem is whole for incumbent in seen)
    assert allocsolve.check(whole, result).valid
