"""Serial schedule generation: right, fast, and there whenever there is an answer."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from allocsolve.instances.generators.dag import generate as draw
from allocsolve.models.dag import priorities
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Edge, Link, Mode, Node, Resource, Task
from allocsolve.models.dag.dispatch import generate, serial_schedule
from allocsolve.models.dag.justification import justify
from allocsolve.models.dag.network import Network, build_network
from allocsolve.models.dag.priorities import (
    RULES,
    SUCCESSOR_RULES,
    latest_start,
    most_successors,
    perturbed,
    rank_positional_weight,
    tails,
)
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.timelines import line

ALL_RULES: dict[str, Callable[..., list[float] | None]] = {**RULES, **SUCCESSOR_RULES}


def _require_right(schedule: Schedule | None) -> Schedule:
    assert schedule is not None
    report = check(schedule.problem, schedule.entries())
    assert report.valid, report.violations
    return schedule


def _never() -> bool:
    return False


@pytest.mark.parametrize("capacity", [1, 2, 5])
def test_lines_agree_with_counting_every_tick(capacity: int) -> None:
    """Gaps and events must mean the same as a table of free amounts."""
    source = random.Random(capacity)
    for _ in range(60):
        events, free = line(capacity), [capacity] * 400
        for _ in range(25):
            ready, duration = source.randint(0, 40), source.randint(1, 9)
            amount = source.randint(1, capacity)
            fits = (t for t in range(400) if min(free[t : t + duration]) >= amount)
            expected = next(t for t in fits if t >= ready)
            assert events.earliest(ready, duration, amount) == expected
            events.reserve(expected, duration, amount)
            for t in range(expected, expected + duration):
                free[t] -= amount


FAMILY_SIZES = [
    pytest.param(family, size, id=f"{family}-{size}")
    for family in ("rcpsp", "jobshop", "flexible", "communication")
    for size in (1, 30, 200)
]


@pytest.mark.parametrize(("family", "size"), FAMILY_SIZES)
def test_every_rule_gives_right_schedules(family: str, size: int) -> None:
    """Nobody marks their own work: the checker knows nothing of dispatching."""
    problem = draw(family, tasks=size, seed=size)
    network = build_network(problem)
    for rule in ALL_RULES.values():
        keys = rule(network)
        assert keys is not None
        plan = generate(network, keys)
        assert plan is not None
        assert _require_right(plan.schedule(problem)).makespan == plan.makespan


@pytest.mark.parametrize("family", ["rcpsp", "jobshop", "flexible", "communication"])
def test_a_thousand_tasks_take_well_under_a_second(family: str) -> None:
    """A time limit of 50 ms promises an answer; a quadratic pass would break that."""
    settings: dict[str, int] = {"nodes": 16} if family == "communication" else {}
    problem = draw(family, tasks=1000, seed=3, **settings)
    begin = time.process_time()
    schedule = serial_schedule(problem)
    assert time.process_time() - begin < 0.6  # about 0.06 on an idle machine
    _require_right(schedule)


def test_independent_tasks_are_no_trap() -> None:
    """Without precedence every task may start at once: scanning from 0 would be quadratic."""
    tasks = [
        Task(id=str(i), modes=[Mode(duration=1 + i % 7, demand={"R": 1 + i % 5, "S": 1 + i % 3})])
        for i in range(1000)
    ]
    capacities = [Resource(id="R", capacity=11), Resource(id="S", capacity=7)]
    problem = DagProblem(tasks=tasks, resources=capacities)
    begin = time.process_time()
    schedule = serial_schedule(problem)
    assert time.process_time() - begin < 0.6
    _require_right(schedule)


def test_no_engine_and_no_compiler_is_loaded(tmp_path: Path) -> None:
    """Imports alone would use up a short limit."""
    code = (
        "import sys, allocsolve.solvers.dag.auto, allocsolve.solvers.dag.list_scheduling\n"
        "heavy = {'ortools', 'numba', 'scipy', 'highspy', 'pandas'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_the_way_that_completes_first_is_taken() -> None:
    """Not the shortest one: the fast node may be busy."""
    tasks = [Task(id="a", work=8), Task(id="b", work=6)]
    problem = DagProblem(tasks=tasks, nodes=[Node(id="fast", speed=2), Node(id="slow")])
    assert _require_right(serial_schedule(problem, [0, 1])).entries()[1].node == "slow"


def test_modes_choose_by_completion() -> None:
    """A longer mode that can start now may end before a short one that has to wait."""
    quick, frugal = Mode(duration=3, demand={"R": 2}), Mode(duration=4, demand={"R": 1})
    tasks = [
        Task(id="a", modes=[Mode(duration=5, demand={"R": 1})]),
        Task(id="b", modes=[quick, frugal]),
    ]
    problem = DagProblem(tasks=tasks, resources=[Resource(id="R", capacity=2)])
    schedule = _require_right(serial_schedule(problem, [0, 1]))
    assert (schedule.makespan, schedule.entries()[1].mode) == (5, 1)


def test_zero_length_tasks_occupy_nothing() -> None:
    """A milestone inside a busy machine, and one with a demand beyond the capacity."""
    tasks = [
        Task(id="A", work=5),
        Task(id="Z", work=0, release=2),
        Task(id="M", modes=[Mode(duration=0, demand={"R": 9})]),
    ]
    problem = DagProblem(
        tasks=tasks, nodes=[Node(id="a")], resources=[Resource(id="R", capacity=1)]
    )
    schedule = _require_right(serial_schedule(problem))
    assert schedule.start.tolist() == [0, 2, 0]


def test_lags_releases_and_slots_are_kept() -> None:
    """Start-to-start and negative lags count from where they say; two slots run two tasks."""
    tasks = [Task(id=name, work=4) for name in "abc"] + [Task(id="d", work=1, release=7)]
    edges = [
        Edge(source="a", target="b", min_lag=1, lag_from="start"),
        Edge(source="b", target="c", min_lag=-2),
        Edge(source="c", target="d"),
    ]
    problem = DagProblem(tasks=tasks, edges=edges, nodes=[Node(id="n", slots=2)])
    assert _require_right(serial_schedule(problem)).start.tolist() == [0, 1, 4, 8]


def test_dead_nodes_and_dead_links_are_not_used() -> None:
    """Speed 0 and bandwidth 0 mean "not there", not a division by zero."""
    tasks = [Task(id="t1", work=2), Task(id="t2", work=3)]
    edges = [Edge(source="t1", target="t2", data=1)]
    links = [Link(between=("a", "b"), bandwidth=0)]
    for speed in (0, 1):
        nodes = [Node(id="a", speed=speed), Node(id="b", speed=2)]
        problem = DagProblem(tasks=tasks, edges=edges, nodes=nodes, links=links)
        assert problem.units(_require_right(serial_schedule(problem)).makespan) * 2 == 5


def test_missing_links_do_not_strand_a_task() -> None:
    """Greedy takes a and b apart, and then no node is linked with both: begin anew."""
    tasks = [Task(id="a", work=4), Task(id="b", work=4), Task(id="c", work=4)]
    edges = [Edge(source="a", target="c", data=1), Edge(source="b", target="c", data=1)]
    links = [Link(between=("x", "y"), bandwidth=0)]
    nodes = [Node(id="x"), Node(id="y")]
    problem = DagProblem(tasks=tasks, edges=edges, nodes=nodes, links=links)
    assert _require_right(serial_schedule(problem)).makespan == 12


def test_eligibility_and_missing_links_need_a_search() -> None:
    """No node takes all: the two ends of a chain are bound, the middle must be linked to both."""
    nodes = [Node(id=name) for name in "wxyz"]
    tasks = [
        Task(id="a", work=1, eligible=["w", "x"]),
        Task(id="b", work=1, eligible=["w", "y", "z"]),
        Task(id="c", work=1, eligible=["z", "x"]),
    ]
    dead = [("w", "y"), ("w", "z"), ("x", "y"), ("y", "z"), ("w", "x")]
    links = [Link(between=pair, bandwidth=0) for pair in dead]
    edges = [Edge(source="a", target="b", data=1), Edge(source="b", target="c", data=1)]
    problem = DagProblem(tasks=tasks, edges=edges, nodes=nodes, links=links)
    placed = {entry.task: entry.node for entry in _require_right(serial_schedule(problem))}
    assert (placed["a"], placed["b"]) == ("x", "z")


def test_no_answer_is_none() -> None:
    """A demand that never fits, or nodes that cannot be linked, leave nothing to build."""
    nodes = [Node(id="x"), Node(id="y")]
    edges = [Edge(source="a", target="b", data=1)]
    links = [Link(between=("x", "y"), bandwidth=0)]
    apart = [Task(id="a", work=1, eligible=["x"]), Task(id="b", work=1, eligible=["y"])]
    assert serial_schedule(DagProblem(tasks=apart, edges=edges, nodes=nodes, links=links)) is None
    big = [Task(id="a", modes=[Mode(duration=1, demand={"R": 2})])]
    assert serial_schedule(DagProblem(tasks=big, resources=[Resource(id="R", capacity=1)])) is None


def test_maximum_lags_push_earlier_tasks_back() -> None:
    """b may start 1 after a at the latest, but the resource is taken until 6."""
    tasks = [
        Task(id="c", modes=[Mode(duration=6, demand={"R": 1})]),
        Task(id="a", modes=[Mode(duration=1)]),
        Task(id="b", modes=[Mode(duration=1, demand={"R": 1})]),
    ]
    edges = [Edge(source="a", target="b", max_lag=1)]
    problem = DagProblem(tasks=tasks, edges=edges, resources=[Resource(id="R", capacity=1)])
    schedule = _require_right(serial_schedule(problem, [0, 1, 2]))
    assert schedule.makespan == 7


def test_deadlines_that_cannot_be_met_give_none() -> None:
    """A schedule that breaks a rule is no answer."""
    tasks = [Task(id=name, work=3, deadline=4) for name in "ab"]
    assert serial_schedule(DagProblem(tasks=tasks, nodes=[Node(id="n")])) is None


@pytest.mark.parametrize("family", ["lags", "multimode"])
def test_hard_families_get_right_answers_or_none(family: str) -> None:
    """Where any answer is hard to find, trying often gives one, and never a wrong one."""
    found = 0
    for seed in range(60):
        schedule = serial_schedule(draw(family, tasks=12, seed=seed))
        if schedule is not None:
            _require_right(schedule)
            found += 1
    assert found >= 20


def test_stopping_ends_a_long_pass() -> None:
    """Above a thousand tasks the clock is looked at on the way."""
    problem = draw("rcpsp", tasks=3000, seed=1)
    network = build_network(problem)
    keys = latest_start(network)
    assert generate(network, keys, lambda: True) is None
    assert generate(network, keys, _never) is not None


def _sampled(network: Network, seed: int) -> list[float]:
    return perturbed(latest_start(network), 0.5, random.Random(seed))


@pytest.mark.parametrize("family", ["rcpsp", "jobshop", "flexible", "communication"])
def test_justification_never_loses_and_often_wins(family: str) -> None:
    """Valls et al. show it for projects; with ways kept it holds for all families here."""
    better = 0
    for seed in range(20):
        problem = draw(family, tasks=40, seed=seed)
        network = build_network(problem)
        plan = generate(network, _sampled(network, seed))
        assert plan is not None
        justified = justify(network, plan, _never)
        _require_right(justified.schedule(problem))
        assert justified.makespan <= plan.makespan
        better += justified.makespan < plan.makespan
    assert better >= 3


def test_tails_are_longest_paths() -> None:
    """The rules stand on them: durations and lags along the longest way to the end."""
    tasks = [
        Task(id=name, modes=[Mode(duration=d)]) for name, d in zip("abc", (2, 3, 4), strict=True)
    ]
    edges = [
        Edge(source="a", target="b", min_lag=5),
        Edge(source="a", target="c", min_lag=1, lag_from="start"),
    ]
    assert tails(build_network(DagProblem(tasks=tasks, edges=edges))) == [10, 3, 4]


@pytest.mark.parametrize("rule", ALL_RULES.values(), ids=list(ALL_RULES))
def test_rules_put_the_long_chain_first(rule: Callable[..., list[float] | None]) -> None:
    """Every rule prefers the head of a long chain to a short task without successors."""
    tasks = [Task(id=str(i), modes=[Mode(duration=1 + (i > 0))]) for i in range(4)]
    edges = [Edge(source="1", target="2"), Edge(source="2", target="3")]
    keys = rule(build_network(DagProblem(tasks=tasks, edges=edges)))
    assert keys is not None
    assert keys[1] < keys[0]


@pytest.mark.parametrize("block", [1, 1_000_000], ids=["many blocks", "one block"])
def test_weights_of_successors_are_those_of_a_search(
    monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    """The sums are taken in blocks of bits; a search from every task says what they are."""
    monkeypatch.setattr(priorities, "_BLOCK", block)
    network = build_network(draw("rcpsp", tasks=150, seed=2))
    duration = [ways[0].duration for ways in network.ways]
    found: list[set[int]] = [set() for _ in duration]
    for i in reversed(network.order):
        found[i] = set(network.ahead[i]).union(*(found[j] for j in network.ahead[i]))
    assert most_successors(network) == [-len(after) for after in found]
    assert rank_positional_weight(network) == [
        -sum(duration[j] for j in (i, *after)) for i, after in enumerate(found)
    ]


@pytest.mark.parametrize("rule", SUCCESSOR_RULES.values(), ids=list(SUCCESSOR_RULES))
def test_rules_over_all_pairs_look_at_the_clock(rule: Callable[..., list[float] | None]) -> None:
    """Twenty thousand tasks have two hundred million pairs; a limit may end them any time."""
    network = build_network(draw("rcpsp", tasks=20_000, seed=2))
    looks: list[float] = []

    def stop() -> bool:
        looks.append(time.process_time())
        return False

    assert rule(network, stop) is not None
    assert max(b - a for a, b in itertools.pairwise(looks)) < 0.3  # a fifth of that, idle
    assert rule(network, lambda: True) is None
