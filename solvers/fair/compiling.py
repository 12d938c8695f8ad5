"""How long the loops of a division take in plain Python, and what is said without them."""

from __future__ import annotations

from allocsolve.models.fair.problem import FairProblem

__all__ = ["UNCOMPILED", "plain_seconds"]

UNCOMPILED = (
    "the loops of this method are not compiled, and compiling does not fit into the time limit; "
    "'allocsolve doctor --compile' does it once"
)

_PLAIN = 8e-4
"""Seconds that plain Python takes for a number of the table of throughputs, all steps together."""


def plain_seconds(problem: FairProblem, times: int = 1) -> float:
    """Return how long the loops of a division take in plain Python, roughly.

    Parameters
    ----------
    times
        How often the division is solved.
    """
    return _PLAIN * problem.arrays.throughput.size * times
