"""What is asked of a simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from allocsolve.models.arguments import choice, integer, number, numbers, share
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

    Raises
    ------
    UsageError
        If a field is of another type, or out of its range; it says what is allowed.
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
        for name, (low, high) in _RANGES.items():
            value = getattr(self, name)
            if value is not None or name in ("seed", "threads"):
                object.__setattr__(self, name, integer(name, value, low, high))
        if self.precision is not None:
            object.__setattr__(self, "precision", share("precision", self.precision))
        shares = [share("quantile", q) for q in numbers("quantiles", self.quantiles)]
        object.__setattr__(self, "quantiles", tuple(shares))
        if self.deadline is not None:
            object.__setattr__(self, "deadline", number("deadline", self.deadline))
        choice("starts", self.starts, ("eager", "planned"))
        choice("dtype", self.dtype, ("float64", "float32"))


_RANGES = {
    "replications": (2, LARGEST_REPLICATION),
    "seed": (0, 2**64 - 1),
    "threads": (1, 1024),
}
