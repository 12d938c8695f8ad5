"""Lengths called impossible are impossible, windows keep every schedule, and bounds are near."""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.instances.reading import read_dag as read
from allocsolve.models.dag import refute_kernels
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.refutation import Refuter, is_affordable
from allocsolve.models.dag.refute_lines import lines_of, reshaped
from allocsolve.models.dag.relaxation import Relaxation

OptimalSchedule = Callable[[DagProblem], Schedule | None]


def _project(source: random.Random) -> DagProblem:
    """Draw a project in which everything that windows are narrowed by occurs."""
    n = source.randint(4, 5)
    tasks = [
        Task(
            id=f"t{i}",
            release=source.choice([0, 0, 0, 2]),
            deadline=source.choice([None, None, None, 9]),
            modes=[
                Mode(
                    duration=source.randint(0, 4),
                    demand={name: source.randint(0, 4) for name in ("r", "s")},
                )
                for _ in range(source.choice([1, 1, 1, 2]))
            ],
        )
        for i in range(n)
    ]
    edges = [
        Edge(
            source=f"t{i}",
            target=f"t{j}",
            min_lag=source.choice([0, 0, 1, -1]),
            max_lag=source.choice([None, None, 5]),
            lag_from=source.choice(["end", "end", "start"]),
        )
        for i, j in itertools.combinations(range(n), 2)
        if source.random() < 0.2
    ]
    resources = [Resource(id=name, capacity=source.randint(4, 6)) for name in ("r", "s")]
    return DagProblem(tasks=tasks, edges=edges, resources=resources)


def _shop(source: random.Random) -> DagProblem:
    """Draw tasks on machines and slots, some of which have a choice, with a resource."""
    n, places = source.randint(4, 5), ["a", "b", "c"]
    chosen = [1, 1, 1, 2] if source.random() < 0.5 else [1]
    return DagProblem(
        tasks=[
            Task(
                id=f"t{i}",
                work=source.randint(1, 4),
                release=source.choice([0, 0, 1]),
                demand={"crew": source.randint(0, 2)},
                eligible=sorted(source.sample(places, source.choice(chosen))),
            )
            for i in range(n)
        ],
        edges=[
            Edge(source=f"t{i}", target=f"t{i + 1}", min_lag=source.choice([0, 0, 1]))
            for i in range(n - 1)
            if source.random() < 0.4
        ],
        nodes=[Node(id=name, slots=source.choice([1, 1, 1, 2])) for name in places],
        resources=[Resource(id="crew", capacity=3)],
    )


@pytest.mark.parametrize("draw", [_project, _shop], ids=["projects", "shops"])
@pytest.mark.parametrize("half", range(2))
def test_no_length_of_a_schedule_is_refuted(
    draw: Callable[[random.Random], DagProblem], half: int, optimal_schedule: OptimalSchedule
) -> None:
    """A refuted length that some schedule has would be a wrong bound, and a wrong proof."""
    met = 0
    for seed in range(60 * half, 60 * half + 60):
        problem = draw(random.Random(seed))
        best = optimal_schedule(problem)
        if best is None:
            continue
        refuter = Refuter(problem)
        for length in (best.makespan, best.makespan + 1, best.makespan + 4):
            assert not refuter.refutes(length), seed
            windows = refuter.windows
            assert (windows.head <= best.start).all(), seed
            assert (best.end <= windows.latest).all(), seed
            assert not refuter.refutes_by_shaving(length, lambda: False), seed
        met += refuter.refutes_by_shaving(best.makespan - 1, lambda: False)
    assert met > 20, "rules that never meet the optimum would be trivial"


def test_every_schedule_of_some_length_stays_in_its_windows() -> None:
    """On instances that no oracle reaches: shifted and sampled schedules are kept as well."""
    from allocsolve.models.dag.dispatch import generate as dispatch
    from allocsolve.models.dag.network import build_network

    for seed in range(60):
        family = ("rcpsp", "multimode", "jobshop", "flexible")[seed % 4]
        problem = generate(family, tasks=40, seed=seed)
        source = random.Random(seed)
        plan = dispatch(build_network(problem), [source.random() for _ in range(40)], lambda: False)
        assert plan is not None
        schedule = plan.schedule(problem)
        refuter = Refuter(problem)
        assert not refuter.refutes(schedule.makespan), seed
        assert (refuter.windows.head <= schedule.start).all(), seed
        assert (schedule.end <= refuter.windows.latest).all(), seed
        assert not refuter.refutes_by_shaving(schedule.makespan, lambda: False), seed


def test_dual_feasible_functions_keep_what_fits() -> None:
    """Demands that fit together before must fit together after, or a bound would be wrong."""
    source = random.Random(3)
    for _ in range(300):
        capacity = source.randint(1, 30)
        demand = np.array([source.randint(1, capacity) for _ in range(7)])
        fitting = [
            list(chosen)
            for size in range(1, 8)
            for chosen in itertools.combinations(range(7), size)
            if demand[list(chosen)].sum() <= capacity
        ]
        for changed, room in reshaped(demand, capacity):
            assert room > 0
            assert (changed >= 0).all()
            assert all(changed[chosen].sum() <= room for chosen in fitting)


def test_a_reshaped_line_shows_what_sums_do_not() -> None:
    """Of tasks that need 2 of 5 only two run at once: five of length 4 take 12, not 8."""
    problem = DagProblem(
        tasks=[Task(id=f"t{i}", modes=[Mode(duration=4, demand={"r": 2})]) for i in range(5)],
        resources=[Resource(id="r", capacity=5)],
    )
    assert lower_bounds(problem)[0].value == 2, "ticks of 4"
    refuter = Refuter(problem)
    assert refuter.refutes(2)
    assert not refuter.refutes(3)


def test_energy_between_heads_and_tails_is_counted_in_part() -> None:
    """What can only lie partly outside an interval counts with the rest: here 2 of 6 each.

    Two machines; three tasks of 6 in windows of 10 must each work 2 in [4, 6] at least, which is
    6 of the 4 that there is. Window by window sums show nothing.
    """
    tasks = [
        Task(id=name, deadline=10, modes=[Mode(duration=6, demand={"r": 1})]) for name in "abc"
    ]
    problem = DagProblem(tasks=tasks, resources=[Resource(id="r", capacity=2)])
    assert Refuter(problem).refutes(100)
    loose = problem.replace(resources=[Resource(id="r", capacity=3)])
    assert not Refuter(loose).refutes(100)


def test_one_machine_knows_more_than_its_windows() -> None:
    """The one-machine problem of Carlier (1982): the preemptive bound is 50, edges show more."""
    heads = [10, 13, 11, 20, 30, 0, 30]
    works = [5, 6, 7, 4, 3, 6, 2]
    tails = [7, 26, 24, 21, 8, 17, 0]
    tasks = [
        Task(id=f"t{i}", work=work, release=head, eligible=["m"])
        for i, (head, work) in enumerate(zip(heads, works, strict=True))
    ]
    tasks += [Task(id=f"q{i}", work=tail, eligible=[f"n{i}"]) for i, tail in enumerate(tails)]
    problem = DagProblem(
        tasks=tasks,
        edges=[Edge(source=f"t{i}", target=f"q{i}") for i in range(7)],
        nodes=[Node(id="m"), *(Node(id=f"n{i}") for i in range(7))],
    )
    assert lower_bounds(problem)[0].value == 49
    refuter = Refuter(problem)
    assert refuter.refutes(49)
    assert not refuter.refutes_by_shaving(50, lambda: False), "Carlier's schedule has 50"


@pytest.mark.parametrize("family", ["rcpsp", "jobshop", "flexible"])
def test_plain_loops_give_the_same_windows(family: str) -> None:
    """Where a kernel runs is a question of time only."""
    plain = getattr(refute_kernels.narrow, "plain", lambda: refute_kernels.narrow)()
    shave = getattr(refute_kernels.shave, "plain", lambda: refute_kernels.shave)()
    problem = generate(family, tasks=16, seed=4)
    length = lower_bounds(problem)[0].value + 2
    found = []
    for one, other in ((refute_kernels.narrow, refute_kernels.shave), (plain, shave)):
        refuter = Refuter(problem)
        refuter.begin(length)
        facts, windows = refuter.facts, refuter.windows
        kept = np.zeros((2, 16), np.int64)
        fits = [one(facts, windows, 9)]
        kept[0], kept[1] = windows.head, windows.latest
        fits += [other(facts, windows, kept, task) for task in range(16)]
        found.append((fits, kept.tobytes(), *(array.tobytes() for array in windows)))
    assert found[0] == found[1]


def test_a_task_with_a_choice_of_durations_is_not_shaved() -> None:
    """Its least duration says when it ends at the soonest, not when it starts at the latest."""
    problem = DagProblem(
        tasks=[
            Task(
                id="a",
                modes=[
                    Mode(duration=2, demand={"u": 1, "r": 1}),
                    Mode(duration=6, demand={"u": 0, "r": 1}),
                ],
            ),
            Task(id="b", modes=[Mode(duration=2, demand={"u": 1, "r": 1})]),
        ],
        resources=[
            Resource(id="u", capacity=1, renewable=False),
            Resource(id="r", capacity=1),
        ],
    )
    assert not Refuter(problem).refutes_by_shaving(4, lambda: False)


@pytest.mark.parametrize(
    ("problem", "able"),
    [
        pytest.param(generate("rcpsp", tasks=20, seed=0), True, id="project"),
        pytest.param(generate("communication", tasks=20, seed=0), False, id="data"),
        pytest.param(DagProblem(tasks=[]), False, id="empty"),
        pytest.param(
            DagProblem(
                tasks=[
                    Task(id="a", modes=[Mode(duration=2**40, demand={"r": 2**30})]),
                    Task(id="b", modes=[Mode(duration=2**40 + 1, demand={"r": 1})]),
                ],
                resources=[Resource(id="r", capacity=2**30)],
            ),
            False,
            id="overflow",
        ),
        pytest.param(
            DagProblem(tasks=[Task(id="a", work=1, eligible=["x"])], nodes=[Node(id="x", speed=0)]),
            False,
            id="no mode",
        ),
    ],
)
def test_what_is_too_large_is_left_alone(problem: DagProblem, able: bool) -> None:
    """Energies beyond 64 bits would turn round, and a wrong bound would look like a proof."""
    assert is_affordable(problem) == able


def test_lines_are_named_once() -> None:
    """The same tasks and capacity twice would only cost time."""
    problem = generate("rcpsp", tasks=40, seed=2, resource_factor=1, resource_strength=0.1)
    lines = lines_of(Relaxation(problem))
    keys = {(line.tasks.tobytes(), line.demand.tobytes(), line.capacity) for line in lines}
    assert len(keys) == len(lines) > len(problem.resources)
    assert all(line.what for line in lines)


# Least mean of narrowed bounds over best known values; less is a step back.
LEAST = {"psplib": 0.925, "jobshop": 0.95, "fjsp": 0.97}


@pytest.mark.parametrize("name", LEAST)
def test_published_values_are_never_passed(benchmarks_dir: Path, name: str) -> None:
    """A bound above a schedule that somebody has is wrong, one far below tells nothing."""
    folder, shares = benchmarks_dir / "dag" / name, []
    with (folder / "values.csv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    for row in rows:
        best = row.get("ub") or row.get("optimum") or ""
        paths = [path for path in folder.rglob("*") if path.stem == row["instance"]]
        if not best.isdigit() or len(paths) != 1:
            continue
        problem = read(paths[0])
        refuter, lower, step = Refuter(problem), lower_bounds(problem)[0].value, 1
        assert not refuter.refutes(int(int(best) / problem.arrays.tick)), row
        while step:
            done = refuter.refutes(lower + step - 1)
            lower, step = (lower + step, 2 * step) if done else (lower, step // 4)
        shares.append(float(problem.units(lower)) / int(best))
        assert shares[-1] <= 1, row
    assert np.mean(shares) >= LEAST[name]
