"""Slowdowns, failures, loss and backups: exact means, and draws that agree with them."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from allocsolve.models.arrays import FloatArray
from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.laws_backup import with_backup
from allocsolve.models.nodes import (
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Law,
    Lognormal,
    Pareto,
    RuntimeLaw,
    Weibull,
)
from allocsolve.models.processes import (
    Failures,
    FailuresRecord,
    Markov,
    PerRound,
    Persistent,
    PerTask,
    Process,
    SlowdownRecord,
    process_from,
)

REPLICATIONS = 100_000


def uniforms(k: int) -> FloatArray:
    return np.random.default_rng(k + 100).random(REPLICATIONS)


def test_a_gilbert_node_is_slow_a_sixth_of_the_time() -> None:
    """Leaving the good state with 0.05 and the slow one with 0.25 balances at 1/6."""
    chain = Markov(to_slow=0.05, to_good=0.25, factor=4.0)
    assert chain.stationary_slow() == pytest.approx(1 / 6, rel=1e-15)
    assert chain.mean() == pytest.approx(1.5, rel=1e-15)


def test_a_gilbert_node_is_in_equilibrium_and_remembers() -> None:
    """Every step has the stationary share; two steps correlate by ``1 - to_slow - to_good``."""
    chain = Markov(to_slow=0.05, to_good=0.25, factor=4.0)
    states = chain.states(12, uniforms)
    np.testing.assert_allclose(states.mean(axis=1), 1 / 6, atol=0.006)
    correlation = np.corrcoef(states[3], states[4])[0, 1]
    assert correlation == pytest.approx(0.7, abs=0.01)
    assert set(np.unique(chain.factors(2, uniforms))) == {1.0, 4.0}


@pytest.mark.parametrize("kind", [PerTask, PerRound, Persistent])
def test_factors_of_steps(kind: type[PerTask] | type[Persistent]) -> None:
    """Persistent factors repeat, the others are drawn anew, and all have the mean of the law."""
    factors = kind(Exponential(2.0)).factors(3, uniforms)
    assert factors.shape == (3, REPLICATIONS)
    assert (factors[0] == factors[1]).all() == (kind is Persistent)
    assert factors.mean() == pytest.approx(kind(Exponential(2.0)).mean(), rel=0.02)


def test_work_of_ten_with_failures_takes_twelve() -> None:
    """One failure in ten units, each repaired in two: 10 (1 + 0.1 / 0.5)."""
    assert Failures(rate=0.1, repair=0.5).mean(10.0) == pytest.approx(12.0, rel=1e-15)


def test_restarts_cost_more_than_resumption() -> None:
    """(1/0.1 + 1/0.5)(e - 1) by the renewal argument."""
    expected = 12.0 * math.expm1(1.0)
    assert Failures(0.1, 0.5, resume=False).mean(10.0) == pytest.approx(expected, rel=1e-14)
    assert Failures(1.0, 0.5, resume=False).mean(1e4) == math.inf


@pytest.mark.parametrize("resume", [True, False])
def test_drawn_failures_have_the_exact_mean(resume: bool) -> None:
    """The sampler and the closed form are two ways to the same number."""
    failures = Failures(0.1, 0.5, resume)
    times = failures.times(np.full(REPLICATIONS, 10.0), uniforms)
    error = times.std() / math.sqrt(REPLICATIONS)
    assert times.min() >= 10.0
    assert times.mean() == pytest.approx(failures.mean(10.0), abs=4 * error)


def test_without_failures_work_takes_its_time() -> None:
    """A rate of 0 must not divide by zero, nor read random numbers."""
    work = np.array([1.0, 2.0])
    assert Failures(0.0, 0.5).times(work, lambda _: np.empty(0)).tolist() == [1.0, 2.0]
    assert Failures(0.0, 0.5, resume=False).mean(2.0) == 2.0


def test_a_task_that_always_fails_never_ends() -> None:
    """The loop over failures must end, and no finite time be given."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        times = Failures(1.0, 1.0, resume=False).times(np.array([1e9]), lambda _: np.array([0.5]))
    assert times.tolist() == [math.inf]


def test_a_backup_of_an_exponential_task() -> None:
    """Exp(1) with a copy at 1: 1 - 1/(2e), and machine time exactly 1 (it has no memory)."""
    found = with_backup(Exponential(1.0), 1.0)
    assert found.completion == pytest.approx(0.8160602794, abs=1e-10)
    assert found.completion == pytest.approx(1 - math.exp(-1) / 2, rel=1e-13)
    assert found.machine_time == pytest.approx(1.0, rel=1e-13)


@pytest.mark.parametrize(
    ("law", "delay"),
    [
        pytest.param(Weibull(0.5, 1.0), 0.5, id="weibull"),
        pytest.param(Gamma(0.3, 2.0), 0.1, id="gamma"),
        pytest.param(Lognormal(0.0, 1.0), 2.0, id="lognormal"),
        pytest.param(Empirical.of([1.0, 2.0, 10.0]), 1.5, id="empirical"),
        pytest.param(Pareto(2.5, 1.0), 1.2, id="pareto"),
    ],
)
def test_backups_agree_with_draws(law: RuntimeLaw, delay: float) -> None:
    """A million pairs of draws, and the exact integrals."""
    generator = np.random.default_rng(5)
    first, second = law.sample(generator.random(10**6)), law.sample(generator.random(10**6))
    end = np.minimum(first, delay + second)
    work = end + np.maximum(end - delay, 0.0)
    found = with_backup(law, delay)
    assert found.completion == pytest.approx(end.mean(), abs=5 * end.std() / 1e3)
    assert found.machine_time == pytest.approx(work.mean(), abs=5 * work.std() / 1e3)


@pytest.mark.parametrize("shape", [0.501, 0.55, 0.9, 2.0, 6.0])
def test_the_lesser_of_two_pareto_times(shape: float) -> None:
    """A copy at once halves nothing but doubles the index of the tail: 2a / (2a - 1)."""
    found = with_backup(Pareto(shape, 1.0), 0.0)
    assert found.completion == pytest.approx(2 * shape / (2 * shape - 1), rel=1e-9)


def test_backups_at_the_ends() -> None:
    """Infinite means are infinite, no copy is the law alone, and certain times need no integral."""
    assert with_backup(Pareto(0.5, 1.0), 1.0).completion == math.inf
    assert with_backup(Pareto(0.9, 1.0), math.inf).completion == math.inf
    assert with_backup(Deterministic(3.0), 1.0).machine_time == 5.0
    assert with_backup(Deterministic(0.0), 1.0).completion == 0.0
    with pytest.raises(UsageError, match="at least 0"):
        with_backup(Exponential(1.0), -1.0)


def test_documents_describe_processes() -> None:
    """Every part of the record turns into the class that draws it."""
    found = process_from(
        Process(
            slowdown=SlowdownRecord(model="markov", to_slow=0.05, to_good=0.25, factor=4),
            failures=FailuresRecord(rate=0.1, repair=0.5, recovery="restart"),
            loss=Law(law="exponential", rate=0.001),
            group="rack",
        ),
        path="$",
    )
    assert found.slowdown == Markov(0.05, 0.25, 4.0)
    assert found.failures == Failures(0.1, 0.5, resume=False)
    assert found.loss == Exponential(0.001)
    assert found.group == "rack"
    law = Law(law="deterministic", value=2)
    models = {"task": PerTask, "round": PerRound, "persistent": Persistent}
    for model, kind in models.items():
        record = Process(slowdown=SlowdownRecord(model=model, law=law))  # type: ignore[arg-type]  # keys are its literals
        assert process_from(record, path="$").slowdown == kind(Deterministic(2.0))


@pytest.mark.parametrize(
    ("process", "place", "words"),
    [
        pytest.param(
            Process(slowdown=SlowdownRecord()), ".slowdown", "law is missing", id="no law"
        ),
        pytest.param(
            Process(slowdown=SlowdownRecord(model="markov", to_slow=1, to_good=1)),
            ".slowdown",
            "factor is missing",
            id="no factor",
        ),
        pytest.param(
            Process(slowdown=SlowdownRecord(law=Law(law="exponential", rate=1), factor=2)),
            ".slowdown.factor",
            "not factor",
            id="superfluous",
        ),
        pytest.param(
            Process(slowdown=SlowdownRecord(law=Law(law="exponential", rate=0))),
            ".slowdown.law.rate",
            "greater than 0",
            id="law",
        ),
        pytest.param(
            Process(slowdown=SlowdownRecord(model="markov", to_slow=2, to_good=1, factor=2)),
            ".slowdown.to_slow",
            "0..1",
            id="probability",
        ),
        pytest.param(
            Process(slowdown=SlowdownRecord(model="markov", to_slow=0, to_good=0, factor=2)),
            ".slowdown",
            "no equilibrium",
            id="stuck",
        ),
        pytest.param(
            Process(slowdown=SlowdownRecord(model="markov", to_slow=0.1, to_good=1, factor=0.5)),
            ".slowdown.factor",
            "at least 1",
            id="factor",
        ),
        pytest.param(
            Process(failures=FailuresRecord(rate=-1, repair=1)), ".failures.rate", "0", id="rate"
        ),
        pytest.param(
            Process(failures=FailuresRecord(rate=1, repair=0)),
            ".failures.repair",
            "greater than 0",
            id="repair",
        ),
        pytest.param(
            Process(loss=Law(law="lifetime")), ".loss.law", "unknown runtime law", id="loss"
        ),
    ],
)
def test_impossible_processes_name_the_place(process: Process, place: str, words: str) -> None:
    """An instance is refused when it is built, not when it is simulated."""
    with pytest.raises(InputError, match=words) as caught:
        DagProblem(tasks=[Task(id="a", work=1)], nodes=[Node(id="n", process=process)])
    assert caught.value.path == f"$.nodes[0].process{place}"


def test_impossible_laws_of_nodes_name_the_place() -> None:
    """The same for the runtime law of a node."""
    node = Node(id="n", runtime=Law(law="gamma", shape=0, scale=1))
    with pytest.raises(InputError, match="shape is 0") as caught:
        DagProblem(tasks=[Task(id="a", work=1)], nodes=[node])
    assert caught.value.path == "$.nodes[0].runtime.shape"
