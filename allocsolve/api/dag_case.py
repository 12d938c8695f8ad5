"""Runs of kind ``dag``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from fractions import Fraction
from typing import cast

from allocsolve.api.case import Case, Ending
from allocsolve.api.given import Answer
from allocsolve.api.warm import prepare
from allocsolve.models.dag.answer import DagResult, Schedule, ScheduledTask
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.check import check, check_claims, verify_reason
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason
from allocsolve.models.dag.surplus import core_of
from allocsolve.models.errors import SolverMissing, UsageError
from allocsolve.models.exact import plain
from allocsolve.models.result import BoundOf, CheckReport, InstanceInfo, Reason, Violation
from allocsolve.report.claims import Claim
from allocsolve.solvers.control import Control, ControlOf, Event, Limits, Token
from allocsolve.solvers.routes import BOUNDS

__all__ = ["DagCase"]


class DagCase(Case[DagProblem, Schedule]):
    """A ``dag`` problem with its objective; costs are ticks of its time grid."""

    kind = "dag"
    missing = "missing_task"

    def __init__(
        self,
        problem: DagProblem,
        objective: str | None,
        options: Mapping[str, str],  # noqa: ARG002  # no objective of this kind has settings
    ) -> None:
        self.problem = problem
        self.objective = objective or "makespan"
        self._core = core_of(problem)

    def control(
        self, limits: Limits, token: Token, listener: Callable[[Event], None]
    ) -> ControlOf[Schedule, float]:
        """Return what keeps the best schedule; its costs are whole ticks."""
        return cast("ControlOf[Schedule, float]", Control[Schedule](limits, token, listener))

    @property
    def asked(self) -> DagProblem:
        """The problem without nodes that no schedule needs."""
        return self._core.problem

    def lift(self, answer: Schedule) -> Schedule:
        """Return a schedule on some of the nodes as one on all of them."""
        return self._core.lift(answer)

    def lower(self, answer: Schedule) -> Schedule:
        """Return a schedule as one on the nodes that are kept."""
        return self._core.lower(answer)

    @property
    def origin(self) -> InstanceInfo:
        """Where the instance came from."""
        return self.problem.origin

    @property
    def warnings(self) -> Sequence[str]:
        """What was repaired or left out while reading."""
        return self.problem.warnings

    def reason(self) -> Reason | None:
        """Return why there is no schedule, None if that is not seen at once."""
        return find_reason(self.asked)

    def is_verified(self, reason: Reason) -> bool:
        """Whether the checker accepts the reason."""
        return verify_reason(self.problem, reason)

    def bounds(self) -> Sequence[BoundOf[float]]:
        """Return bounds in ticks, the best first.

        Raises
        ------
        UsageError
            If no bound is known for the objective.
        """
        if self.objective != "makespan":
            what = f"no bound is known for objective '{self.objective}'"
            raise UsageError(f"{what}; allowed: makespan")
        return cast("Sequence[BoundOf[float]]", lower_bounds(self.asked))

    def engine_bounds(self, limits: Limits, token: Token) -> Iterator[BoundOf[float]]:
        """Yield bounds in ticks that need an engine, those that are installed."""
        for way in (way for way in BOUNDS if way.kind == self.kind):
            with suppress(SolverMissing):  # the bounds that need no engine are there all the same
                yield from way.load()(self.asked, Control[Schedule](limits, token))

    def cost(self, answer: Schedule) -> int:
        """Return the makespan in ticks."""
        return answer.makespan

    def number(self, cost: float) -> int | float:
        """Return ticks in units of the input."""
        return plain(self.problem.units(int(cost)))

    def exact(self, cost: float) -> Fraction:
        """Return ticks in units of the input, exactly."""
        return self.problem.units(int(cost))

    def report(self, answer: object) -> CheckReport:
        """Return what the checker says of a schedule or of its entries."""
        entries = answer.entries() if isinstance(answer, Schedule) else answer
        return check(self.problem, tuple(cast("Sequence[ScheduledTask]", entries)))

    def is_value(self, value: float, known: float) -> bool:
        """Whether a makespan is the one that the checker found, exactly."""
        return value == known

    def judge_claims(self, claim: Claim[object], report: CheckReport | None) -> list[Violation]:
        """Return what is wrong with the claims about a schedule.

        Raises
        ------
        UsageError
            If they are about an objective that cannot be checked.
        """
        if self.objective != "makespan":
            raise UsageError(f"objective '{self.objective}' cannot be checked; allowed: makespan")
        return check_claims(self.problem, report, self.claims(claim))

    def prepare(self, start: object) -> tuple[Schedule | None, list[str]]:
        """Return a checked schedule to start from, mended if need be, and warnings."""
        return prepare(self.problem, cast("Answer", start))

    def result(self, answer: Schedule | None, ending: Ending) -> DagResult:
        """Return the result."""
        common = {field.name: getattr(ending, field.name) for field in fields(ending)}
        return DagResult(kind="dag", answer=answer, **common)
