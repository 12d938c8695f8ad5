"""How jobs progress in rounds if nothing straggles."""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.answer import IDLE, FairAnswer
from allocsolve.models.fair.data import Rounds
from allocsolve.models.fair.problem import FairProblem

__all__ = ["round_length", "round_progress"]


def round_length(problem: FairProblem) -> float:
    """Return how long a round takes."""
    return float((problem.rounds or Rounds(count=1)).length)


def round_progress(answer: FairAnswer) -> tuple[FloatArray, FloatArray]:
    """Return pace and lost time of each job in each round, two float64 (R, n).

    A job loses the restart time in a round if it ran on another type, or on none, in the
    round before; the round before the first is the last, since rounds are repeated.
    """
    assert answer.rounds is not None
    arrays, rounds = answer.problem.arrays, answer.rounds
    runs = rounds != IDLE
    pace = np.where(runs, arrays.throughput[np.arange(rounds.shape[1]), rounds], 0.0)
    settings = answer.problem.rounds
    restart = float(settings.restart) if settings is not None else 0.0
    moved = runs & (rounds != np.roll(rounds, 1, axis=0))
    return pace, np.where(moved, restart, 0.0)
