"""Replaying schedules: values known in closed form, exact equality with plain loops, bytes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
import simpy

from allocsolve.models.arrays import FloatArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.data import Edge, Link, Mode, Node, Resource, Setup, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import CheckFailed, FeatureRefused, UsageError
from allocsolve.models.execution.dag import prepare, simulate
from allocsolve.models.execution.laws import has_finite_moments
from allocsolve.models.execution.outcome import Simulation
from allocsolve.models.execution.plan import plan_replay
from allocsolve.models.execution.policies import KeepPlan, ListDispatch, Speculate
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.rounds import Cancelled
from allocsolve.models.nodes import (
    Bimodal,
    Deterministic,
    Exponential,
    Law,
    Pareto,
    RuntimeLaw,
    ShiftedExponential,
)
from allocsolve.models.processes import (
    Failures,
    FailuresRecord,
    NodeProcess,
    Process,
    SlowdownRecord,
)
from allocsolve.models.random import uniforms

EXP = Exponential(1.0)


def build(edges: str, places: str, **fields: Any) -> tuple[DagProblem, Schedule]:
    """Return unit tasks and an early schedule.

    ``edges`` is e.g. ``"a>b b>c"``, ``places`` ``"a0 b1"``: tasks in topological order with the
    node that each runs on.
    """
    names, homes = [p[0] for p in places.split()], [int(p[1:]) for p in places.split()]
    pairs = [(e[0], e[2]) for e in edges.split()]
    work = fields.pop("work", {})
    problem = DagProblem(
        tasks=[Task(id=name, work=work.get(name, 1)) for name in names],
        edges=fields.pop("edge_rows", [Edge(source=a, target=b) for a, b in pairs]),
        nodes=fields.pop("nodes", [Node(id=f"n{k}") for k in range(max(homes) + 1)]),
        **fields,
    )
    return problem, early(problem, homes)


def early(problem: DagProblem, homes: Sequence[int]) -> Schedule:
    """Return the schedule that starts tasks in the order of the instance as early as it can."""
    arrays = problem.arrays
    start, end, free = [0] * len(homes), [0] * len(homes), [0] * len(problem.nodes)
    mode = [int(arrays.mode_offset[i]) + homes[i] for i in range(len(homes))]
    for i, home in enumerate(homes):
        length = int(arrays.mode_duration[mode[i]])
        moments = [free[home] if length else 0, int(arrays.release[i])]
        for e in np.flatnonzero(arrays.edge_target == i).tolist():
            source = int(arrays.edge_source[e])
            delay = arrays.delay(e, homes[source], home) or 0
            moments.append(end[source] + int(arrays.edge_min_lag[e]) + delay)
        start[i] = max(moments)
        end[i] = start[i] + length
        free[home] = end[i] if length else free[home]
    return Schedule.of(problem, start, mode)


def run(problem: DagProblem, schedule: Schedule, **fields: Any) -> Simulation:
    return simulate(problem, [schedule], SimulationRequest(**fields))[0]


@pytest.mark.parametrize(
    ("edges", "places", "mean"),
    [
        ("a>b c>d", "a0 b0 c1 d1", Fraction(11, 4)),
        ("a>c a>d b>d", "a0 b1 c2 d3", Fraction(23, 8)),
        ("", "a0 b0 c0", Fraction(3)),
        ("", "a0 b1", Fraction(3, 2)),
    ],
    ids=["fork-join of two chains", "C after A, D after A and B", "one node", "two nodes"],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_means_known_in_closed_form(edges: str, places: str, mean: Fraction, dtype: Any) -> None:
    """The longest path of means (2 in the first case) is not the mean of the longest path."""
    found = run(*build(edges, places), law=EXP, replications=100_000, dtype=dtype)
    assert abs(found.mean - mean) < 4 * found.std / math.sqrt(100_000)
    assert found.mean_ci is not None
    assert found.mean_ci[0] < found.mean < found.mean_ci[1]


def test_order_statistic_of_a_job_with_redundancy() -> None:
    """Ten independent tasks: the last ends after the tenth harmonic number."""
    found = run(*build("", " ".join(f"{c}{i}" for i, c in enumerate("abcdefghij"))), law=EXP)
    assert abs(found.mean - 7381 / 2520) < 4 * found.std / 100
    exact = -math.log1p(-(0.99 ** (1 / 10)))
    low, high = found.quantile_cis[0.99]
    assert low - 0.2 < exact < high + 0.2


def random_case(seed: int, tasks: int = 60, nodes: int = 5) -> tuple[DagProblem, Schedule]:
    """Return a random graph with data, lags, releases and unequal nodes, and a schedule."""
    r = np.random.default_rng(seed)
    rows = {
        (int(i), j): Edge(
            source=str(i),
            target=str(j),
            data=int(r.integers(0, 4)),
            min_lag=int(r.integers(0, 3)),
        )
        for j in range(1, tasks)
        for i in r.integers(max(0, j - 9), j, 2)
    }
    problem = DagProblem(
        tasks=[
            Task(id=str(i), work=int(r.integers(0, 20)), release=int(r.integers(0, 30)))
            for i in range(tasks)
        ],
        edges=list(rows.values()),
        nodes=[Node(id=f"n{k}", speed=1 + k % 2) for k in range(nodes)],
        links=[Link(between=("n0", "n1"), latency=2, bandwidth=2)],
    )
    return problem, early(problem, r.integers(0, nodes, tasks).tolist())


def plain_loop(schedule: Schedule, factors: FloatArray) -> float:
    """Return the makespan in ticks by a loop over tasks, each node in planned order."""
    arrays = schedule.problem.arrays
    node = arrays.mode_node[schedule.mode].tolist()
    duration = arrays.mode_duration[schedule.mode].tolist()
    end: dict[int, float] = {}
    free = dict.fromkeys(node, 0.0)
    for i in np.lexsort((schedule.end, schedule.start)).tolist():
        moment = float(arrays.release[i])
        for e in np.flatnonzero(arrays.edge_target == i).tolist():
            source = int(arrays.edge_source[e])
            delay = arrays.delay(e, node[source], node[i]) or 0
            moment = max(moment, end[source] + float(arrays.edge_min_lag[e] + delay))
        if duration[i]:
            moment = max(moment, free[node[i]])
        end[i] = moment + duration[i] * factors[i]
        if duration[i]:
            free[node[i]] = end[i]
    return max(end.values())


@pytest.mark.parametrize("seed", range(8))
def test_planned_durations_give_the_plan_exactly(seed: int) -> None:
    """An early schedule replayed with its own durations is itself, to the last bit."""
    problem, schedule = random_case(seed)
    found = run(problem, schedule, keep_samples=True)
    assert found.method == "exact"
    assert found.mean == float(problem.units(schedule.makespan)) == found.planned
    assert found.mean == plain_loop(schedule, np.ones(60)) * float(problem.arrays.tick)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_durations_give_the_plain_loop_exactly(seed: int) -> None:
    """Row by row and task by task are the same maxima, sums and products."""
    problem, schedule = random_case(seed)
    samples = run(
        problem,
        schedule,
        law=Bimodal(1.0, 3.0, 0.25),
        replications=40,
        keep_samples=True,
        seed=seed,
    ).samples
    assert samples is not None
    slow = np.stack([1 - uniforms(seed, task, 0, 40) > 0.75 for task in range(60)])
    for column in range(40):
        expected = plain_loop(schedule, np.where(slow[:, column], 3.0, 1.0))
        assert samples[column] == expected * float(problem.arrays.tick)


def test_simpy_gives_the_same_makespans() -> None:
    """A discrete-event simulation that shares no code, fed with the same durations."""
    problem, schedule = random_case(3)
    law = ShiftedExponential(0.5, 2.0)
    part = prepare(problem, schedule, SimulationRequest(law=law))
    record = part.replayer.record(0, 20)
    for column in range(20):
        took = (record.end - record.start)[:, column].tolist()
        expected = simulate_events(simpy.Environment(), schedule, took)
        assert expected == pytest.approx(float(record.best[column]), rel=1e-12)


def simulate_events(env: Any, schedule: Schedule, took: Sequence[float]) -> float:
    """Return the makespan in ticks by processes that wait for each other."""
    arrays = schedule.problem.arrays
    node = arrays.mode_node[schedule.mode].tolist()
    done = [env.event() for _ in took]
    ends: dict[int, float] = {}
    last: dict[int, Any] = {}

    def work(i: int, before: Sequence[Any]) -> Any:
        yield env.timeout(float(arrays.release[i]))
        for e in np.flatnonzero(arrays.edge_target == i).tolist():
            source = int(arrays.edge_source[e])
            delay = arrays.delay(e, node[source], node[i]) or 0
            yield done[source]
            moment = ends[source] + float(arrays.edge_min_lag[e] + delay)
            yield env.timeout(max(0.0, moment - env.now))
        yield from before
        yield env.timeout(took[i])
        ends[i] = env.now
        done[i].succeed()

    for i in np.lexsort((schedule.end, schedule.start)).tolist():
        occupies = arrays.mode_duration[schedule.mode[i]] > 0
        env.process(work(i, [last[node[i]]] if occupies and node[i] in last else []))
        if occupies:
            last[node[i]] = done[i]
    env.run()
    return max(ends.values())


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_samples_do_not_depend_on_blocks_threads_and_shards(dtype: Any) -> None:
    """Whoever splits the work gets the bytes of the whole."""
    problem, schedule = random_case(5)
    request = SimulationRequest(law=EXP, dtype=dtype, seed=2**50 + 3)
    part = prepare(problem, schedule, request)
    whole = part.replayer.sample(0, 5000).tobytes()
    for block in (100, 1000, 2048, 3333, 5000):
        assert part.replayer.sample(0, 5000, block=block).tobytes() == whole
    for threads in (2, 3, 4):
        assert part.replayer.sample(0, 5000, block=700, threads=threads).tobytes() == whole
    shards = [part.replayer.sample(a, b - a) for a, b in ((0, 1500), (1500, 3001), (3001, 5000))]
    assert np.concatenate(shards).tobytes() == whole


def test_intervals_of_the_mean_cover_the_truth() -> None:
    """An interval of level 95 % covers in 93 to 97 % of a thousand runs."""
    problem, schedule = build("a>b c>d", "a0 b0 c1 d1")
    covered = 0
    for seed in range(1000):
        ci = run(problem, schedule, law=EXP, replications=400, seed=seed).mean_ci
        assert ci is not None
        covered += ci[0] <= 2.75 <= ci[1]
    assert 930 <= covered <= 970


def test_precision_stops_when_it_is_reached() -> None:
    """The half width is the one that was asked for, and not much smaller."""
    found = run(*build("a>b c>d", "a0 b0 c1 d1"), law=EXP, precision=0.005)
    assert found.mean_ci is not None
    half = (found.mean_ci[1] - found.mean_ci[0]) / 2
    assert 0.0035 < half / found.mean < 0.0055


def test_an_infinite_mean_is_infinite() -> None:
    """A number would be an accident of the samples."""
    found = run(*build("a>b", "a0 b0"), law=Pareto(0.9, 1.0), replications=1000)
    assert found.infinite
    assert found.mean_ci is None
    assert math.isfinite(found.quantile(0.5))
    heavy = run(*build("a>b", "a0 b0"), law=Pareto(1.5, 1.0), replications=1000)
    assert math.isfinite(heavy.mean)
    assert math.isinf(heavy.std)
    assert heavy.mean_ci is None


def test_restarts_may_make_the_mean_infinite() -> None:
    """Work that grows as exponential failures do never ends on average."""
    schedule = build("", "a0")[1]
    plan = plan_replay(schedule)
    for rate, finite in ((0.5, True), (1.5, False)):
        process = NodeProcess(failures=Failures(rate, 1.0, resume=False))
        assert has_finite_moments(plan, [EXP], [process], None)[0] is finite


def test_failures_with_resumption_have_their_mean() -> None:
    """Work 10, failure rate 0.1, repair rate 0.5: 12 on average."""
    process = Process(failures=FailuresRecord(rate=0.1, repair=0.5))
    case = build("", "a0", work={"a": 10}, nodes=[Node(id="n", process=process)])
    found = run(*case, replications=20_000)
    assert abs(found.mean - 12) < 4 * found.std / math.sqrt(20_000)
    assert found.wasted_work == 0


def test_failures_with_restart_waste_work() -> None:
    """The mean is (1/rate + 1/repair) (exp(rate work) - 1); the waste is what of it is no use."""
    process = Process(failures=FailuresRecord(rate=0.1, repair=0.5, recovery="restart"))
    case = build("", "a0", work={"a": 10}, nodes=[Node(id="n", process=process)])
    found = run(*case, replications=20_000)
    assert abs(found.mean - 12 * math.expm1(1)) < 4 * found.std / math.sqrt(20_000)
    assert found.wasted_work == pytest.approx(10 * math.expm1(1) - 10, rel=0.15)


def test_a_lost_node_leaves_the_plan_unfinished() -> None:
    """The plan waits for ever; a policy moves the task to the other node."""
    lossy = Node(id="n0", process=Process(loss=Law(law="deterministic", value=0.5)))
    case = build("", "a0 b1", nodes=[lossy, Node(id="n1")])
    kept = run(*case, replications=50)
    assert kept.infinite
    moved = run(*case, replications=50, policy=ListDispatch())
    assert moved.mean == pytest.approx(2.0)
    assert moved.wasted_work == pytest.approx(0.5)


def test_a_persistent_slowdown_is_shared_by_the_tasks_of_a_node() -> None:
    """Two tasks in a row are both slow or both fast, so the variance is twice that of two."""
    law = Law(law="bimodal", base=1, slowdown=3, probability=0.5)
    for model, variance in (("persistent", 4.0), ("task", 2.0)):
        slowdown = SlowdownRecord(model=model, law=law)  # type: ignore[arg-type]  # from the table
        case = build("a>b", "a0 b0", nodes=[Node(id="n", process=Process(slowdown=slowdown))])
        assert run(*case, replications=20_000).std ** 2 == pytest.approx(variance, rel=0.05)


def test_random_links_stretch_transfers_only() -> None:
    """A transfer of 4 between two tasks of length 1 takes 4 X."""
    rows = [Edge(source="a", target="b", data=4)]
    case = build("", "a0 b1", edge_rows=rows)
    found = run(*case, link_law=EXP, replications=20_000)
    assert abs(found.mean - 6) < 4 * found.std / math.sqrt(20_000)
    assert found.criticality == {"a": 1.0, "b": 1.0}


def test_planned_starts_hold_tasks_back() -> None:
    """A fast replay gains nothing where every task waits for its planned start."""
    problem, schedule = build("a>b", "a0 b0")
    fast = Deterministic(0.5)
    assert run(problem, schedule, law=fast).mean == 1.0
    assert run(problem, schedule, law=fast, starts="planned").mean == 1.5


def test_resources_are_never_overloaded() -> None:
    """Tasks of the project form keep the order in which the plan hands on resource units."""
    r = np.random.default_rng(4)
    tasks = [
        Task(id=str(i), modes=[Mode(duration=int(r.integers(1, 9)), demand={"R": int(d)})])
        for i, d in enumerate(r.integers(1, 4, 25))
    ]
    problem = DagProblem(tasks=tasks, resources=[Resource(id="R", capacity=5)])
    start, level = [], np.zeros(400, int)
    for task in tasks:
        assert task.modes is not None
        length, wanted = int(task.modes[0].duration), int(task.modes[0].demand["R"])
        at = next(t for t in range(390) if (level[t : t + length] + wanted <= 5).all())
        level[at : at + length] += wanted
        start.append(at)
    schedule = Schedule.of(problem, start, list(range(25)))
    record = prepare(problem, schedule, SimulationRequest(law=EXP)).replayer.record(0, 50)
    need = problem.arrays.mode_demand[:, 0]
    for column in range(50):
        begin, end = record.start[:, column], record.end[:, column]
        for moment in begin:
            held = need[(begin <= moment) & (moment < end)].sum()
            assert held <= problem.arrays.capacity[0]


def test_an_overloaded_node_is_refused() -> None:
    """The order of a schedule that breaks a rule means nothing."""
    problem, _ = build("", "a0 b0")
    with pytest.raises(CheckFailed, match="units"):
        plan_replay(Schedule.of(problem, [0, 0], [0, 1]))


def test_closed_times_push_tasks_behind_them() -> None:
    """A task that would run into a closed time waits until it is over."""
    node = Node(id="n", unavailable=[(1, 3)])
    problem, _ = build("a>b", "a0 b0", nodes=[node])
    found = run(problem, Schedule.of(problem, [0, 3], [0, 1]), law=Deterministic(1.5))
    assert found.mean == 3 + 1.5 + 1.5


def test_setup_times_stand_between_tasks_of_a_node() -> None:
    """The next task of the same slot waits for the setup as well."""
    problem = DagProblem(
        tasks=[Task(id="a", work=1, setup_class="x"), Task(id="b", work=1, setup_class="y")],
        nodes=[Node(id="n")],
        setups=[Setup(before="x", after="y", time=2)],
    )
    found = run(problem, Schedule.of(problem, [0, 3], [0, 1]), law=Deterministic(2.0))
    assert found.mean == 6


def test_a_gang_waits_for_all_its_nodes() -> None:
    """A task on two nodes starts when the later one is free."""
    problem, _ = build("", "a0 b1 c0")
    schedule = Schedule.of(problem, [0, 0, 1], [0, 3, 4])
    plan = plan_replay(schedule, places=[(0,), (1,), (0, 1)])
    assert sorted(plan.arcs.source.tolist()) == [0, 1]


def test_maximum_lags_are_said_to_be_left_out() -> None:
    """A replay that quietly breaks a rule would look better than it is."""
    rows = [Edge(source="a", target="b", max_lag=0), Edge(source="c", target="b")]
    found = run(*build("", "a0 c1 b0", edge_rows=rows), law=EXP, replications=500)
    assert any("maximum lag" in warning for warning in found.warnings)
    broken = found.extra["maximum_lag_broken"]
    assert isinstance(broken, float)
    assert broken == pytest.approx(0.5, abs=0.1)


def test_criticality_counts_the_last_chain() -> None:
    """Of two equal chains each is the longer one half of the time."""
    found = run(*build("a>b c>d", "a0 b0 c1 d1"), law=EXP, replications=20_000)
    assert found.criticality is not None
    assert found.criticality["a"] == found.criticality["b"] == pytest.approx(0.5, abs=0.07)
    assert found.criticality["a"] + found.criticality["c"] == 1
    assert found.utilisation["n0"] == pytest.approx(2 / 2.75, abs=0.05)


def test_examples_replay_their_replication() -> None:
    """What a picture shows is one of the samples."""
    found = run(*random_case(1), law=EXP, replications=3000, keep_samples=True)
    assert found.samples is not None
    for example in found.examples:
        assert example.value == found.samples[example.number] == example.end.max()
    assert [example.label for example in found.examples] == ["median", "bad"]


def test_plans_are_compared_on_common_numbers() -> None:
    """Plans that differ little need far fewer replications than with independent numbers."""
    problem, first = build("a>b c>d", "a0 b0 c1 d1")
    second = early(problem, [0, 0, 1, 0])
    found = simulate(problem, [first, second], SimulationRequest(law=EXP), names=("x", "y"))
    pairs = found[0].comparison
    assert pairs is not None
    assert (pairs[0].first, pairs[0].second) == ("x", "y")
    assert pairs[0].mean_difference == pytest.approx(found[0].mean - found[1].mean)
    assert pairs[0].ci is not None
    assert pairs[0].ci[1] < 0
    assert pairs[0].variance_reduction > 1.5
    assert pairs[0].probability_first_better > 0.5


@pytest.mark.parametrize("law", [EXP, Bimodal(1.0, 4.0, 0.2)], ids=lambda law: law.name)
def test_keeping_the_plan_is_the_plan(law: RuntimeLaw) -> None:
    """The event-driven path and the compiled recursion agree when nobody re-schedules."""
    problem, schedule = random_case(2)
    first = run(problem, schedule, law=law, replications=30, keep_samples=True)
    second = run(problem, schedule, law=law, replications=30, keep_samples=True, policy=KeepPlan())
    assert first.samples == pytest.approx(second.samples, rel=1e-12)


def test_a_backup_copy_has_its_mean() -> None:
    """Exp(1) with a copy at 1: mean 0.8160602794, machine time exactly 1 on average."""
    case = build("", "a0", nodes=[Node(id="n0"), Node(id="n1")])
    found = run(*case, law=EXP, replications=4000, policy=Speculate(1.0))
    assert abs(found.mean - 0.8160602794) < 4 * found.std / math.sqrt(4000)
    machine = sum(found.utilisation.values()) * found.mean
    assert machine == pytest.approx(1.0, abs=0.06)


def test_a_policy_refuses_what_it_does_not_know() -> None:
    """A policy that forgot the memory of nodes would report makespans that cannot be."""
    problem = DagProblem(tasks=[Task(id="a", work=1, memory=1)], nodes=[Node(id="n", memory=2)])
    message = r"policy 'list dispatch' does not honour: memory \(policies that do: static\)"
    with pytest.raises(FeatureRefused, match=message):
        run(problem, Schedule.of(problem, [0], [0]), policy=ListDispatch())


def test_a_run_can_be_cancelled() -> None:
    """Whoever waits for a terminal wants to stop at once."""
    request, case = SimulationRequest(law=EXP), random_case(0)
    with pytest.raises(Cancelled):
        simulate(case[0], [case[1]], request, cancelled=lambda: True)


def test_progress_ends_at_one() -> None:
    """A bar that never fills looks as if something were missing."""
    seen: list[float] = []
    request, case = SimulationRequest(law=EXP, replications=9000), random_case(0)
    simulate(case[0], [case[1]], request, on_progress=seen.append)
    assert max(seen) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "wrong",
    [
        {"replications": 1},
        {"precision": 0.0},
        {"seed": -1},
        {"quantiles": (1.0,)},
        {"threads": 0},
        {"starts": "late"},
        {"dtype": "float16"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_impossible_requests_are_refused(wrong: dict[str, Any]) -> None:
    """Each message names the field and what is allowed."""
    with pytest.raises(UsageError, match=next(iter(MappingProxyType(wrong))).rstrip("s")):
        SimulationRequest(**wrong)


@pytest.mark.parametrize(
    ("loss", "law", "told"),
    [
        (Law(law="exponential", rate=1e-9), None, "infinite"),
        (Law(law="deterministic", value=50), EXP, "infinite"),
        (Law(law="pareto", shape=9, scale=0.5), None, "infinite"),
        (Law(law="deterministic", value=1.5), None, "warned"),
    ],
    ids=str,
)
def test_the_mean_of_a_plan_that_may_lose_a_node(
    loss: Law, law: RuntimeLaw | None, told: str
) -> None:
    """A rare loss that no sample has seen makes the mean infinite all the same."""
    case = build("", "a0", nodes=[Node(id="n0", process=Process(loss=loss))])
    found = run(*case, replications=50, law=law)
    assert found.infinite == (told == "infinite")
    assert any("may be lost" in line for line in found.warnings) == (told == "warned")


def test_a_policy_does_not_inherit_an_infinite_mean() -> None:
    """What a policy does is not known, so the samples are told, with a warning."""
    case = build("", "a0 b1", nodes=[Node(id="n0"), Node(id="n1")])
    found = run(*case, replications=50, law=Pareto(0.9, 1.0), policy=ListDispatch())
    assert math.isfinite(found.mean)
    assert any("may be infinite" in line for line in found.warnings)


@pytest.mark.filterwarnings("error")
def test_replications_without_an_end_do_not_count_as_busy() -> None:
    """Infinite minus infinite is no time: utilisation is that of the replications that ended."""
    loss = Law(law="empirical", samples=[0.5, 9])
    case = build("a>b", "a0 b0", nodes=[Node(id="n0", process=Process(loss=loss))])
    assert run(*case, replications=50).utilisation == {"n0": pytest.approx(1.0)}
