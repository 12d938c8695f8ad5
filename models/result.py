"""What a run gives back, whatever the problem kind: status, objective, certificate, result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Generic, Self, TypeAlias, TypeVar

import msgspec

from allocsolve.models.errors import CheckFailed, NoSolution

__all__ = [
    "Bound",
    "BoundOf",
    "Certificate",
    "CheckReport",
    "InstanceInfo",
    "Objective",
    "RealBound",
    "Reason",
    "Result",
    "Sense",
    "SolverInfo",
    "SolverProof",
    "Status",
    "Termination",
    "Violation",
    "relative_gap",
]

Scalar: TypeAlias = str | int | float | bool
AnswerT_co = TypeVar("AnswerT_co", covariant=True)
CostT_co = TypeVar("CostT_co", bound=float, covariant=True)


class Status(StrEnum):
    """What is known of the answer."""

    OPTIMAL = "OPTIMAL"
    FEASIBLE = "FEASIBLE"
    INFEASIBLE = "INFEASIBLE"
    UNKNOWN = "UNKNOWN"
    ERROR = "ERROR"


class Termination(StrEnum):
    """Why the run ended."""

    FINISHED = "finished"
    TIME_LIMIT = "time_limit"
    GAP_LIMIT = "gap_limit"
    INTERRUPTED = "interrupted"
    MEMORY_LIMIT = "memory_limit"
    SOLVER_ERROR = "solver_error"


class Sense(StrEnum):
    """Direction of an objective."""

    MIN = "min"
    MAX = "max"


def relative_gap(value: float, bound: float) -> float:
    """Return ``|value - bound| / max(|value|, |bound|)``, 0 for 0/0."""
    scale = max(abs(value), abs(bound))
    return float(abs(value - bound) / scale) if scale else 0.0


@dataclass(frozen=True)
class Objective:
    """An objective with what is known of it, in the units of the input.

    Attributes
    ----------
    known
        Value of the answer, None if there is no answer.
    bound
        Proven bound on the best value (below it for ``min``), None if nothing is proven.
    gap_scale
        What the gap is relative to; None for the larger of value and bound.
    settings
        What the name leaves open, by name, such as the exponent of alpha fairness.
    """

    name: str
    sense: Sense
    known: int | float | None
    bound: int | float | None
    gap_scale: float | None = None
    settings: Mapping[str, Scalar] = field(default_factory=dict, hash=False)

    @property
    def value(self) -> int | float:
        """The value of the answer.

        Raises
        ------
        NoSolution
            If there is no answer.
        """
        if self.known is None:
            raise NoSolution(f"there is no answer, so '{self.name}' has no value")
        return self.known

    @property
    def gap(self) -> float | None:
        """Relative distance of value and bound, None if either is unknown or infinite."""
        if self.known is None or self.bound is None:
            return None
        if not (math.isfinite(self.known) and math.isfinite(self.bound)):
            return None
        if self.gap_scale:
            return float(abs(self.known - self.bound) / self.gap_scale)
        return relative_gap(self.known, self.bound)


@dataclass(frozen=True)
class BoundOf(Generic[CostT_co]):
    """A proven bound on the best cost, with where it comes from.

    Attributes
    ----------
    value
        The bound on the cost.
    source
        Short name of the argument, e.g. ``"critical_path"``.
    detail
        One sentence for a person.
    """

    value: CostT_co
    source: str
    detail: str = ""


class Bound(BoundOf[int]):
    """A bound in ticks of the problem's time grid."""


class RealBound(BoundOf[float]):
    """A bound on a cost that is a real number."""


class Reason(msgspec.Struct, frozen=True, tag_field="type", kw_only=True):
    """Why no answer exists: a typed object that the checker can verify."""

    def sentence(self) -> str:
        """Say the reason in English."""
        raise NotImplementedError


class SolverProof(Reason, frozen=True, tag="solver_proof", kw_only=True):
    """An exact solver exhausted the search; there is no short argument.

    Attributes
    ----------
    detail
        What was found instead, as a sentence with numbers that another run can confirm.
    """

    solver: str = ""
    detail: str = ""

    def sentence(self) -> str:
        """Say the reason in English."""
        by = f" by {self.solver}" if self.solver else ""
        return f"proven infeasible{by}; {self.detail or 'no short explanation is known'}"


@dataclass(frozen=True)
class Certificate:
    """What was proved about the answer and who checked it.

    ``kkt_residual`` is how far the answer with its prices is from the conditions of Karush, Kuhn
    and Tucker, relative; None where the kind or the objective has no prices.
    """

    bound_source: str | None = None
    checked: bool = False
    tolerance: float = 0
    reason: Reason | None = None
    kkt_residual: float | None = None


@dataclass(frozen=True)
class InstanceInfo:
    """Where an instance came from."""

    name: str = ""
    format: str | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class SolverInfo:
    """Which engine ran, with everything needed to run it again."""

    name: str
    version: str
    seed: int
    threads: int
    options: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True)
class Result(Generic[AnswerT_co]):
    """An answer with its status, bound, certificate and provenance."""

    kind: str
    method: str
    status: Status
    termination: Termination
    objective: Objective
    certificate: Certificate
    answer: AnswerT_co | None
    solver: SolverInfo
    deterministic: bool
    instance: InstanceInfo = field(default_factory=InstanceInfo)
    timing: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def replace(self, **changes: object) -> Self:
        """Return a copy with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]  # field types are checked by the dataclass users

    def require(self) -> AnswerT_co:
        """Return the answer.

        Raises
        ------
        NoSolution
            If there is none.
        """
        if self.answer is None:
            raise NoSolution(f"no answer: status {self.status}, ended by {self.termination}")
        return self.answer


@dataclass(frozen=True)
class Violation:
    """One broken rule.

    Attributes
    ----------
    rule
        Name of the rule, e.g. ``"precedence"``.
    message
        What is broken, with ids and amounts.
    """

    rule: str
    message: str


@dataclass(frozen=True)
class CheckReport:
    """Outcome of an independent check: the broken rules, none if the answer is right.

    Attributes
    ----------
    value
        The objective value recomputed from the answer, in input units; None if it cannot be.
    """

    violations: Sequence[Violation]
    value: int | float | None = None

    @property
    def valid(self) -> bool:
        """Whether no rule is broken."""
        return not self.violations

    def raise_if_violated(self) -> None:
        """Raise if a rule is broken.

        Raises
        ------
        CheckFailed
            With one line for each broken rule.
        """
        if self.violations:
            raise CheckFailed("\n".join(f"{v.rule}: {v.message}" for v in self.violations))
