"""What a simulation gives back, whatever the problem kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from allocsolve.models.arguments import share
from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import UsageError
from allocsolve.models.random import FloatType
from allocsolve.models.result import InstanceInfo

__all__ = ["Comparison", "Interval", "Replication", "Simulation"]

Interval = tuple[float, float]


@dataclass(frozen=True)
class Comparison:
    """Two plans on common random numbers.

    Attributes
    ----------
    first, second
        Names of the plans.
    mean_difference
        Mean of first minus second; negative if the first is better. Infinite or NaN means
        are not compared: None.
    ci
        95 % interval of it, None if it has none.
    probability_first_better
        How often the first was smaller, ties count half.
    variance_reduction
        ``(Var first + Var second) / Var(first - second)``: so many times the replications
        would be needed with independent numbers; infinite if the difference is constant.
    """

    first: str
    second: str
    mean_difference: float | None
    ci: Interval | None
    probability_first_better: float
    variance_reduction: float


@dataclass(frozen=True, eq=False)
class Replication:
    """One replication in full, for a picture.

    Attributes
    ----------
    label
        ``"median"`` or ``"bad"`` (the 95th percentile).
    number
        Its number, from 0.
    value
        Its makespan, input units.
    start, end
        float64 (n,), input units.
    node
        Id of the node that ran each task, None where there is none; as planned, or where the
        copy that ended first ran.
    """

    label: str
    number: int
    value: float
    start: FloatArray
    end: FloatArray
    node: tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class Simulation:
    """The distribution of the value of a plan.

    Attributes
    ----------
    kind, name
        Problem kind and name of the plan.
    method
        ``exact`` or ``monte_carlo``.
    generator, path, dtype, seed
        What the samples depend on; None if the method is exact.
    replications
        Number of samples, None if the method is exact.
    mean, std
        ``math.inf`` where they are infinite.
    mean_ci
        95 % interval, None if the variance is infinite (or the method exact).
    quantiles, quantile_cis
        By probability, 0 to 1. The upper end of an interval is infinite where the samples
        are too few to bound it.
    deadline, deadline_probability, deadline_ci
        Probability of being done by the deadline, with its 95 % interval.
    planned
        What the plan says.
    utilisation
        Busy share of each node.
    wasted_work
        Work whose result was not used: lost by failures or done by a slower copy.
    criticality
        How often each task was on the critical path, 0 to 1.
    detailed
        Replications from which utilisation, wasted work and criticality were counted (the
        first ones).
    examples
        A median and a bad replication.
    instance
        Where the instance came from, if whoever asked has said so.
    warnings
        What a reader should know.
    """

    kind: str
    method: Literal["exact", "monte_carlo"]
    mean: float
    std: float
    quantiles: Mapping[float, float]
    name: str = ""
    generator: str | None = None
    path: Literal["compiled", "numpy", "plain"] | None = None
    dtype: FloatType = "float64"
    seed: int | None = None
    replications: int | None = None
    mean_ci: Interval | None = None
    quantile_cis: Mapping[float, Interval] = field(default_factory=dict)
    deadline: float | None = None
    deadline_probability: float | None = None
    deadline_ci: Interval | None = None
    planned: float | None = None
    utilisation: Mapping[str, float] = field(default_factory=dict)
    wasted_work: float = 0.0
    criticality: Mapping[str, float] | None = None
    detailed: int | None = None
    comparison: tuple[Comparison, ...] | None = None
    samples: FloatArray | None = None
    examples: tuple[Replication, ...] = ()
    instance: InstanceInfo = field(default_factory=InstanceInfo)
    warnings: tuple[str, ...] = ()
    extra: Mapping[str, object] = field(default_factory=dict)

    def __repr__(self) -> str:
        mean = "infinite" if self.infinite else f"{self.mean:.6g}"
        told = [f"q{q:g} {value:.6g}" for q, value in self.quantiles.items()]
        how = "exact" if self.replications is None else f"{self.replications} replications"
        return (
            f"<Simulation {self.name!r} ({self.kind}): {', '.join([f'mean {mean}', *told, how])}>"
        )

    @property
    def infinite(self) -> bool:
        """Whether the mean is infinite."""
        return math.isinf(self.mean)

    def quantile(self, q: float) -> float:
        """Return a quantile that was asked for, or any one of kept samples.

        Raises
        ------
        UsageError
            If it is no probability, or was not asked for and the samples were not kept.
        """
        q = share("quantile", q)
        if q in self.quantiles:
            return self.quantiles[q]
        if self.samples is None:
            known = ", ".join(f"{known:g}" for known in self.quantiles)
            raise UsageError(
                f"quantile {q:g} was not asked for"
                f"\n  allowed: {known}; any one with keep_samples=True"
            )
        import numpy as np

        from allocsolve.models.execution.ranks import quantile

        return quantile(np.sort(self.samples), q)

    def replace(self, **changes: object) -> Simulation:
        """Return a copy with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]  # field types are checked by the dataclass users
