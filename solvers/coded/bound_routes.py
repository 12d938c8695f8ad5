"""Bounds of coded jobs on their own, without a search for answers."""

from __future__ import annotations

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import Elastic, Gradient
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.result import RealBound
from allocsolve.solvers.coded import auto
from allocsolve.solvers.coded.bounding import bound_cost
from allocsolve.solvers.coded.compare import compare
from allocsolve.solvers.coded.ground import Ground, ready_loops
from allocsolve.solvers.control import RealControl

__all__ = ["bounds_of"]

_KNOWN = 0.5
"""Share of the time that rules may take for an answer, by which the times of a bound are chosen."""


def bounds_of(problem: CodedProblem, control: RealControl[CodedAnswer]) -> list[RealBound]:
    """Return the bounds that runs of ``auto`` begin with, without their search.

    Raises
    ------
    UsageError
        If there is none; the message says why.
    """
    if isinstance(problem.task, Gradient | Elastic):
        _bound_worst_case(problem, control)
    else:
        _bound_products(problem, control)
    if control.bound is None:
        why = "the time limit came before it" if control.stopped() else "none is known for this job"
        raise UsageError(f"no bound on objective '{problem.objective_name}': {why}")
    bound = control.bound
    return [RealBound(bound.value, bound.source, bound.detail)]


def _bound_worst_case(problem: CodedProblem, control: RealControl[CodedAnswer]) -> None:
    """Bound the worst case by the programs that place partitions or pieces, which prove it."""
    if problem.objective_name != "worst_case":
        task = "gradients" if isinstance(problem.task, Gradient) else "elastic jobs"
        raise UsageError(
            f"no bound on objective '{problem.objective_name}' of {task} is known; of these the "
            "objective 'worst_case' is bounded"
        )
    auto.solve(problem, control)


def _bound_products(problem: CodedProblem, control: RealControl[CodedAnswer]) -> None:
    ground = Ground(problem, control)
    with ready_loops(ground):
        if ground.hurried:
            raise UsageError(
                f"no bound: {'; '.join(ground.warnings) or 'there is too little time'}"
            )
        if problem.objective_name in ("mean", "quantile") and problem.arrays.scenarios is None:
            with ground.part_of_time(_KNOWN):
                compare(ground, offer=True)
            if control.answer is None:
                raise UsageError(
                    "no bound: no rule gives loads that keep all limits, and their law says where "
                    "to look for it"
                )
        bound_cost(ground)
