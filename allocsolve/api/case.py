"""A problem with what is asked of it: the part of a run that differs between problem kinds."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from allocsolve.models.claims import Claims
from allocsolve.models.exact import Number, plain
from allocsolve.models.result import (
    BoundOf,
    Certificate,
    CheckReport,
    InstanceInfo,
    Objective,
    Reason,
    Result,
    Sense,
    SolverInfo,
    Status,
    Termination,
    Violation,
)
from allocsolve.report.claims import Claim
from allocsolve.solvers.control import ControlOf, Event, Limits, Outcome, RealControl, Token

__all__ = ["Case", "Ending"]

ProblemT = TypeVar("ProblemT")
AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class Ending:
    """Everything of a result but the answer, the same for every kind."""

    method: str
    status: Status
    termination: Termination
    objective: Objective
    certificate: Certificate
    solver: SolverInfo
    deterministic: bool
    instance: InstanceInfo
    timing: dict[str, float]
    warnings: tuple[str, ...]


class Case(ABC, Generic[ProblemT, AnswerT]):
    """A problem with an objective.

    Methods of solvers minimise a **cost**: ticks for kind ``dag``; for the others the objective
    value, with its sign turned round if it is to be maximised.

    Attributes
    ----------
    problem
        As it was read.
    objective
        Name of the objective.
    sense
        Its direction.
    missing
        The rule that is broken where there is no answer.
    settings_known
        Names of the settings that its objectives have.
    """

    kind: str
    problem: ProblemT
    objective: str
    sense: Sense = Sense.MIN
    missing: str = "missing_answer"
    settings_known: ClassVar[Sequence[str]] = ()

    def control(
        self, limits: Limits, token: Token, listener: Callable[[Event], None]
    ) -> ControlOf[AnswerT, float]:
        """Return what keeps the best answer of a run."""
        return RealControl(limits, token, listener)

    @property
    def asked(self) -> ProblemT:
        """What a method is given: the problem, or an equivalent smaller one."""
        return self.problem

    def lift(self, answer: AnswerT) -> AnswerT:
        """Return an answer of :attr:`asked` as one of the problem."""
        return answer

    def lower(self, answer: AnswerT) -> AnswerT:
        """Return an answer of the problem as one of :attr:`asked`."""
        return answer

    @property
    @abstractmethod
    def origin(self) -> InstanceInfo:
        """Where the instance came from."""

    @property
    @abstractmethod
    def warnings(self) -> Sequence[str]:
        """What was repaired or left out while reading."""

    @abstractmethod
    def reason(self) -> Reason | None:
        """Return why there is no answer, None if that is not seen at once."""

    @abstractmethod
    def is_verified(self, reason: Reason) -> bool:
        """Whether the checker accepts the reason."""

    @abstractmethod
    def bounds(self) -> Sequence[BoundOf[float]]:
        """Return bounds on the cost that are found at once, the best first."""

    def engine_bounds(
        self,
        limits: Limits,  # noqa: ARG002  # for others
        token: Token,  # noqa: ARG002  # likewise
    ) -> Iterator[BoundOf[float]]:
        """Yield bounds on the cost that need an engine, those that are installed."""
        yield from ()

    @property
    def why_unbounded(self) -> str:
        """Why :meth:`bounds` and :meth:`engine_bounds` gave nothing, as a sentence."""
        return f"no bound on objective '{self.objective}' is known for this instance"

    @abstractmethod
    def cost(self, answer: AnswerT) -> float:
        """Return the cost of an answer."""

    @abstractmethod
    def number(self, cost: float) -> int | float:
        """Return a cost as a value of the objective, in units of the input."""

    def exact(self, cost: float) -> Number:
        """Return likewise, without rounding."""
        return self.number(cost)

    @abstractmethod
    def report(self, answer: object) -> CheckReport:
        """Return what the independent checker says of anything that claims to be an answer."""

    def caveats(self, answer: object) -> list[str]:  # noqa: ARG002  # for others
        """Return what the checker did not try, of an answer that it accepts."""
        return []

    def claims(self, claim: Claim[object]) -> Claims:
        """Return what is claimed in the numbers that results hold."""
        return Claims(
            status=claim.status,
            value=None if claim.value is None else plain(claim.value),
            bound=None if claim.bound is None else plain(claim.bound),
            reason=claim.reason,
            sense=claim.sense,
            gap=claim.gap,
        )

    @abstractmethod
    def judge_claims(self, claim: Claim[object], report: CheckReport | None) -> list[Violation]:
        """Return what is wrong with the claims about an answer; ``report`` is that of its check."""

    def violations(self, answer: AnswerT) -> list[str]:
        """Return what the checker finds wrong with an answer of a method, a line for each rule."""
        report = self.report(answer)
        found = [f"{violation.rule}: {violation.message}" for violation in report.violations]
        value = self.number(self.cost(answer))
        if not found and report.value is not None and not self.is_value(value, report.value):
            found.append(f"objective_value: {value} instead of {report.value}")
        return found

    def is_value(self, value: float, known: float) -> bool:
        """Whether a value is the one that the checker found, up to rounding."""
        return math.isclose(value, known, rel_tol=1e-9, abs_tol=1e-12)

    @abstractmethod
    def prepare(self, start: object) -> tuple[AnswerT | None, list[str]]:
        """Return a checked answer to start from, None if nothing can be used, and warnings.

        Raises
        ------
        InputError
            If a document cannot be read.
        """

    def note(self, outcome: Outcome) -> None:  # most kinds have nothing to note
        """Look at how the method ended, before the result is asked for."""

    @abstractmethod
    def result(self, answer: AnswerT | None, ending: Ending) -> Result[AnswerT]:
        """Return the result of the kind."""

    def slack(self, cost: float, bound: float) -> float:  # noqa: ARG002  # for others
        """Return by how much cost and bound may differ and still count as equal."""
        return 0.0

    @property
    def tolerance(self) -> float:
        """The tolerance of a proof as the certificate states it."""
        return 0

    @property
    def objective_settings(self) -> Mapping[str, str | float]:
        """What the name of the objective leaves open, with what was chosen; as options take it."""
        return {}

    def kkt_residual(self, answer: AnswerT) -> float | None:  # noqa: ARG002 - kinds have prices
        """Return how far an answer with its prices is from the conditions of optimality."""
        return None

    @property
    def gap_scale(self) -> float | None:
        """What a gap is relative to; None for the larger of value and bound."""
        return None
