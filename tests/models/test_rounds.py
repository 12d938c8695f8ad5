"""Rounds of replications: how many are drawn, which ones, and what an interrupt leaves."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from allocsolve.models.arrays import FloatArray
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.rounds import (
    INTERRUPTED,
    Cancelled,
    Watch,
    draw_asked,
    draw_number,
)
from allocsolve.models.execution.summary import mean_interval, moments
from allocsolve.models.nodes import Exponential
from allocsolve.models.random import GROUP, uniforms


class Source:
    """Answers of one exponential time with a constant before it; rounds are noted."""

    rounds = (64, 1000)

    def __init__(self, *constants: float) -> None:
        self.constants, self.asked = constants or (0.0,), list[tuple[int, int]]()

    def draw(self, first: int, count: int, watch: Watch) -> list[FloatArray]:
        """Return the next values."""
        if watch.stops():
            raise Cancelled
        self.asked.append((first, count))
        drawn = Exponential(1.0).sample(uniforms(0, 0, first, count))
        return [constant + drawn for constant in self.constants]


def times(count: int) -> FloatArray:
    return Exponential(1.0).sample(uniforms(0, 0, 0, count))


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 5000])
def test_as_many_are_drawn_as_are_asked_for(count: int) -> None:
    """Each once, in order, in rounds that grow by four up to their limit."""
    source = Source()
    (samples,) = draw_number(source, count, Watch()).samples
    np.testing.assert_array_equal(samples, times(count))
    first, sizes = zip(*source.asked, strict=True)
    assert list(first) == [sum(sizes[:k]) for k in range(len(sizes))]
    assert sizes[:4] == (64, 256, 1000, 1000) or count < 2320
    assert max(sizes) <= 1000


def test_a_precision_is_reached_by_every_answer_and_hardly_passed() -> None:
    """Time 1 varies as much as time 100 + 1, so the former needs more; the latter must wait."""
    source, precision = Source(100.0, 0.0), 0.02
    found = draw_asked(
        source, SimulationRequest(precision=precision), Watch(), has_interval=[True, True]
    )
    easy, hard = found.samples
    assert len(easy) == len(hard)
    np.testing.assert_array_equal(hard, times(len(hard)))
    interval = mean_interval(moments(hard))
    assert interval is not None
    half = (interval[1] - interval[0]) / 2
    assert 0.95 * precision < half / hard.mean() <= precision
    alone = draw_asked(
        Source(100.0, 0.0),
        SimulationRequest(precision=precision),
        Watch(),
        has_interval=[True, False],
    )
    assert len(alone.samples[1]) == GROUP < len(hard)


@pytest.mark.parametrize("limit", [100, 3000])
def test_the_number_that_is_given_limits_a_precision(limit: int) -> None:
    """Whoever says both wants no more than the number."""
    request = SimulationRequest(precision=0.001, replications=limit)
    (samples,) = draw_asked(Source(), request, Watch(), has_interval=[True]).samples
    assert len(samples) == limit


def _after(calls: int) -> Callable[[], bool]:
    """Return what says no so many times, and then yes."""
    answers = iter([False] * calls)
    return lambda: next(answers, True)


def test_an_interrupt_leaves_what_was_drawn_before() -> None:
    """Whole rounds count; the warning says that there are fewer than were asked for."""
    watch = Watch(cancelled=_after(4))  # each round asks twice: here, and in the source
    found = draw_number(Source(), 5000, watch)
    np.testing.assert_array_equal(found.samples[0], times(64 + 256))
    assert found.was_interrupted
    assert found.warnings == (INTERRUPTED,)


def test_one_replication_is_no_sample() -> None:
    """An interval takes two; before them an interrupt leaves nothing to tell."""

    class Slow(Source):
        rounds = (1, 1)

    with pytest.raises(Cancelled):
        draw_number(Slow(), 9, Watch(cancelled=_after(2)))
    found = draw_number(Slow(), 9, Watch(cancelled=_after(4)))
    np.testing.assert_array_equal(found.samples[0], times(2))
    whole = draw_number(Slow(), 1, Watch(cancelled=_after(2)))
    assert not whole.was_interrupted


def test_progress_rises_to_one() -> None:
    """A pilot tells little, for nobody knows yet how much will follow."""
    seen: list[float] = []
    request = SimulationRequest(precision=0.02)
    draw_asked(Source(), request, Watch(on_progress=seen.append), has_interval=[True])
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
    assert max(share for share in seen[:4]) <= 0.05
