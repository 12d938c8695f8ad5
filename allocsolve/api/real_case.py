"""Runs of the kinds whose objectives are real numbers."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar, Protocol, TypeVar, cast

from allocsolve.api.case import Case
from allocsolve.api.given import Answer, claim_of
from allocsolve.instances.kinds import Problem
from allocsolve.models.claims import PROVED
from allocsolve.models.result import InstanceInfo, Sense

__all__ = ["RealCase", "RealProblem"]


class RealProblem(Protocol):
    """A problem that knows its origin."""

    @property
    def origin(self) -> InstanceInfo:
        """Where the instance came from."""
        ...

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was repaired or left out while reading."""
        ...


ProblemT = TypeVar("ProblemT", bound=RealProblem)
AnswerT = TypeVar("AnswerT")


class RealCase(Case[ProblemT, AnswerT]):
    """A problem whose costs are values of the objective, negative if it is to be maximised.

    Attributes
    ----------
    noun
        What an answer is called.
    """

    noun: ClassVar[str]

    @property
    def origin(self) -> InstanceInfo:
        """Where the instance came from."""
        return self.problem.origin

    @property
    def warnings(self) -> Sequence[str]:
        """What was repaired or left out while reading."""
        return self.problem.warnings

    @abstractmethod
    def value(self, answer: AnswerT) -> float:
        """Return the value of the objective."""

    @abstractmethod
    def placed(self, given: object) -> AnswerT | None:
        """Return what is taken and right as the kind holds it."""

    def cost(self, answer: AnswerT) -> float:
        """Return the value of an answer, turned round if it is to be maximised."""
        return self.signed(self.value(answer))

    def number(self, cost: float) -> float:
        """Return the value that a cost stands for."""
        return self.signed(cost) + 0.0  # no negative zero

    def signed(self, value: float) -> float:
        """Return the cost that a value stands for."""
        return -value if self.sense is Sense.MAX else value

    def prepare(self, start: object) -> tuple[AnswerT | None, list[str]]:
        """Return a checked answer to start from, None if it breaks a rule, and warnings.

        Raises
        ------
        InputError
            If a document cannot be read.
        UsageError
            If the start is nothing that can be an answer.
        """
        given = claim_of(cast("Problem", self.problem), cast("Answer", start)).answer
        if given is None:
            return None, [f"the warm start holds no {self.noun} and is not used"]
        report = self.report(given)
        if not report.valid:
            return None, [f"the warm start is not used: {report.violations[0].message}"]
        return self.placed(given), []

    def slack(self, cost: float, bound: float) -> float:
        """Return the distance up to which a continuous objective counts as proved."""
        return self.tolerance * (self.gap_scale or max(abs(cost), abs(bound)))

    @property
    def tolerance(self) -> float:
        """The tolerance of a proof."""
        return PROVED
