"""Replayed allocations: exact anchors, common random numbers, departures, rounds and runs."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.errors import CheckFailed, InputError
from allocsolve.models.execution.fair import simulate
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.rounds import Cancelled
from allocsolve.models.fair.answer import FairAnswer, Run
from allocsolve.models.fair.data import Job, ResourceType, Rounds
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.nodes import Bimodal, Exponential, Law, Pareto, Weibull

ONCE = SimulationRequest()


def cluster(*works: float, count: float = 1, **fields: Any) -> FairProblem:
    """Build jobs of pace 2 on one type."""
    jobs = [Job(id=str(i), throughput={"g": 2}, remaining=w) for i, w in enumerate(works)]
    return FairProblem(types=[ResourceType(id="g", count=count)], jobs=jobs, **fields)


def jobs_of(simulation: Any) -> Any:
    """Return what a simulation says of each job."""
    return simulation.extra["jobs"]


class Equal:
    """Divides the one type among the jobs that are there."""

    name = "equal"

    def shares(self, time: float, active: IntArray, remaining: FloatArray) -> FloatArray:
        """Return equal shares."""
        assert time >= 0
        assert (remaining > 0).all()
        return np.full((len(active), 1), 1 / len(active))


def test_without_a_law_the_replay_is_the_plan() -> None:
    """Nothing straggles: every job ends at remaining / U, exactly."""
    problem = cluster(10, 40)
    found = FairAnswer(problem, np.array([[0.5], [0.5]]))
    (result,) = simulate(problem, [found], ONCE)
    assert result.method == "exact"
    assert (result.mean, result.std, result.planned) == (40.0, 0.0, 40.0)
    assert [jobs_of(result)[i]["mean"] for i in "01"] == [10.0, 40.0]
    assert result.utilisation == {"g": (0.5 * 10 + 0.5 * 40) / 40}
    assert result.extra["mean_completion_time"] == 25.0


def test_shares_of_a_job_that_ended_go_to_the_others_under_a_policy() -> None:
    """Processor sharing of works 10 and 40 at pace 2: the first ends at 10, the other at 25."""
    problem = cluster(10, 40)
    found = FairAnswer(problem, np.array([[0.5], [0.5]]))
    (result,) = simulate(problem, [found], ONCE, policy=Equal())
    assert [jobs_of(result)[i]["mean"] for i in "01"] == [10.0, 25.0]
    assert result.utilisation == {"g": 1.0}


def test_jobs_arrive_under_a_policy() -> None:
    """A job alone until the other arrives at 5; then they share."""
    jobs = [
        Job(id="0", throughput={"g": 2}, remaining=20),
        Job(id="1", throughput={"g": 2}, remaining=10, arrival=5),
    ]
    problem = FairProblem(types=[ResourceType(id="g", count=1)], jobs=jobs)
    found = FairAnswer(problem, np.array([[0.5], [0.5]]))
    (result,) = simulate(problem, [found], ONCE, policy=Equal())
    assert [jobs_of(result)[i]["mean"] for i in "01"] == [15.0, 10.0]
    (fixed,) = simulate(problem, [found], ONCE)
    assert [jobs_of(fixed)[i]["mean"] for i in "01"] == [20.0, 10.0]


def test_a_policy_that_hands_out_too_much_is_refused() -> None:
    """A policy is code of the caller; its shares are checked like an answer."""

    class Greedy:
        name = "greedy"

        def shares(self, time: float, active: IntArray, remaining: FloatArray) -> FloatArray:
            return np.ones((len(active), 1)) + 0 * time * remaining[:, None]

    problem = cluster(10, 40)
    with pytest.raises(CheckFailed, match="'greedy' hands out more"):
        simulate(problem, [FairAnswer(problem, np.zeros((2, 1)))], ONCE, policy=Greedy())


def test_the_mean_under_a_law_is_that_of_the_law() -> None:
    """Two independent Exp(1) slowdowns of equal jobs: the maximum has mean 3/2."""
    problem = cluster(10, 10)
    found = FairAnswer(problem, np.array([[0.5], [0.5]]))
    request = SimulationRequest(replications=40_000, law=Exponential(rate=1.0), deadline=10.0)
    (result,) = simulate(problem, [found], request)
    assert result.mean_ci is not None
    assert result.mean == pytest.approx(15, rel=0.02)
    assert result.deadline_probability == pytest.approx((1 - math.exp(-1)) ** 2, abs=0.01)
    assert result.planned == 10.0
    assert jobs_of(result)["0"]["mean"] == pytest.approx(10, rel=0.02)


def test_laws_of_the_types_are_used() -> None:
    """A type that is always three times slower triples the time spent on it."""
    types = [
        ResourceType(id="good", count=1),
        ResourceType(id="slow", count=1, runtime=Law(law="deterministic", value=3)),
    ]
    job = Job(id="j", throughput={"good": 1, "slow": 3}, remaining=10)
    problem = FairProblem(types=types, jobs=[job])
    (result,) = simulate(problem, [FairAnswer(problem, np.array([[0.5, 0.5]]))], ONCE)
    assert result.mean == pytest.approx(10.0)
    assert result.planned == pytest.approx(5.0)


def test_an_infinite_mean_is_reported_as_infinite() -> None:
    """Pareto with index 1 on one type has no mean; on two types the indices add up."""
    types = [ResourceType(id="a", count=1), ResourceType(id="b", count=1)]
    job = Job(id="j", throughput={"a": 1, "b": 1}, remaining=10)
    problem = FairProblem(types=types, jobs=[job])
    request = SimulationRequest(replications=100, law=Pareto(shape=1.0, scale=1.0))
    one, both = simulate(
        problem,
        [FairAnswer(problem, np.array([[1.0, 0]])), FairAnswer(problem, np.array([[0.5, 0.5]]))],
        request,
    )
    assert math.isinf(one.mean)
    assert one.mean_ci is None
    assert math.isfinite(both.mean)
    assert math.isinf(both.std)


def test_answers_are_compared_on_common_numbers() -> None:
    """A plan with a tenth more of everything is better in every replication."""
    problem = cluster(10, 10)
    plans = [FairAnswer(problem, np.full((2, 1), share)) for share in (0.5, 0.45)]
    request = SimulationRequest(replications=200, law=Exponential(rate=1.0))
    first, second = simulate(problem, plans, request, names=["full", "less"])
    assert first.comparison is not None
    assert second.comparison == first.comparison
    (pair,) = first.comparison
    assert (pair.first, pair.second) == ("full", "less")
    assert pair.probability_first_better == 1.0
    assert pair.variance_reduction > 50


def test_samples_depend_on_the_seed_only() -> None:
    """The same request gives the same bytes; more replications begin with the same samples."""
    problem = cluster(10, 40)
    found = [FairAnswer(problem, np.array([[0.5], [0.5]]))]
    law = Weibull(shape=0.7, scale=1.0)
    requests = [
        SimulationRequest(replications=n, seed=s, law=law, keep_samples=True)
        for n, s in ((100, 1), (100, 1), (300, 1), (100, 2))
    ]
    samples = [simulate(problem, found, request)[0].samples for request in requests]
    first, again, more, other = [list(s) if s is not None else [] for s in samples]
    assert first == again == more[:100]
    assert first != other


def test_policies_meet_the_same_slowdowns_as_fixed_shares() -> None:
    """One job alone: the policy changes nothing, replication by replication."""
    problem = cluster(10)
    request = SimulationRequest(replications=300, law=Exponential(rate=1.0), keep_samples=True)
    found = [FairAnswer(problem, np.ones((1, 1)))]
    (fixed,), (shared,) = (simulate(problem, found, request, policy=p) for p in (None, Equal()))
    assert fixed.samples is not None
    assert shared.samples is not None
    assert shared.samples == pytest.approx(fixed.samples, rel=1e-12)


@pytest.mark.parametrize(
    "arrival", [0, 25, 130], ids=["at once", "in a round", "in the next cycle"]
)
@pytest.mark.parametrize("work", [7, 16, 100, 1000])
def test_rounds_restart_where_a_job_moves(work: float, arrival: float) -> None:
    """Job 0 runs two of three rounds of 20 s; the first of them loses 4 s to the restart."""
    jobs = [
        Job(id="0", throughput={"g": 1}, remaining=work, arrival=arrival),
        Job(id="1", throughput={"g": 1}, remaining=0),
    ]
    problem = FairProblem(
        types=[ResourceType(id="g", count=1)],
        jobs=jobs,
        rounds=Rounds(count=3, restart=4, length=20),
    )
    found = FairAnswer(problem, np.zeros((2, 1)), rounds=np.array([[0, -1], [0, -1], [-1, 0]]))
    (result,) = simulate(problem, [found], ONCE)
    time, left = 0.0, work
    while left > 0:  # second by second
        at = time % 60
        if time >= arrival and at < 40 and at >= 4:
            left -= 1
        time += 1
    assert result.mean == pytest.approx(time)


def test_rounds_straggle_round_by_round() -> None:
    """Many short rounds average the slowdown out: the mean pace is E[1/X]."""
    problem = cluster(2000, rounds=Rounds(count=1, length=1))
    found = FairAnswer(problem, np.zeros((1, 1)), rounds=np.zeros((1, 1), dtype=np.int64))
    law = Bimodal(base=1.0, slowdown=4.0, probability=0.5)
    (result,) = simulate(problem, [found], SimulationRequest(replications=50, law=law))
    assert result.mean == pytest.approx(2000 / (2 * (0.5 + 0.5 / 4)), rel=0.02)
    assert result.std < 0.05 * result.mean


def test_runs_wait_for_whole_gpus() -> None:
    """Shortest first on one unit; a slowdown of the first delays the second."""
    problem = cluster(4, 2)
    runs = (Run(1, 0, 0.0, 1.0), Run(0, 0, 1.0, 3.0))
    found = FairAnswer(problem, np.zeros((2, 1)), runs=runs)
    (result,) = simulate(problem, [found], ONCE)
    assert [jobs_of(result)[i]["mean"] for i in "01"] == [3.0, 1.0]
    request = SimulationRequest(replications=20_000, law=Exponential(rate=1.0))
    (slow,) = simulate(problem, [found], request)
    assert slow.mean == pytest.approx(3.0, rel=0.03)


def test_jobs_without_shares_never_end_and_are_named() -> None:
    """The makespan of the others is still told."""
    problem = cluster(10, 40)
    (result,) = simulate(problem, [FairAnswer(problem, np.array([[1.0], [0.0]]))], ONCE)
    assert result.mean == 5.0
    assert result.extra["never_done"] == ["1"]
    assert "1 never end" in result.warnings[0]
    assert jobs_of(result)["1"]["mean"] is None


def test_finish_time_ratio_against_the_equal_split() -> None:
    """With its equal split a job takes exactly its isolated time."""
    problem = cluster(10, 40)
    (result,) = simulate(problem, [FairAnswer(problem, np.array([[0.5], [0.5]]))], ONCE)
    assert jobs_of(result)["1"]["finish_time_ratio"] == 1.0
    assert result.extra["worst_finish_time_ratio"] == 1.0


def test_precision_asks_for_as_many_replications_as_it_needs() -> None:
    """Half width 1 % of an exponential mean needs about (1.96 / 0.01)^2 samples."""
    problem = cluster(10)
    request = SimulationRequest(precision=0.01, law=Exponential(rate=1.0))
    (result,) = simulate(problem, [FairAnswer(problem, np.ones((1, 1)))], request)
    assert result.replications is not None
    assert 25_000 < result.replications < 60_000
    assert result.mean_ci is not None
    assert result.mean_ci[1] - result.mean_ci[0] < 2.4 * 0.01 * result.mean


def test_broken_answers_and_missing_work_are_refused() -> None:
    """What the checker rejects is not simulated, and without work there is no end."""
    problem = cluster(10, 40)
    with pytest.raises(CheckFailed, match="capacity"):
        simulate(problem, [FairAnswer(problem, np.ones((2, 1)))], ONCE)
    bare = problem.replace(jobs=[Job(id="a", throughput={"g": 1})])
    with pytest.raises(InputError, match="job 'a' has no remaining work"):
        simulate(bare, [FairAnswer(bare, np.ones((1, 1)))], ONCE)


def test_cancelled_and_progress() -> None:
    """A caller sees how far it is, and gets the answers that are done."""
    problem = cluster(10)
    found = [FairAnswer(problem, np.ones((1, 1)))] * 2
    seen: list[float] = []
    simulate(problem, found, ONCE, on_progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    with pytest.raises(Cancelled):
        simulate(problem, found, ONCE, cancelled=lambda: True)


def test_an_interrupt_keeps_the_rounds_that_are_done() -> None:
    """Hundreds of jobs and a million replications end within a second, with an estimate."""
    problem = cluster(*range(1, 201))
    seen: list[float] = []
    asked: list[float] = []

    def interrupted() -> bool:
        if seen and seen[-1] > 0.001:
            asked.append(time.monotonic())
        return bool(asked)

    (found,) = simulate(
        problem,
        [FairAnswer(problem, np.full((200, 1), 0.005))],
        SimulationRequest(replications=1_000_000, law=Exponential(rate=1.0)),
        on_progress=seen.append,
        cancelled=interrupted,
    )
    assert time.monotonic() - asked[0] < 1
    assert found.replications is not None
    assert 64 <= found.replications < 1_000_000
    assert any("interrupted" in warning for warning in found.warnings)
    assert seen == sorted(seen)
    again = SimulationRequest(replications=found.replications, law=Exponential(rate=1.0))
    (whole,) = simulate(problem, [FairAnswer(problem, np.full((200, 1), 0.005))], again)
    assert (whole.mean, whole.quantiles) == (found.mean, found.quantiles)
    assert jobs_of(whole) == jobs_of(found)


@pytest.mark.parametrize(
    ("shape", "infinite"), [pytest.param(0.9, True, id="0.9"), pytest.param(1.5, False, id="1.5")]
)
def test_infinite_means_of_jobs_are_null(shape: float, infinite: bool) -> None:
    """Samples of a law without a mean have one, which would be believed; quantiles remain."""
    types = [
        ResourceType(id="a", count=1, runtime=Law(law="pareto", shape=shape, scale=1)),
        ResourceType(id="b", count=1),
    ]
    jobs = [Job(id=i, throughput={"a": 1, "b": 1}, remaining=10) for i in "xy"]
    problem = FairProblem(types=types, jobs=jobs)
    answer = FairAnswer(problem, np.array([[1.0, 0.0], [0.0, 1.0]]))
    (result,) = simulate(problem, [answer], SimulationRequest(replications=400))
    heavy, light = (jobs_of(result)[i] for i in "xy")
    assert (heavy["mean"] is None, heavy.get("infinite", False)) == (infinite, infinite)
    assert (heavy["finish_time_ratio"] is None) == infinite
    assert heavy["quantiles"]["0.5"] > 10
    assert (light["mean"], "infinite" in light) == (10.0, False)
    for name in ("mean_completion_time", "worst_finish_time_ratio"):
        assert (result.extra[name] is None) == infinite
    assert result.extra.get("infinite", False) == infinite


def test_runs_of_a_law_without_a_mean_have_none() -> None:
    """A run waits for those before it, and all of them for the law of their type."""
    problem = cluster(4, 2)
    found = FairAnswer(problem, np.zeros((2, 1)), runs=(Run(1, 0, 0.0, 1.0), Run(0, 0, 1.0, 3.0)))
    request = SimulationRequest(replications=100, law=Pareto(shape=1.0, scale=1.0))
    (result,) = simulate(problem, [found], request)
    assert [jobs_of(result)[i]["mean"] for i in "01"] == [None, None]


def test_restarts_are_wasted_work() -> None:
    """Two units of a gang wait 4 s in each of the four cycles that 64 s of work take."""
    job = Job(id="0", throughput={"g": 1}, remaining=64, gang=2)
    other = Job(id="1", throughput={"g": 1}, remaining=0)
    problem = FairProblem(
        types=[ResourceType(id="g", count=2)],
        jobs=[job, other],
        rounds=Rounds(count=2, restart=4, length=20),
    )
    found = FairAnswer(problem, np.zeros((2, 1)), rounds=np.array([[0, -1], [-1, 0]]))
    (result,) = simulate(problem, [found], ONCE)
    assert result.wasted_work == result.extra["restart_time"] == 2 * 4 * 4


def test_demands_and_pairs_progress_too() -> None:
    """A Leontief job is as slow as its scarcest part; two jobs share one unit."""
    from allocsolve.models.fair.data import Pair

    types = [ResourceType(id="c", count=9), ResourceType(id="m", count=18)]
    leontief = FairProblem(types=types, jobs=[Job(id="a", demand={"c": 1, "m": 4}, remaining=30)])
    (result,) = simulate(leontief, [FairAnswer(leontief, np.array([[4.0, 12.0]]))], ONCE)
    assert result.mean == 10.0
    base = cluster(12, 12)
    pairs = base.replace(pairs=[Pair(jobs=("0", "1"), throughput={"g": (1.5, 1)})])
    shared = FairAnswer(pairs, np.zeros((2, 1)), pair_shares=np.ones((1, 1)))
    (both,) = simulate(pairs, [shared], ONCE)
    assert [jobs_of(both)[i]["mean"] for i in "01"] == [8.0, 12.0]
    request = SimulationRequest(replications=2000, law=Exponential(rate=1.0), keep_samples=True)
    (slow,) = simulate(pairs, [shared], request)
    assert slow.mean == pytest.approx(12, rel=0.1)
