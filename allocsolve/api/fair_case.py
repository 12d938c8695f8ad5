"""Runs of kind ``fair``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, cast

from allocsolve.api.case import Case, Ending
from allocsolve.models.errors import InputError, UsageError, suggest
from allocsolve.models.fair.allocation import Allocation, place
from allocsolve.models.fair.answer import FairAnswer, FairResult
from allocsolve.models.fair.bounds import lower_bounds
from allocsolve.models.fair.check import check
from allocsolve.models.fair.claims import PROVED, check_claims
from allocsolve.models.fair.data import Goal
from allocsolve.models.fair.objectives import counted, evaluate, sense_of
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reasons import find_reason
from allocsolve.models.fair.settings import OBJECTIVE_NAMES, SETTING_NAMES
from allocsolve.models.fair.verify import verify_reason
from allocsolve.models.result import (
    BoundOf,
    CheckReport,
    InstanceInfo,
    RealBound,
    Reason,
    Sense,
    Violation,
)
from allocsolve.report.claims import Claim
from allocsolve.report.fair_results import read_solution

if TYPE_CHECKING:
    from allocsolve.models.fair.settings import Settings

__all__ = ["FairCase"]

_NASH = ("nash", "nash_sharing_incentive")


class FairCase(Case[FairProblem, FairAnswer]):
    """A ``fair`` problem with its objective; costs are values, negative if to be maximised.

    Raises
    ------
    UsageError
        If objective or settings are not known.
    """

    kind = "fair"

    def __init__(
        self, problem: FairProblem, objective: str | None, options: Mapping[str, str]
    ) -> None:
        goal = problem.objective or Goal()
        self.objective = objective or goal.name
        if self.objective not in OBJECTIVE_NAMES:
            raise UsageError(
                f"unknown objective '{self.objective}'{suggest(self.objective, OBJECTIVE_NAMES)}"
                f" (known: {', '.join(OBJECTIVE_NAMES)})"
            )
        own = {name: value for name, value in options.items() if name in SETTING_NAMES}
        self.settings: Settings = problem.settings.with_options(own)
        self.problem = problem.aiming_at(self.objective, self.settings)
        self.sense = sense_of(problem, self.objective)

    @property
    def origin(self) -> InstanceInfo:
        """Where the instance came from."""
        return self.problem.origin

    @property
    def warnings(self) -> Sequence[str]:
        """What was repaired or left out while reading."""
        return self.problem.warnings

    def reason(self) -> Reason | None:
        """Return why there is no allocation, None if that is not seen at once."""
        return find_reason(self.problem, self.objective)

    def is_verified(self, reason: Reason) -> bool:
        """Whether the checker accepts the reason."""
        return verify_reason(self.problem, reason)

    def bounds(self) -> Sequence[BoundOf[float]]:
        """Return bounds on the cost, the best first."""
        found = lower_bounds(self.problem, self.objective, self.settings)
        return [RealBound(self._signed(b.value), b.source, b.detail) for b in found]

    def cost(self, answer: FairAnswer) -> float:
        """Return the value of an allocation, turned round if it is to be maximised."""
        return self._signed(evaluate(answer, self.objective, self.settings))

    def number(self, cost: float) -> float:
        """Return the value that a cost stands for."""
        return self._signed(cost) + 0.0  # no negative zero

    def _signed(self, value: float) -> float:
        return -value if self.sense is Sense.MAX else value

    def report(self, answer: object) -> CheckReport:
        """Return what the checker says of an allocation."""
        given = cast("Allocation | FairAnswer", answer)
        return check(self.problem, given, name=self.objective, settings=self.settings)

    def judge_claims(self, claim: Claim[object], report: CheckReport | None) -> list[Violation]:
        """Return what is wrong with the claims about an allocation."""
        return check_claims(
            self.problem,
            self._placed(claim.answer),
            report,
            self.claims(claim),
            name=self.objective,
            settings=self.settings,
        )

    def _placed(self, answer: object) -> FairAnswer | None:
        if isinstance(answer, Allocation):
            return place(self.problem, answer).answer
        return answer if isinstance(answer, FairAnswer) else None

    def prepare(self, start: object) -> tuple[FairAnswer | None, list[str]]:
        """Return a checked allocation to start from, None if it breaks a rule, and warnings.

        Raises
        ------
        InputError
            If a document cannot be read.
        """
        given = start.answer if isinstance(start, FairResult) else start
        if isinstance(given, bytes):
            given = read_solution(given, self.problem).answer
        if given is None:
            return None, ["the warm start holds no allocation and is not used"]
        if not isinstance(given, FairAnswer | Allocation):
            raise InputError("a warm start is a result, an allocation or a solution document")
        report = self.report(given)
        if not report.valid:
            return None, [f"the warm start is not used: {report.violations[0].message}"]
        return given if isinstance(given, FairAnswer) else place(self.problem, given).answer, []

    def result(self, answer: FairAnswer | None, ending: Ending) -> FairResult:
        """Return the result."""
        common = {field.name: getattr(ending, field.name) for field in fields(ending)}
        return FairResult(kind="fair", answer=answer, **common)

    def slack(self, cost: float, bound: float) -> float:
        """Return the distance up to which a continuous objective counts as proved."""
        return PROVED * (self.gap_scale or max(abs(cost), abs(bound)))

    @property
    def tolerance(self) -> float:
        """The tolerance of a proof."""
        return PROVED

    @property
    def gap_scale(self) -> float | None:
        """The sum of the weights for Nash welfare, whose value is a sum of logarithms."""
        if self.objective not in _NASH:
            return None
        arrays = self.problem.arrays
        return float(arrays.weight[counted(arrays)].sum()) or None
