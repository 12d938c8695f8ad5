"""What a caller asks of a run, validated."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from allocsolve.api.machine import physical_cores
from allocsolve.models.errors import UsageError

if TYPE_CHECKING:
    from allocsolve.solvers.dag.robust import RobustRequest

__all__ = ["Request"]

_LARGEST_SEED = 2**31 - 1
_MOST_THREADS = 1024


@dataclass(frozen=True)
class Request:
    """How to solve.

    Attributes
    ----------
    objective
        None for the default of the problem's kind, or what the instance says.
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
    robust
        Choose the answer of which a quantile is least on drawn nodes (kind ``dag``).

    Raises
    ------
    UsageError
        If a number is out of range.
    """

    method: str = "auto"
    objective: str | None = None
    time_limit: float | None = 60.0
    gap: float = 0.0
    threads: int | None = None
    seed: int = 0
    options: Mapping[str, str] = field(default_factory=dict)
    started: float = field(default_factory=time.monotonic)
    elapsed: Mapping[str, float] = field(default_factory=dict)
    robust: RobustRequest | None = None

    def __post_init__(self) -> None:
        for name, value in (("method", self.method), ("objective", self.objective or "")):
            if not isinstance(value, str):
                raise _refused(name, value, "a name")
        if self.time_limit is not None and not _is_amount(self.time_limit):
            raise _refused("time limit", self.time_limit, "seconds of at least 0, or none")
        if not _is_amount(self.gap):
            raise _refused("gap", self.gap, "a number of at least 0")
        if self.threads is not None and not _is_whole(self.threads, 1, _MOST_THREADS):
            raise _refused("threads", self.threads, f"1 .. {_MOST_THREADS}")
        if not _is_whole(self.seed, 0, _LARGEST_SEED):
            raise _refused("seed", self.seed, f"0 .. {_LARGEST_SEED}")

    @property
    def deadline(self) -> float | None:
        """Reading of :func:`time.monotonic` at which the run ends."""
        return None if self.time_limit is None else self.started + self.time_limit

    @property
    def thread_count(self) -> int:
        """Threads that an engine may use."""
        return self.threads or physical_cores()


def _is_amount(value: object) -> bool:
    """Whether a value is a number that is finite and not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return 0 <= value <= sys.float_info.max


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _refused(name: str, value: object, allowed: str) -> UsageError:
    return UsageError(f"{name} {value!r} is not allowed: {allowed}")
