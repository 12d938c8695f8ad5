"""Results of kind ``coded`` as solution documents, and documents as what they claim."""

from __future__ import annotations

from typing import Literal

from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.report.claims import Claim, claim_of_document
from allocsolve.report.coded import (
    AssignmentEntry,
    assignment_entry,
    coded_answer,
    metrics_entry,
)
from allocsolve.report.common import common_fields
from allocsolve.report.solution import SolutionDocument, decode_solution

__all__ = ["CodedSolution", "read_solution", "result_to_document"]


class CodedSolution(SolutionDocument, frozen=True, kw_only=True):
    """A solution document of kind ``coded``."""

    kind: Literal["coded"]
    assignment: AssignmentEntry | None = None


def result_to_document(result: CodedResult) -> CodedSolution:
    """Return the solution document of a result."""
    answer = result.answer
    return CodedSolution(
        kind="coded",
        assignment=None
        if answer is None
        else assignment_entry(
            answer,
            metrics=None if result.metrics is None else metrics_entry(result.metrics),
            baselines=result.baselines or None,
        ),
        **common_fields(result),
    )


def read_solution(data: bytes, problem: CodedProblem) -> Claim[CodedAnswer]:  # noqa: ARG001  # as for the other kinds
    """Read what a solution document claims about a problem.

    Raises
    ------
    InputError
        If the text is not a solution document or an entry cannot be understood.
    """
    document = decode_solution(data, "coded", CodedSolution)
    entry = document.assignment
    return claim_of_document(document, None if entry is None else coded_answer(entry))
