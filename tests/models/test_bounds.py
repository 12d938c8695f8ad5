"""Each bound on instances whose value is plain to see, and what must not change it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from allocsolve.models.dag.bounds import (
    earliest_starts,
    heads,
    latest_starts,
    lower_bounds,
    tails,
)
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.windows import best_window
from allocsolve.models.result import Bound


def _step(name: str, duration: float, *, amount: int = 0, release: float = 0) -> Task:
    mode = Mode(duration=duration, demand={"R1": amount} if amount else {})
    return Task(id=name, release=release, modes=[mode])


def _values(problem: DagProblem) -> dict[str, float]:
    """Return the bounds in input units by source."""
    return {b.source: float(problem.units(b.value)) for b in lower_bounds(problem)}


def _listed(values: object) -> list[int]:
    assert isinstance(values, np.ndarray)
    return [int(value) for value in values]


def test_heads_and_tails_of_a_chain_with_lags() -> None:
    """Lags count from the end or the start; a start-to-start lag may end inside its source."""
    problem = DagProblem(
        tasks=[_step("a", 4, release=1), _step("b", 3), _step("c", 2)],
        edges=[
            Edge(source="a", target="b", min_lag=1, lag_from="start"),
            Edge(source="b", target="c", min_lag=5),
        ],
    )
    assert _listed(heads(problem)) == [1, 2, 10]
    # After a ends (4 after its start) b still has 0 to 3 and c must follow: 1 - 4 + 3 + 5 + 2.
    assert _listed(tails(problem)) == [7, 7, 0]
    assert _listed(earliest_starts(problem)) == _listed(heads(problem))
    assert _listed(latest_starts(problem, 14)) == [3, 4, 12]


def test_a_maximum_lag_pulls_the_source_after_the_target() -> None:
    """The source of a maximum lag may have to wait for a target that is late anyway."""
    problem = DagProblem(
        tasks=[_step("a", 2), _step("b", 3, release=10)],
        edges=[Edge(source="a", target="b", max_lag=1)],
    )
    assert _listed(heads(problem)) == [7, 10]
    assert _listed(latest_starts(problem, 20)) == [15, 17]


def test_deadlines_tighten_latest_starts() -> None:
    """Start domains come from here: a deadline bounds all tasks before it."""
    problem = DagProblem(
        tasks=[_step("a", 2), Task(id="b", deadline=9, modes=[Mode(duration=3)])],
        edges=[Edge(source="a", target="b")],
    )
    assert _listed(latest_starts(problem, 100)) == [4, 6]


def test_a_positive_cycle_has_neither_paths_nor_bounds() -> None:
    """There is no longest path; callers ask for the reason instead."""
    problem = DagProblem(
        tasks=[_step("a", 2), _step("b", 3)],
        edges=[Edge(source="a", target="b", min_lag=2, max_lag=1)],
    )
    assert heads(problem) is None
    assert tails(problem) is None
    assert latest_starts(problem, 10) is None
    assert lower_bounds(problem) == []


def test_a_cycle_of_length_zero_is_solved() -> None:
    """Two tasks may be tied to each other exactly; that is no contradiction."""
    problem = DagProblem(
        tasks=[_step("a", 2, release=3), _step("b", 3)],
        edges=[Edge(source="a", target="b", min_lag=1, max_lag=1)],
    )
    assert _listed(heads(problem)) == [3, 6]
    assert _listed(tails(problem)) == [4, 0]


def test_no_tasks_take_no_time() -> None:
    """An empty instance is optimal at 0, so it needs the bound 0."""
    assert lower_bounds(DagProblem(tasks=[])) == [
        Bound(0, "critical_path", "there are no tasks"),
    ]


def test_bounds_come_sorted_and_explained() -> None:
    """The best bound is shown first, with the id and amounts of what makes it."""
    problem = DagProblem(
        tasks=[_step(name, 2.5, amount=1) for name in "abcde"],
        resources=[Resource(id="R1", capacity=2)],
    )
    bounds = lower_bounds(problem)
    assert [b.value for b in bounds] == sorted((b.value for b in bounds), reverse=True)
    assert bounds[0].source == "resource_energy"
    assert problem.units(bounds[0].value) == 7.5, "6.25 is not a multiple of the tick"
    assert "'R1' of capacity 2 must give 12.5" in bounds[0].detail


def test_energy_counts_between_head_and_tail() -> None:
    """Work that neither starts at once nor ends the project leaves room on both sides."""
    tasks = [_step("first", 4), *(_step(n, 2, amount=1) for n in "abc"), _step("last", 5)]
    edges = [Edge(source="first", target=n) for n in "abc"]
    edges += [Edge(source=n, target="last") for n in "abc"]
    problem = DagProblem(tasks=tasks, edges=edges, resources=[Resource(id="R1", capacity=2)])
    assert _values(problem)["resource_energy"] == 4 + 3 + 5


def test_tasks_that_exclude_each_other_take_turns() -> None:
    """Two of three units leave no room for another such task: huge durations add up."""
    problem = DagProblem(
        tasks=[_step("a", 10**15, amount=2), _step("b", 10**15 - 1, amount=2)],
        resources=[Resource(id="R1", capacity=3)],
    )
    assert lower_bounds(problem)[0].value == 2 * 10**15 - 1
    assert lower_bounds(problem)[0].source == "disjunctive"


def test_exclusion_by_different_resources_makes_one_clique() -> None:
    """Each pair conflicts by another resource; no single resource shows all three."""
    pairs = {"a": ("R1", "R2"), "b": ("R1", "R3"), "c": ("R2", "R3")}
    tasks = [
        Task(id=name, modes=[Mode(duration=4, demand=dict.fromkeys(names, 1))])
        for name, names in pairs.items()
    ]
    resources = [Resource(id=f"R{k}", capacity=1) for k in (1, 2, 3)]
    assert _values(DagProblem(tasks=tasks, resources=resources))["disjunctive"] == 12


def test_products_beyond_64_bits_stay_exact() -> None:
    """Amount times duration may exceed 2^63 although both are legal."""
    amount, duration = 2**50 + 1, 2**40
    problem = DagProblem(
        tasks=[
            _step("a", duration, amount=amount),
            _step("b", duration + 1, amount=amount),
            _step("c", 1, amount=1),
        ],
        resources=[Resource(id="R1", capacity=2 * amount)],
    )
    assert lower_bounds(problem)[0].value == duration + 1
    assert _values(problem)["resource_energy"] == duration + 1


def test_a_node_works_one_task_a_slot() -> None:
    """Tasks bound to a node share its slots; speed divides the work."""
    problem = DagProblem(
        tasks=[Task(id=f"t{i}", work=6, eligible=["a"]) for i in range(3)],
        nodes=[Node(id="a", speed=2, slots=2), Node(id="b", speed=100)],
    )
    assert _values(problem)["machine"] == 6, "9 on two slots, in whole ticks of 3"


@pytest.mark.parametrize(
    ("speeds", "works", "least"),
    [
        pytest.param([1, 1], [4, 4, 4], 6, id="identical"),
        pytest.param([1, 3], [8, 8, 8], 6, id="related"),
        pytest.param([1, 1, 2], [1] * 40, 10, id="two-slow-one-fast"),
    ],
)
def test_area_of_nodes(speeds: Sequence[int], works: Sequence[int], least: float) -> None:
    """All nodes together do at most the sum of their speeds in each unit of time."""
    problem = DagProblem(
        tasks=[Task(id=f"t{i}", work=work) for i, work in enumerate(works)],
        nodes=[Node(id=f"n{k}", speed=speed) for k, speed in enumerate(speeds)],
    )
    assert _values(problem)["node_area"] >= 0.97 * least
    assert _values(problem)["node_area"] <= least + float(problem.arrays.tick)


def test_two_machines_where_a_relative_gap_misleads() -> None:
    """The optimum is 5027785; half of the work is near, and the bound stays below it."""
    works = [967897, 976220, 1079636, 1079327, 948686, 1070920, 960439, 1074636, 938577, 959025]
    problem = DagProblem(
        tasks=[Task(id=f"t{i}", work=work) for i, work in enumerate(works)],
        nodes=[Node(id="a"), Node(id="b")],
    )
    best = lower_bounds(problem)[0]
    assert best.value == -(-sum(works) // 2) <= 5027785
    assert best.detail.startswith(f"the tasks keep all nodes busy for {best.value} after")


def test_area_of_a_set_of_eligible_nodes() -> None:
    """An idle third node does not help tasks that may not use it."""
    problem = DagProblem(
        tasks=[Task(id=f"t{i}", work=2, eligible=["a", "b"]) for i in range(5)],
        nodes=[Node(id=name) for name in "abc"],
    )
    assert problem.units(lower_bounds(problem)[0].value) == 6, "10 on two nodes, tick 2"
    assert lower_bounds(problem)[0].source == "node_area"


def test_dead_nodes_offer_nothing() -> None:
    """A node of speed 0 runs no task, so its slots must not weaken the bound."""
    problem = DagProblem(
        tasks=[Task(id=f"t{i}", work=2) for i in range(4)],
        nodes=[Node(id="a"), Node(id="b"), Node(id="dead", speed=0, slots=9)],
    )
    assert _values(problem)["node_area"] == 4


def test_tasks_without_any_mode_do_not_break_bounds() -> None:
    """Bounds are asked for before anybody explains why the instance is infeasible."""
    problem = DagProblem(
        tasks=[Task(id="a", work=2), Task(id="b", work=2)],
        edges=[Edge(source="a", target="b", min_lag=3)],
        nodes=[Node(id="dead", speed=0)],
        resources=[Resource(id="R1", capacity=1)],
    )
    assert _values(problem) == {"critical_path": 3}


def test_only_modes_that_fit_count() -> None:
    """A fast mode that needs more than there is cannot shorten the project."""
    modes = [Mode(duration=1, demand={"R1": 3}), Mode(duration=5, demand={"R1": 2})]
    problem = DagProblem(
        tasks=[Task(id="a", modes=modes)], resources=[Resource(id="R1", capacity=2)]
    )
    assert lower_bounds(problem)[0].value == 5


def test_zero_length_tasks_hold_nothing() -> None:
    """A milestone that names a demand above the capacity still fits."""
    problem = DagProblem(
        tasks=[_step("a", 3, amount=2), _step("m", 0, amount=9)],
        resources=[Resource(id="R1", capacity=2)],
    )
    assert max(_values(problem).values()) == 3


def test_a_moldable_task_may_be_faster_than_listed() -> None:
    """The speed-up table shortens a task; a bound on the listed duration would be wrong."""
    problem = DagProblem(
        tasks=[Task(id="a", work=12, speedup={"1": 1, "3": 2.5})],
        nodes=[Node(id=name) for name in "abc"],
    )
    assert all(problem.units(bound.value) <= 4.8 for bound in lower_bounds(problem))


def _jackson(heads_: Sequence[int], work: Sequence[int], tails_: Sequence[int]) -> int:
    """Return the value of Jackson's preemptive schedule, tick by tick."""
    left, now, value = list(work), 0, 0
    while any(left):
        ready = [i for i in range(len(left)) if left[i] and heads_[i] <= now]
        now += 1
        if ready:
            task = max(ready, key=lambda i: tails_[i])
            left[task] -= 1
            value = max(value, now + tails_[task])
    return value


def test_the_window_argument_on_one_machine_is_jacksons_schedule() -> None:
    """Carlier's theorem: the best window equals the preemptive one-machine optimum."""
    rng = random.Random(7)
    for _ in range(200):
        n = rng.randint(1, 7)
        head, work, tail = ([rng.randint(low, 9) for _ in range(n)] for low in (0, 1, 0))
        window = best_window(np.array(head), np.array(tail), np.array(work), 1)
        assert window is not None
        assert window.value == _jackson(head, work, tail)


def test_thinned_windows_stay_valid() -> None:
    """Beyond 256 heads or tails only some are tried, which may weaken but not raise a bound."""
    rng = np.random.default_rng(3)
    head, tail, work = (rng.integers(0, 100_000, 5000) for _ in range(3))
    window = best_window(head, tail, work, 11)
    assert window is not None
    inside = (head >= window.head) & (tail >= window.tail)
    assert window.energy == work[inside].sum()
    assert window.value == window.head + -(-window.energy // 11) + window.tail
    assert window.value >= -(-work.sum() // 11)


def _random_project(rng: random.Random) -> DagProblem:
    n = 25
    tasks = [
        Task(
            id=f"t{i}",
            release=rng.choice([0, 0, 5]),
            modes=[
                Mode(
                    duration=rng.randint(0, 9),
                    demand={"R1": rng.randint(0, 9), "R2": rng.randint(0, 4)},
                )
                for _ in range(rng.randint(1, 2))
            ],
        )
        for i in range(n)
    ]
    edges = [
        Edge(source=f"t{i}", target=f"t{j}", max_lag=rng.choice([None, None, 60]))
        for j in range(1, n)
        for i in {rng.randrange(j) for _ in range(2)}
    ]
    resources = [Resource(id="R1", capacity=12), Resource(id="R2", capacity=5)]
    return DagProblem(tasks=tasks, edges=edges, resources=resources)


def _shuffled(problem: DagProblem, rng: random.Random) -> DagProblem:
    """Return the same problem with other ids in another order."""
    name = {task.id: f"x{k}" for k, task in enumerate(rng.sample(problem.tasks, k=25))}
    tasks = [
        Task(id=name[task.id], release=task.release, modes=task.modes) for task in problem.tasks
    ]
    edges = [
        Edge(source=name[e.source], target=name[e.target], max_lag=e.max_lag) for e in problem.edges
    ]
    rng.shuffle(tasks)
    rng.shuffle(edges)
    return problem.replace(tasks=tasks, edges=edges, resources=problem.resources[::-1])


def test_names_and_order_do_not_matter() -> None:
    """A bound is about the instance, not about how it was written down."""
    for seed in range(30):
        rng = random.Random(seed)
        problem = _random_project(rng)
        assert _values(_shuffled(problem, rng)) == _values(problem), seed


def test_heads_with_many_maximum_lags_match_the_definition() -> None:
    """Start values are the least that satisfy every arc, also where arcs lead back."""
    for seed in range(30):
        problem = _random_project(random.Random(100 + seed))
        head = heads(problem)
        assert head is not None
        expected = _relax(problem)
        assert _listed(head) == expected, seed


def _relax(problem: DagProblem) -> list[int]:
    """Raise starts until every lag holds, edge by edge from the data."""
    index = problem.task_index
    fitting = [
        [m for m in task.modes or [] if m.demand["R1"] <= 12 and m.demand["R2"] <= 5]
        for task in problem.tasks
    ]
    low = [min(int(m.duration) for m in modes) for modes in fitting]
    high = [max(int(m.duration) for m in modes) for modes in fitting]
    start = [int(task.release) for task in problem.tasks]
    for _ in range(len(start) + 1):
        for edge in problem.edges:
            i, j = index[edge.source], index[edge.target]
            start[j] = max(start[j], start[i] + low[i])
            if edge.max_lag is not None:
                start[i] = max(start[i], start[j] - int(edge.max_lag) - high[i])
    return start
