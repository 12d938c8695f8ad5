"""Means of replays that are infinite, finite or not known: told as what they are."""

from __future__ import annotations

import numpy as np
import pytest

from allocsolve.models.execution.laws import _finite
from allocsolve.models.execution.summary import summarize
from allocsolve.models.nodes import Exponential, Lognormal, RuntimeLaw, Weibull
from allocsolve.models.processes import Failures, Markov, NodeProcess, PerTask


@pytest.mark.parametrize(
    ("law", "factor", "finite"),
    [
        (Weibull(6.0, 1.0), Weibull(6.0, 1.0), True),
        (Weibull(1.5, 1.0), Weibull(1.5, 1.0), False),
        (Weibull(2.0, 1.0), Weibull(2.0, 1.9), True),
        (Weibull(2.0, 1.0), Weibull(2.0, 2.1), False),
        (Exponential(9.0), Weibull(6.0, 1.0), False),
        (Lognormal(0.0, 0.1), Weibull(6.0, 1.0), False),
    ],
    ids=str,
)
def test_two_unbounded_factors_may_have_a_light_product(
    law: RuntimeLaw, factor: RuntimeLaw, finite: bool
) -> None:
    """Restarts need the mean of exp(X Y), which the shapes of both tails decide."""
    process = NodeProcess(slowdown=PerTask(factor), failures=Failures(1.0, 1.0, resume=False))
    assert _finite(law, process, 1.0)[0] is finite


def test_a_chain_that_is_never_slow_slows_nothing() -> None:
    """Its factor does not count where the slow state is never entered."""
    chain = NodeProcess(slowdown=Markov(0.0, 1.0, 9.0), failures=Failures(1.0, 1.0, resume=False))
    assert _finite(Exponential(3.0), chain, 1.0)[0]


def test_no_time_is_below_zero() -> None:
    """A symmetric interval of few skewed samples would reach below 0."""
    found = summarize(np.array([0.0, 0.0, 0.0, 9.0]), [0.5], None)
    assert found.mean_ci is not None
    assert found.mean_ci[0] == 0.0
