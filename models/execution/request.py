"""What is asked of a simulation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from allocsolve.models.errors import UsageError
from allocsolve.models.nodes import RuntimeLaw
from allocsolve.models.ports import Dispatcher
from allocsolve.models.random import LARGEST_REPLICATION, FloatType

__all__ = [
    "DEFAULT_REPLICATIONS",
    "DEFAULT_UNDER_POLICY",
    "LARGEST_SEARCHED",
    "SimulationRequest",
]

DEFAULT_REPLICATIONS = 10_000
"""Replications if neither their number nor a precision is given."""

DEFAULT_UNDER_POLICY = 500
"""The same where a policy decides, which plain Python replays event by event."""

LARGEST_SEARCHED = 10_000_000
"""Replications at which a run with a precision gives up, if no other number is given."""


@dataclass(frozen=True, kw_only=True)
class SimulationRequest:
    """How often, how exactly and under which law answers are replayed.

    Attributes
    ----------
    replications
        Number of replications; with ``precision`` the largest number allowed. None is
        ``DEFAULT_REPLICATIONS``
        (``DEFAULT_UNDER_POLICY`` under a policy), or as many as the precision needs, at most
        ``LARGEST_SEARCHED``.
    precision
        Stop when the half width of the 95 % interval of the mean is at most this share of it.
    seed
        From 0 to 2^64 - 1.
    quantiles
        Each in (0, 1).
    deadline
        Report the probability of being done by then, in input units.
    threads
        Threads that draw and replay; the samples do not depend on it.
    law
        Law of the slowdown of every task, instead of those of the nodes.
    link_law
        Law of the factor of every transfer between nodes; None leaves transfers as planned.
    starts
        ``eager``: a task starts as soon as it can; ``planned``: not before its planned start.
    dtype
        Precision of draws and of the state.
    keep_samples
        Whether the result holds the samples.
    policy
        Re-schedules while the plan runs; None keeps the plan.
    """

    replications: int | None = None
    precision: float | None = None
    seed: int = 0
    quantiles: tuple[float, ...] = (0.5, 0.9, 0.99)
    deadline: float | None = None
    threads: int = 1
    law: RuntimeLaw | None = None
    link_law: RuntimeLaw | None = None
    starts: Literal["eager", "planned"] = "eager"
    dtype: FloatType = "float64"
    keep_samples: bool = False
    policy: Dispatcher | None = None

    def __post_init__(self) -> None:
        _integer("replications", self.replications, 2, LARGEST_REPLICATION)
        _integer("seed", self.seed, 0, 2**64 - 1)
        _integer("threads", self.threads, 1, 1024)
        _number("precision", self.precision, 0.0, 1.0)
        for q in self.quantiles:
            _number("quantile", q, 0.0, 1.0)
        if self.deadline is not None and math.isnan(self.deadline):
            raise UsageError("the deadline is not a number")
        _choice("starts", self.starts, ("eager", "planned"))
        _choice("dtype", self.dtype, ("float64", "float32"))


def _integer(name: str, value: int | None, low: int, high: int) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise UsageError(f"{name} is {value!r}; it must be an integer from {low} to {high}")


def _number(name: str, value: float | None, low: float, high: float) -> None:
    if value is not None and not low < value < high:
        raise UsageError(f"{name} is {value!r}; it must lie between {low:g} and {high:g}")


def _choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")
