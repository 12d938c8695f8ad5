"""What a simulation of any kind says of the samples of one answer."""

from __future__ import annotations

import math
from typing import Literal

from allocsolve.models.arrays import FloatArray
from allocsolve.models.execution.outcome import Simulation
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.summary import Summary, summarize
from allocsolve.models.random import GENERATOR, FloatType

__all__ = ["estimate"]

_INFINITE = "the mean is infinite; quantiles and probabilities say what can be said"


def estimate(
    kind: str,
    samples: FloatArray,
    request: SimulationRequest,
    *,
    random: bool,
    path: Literal["compiled", "numpy", "plain"],
    dtype: FloatType = "float64",
    finite_mean: bool = True,
    finite_variance: bool = True,
) -> Simulation:
    """Return the statistics of samples as a simulation.

    Parameters
    ----------
    samples
        float64 (n,), n >= 1; one is enough where nothing is random.
    random
        Whether they were drawn.
    path
        How they were drawn.
    finite_mean, finite_variance
        What is known of the law; an infinite mean is reported as such, whatever the samples.
    """
    known = summarize(
        samples,
        request.quantiles,
        request.deadline,
        finite_mean=finite_mean or not random,
        finite_variance=finite_variance or not random,
    )
    return Simulation(
        kind=kind,
        method="monte_carlo" if random else "exact",
        mean=known.mean,
        std=known.std,
        quantiles=known.quantiles,
        generator=GENERATOR if random else None,
        path=path if random else None,
        dtype=dtype,
        seed=request.seed if random else None,
        replications=len(samples) if random else None,
        mean_ci=known.mean_ci if random else None,
        quantile_cis=known.quantile_cis if random else {},
        deadline=request.deadline,
        deadline_probability=known.deadline_probability,
        deadline_ci=known.deadline_ci if random else None,
        samples=samples if request.keep_samples else None,
        warnings=tuple(_warnings(known, len(samples), request, random=random)),
    )


def _warnings(known: Summary, count: int, request: SimulationRequest, *, random: bool) -> list[str]:
    found = [_INFINITE] if math.isinf(known.mean) else []
    if request.precision is None or not random:
        return found
    if math.isinf(known.mean):
        return [*found, "no number of replications gives an infinite mean a precision"]
    if known.mean_ci is None:
        return [*found, "the variance is infinite, so the mean has no interval and no precision"]
    half = known.mean_ci[1] - known.mean  # the lower end may be cut off at 0
    if half > request.precision * abs(known.mean) * (1 + 1e-9):
        share = half / abs(known.mean) if known.mean else math.inf
        found.append(
            f"the precision of {request.precision:g} was not reached: after {count} replications "
            f"the half width of the interval of the mean is {share:.3g} of it"
        )
    return found
