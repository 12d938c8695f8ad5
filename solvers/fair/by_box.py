"""Method ``price_box``: large divisions reduced exactly by a box around their prices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.problem import FairProblem
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.fair.price_box import solve_in_box
from allocsolve.solvers.fair.settings import read_words
from allocsolve.solvers.fair.structured import run_by

__all__ = ["SETTINGS", "solve"]

SETTINGS: Mapping[str, Sequence[str]] = {}


def solve(problem: FairProblem, control: RealControl[FairAnswer]) -> Outcome:
    """Solve a division with logarithmic gains or a level.

    Raises
    ------
    UsageError
        If a setting is unknown.
    InputError
        If the objective needs data that the instance does not have.
    """
    read_words("price_box", control.limits.options, SETTINGS)
    return run_by(
        lambda division: solve_in_box(division, seed=control.limits.seed, stop=control.stopped),
        "price_box",
        problem,
        control,
    )
