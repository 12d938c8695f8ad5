"""What a caller asks of a run, validated."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from allocsolve.api.machine import physical_cores
from allocsolve.models.errors import UsageError

__all__ = ["Request"]

_LARGEST_SEED = 2**31 - 1


@dataclass(frozen=True)
class Request:
    """How to solve.

    Attributes
    ----------
    time_limit
        Seconds from ``started``; 0 for a check and bounds only, None for no limit.
    gap
        Relative gap at which an answer is good enough.
    threads
        None for the number of physical cores.
    started
        Reading of :func:`time.monotonic` from which the time limit counts.
    elapsed
        Seconds of what was done before, by name; they become part of the timing.

    Raises
    ------
    UsageError
        If a number is out of range.
    """

    method: str = "auto"
    objective: str = "makespan"
    time_limit: float | None = 60.0
    gap: float = 0.0
    threads: int | None = None
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    elapsed: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        limit = self.time_limit
        if limit is not None and not (math.isfinite(limit) and limit >= 0):
            raise UsageError(f"time limit {limit} is not allowed: seconds of at least 0, or none")
        if not (math.isfinite(self.gap) and self.gap >= 0):
            raise UsageError(f"gap {self.gap} is not allowed: a number of at least 0")
        if self.threads is not None and self.threads < 1:
            raise UsageError(f"threads {self.threads} is not allowed: at least 1")
        if not 0 <= self.seed <= _LARGEST_SEED:
            raise UsageError(f"seed {self.seed} is not allowed: 0 .. {_LARGEST_SEED}")

    @property
    def deadline(self) -> float | None:
        """Reading of :func:`time.monotonic` at which the run ends."""
        return None if self.time_limit is None else self.started + self.time_limit

    @property
    def thread_count(self) -> int:
        """Threads that an engine may use."""
        return self.threads or physical_cores()
