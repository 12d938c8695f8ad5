"""``solve --robust``: the choice by a quantile as a method around another one.

So it has the limits, the warm start, the bound and the independent check of every other
method. The method inside looks for the schedule that is best as planned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar, cast

from allocsolve.api.laws import LawLike, law_of, shown_law
from allocsolve.api.request import Request
from allocsolve.models.dag.answer import DagResult, Robustness, Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.result import Result
from allocsolve.solvers.control import Control, Outcome
from allocsolve.solvers.dag.robust import RobustRequest, choose
from allocsolve.solvers.routes import Method, Solve

__all__ = ["RobustMethod", "robust_request"]

ResultT = TypeVar("ResultT", bound=Result[object])


def robust_request(robust: float | str | None, law: LawLike | None) -> RobustRequest | None:
    """Return what is asked of the choice, None if it is not asked for.

    Parameters
    ----------
    robust
        The quantile, or the text ``q=0.95``.
    law
        Law of every node, None for those of the instance.

    Raises
    ------
    UsageError
        If the quantile is none, or there is a law without a quantile.
    InputError
        If a record of a law is wrong.
    """
    if robust is None:
        if law is not None:
            raise UsageError("a law has no influence on solve without robust\n  allowed: both")
        return None
    return RobustRequest(_quantile(robust), law_of(law))


def _quantile(robust: float | str) -> float:
    if not isinstance(robust, str):
        return robust
    match = re.fullmatch(r"\s*q\s*=\s*(\d*\.?\d+)\s*", robust)
    if match is None or not 0 < float(match[1]) < 1:
        raise UsageError(f"robust '{robust}' is not allowed\n  allowed: q=0.95, between 0 and 1")
    return float(match[1])


@dataclass(frozen=True)
class RobustMethod(Method):
    """A method around which the choice by a quantile is made.

    Attributes
    ----------
    inner
        Looks for the schedule that is best as planned.
    request
        What is asked.
    found
        Holds what the choice was, after the run.
    """

    inner: Method
    request: RobustRequest
    found: list[Robustness] = field(default_factory=list, compare=False)

    @classmethod
    def around(cls, method: Method, problem: object, request: Request) -> RobustMethod:
        """Return the method with the choice around it.

        Raises
        ------
        UsageError
            If the problem is no schedule, or nothing of it is random.
        """
        if request.robust is None or not isinstance(problem, DagProblem):
            kind = getattr(problem, "kind", "")
            what = f"robust chooses among schedules, and kind '{kind}' has none"
            raise UsageError(f"{what}\n  allowed: kind dag")
        if not request.robust.is_random(problem):
            raise UsageError(
                "robust needs something random"
                "\n  allowed: a law, or an instance with runtimes or processes of nodes"
            )
        common = {one.name: getattr(method, one.name) for one in fields(Method)}
        return cls(**common, inner=method, request=request.robust)

    def load(self) -> Solve:
        """Return the function that makes the choice."""
        inner = self.inner.load()

        def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
            outcome, robustness = choose(problem, control, inner, self.request)
            if robustness is not None:
                self.found.append(replace(robustness, law=shown_law(self.request.law)))
            return outcome

        return solve

    def told(self, result: ResultT) -> ResultT:
        """Return the result with what the choice was."""
        if not self.found or not isinstance(result, DagResult) or result.answer is None:
            return result
        return cast("ResultT", result.replace(robust=self.found[-1]))
