"""Why no loads are complete by a deadline as likely as the objective ``cost`` asks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from allocsolve.models.coded.data import ObjectiveSpec
from allocsolve.models.coded.deadlines import most_likely
from allocsolve.models.coded.reason_types import DeadlineOutOfReach
from allocsolve.models.exact import exact, plain
from allocsolve.models.result import Reason, SolverProof
from allocsolve.solvers.coded.bounding import bound_cost
from allocsolve.solvers.coded.compare import compare
from allocsolve.solvers.coded.ground import Ground
from allocsolve.solvers.control import RealControl

__all__ = ["out_of_reach", "told_proof"]

_CLEAR = 1e-9
"""Difference of probabilities that is no rounding."""


def out_of_reach(ground: Ground) -> DeadlineOutOfReach | None:
    """Return a reason that the checker can verify, None if it needs a search or there is an answer.

    The reason needs no answer of other loads: no rows are done sooner than they can be.
    """
    goal, problem = ground.problem.objective, ground.problem
    if problem.objective_name != "cost" or ground.control.answer is not None:
        return None
    assert goal.deadline is not None
    assert goal.confidence is not None
    most = most_likely(problem, float(goal.deadline))
    if most is None or most >= float(goal.confidence) - 2 * _CLEAR:
        return None
    return DeadlineOutOfReach(
        deadline=plain(exact(goal.deadline)),
        confidence=plain(exact(goal.confidence)),
        probability=most,
    )


def told_proof(ground: Ground, solver: str, finish: Callable[[Ground], None]) -> Reason | None:
    """Return what is known of a job of which a search has proved that no loads are good enough.

    Parameters
    ----------
    finish
        Looks at all loads where they are few.

    Returns
    -------
    Reason or None
        A proof by search with the best probability of all loads, which a run with the objective
        ``deadline_probability`` finds again; None if that was not found in time.
    """
    goal, problem = ground.problem.objective, ground.problem
    reason = out_of_reach(ground)
    if reason is not None or problem.objective_name != "cost":
        return reason
    assert goal.deadline is not None
    assert goal.confidence is not None
    aim = ObjectiveSpec(name="deadline_probability", deadline=goal.deadline)
    limits = replace(ground.control.limits, gap=0.0)
    trial = Ground(problem.replace(objective=aim), RealControl(limits, ground.control.token))
    compare(trial, offer=True)
    bound_cost(trial)
    finish(trial)
    value, bound = trial.control.value, trial.control.bound
    if value is None or bound is None:
        return None
    best = f"the best is {-value:.6g}"
    if not trial.control.is_proven():
        best = f"{-value:.6g} was found, and no more than {-bound.value:.6g} is possible"
    asked = f"P(T <= {float(goal.deadline):.9g}) >= {float(goal.confidence):.9g}"
    return SolverProof(solver=solver, detail=f"no loads reach {asked}; {best}")
