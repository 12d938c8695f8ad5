"""Answers of the problem kind ``fair``: shares of time, with prices as their certificate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.errors import SolverMissing
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.utility import utilities
from allocsolve.models.result import Result

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["IDLE", "FairAnswer", "FairResult", "Run"]

IDLE = -1
"""Type of a job in a round in which it runs on none."""


@dataclass(frozen=True)
class Run:
    """A job from start to end on units of one type; ``job`` and ``type`` are positions."""

    job: int
    type: int
    start: float
    end: float


@dataclass(frozen=True, eq=False)
class FairAnswer:
    """Shares of every job, with what proves them right.

    Attributes
    ----------
    shares
        float64 (n, m), share of its time that a job spends on a type; of a resource that it
        demands, the amount that it holds.
    prices
        float64 (m,), d(objective)/d(capacity) in the direction of better, at least 0; None if
        not known.
    time_prices
        float64 (n,), the same for the time cap of each job.
    job_prices
        float64 (n,), what a unit of utility of each job is worth in these prices; needed as
        a certificate only where pairs share units.
    levels
        float64, the levels of a leximin answer in ascending order, or what the objective
        defines.
    rounds
        int64 (R, n), type of each job in each round, :data:`IDLE` for none.
    pair_shares
        float64 (q, m), share of time that a pair spends on a type.
    runs
        Runs of jobs that are not interrupted (objective ``completion_time``).
    """

    problem: FairProblem
    shares: FloatArray
    prices: FloatArray | None = None
    time_prices: FloatArray | None = None
    job_prices: FloatArray | None = None
    levels: FloatArray | None = None
    rounds: IntArray | None = None
    pair_shares: FloatArray | None = None
    runs: tuple[Run, ...] | None = None

    def __post_init__(self) -> None:
        n, m = self.problem.arrays.throughput.shape
        q = len(self.problem.arrays.pair_jobs)
        shapes = {
            "shares": (n, m),
            "prices": (m,),
            "time_prices": (n,),
            "job_prices": (n,),
            "pair_shares": (q, m),
        }
        for name in (*shapes, "levels"):
            value = getattr(self, name)
            if value is not None:
                array = np.ascontiguousarray(value, dtype=np.float64).view()
                if array.shape != shapes.get(name, array.shape):
                    raise ValueError(f"{name} has shape {array.shape}, not {shapes[name]}")
                array.setflags(write=False)
                object.__setattr__(self, name, array)
        if self.rounds is not None:
            rounds = np.ascontiguousarray(self.rounds, dtype=np.int64).view()
            if rounds.ndim != 2 or rounds.shape[1] != n:
                raise ValueError(f"rounds has shape {rounds.shape}, not (rounds, {n})")
            rounds.setflags(write=False)
            object.__setattr__(self, "rounds", rounds)

    @cached_property
    def utilities(self) -> FloatArray:
        """Utility of each job, float64 (n,)."""
        gained = utilities(self.problem.arrays, self.shares, self.pair_shares)
        gained.setflags(write=False)
        return gained

    def __len__(self) -> int:
        return len(self.shares)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas frame with one row for each job: its shares, utility, time price.

        Raises
        ------
        SolverMissing
            If pandas (extra ``frames``) is not installed.
        """
        try:
            import pandas as pd
        except ImportError:
            raise SolverMissing("to_frame needs pandas: pip install 'allocsolve[frames]'") from None
        frame = pd.DataFrame(self.shares, columns=list(self.problem.type_ids))
        frame.insert(0, "job", list(self.problem.job_ids))
        frame["utility"] = self.utilities
        if self.time_prices is not None:
            frame["time_price"] = self.time_prices
        return frame


@dataclass(frozen=True)
class FairResult(Result[FairAnswer]):
    """Result of a ``fair`` problem."""

    @property
    def allocation(self) -> FairAnswer:
        """The allocation.

        Raises
        ------
        NoSolution
            If there is none.
        """
        return self.require()
