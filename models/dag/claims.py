"""What a result claims about its schedule, compared with what the checker found."""

from __future__ import annotations

import math
from functools import partial

from allocsolve.models.claims import Claims, Measures, judge_claims
from allocsolve.models.dag.data import DagData
from allocsolve.models.dag.verify import verify_reason
from allocsolve.models.result import CheckReport, Sense, Violation

__all__ = ["check_claims"]

_ROUNDING = 1e-12
"""Relative error that writing an exact fraction as a decimal may leave."""


def check_claims(problem: DagData, report: CheckReport | None, claims: Claims) -> list[Violation]:
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
    measures = Measures(Sense.MIN, _equal, _equal, partial(verify_reason, problem))
    return judge_claims(report, claims, measures)


def _equal(a: int | float, b: int | float) -> bool:
    """Compare integers exactly, fractions up to the rounding of a decimal."""
    if isinstance(a, int) and isinstance(b, int):
        return a == b
    return math.isclose(a, b, rel_tol=_ROUNDING)
