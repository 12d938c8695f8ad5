"""Method ``auto`` of coded jobs: the method that suits the task."""

from __future__ import annotations

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.solvers.coded import optimise
from allocsolve.solvers.control import Outcome, RealControl

__all__ = ["solve"]


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Solve a coded job."""
    return optimise.solve(problem, control)
