"""The intervals of simulations hold what they promise, over many seeds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from allocsolve.models.arrays import FloatArray
from allocsolve.models.execution.outcome import Interval, Simulation
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.rounds import Watch, draw_asked
from allocsolve.models.execution.summary import Summary, compare_all, summarize
from allocsolve.models.nodes import Exponential
from allocsolve.models.random import uniforms

SEEDS, SIZE = 2000, 1000
LAW = Exponential(1.0)
QUANTILES = (0.5, 0.9, 0.99)
DEADLINES = (0.05, 1.0, 4.0)


def drawn(seed: int, count: int = SIZE, first: int = 0) -> FloatArray:
    """Return the makespans of one task of length 1."""
    return LAW.sample(uniforms(seed, 0, first, count))


@pytest.fixture(scope="module")
def summaries() -> list[list[Summary]]:
    """What each seed says, for each deadline."""
    return [
        [summarize(samples, QUANTILES, deadline) for deadline in DEADLINES]
        for samples in map(drawn, range(SEEDS))
    ]


def _covers(intervals: list[Interval | None], truth: float) -> None:
    """Check that 95 % of the intervals hold the truth, up to the luck of so many seeds.

    Intervals of discrete laws hold a little more; 1.5 % more would be too wide.
    """
    hits = sum(one is not None and one[0] <= truth <= one[1] for one in intervals)
    low, high = binom.ppf(0.0005, SEEDS, 0.95), binom.ppf(0.9995, SEEDS, 0.965)
    assert low <= hits <= high, hits / SEEDS


@pytest.mark.parametrize("q", QUANTILES)
def test_quantiles_are_covered(summaries: list[list[Summary]], q: float) -> None:
    """Ranks that are one too low or too high show only in thousands of intervals."""
    _covers([one[0].quantile_cis[q] for one in summaries], -math.log(1 - q))


@pytest.mark.parametrize("which", range(len(DEADLINES)), ids=DEADLINES)
def test_probabilities_of_deadlines_are_covered(summaries: list[list[Summary]], which: int) -> None:
    """Near 0 and 1 as well, where the textbook interval fails."""
    truth = 1 - math.exp(-DEADLINES[which])
    _covers([one[which].deadline_ci for one in summaries], truth)


def test_means_are_covered(summaries: list[list[Summary]]) -> None:
    """A skewed law of a thousand samples is close enough to a normal one."""
    _covers([one[0].mean_ci for one in summaries], 1.0)


class _OneTask:
    """One task, replayed in plain numpy."""

    rounds = (64, 4096)

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def draw(self, first: int, count: int, watch: Watch) -> list[FloatArray]:
        """Return the next makespans."""
        assert not watch.stops()
        return [drawn(self._seed, count, first)]


def test_intervals_of_a_precision_are_covered() -> None:
    """A run that stops as soon as its interval is narrow could stop where it is wrong."""
    request = SimulationRequest(precision=0.03)
    hits = 0
    for seed in range(500):
        (samples,) = draw_asked(_OneTask(seed), request, Watch(), has_interval=[True]).samples
        interval = summarize(samples, (), None).mean_ci
        assert interval is not None
        assert interval[1] - interval[0] <= 2 * 0.03 * samples.mean()
        hits += interval[0] <= 1.0 <= interval[1]
    assert binom.ppf(0.0005, 500, 0.95) <= hits <= binom.ppf(0.9995, 500, 0.965)


def test_every_pair_is_compared_once() -> None:
    """Exact means give an exact difference, infinite ones none; shorter samples are enough."""
    facts = [("a", 1.0, "exact"), ("b", 3.0, "exact"), ("c", math.inf, "exact"), ("d", 2.0, "")]
    found = [
        Simulation(
            kind="dag",
            name=name,
            method="exact" if method else "monte_carlo",
            mean=mean,
            std=0.0,
            quantiles={},
        )
        for name, mean, method in facts
    ]
    samples = [np.array([1.0, 2.0]), np.array([2.0, 3.0]), np.array([1.0, 9.0]), np.array([5.0])]
    pairs = compare_all(found, samples)
    assert pairs is not None
    assert [(p.first, p.second) for p in pairs] == [
        *(("a", "b"), ("a", "c"), ("a", "d")),
        *(("b", "c"), ("b", "d"), ("c", "d")),
    ]
    assert [p.mean_difference for p in pairs] == [-2.0, None, -4.0, None, -3.0, None]
    assert compare_all(found[:1], samples[:1]) is None
