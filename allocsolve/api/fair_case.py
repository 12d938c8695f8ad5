"""Runs of kind ``fair``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, cast

from allocsolve.api.case import Ending
from allocsolve.api.real_case import RealCase
from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.fair.allocation import Allocation, place
from allocsolve.models.fair.answer import FairAnswer, FairResult
from allocsolve.models.fair.bounds import lower_bounds
from allocsolve.models.fair.check import check
from allocsolve.models.fair.claims import check_claims
from allocsolve.models.fair.kkt import kkt_residuals
from allocsolve.models.fair.objectives import evaluate, gap_scale, sense_of
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reasons import find_reason
from allocsolve.models.fair.settings import OBJECTIVE_NAMES, SETTING_NAMES
from allocsolve.models.fair.verify import verify_reason
from allocsolve.models.result import (
    BoundOf,
    CheckReport,
    RealBound,
    Reason,
    Violation,
)
from allocsolve.report.claims import Claim

if TYPE_CHECKING:
    from allocsolve.models.fair.settings import Settings

__all__ = ["FairCase"]


class FairCase(RealCase[FairProblem, FairAnswer]):
    """A ``fair`` problem with its objective; costs are values, negative if to be maximised.

    Raises
    ------
    UsageError
        If objective or settings are not known.
    """

    kind = "fair"
    noun = "allocation"
    settings_known = tuple(SETTING_NAMES)

    def __init__(
        self, problem: FairProblem, objective: str | None, options: Mapping[str, str]
    ) -> None:
        self.objective = objective or problem.goal.name
        if self.objective not in OBJECTIVE_NAMES:
            raise UsageError(
                f"unknown objective '{self.objective}'{suggest(self.objective, OBJECTIVE_NAMES)}"
                f" (known: {', '.join(OBJECTIVE_NAMES)})"
            )
        own = {name: value for name, value in options.items() if name in SETTING_NAMES}
        self.settings: Settings = problem.settings.with_options(own)
        self.problem = problem.aiming_at(self.objective, self.settings)
        self.sense = sense_of(problem, self.objective)

    def reason(self) -> Reason | None:
        """Return why there is no allocation, None if that is not seen at once."""
        return find_reason(self.problem, self.objective)

    def is_verified(self, reason: Reason) -> bool:
        """Whether the checker accepts the reason."""
        return verify_reason(self.problem, reason)

    def bounds(self) -> Sequence[BoundOf[float]]:
        """Return bounds on the cost, the best first."""
        found = lower_bounds(self.problem, self.objective, self.settings)
        return [RealBound(self.signed(b.value), b.source, b.detail) for b in found]

    def value(self, answer: FairAnswer) -> float:
        """Return the value of an allocation."""
        return evaluate(answer, self.objective, self.settings)

    def report(self, answer: object) -> CheckReport:
        """Return what the checker says of an allocation."""
        given = cast("Allocation | FairAnswer", answer)
        return check(self.problem, given, name=self.objective, settings=self.settings)

    def judge_claims(self, claim: Claim[object], report: CheckReport | None) -> list[Violation]:
        """Return what is wrong with the claims about an allocation."""
        return check_claims(
            self.problem,
            self.placed(claim.answer),
            report,
            self.claims(claim),
            name=self.objective,
            settings=self.settings,
        )

    def placed(self, given: object) -> FairAnswer | None:
        """Return an allocation by numbers; None if its ids do not fit, or it is none."""
        if isinstance(given, Allocation):
            return place(self.problem, given).answer
        return given if isinstance(given, FairAnswer) else None

    def result(self, answer: FairAnswer | None, ending: Ending) -> FairResult:
        """Return the result."""
        common = {field.name: getattr(ending, field.name) for field in fields(ending)}
        return FairResult(kind="fair", answer=answer, **common)

    def kkt_residual(self, answer: FairAnswer) -> float | None:
        """Return the worst residual of Karush, Kuhn and Tucker; None without prices."""
        found = kkt_residuals(answer, self.objective, self.settings)
        return found.worst if found is not None and math.isfinite(found.worst) else None

    @property
    def objective_settings(self) -> Mapping[str, str | float]:
        """Every setting of the objective, so that a document means the same by itself."""
        return asdict(self.settings)

    @property
    def gap_scale(self) -> float | None:
        """The sum of the weights for Nash welfare, whose value is a sum of logarithms."""
        return gap_scale(self.problem, self.objective) or None
