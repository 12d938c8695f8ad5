"""Results of kind ``fair`` as solution documents, and documents as what they claim."""

from __future__ import annotations

from typing import Literal

from allocsolve.models.fair.allocation import Allocation
from allocsolve.models.fair.answer import FairResult
from allocsolve.models.fair.problem import FairProblem
from allocsolve.report.claims import Claim, claim_of_document
from allocsolve.report.common import common_fields
from allocsolve.report.fair import AllocationEntry, allocation_entry, read_allocation
from allocsolve.report.solution import SolutionDocument, decode_solution

__all__ = ["FairSolution", "read_solution", "result_to_document"]


class FairSolution(SolutionDocument, frozen=True, kw_only=True):
    """A solution document of kind ``fair``."""

    kind: Literal["fair"]
    allocation: AllocationEntry | None = None


def result_to_document(result: FairResult) -> FairSolution:
    """Return the solution document of a result."""
    answer = result.answer
    return FairSolution(
        kind="fair",
        allocation=None if answer is None else allocation_entry(answer),
        **common_fields(result),
    )


def read_solution(data: bytes, problem: FairProblem) -> Claim[Allocation]:  # noqa: ARG001  # as for the other kinds
    """Read what a solution document claims about a problem.

    Raises
    ------
    InputError
        If the text is not a solution document or an entry cannot be understood.
    """
    document = decode_solution(data, "fair", FairSolution)
    entry = document.allocation
    return claim_of_document(document, None if entry is None else read_allocation(entry))
