"""What a result claims about its assignment, compared with what the checker found."""

from __future__ import annotations

import math
from functools import partial

from allocsolve.models.claims import PROVED, Claims, Measures, judge_claims
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.verify import verify_reason
from allocsolve.models.result import CheckReport, Violation

__all__ = ["check_claims"]


def check_claims(
    problem: CodedProblem, report: CheckReport | None, claims: Claims
) -> list[Violation]:
    """Judge the claims of a result or of a solution document.

    Parameters
    ----------
    report
        Outcome of the check of the answer; None if there is no answer.

    Returns
    -------
    list of Violation
        As :func:`allocsolve.models.claims.judge_claims`.
    """
    measures = Measures(problem.sense, _equal, _equal, partial(verify_reason, problem))
    return judge_claims(report, claims, measures)


def _equal(a: int | float, b: int | float) -> bool:
    return math.isclose(a, b, rel_tol=PROVED, abs_tol=1e-12)
