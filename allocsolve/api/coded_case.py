"""Runs of kind ``coded``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import cast

import msgspec

from allocsolve.api.case import Case, Ending
from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.check import check, check_claims, verify_reason
from allocsolve.models.coded.data import OBJECTIVES, ObjectiveSpec
from allocsolve.models.coded.measures import measure
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.reasons import find_reason
from allocsolve.models.coded.value import objective_value
from allocsolve.models.errors import InputError, UsageError, suggest
from allocsolve.models.exact import plain
from allocsolve.models.result import (
    BoundOf,
    CheckReport,
    InstanceInfo,
    Reason,
    Sense,
    Violation,
)
from allocsolve.report.claims import Claim
from allocsolve.report.coded_results import read_solution
from allocsolve.solvers.control import Outcome

__all__ = ["CodedCase"]

_SETTINGS = ("q", "deadline", "confidence")
_PROVED = 1e-8


class CodedCase(Case[CodedProblem, CodedAnswer]):
    """A ``coded`` problem with its objective; costs are values, negative if to be maximised.

    Raises
    ------
    UsageError
        If the objective is not known.
    """

    kind = "coded"

    def __init__(
        self, problem: CodedProblem, objective: str | None, options: Mapping[str, str]
    ) -> None:
        own = {name: value for name, value in options.items() if name in _SETTINGS}
        if objective is not None or own:
            problem = problem.replace(objective=_goal(problem.objective, objective, own))
        self.problem = problem
        self.objective = problem.objective_name
        self.sense = problem.sense
        self._baselines: Mapping[str, float | None] = {}

    @property
    def origin(self) -> InstanceInfo:
        """Where the instance came from."""
        return self.problem.origin

    @property
    def warnings(self) -> Sequence[str]:
        """What was repaired or left out while reading."""
        return self.problem.warnings

    def reason(self) -> Reason | None:
        """Return why there is no assignment, None if that is not seen at once."""
        return find_reason(self.problem)

    def is_verified(self, reason: Reason) -> bool:
        """Whether the checker accepts the reason."""
        return verify_reason(self.problem, reason)

    def bounds(self) -> Sequence[BoundOf[float]]:
        """Return no bounds: those on the completion law come with the methods."""
        return ()

    def cost(self, answer: CodedAnswer) -> float:
        """Return the value of an assignment, turned round if it is to be maximised."""
        return self._signed(objective_value(self.problem, answer))

    def number(self, cost: float) -> float:
        """Return the value that a cost stands for."""
        return self._signed(cost) + 0.0  # no negative zero

    def _signed(self, value: float) -> float:
        return -value if self.sense is Sense.MAX else value

    def report(self, answer: object) -> CheckReport:
        """Return what the checker says of an assignment."""
        return check(self.problem, cast("CodedAnswer", answer))

    def judge_claims(self, claim: Claim[object], report: CheckReport | None) -> list[Violation]:
        """Return what is wrong with the claims about an assignment."""
        about_answer = check_claims(
            self.problem,
            report,
            status=claim.status,
            value=None if claim.value is None else plain(claim.value),
            bound=None if claim.bound is None else plain(claim.bound),
            reason=claim.reason,
        )
        return [*about_answer, *self.judge_measures(claim)]

    def prepare(self, start: object) -> tuple[CodedAnswer | None, list[str]]:
        """Return a checked assignment to start from, None if it breaks a rule, and warnings.

        Raises
        ------
        InputError
            If a document cannot be read.
        """
        given = start.answer if isinstance(start, CodedResult) else start
        if isinstance(given, bytes):
            given = read_solution(given, self.problem).answer
        if given is None:
            return None, ["the warm start holds no assignment and is not used"]
        if not isinstance(given, CodedAnswer):
            raise InputError("a warm start is a result, an assignment or a solution document")
        report = self.report(given)
        if not report.valid:
            return None, [f"the warm start is not used: {report.violations[0].message}"]
        return given, []

    def note(self, outcome: Outcome) -> None:
        """Keep the values of the rules that the answer was compared with."""
        self._baselines = outcome.baselines

    def result(self, answer: CodedAnswer | None, ending: Ending) -> CodedResult:
        """Return the result, with the measures of its answer."""
        common = {field.name: getattr(ending, field.name) for field in fields(ending)}
        return CodedResult(
            kind="coded",
            answer=answer,
            metrics=None if answer is None else measure(self.problem, answer),
            baselines=dict(self._baselines),
            **common,
        )

    def slack(self, cost: float, bound: float) -> float:
        """Return the distance up to which a continuous objective counts as proved."""
        return _PROVED * max(abs(cost), abs(bound))

    @property
    def tolerance(self) -> float:
        """The tolerance of a proof."""
        return _PROVED


def _goal(
    given: ObjectiveSpec | None, name: str | None, options: Mapping[str, str]
) -> ObjectiveSpec:
    """Return the objective of the instance with what the run says instead."""
    if name is not None and name not in OBJECTIVES:
        raise UsageError(
            f"unknown objective '{name}'{suggest(name, OBJECTIVES)}"
            f" (known: {', '.join(OBJECTIVES)})"
        )
    changes: dict[str, object] = {key: _number(key, text) for key, text in options.items()}
    if name is not None:
        changes["name"] = name
    return msgspec.structs.replace(given or ObjectiveSpec(), **changes)


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{key} is '{text}'\n  allowed: a number") from None
