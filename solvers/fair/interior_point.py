"""Method ``interior_point``: the compiled interior point method for all jobs at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.problem import FairProblem
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.fair.interior import solve_interior
from allocsolve.solvers.fair.settings import read_words
from allocsolve.solvers.fair.structured import run_by

__all__ = ["SETTINGS", "solve"]

SETTINGS: Mapping[str, Sequence[str]] = {}


def solve(problem: FairProblem, control: RealControl[FairAnswer]) -> Outcome:
    """Solve a division of any objective with gains or a level.

    Raises
    ------
    UsageError
        If a setting is unknown.
    InputError
        If the objective needs data that the instance does not have.
    """
    read_words("interior_point", control.limits.options, SETTINGS)
    return run_by(
        lambda division: solve_interior(division, stop=control.stopped),
        "interior_point",
        problem,
        control,
    )
