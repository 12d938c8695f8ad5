"""How long the loops of a division take in plain Python, and what is said without them."""

from __future__ import annotations

from allocsolve.models.fair.problem import FairProblem
from allocsolve.solvers.fair.program import Division

__all__ = ["UNCOMPILED", "plain_seconds"]

UNCOMPILED = (
    "the loops of this method are not compiled, and compiling does not fit into the time limit; "
    "'allocsolve doctor --compile' does it once"
)

_PLAIN = 8e-4
"""Seconds that plain Python takes for a number of the table of throughputs, all steps together."""


def plain_seconds(problem: FairProblem, times: int = 1, division: Division | None = None) -> float:
    """Return how long the loops of a division take in plain Python, roughly.

    Parameters
    ----------
    times
        How often the division is solved.
    division
        What is solved, where it is known: jobs that are alike are one in it.
    """
    table = problem.arrays.throughput if division is None else division.pace
    return _PLAIN * table.size * times
