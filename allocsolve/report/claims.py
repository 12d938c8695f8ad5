"""What a solution document says about a problem; nothing of it is checked here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Generic, TypeVar

import msgspec

from allocsolve.models.exact import Number, exact
from allocsolve.models.result import Reason, Result, Status
from allocsolve.report.solution import (
    CertificateEntry,
    ObjectiveEntry,
    ObjectiveSettings,
    SolutionDocument,
)

__all__ = ["Claim", "claim_of_document", "claim_of_result"]

AnswerT = TypeVar("AnswerT")


@dataclass(frozen=True)
class Claim(Generic[AnswerT]):
    """An answer with what is said about it.

    Attributes
    ----------
    answer
        None if there is none.
    value, bound
        Claimed objective value and bound in units of the input.
    sha256
        Digest of the instance that the document was made for, None if it does not say.
    sense, gap
        Claimed sense (``"min"`` or ``"max"``) and relative gap.
    options
        The settings of the run and of its objective, which are part of what that means.
    """

    answer: AnswerT | None
    status: Status | None = None
    objective: str | None = None
    value: Fraction | None = None
    bound: Fraction | None = None
    reason: Reason | None = None
    sha256: str | None = None
    sense: str | None = None
    gap: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)


def claim_of_document(document: SolutionDocument, answer: AnswerT | None) -> Claim[AnswerT]:
    """Return what a document claims about an answer that was read from it."""
    objective = document.objective or ObjectiveEntry()
    certificate = document.certificate or CertificateEntry()
    solver = document.solver
    # Documents of earlier versions tell the settings of the objective among those of the solver.
    options = solver.options if solver is not None and solver.options else {}
    return Claim(
        answer=answer,
        status=Status(document.status) if document.status else None,
        objective=objective.name,
        value=_exact(objective.value),
        bound=_exact(objective.bound),
        reason=certificate.reason,
        sha256=document.instance.sha256 if document.instance else None,
        sense=objective.sense or None,
        gap=objective.gap,
        options={name: str(value) for name, value in {**options, **_stated(objective)}.items()},
    )


def _stated(objective: ObjectiveEntry) -> dict[str, object]:
    """Return the settings that a document states of its objective."""
    if not isinstance(objective.settings, ObjectiveSettings):
        return {}
    stated = msgspec.structs.asdict(objective.settings)
    return {name: value for name, value in stated.items() if value is not None}


def claim_of_result(result: Result[AnswerT]) -> Claim[AnswerT]:
    """Return what a result claims about its answer."""
    objective = result.objective
    return Claim(
        answer=result.answer,
        status=result.status,
        objective=objective.name,
        value=_exact(objective.known),
        bound=_exact(objective.bound),
        reason=result.certificate.reason,
        sha256=result.instance.sha256,
        sense=objective.sense.value,
        gap=objective.gap,
        options={
            name: str(value)
            for name, value in {**result.solver.options, **objective.settings}.items()
        },
    )


def _exact(value: Number | None) -> Fraction | None:
    if value is None or value in (float("inf"), float("-inf")):
        return None
    return exact(value)
