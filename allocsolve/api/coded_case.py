"""Runs of kind ``coded``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import cast

import msgspec

from allocsolve.api.case import Ending
from allocsolve.api.real_case import RealCase
from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.check import check, check_claims, verify_reason
from allocsolve.models.coded.data import OBJECTIVE_SETTINGS, OBJECTIVES, ObjectiveSpec
from allocsolve.models.coded.judge_parts import decoding_caveat
from allocsolve.models.coded.measures import measure
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.reasons import find_reason
from allocsolve.models.coded.value import objective_value
from allocsolve.models.errors import InputError, SolverMissing, UsageError, suggest
from allocsolve.models.result import BoundOf, CheckReport, Reason, Violation
from allocsolve.report.claims import Claim
from allocsolve.solvers.control import Limits, Outcome, RealControl, Token
from allocsolve.solvers.routes import BOUNDS

__all__ = ["CodedCase"]


class CodedCase(RealCase[CodedProblem, CodedAnswer]):
    """A ``coded`` problem with its objective; costs are values, negative if to be maximised.

    Raises
    ------
    UsageError
        If the objective is not known.
    """

    kind = "coded"
    noun = "assignment"
    settings_known = OBJECTIVE_SETTINGS

    def __init__(
        self, problem: CodedProblem, objective: str | None, options: Mapping[str, str]
    ) -> None:
        own = _changes(problem.objective, options)
        if objective is not None or own:
            problem = _aimed(problem, _goal(problem.objective, objective, own))
        self.problem = problem
        self.objective = problem.objective_name
        self.sense = problem.sense
        self._baselines: Mapping[str, float | None] = {}
        self._known: tuple[CodedAnswer, float] | None = None
        self._unbounded: str | None = None

    def reason(self) -> Reason | None:
        """Return why there is no assignment, None if that is not seen at once."""
        return find_reason(self.problem)

    def is_verified(self, reason: Reason) -> bool:
        """Whether the checker accepts the reason."""
        return verify_reason(self.problem, reason)

    def bounds(self) -> Sequence[BoundOf[float]]:
        """Return no bounds: those on the completion law take time."""
        return ()

    def engine_bounds(self, limits: Limits, token: Token) -> Iterator[BoundOf[float]]:
        """Yield bounds from the true laws, or keep why there are none."""
        for way in (way for way in BOUNDS if way.kind == self.kind):
            try:
                yield from way.load()(self.problem, RealControl[CodedAnswer](limits, token))
            except (SolverMissing, UsageError) as error:
                self._unbounded = str(error)

    @property
    def why_unbounded(self) -> str:
        """Why there are no bounds."""
        return self._unbounded or "bounds of coded jobs take time, and the time limit is 0"

    def value(self, answer: CodedAnswer) -> float:
        """Return the value of an assignment."""
        if self._known is None or self._known[0] != answer:
            self._known = answer, objective_value(self.problem, answer)
        return self._known[1]

    def report(self, answer: object) -> CheckReport:
        """Return what the checker says of an assignment."""
        found = check(self.problem, cast("CodedAnswer", answer))
        if found.value is not None:
            self._known = cast("CodedAnswer", answer), found.value
        return found

    def caveats(self, answer: object) -> list[str]:
        """Return how far it was tried that a gradient decodes, where that is no proof."""
        caveat = decoding_caveat(self.problem, cast("CodedAnswer", answer))
        return [] if caveat is None else [caveat]

    def judge_claims(self, claim: Claim[object], report: CheckReport | None) -> list[Violation]:
        """Return what is wrong with the claims about an assignment."""
        return check_claims(self.problem, report, self.claims(claim))

    def placed(self, given: object) -> CodedAnswer | None:
        """Return an assignment as it is."""
        return given if isinstance(given, CodedAnswer) else None

    def note(self, outcome: Outcome) -> None:
        """Keep the values of the rules that the answer was compared with."""
        self._baselines = outcome.baselines

    @property
    def objective_settings(self) -> Mapping[str, float]:
        """Quantile, deadline and confidence, as far as they are set."""
        goal = self.problem.objective or ObjectiveSpec()
        stated = {name: getattr(goal, name) for name in OBJECTIVE_SETTINGS}
        return {name: float(value) for name, value in stated.items() if value is not None}

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


def _changes(given: ObjectiveSpec | None, options: Mapping[str, str]) -> dict[str, float]:
    """Return the settings among the options that differ from what the instance says."""
    wanted = {
        name: _number(name, text) for name, text in options.items() if name in OBJECTIVE_SETTINGS
    }
    goal = given or ObjectiveSpec()
    stated = {name: getattr(goal, name) for name in wanted}
    return {
        name: value
        for name, value in wanted.items()
        if stated[name] is None or float(stated[name]) != value
    }


def _aimed(problem: CodedProblem, goal: ObjectiveSpec) -> CodedProblem:
    """Return the problem with an objective that the caller, not its file, asks for."""
    try:
        return problem.replace(objective=goal)
    except InputError as error:
        raise UsageError(f"{error.what}\n  allowed: {error.allowed}") from None


def _goal(
    given: ObjectiveSpec | None, name: str | None, settings: Mapping[str, float]
) -> ObjectiveSpec:
    """Return the objective of the instance with what the run says instead."""
    if name is not None and name not in OBJECTIVES:
        raise UsageError(
            f"unknown objective '{name}'{suggest(name, OBJECTIVES)}"
            f" (known: {', '.join(OBJECTIVES)})"
        )
    changes: dict[str, object] = dict(settings)
    if name is not None:
        changes["name"] = name
    return msgspec.structs.replace(given or ObjectiveSpec(), **changes)


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{key} is '{text}'\n  allowed: a number") from None
