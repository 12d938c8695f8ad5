"""Method ``auto`` of coded jobs: the method that suits the task."""

from __future__ import annotations

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import Elastic, Gradient
from allocsolve.models.coded.problem import CodedProblem, Feature
from allocsolve.solvers.control import Outcome, RealControl

__all__ = ["solve"]


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Solve a coded job."""
    if Feature.SEQUENTIAL in problem.features:
        from allocsolve.solvers.coded import rounds

        return rounds.solve(problem, control)
    if Feature.ERROR in problem.features:
        from allocsolve.solvers.coded import approximate

        return approximate.solve(problem, control)
    if isinstance(problem.task, Gradient):
        from allocsolve.solvers.coded import partitions

        return partitions.solve(problem, control)
    if isinstance(problem.task, Elastic):
        from allocsolve.solvers.coded import elastic

        if {Feature.HOLDS, Feature.BUDGET} & problem.features:
            return elastic.elastic_program(problem, control)
        return elastic.water_filling(problem, control)
    from allocsolve.solvers.coded import optimise

    return optimise.solve(problem, control)
