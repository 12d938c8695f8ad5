"""A division with a level as one linear program: for few jobs, where no loop need be compiled."""

from __future__ import annotations

import numpy as np

from allocsolve.models.errors import SolverCrash
from allocsolve.solvers.fair.level_program import LevelProgram
from allocsolve.solvers.fair.program import Division, Found

__all__ = ["solve_level"]


def solve_level(division: Division) -> Found:
    """Return the highest level ``min U / slope``, with shares and prices.

    It is not interrupted: so few jobs are done before anybody could want to stop.

    Raises
    ------
    SolverCrash
        If HiGHS finds none: giving nothing is always possible.
    """
    assert division.slope is not None
    n, m = division.size
    rows = np.flatnonzero(division.slope > 0)
    slope = division.slope[rows]
    program = LevelProgram(
        division.pace[rows] / slope[:, None],
        division.gang[rows],
        division.stock,
        stop=lambda: False,
    )
    found = program.solve_stage(np.ones(len(rows), dtype=np.bool_), np.zeros(len(rows)))
    if found is None:
        raise SolverCrash("HiGHS found no level")
    share, worth = np.zeros((n, m)), np.zeros(n)
    share[rows], worth[rows] = found.share, found.worth / slope
    return Found(share, found.prices, found.level, worth)
