"""What the rules of the literature answer to a coded job, for pictures and comparisons."""

from __future__ import annotations

import time
from collections.abc import Mapping

from allocsolve.api.coded_case import CodedCase
from allocsolve.api.given import Answer, claim_of
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.solvers.control import Limits, RealControl, Token

__all__ = ["aimed", "rule_answers"]


def aimed(problem: CodedProblem, answer: Answer) -> CodedProblem:
    """Return the problem with the objective that an answer was made for.

    A result or document names the objective of its run, which may be another one than that of
    the instance; any other answer leaves the problem as it is.
    """
    claim = claim_of(problem, answer)
    return CodedCase(problem, claim.objective, claim.options).problem


def rule_answers(
    problem: CodedProblem, *, time_limit: float | None = None, token: Token | None = None
) -> Mapping[str, CodedAnswer]:
    """Return the best answer of each rule of the literature, those of the best value first.

    Parameters
    ----------
    time_limit
        Seconds after which no further rule is begun; None for no limit. Without a limit the
        same problem gives the same answers.
    token
        Ends the search when it is cancelled.

    Returns
    -------
    Mapping
        By the name of the method; rules that give no answer within the limits of the problem
        are not there.
    """
    from allocsolve.solvers.coded.rule_answers import rule_answers as search

    limits = Limits(None if time_limit is None else time.monotonic() + time_limit)
    return search(problem, RealControl[CodedAnswer](limits, token))
