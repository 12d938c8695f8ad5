"""Deadlines that contradict each other: which, and how far they must move."""

from __future__ import annotations

import numpy as np

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.objectives import required
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reason_types import SloConflict
from allocsolve.models.fair.verify import verify_reason
from allocsolve.solvers.control import RealControl
from allocsolve.solvers.engines.conic import ConicStatus, solve_program

__all__ = ["find_conflict"]

_NOTHING = 1e-9
"""Part of the whole price of the needs below which a job has no part in a conflict."""


def find_conflict(
    problem: FairProblem, control: RealControl[FairAnswer], solver: str = "auto"
) -> SloConflict | None:
    """Return jobs whose deadlines need more than the stock, with the prices that prove it.

    They are the jobs that bound the largest part t of all needs which can be met together;
    with all deadlines 1/t times as far away there is an allocation. None if that program is
    not solved or proves nothing.
    """
    from allocsolve.models.fair.convex_levels import least_relaxation

    program, decode = least_relaxation(problem)
    run = solve_program(program, control, solver)
    if run.status not in (ConicStatus.SOLVED, ConicStatus.INACCURATE):
        return None
    found, part = decode(), float(program.value)
    price = found.job_prices * required(problem)
    jobs = np.flatnonzero(price > _NOTHING * price.sum()).tolist()
    prices = zip(problem.type_ids, found.prices.tolist(), strict=True)
    reason = SloConflict(
        jobs=[problem.job_ids[i] for i in jobs],
        prices={token: value for token, value in prices if value > 0},
        relaxation=1 / part if part > 0 else None,
    )
    return reason if verify_reason(problem, reason) else None
