"""Answers as callers give them: the one place that says what is taken for an answer."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from allocsolve.models.dag.answer import Schedule, ScheduledTask
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.result import Result
from allocsolve.report.claims import Claim, claim_of_result
from allocsolve.report.documents import read_solution, read_solution_file

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem
    from allocsolve.models.coded.answer import CodedAnswer
    from allocsolve.models.fair.allocation import Allocation
    from allocsolve.models.fair.answer import FairAnswer

__all__ = ["Answer", "claim_of", "foreign"]

Answer: TypeAlias = (
    "Result[object] | Schedule | Sequence[ScheduledTask] | CodedAnswer | FairAnswer | Allocation"
    " | bytes | str | os.PathLike[str] | Mapping[str, object]"
)
"""A result, an answer, or a solution document: its bytes, its file, or what ``json.load`` made of
it."""

_OWN = {
    "dag": "a Schedule, a list of ScheduledTask",
    "coded": "a CodedAnswer",
    "fair": "a FairAnswer or Allocation",
}
"""Answers of each kind, for messages."""


def claim_of(problem: Problem, answer: Answer) -> Claim[object]:
    """Return an answer with what is claimed about it; nothing of it is checked.

    Raises
    ------
    InputError
        If a document or its file cannot be read.
    UsageError
        If it is nothing that can be an answer, or the result of another kind.
    """
    if isinstance(answer, Result):
        return _of_result(problem, answer)
    if isinstance(answer, bytes | bytearray | memoryview):
        return read_solution(problem.kind, bytes(answer), problem)
    if isinstance(answer, str | os.PathLike):
        return read_solution_file(problem.kind, answer, problem)
    if isinstance(answer, Mapping):
        return read_solution(problem.kind, _text(answer), problem)
    if not _is_own(problem.kind, answer):
        what = "None" if answer is None else f"of type {type(answer).__name__}"
        raise UsageError(f"answer is {what}\n  allowed: {_allowed(problem.kind)}")
    return Claim(answer)


def _of_result(problem: Problem, result: Result[object]) -> Claim[object]:
    if result.kind != problem.kind:
        raise UsageError(
            f"answer is a result of kind '{result.kind}', the problem is of kind '{problem.kind}'"
            f"\n  allowed: {_allowed(problem.kind)}"
        )
    return claim_of_result(result)


def _allowed(kind: str) -> str:
    return (
        f"a result of solve, {_OWN[kind]}, or a solution document (path, bytes, or dict as of "
        "json.load)"
    )


def _text(document: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(dict(document), allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError(
            f"the dict is no JSON document: {error}",
            allowed="a dict as json.load returns it",
        ) from None


def _is_own(kind: str, answer: object) -> bool:
    """Whether something is an answer of a kind, right or wrong."""
    if kind == "coded":
        from allocsolve.models.coded.answer import CodedAnswer

        return isinstance(answer, CodedAnswer)
    if kind == "fair":
        from allocsolve.models.fair.allocation import Allocation
        from allocsolve.models.fair.answer import FairAnswer

        return isinstance(answer, FairAnswer | Allocation)
    if isinstance(answer, Schedule):
        return True
    if not isinstance(answer, Sequence):
        return False
    return all(isinstance(entry, ScheduledTask) for entry in cast("Sequence[object]", answer))


def foreign(problem: Problem, claim: Claim[object]) -> list[str]:
    """Say that an answer was made for another instance, if its document or result says so."""
    ours, theirs = problem.origin.sha256, claim.sha256
    if ours and theirs and ours != theirs:
        return [
            "the document was made for another instance: "
            f"its sha256 is {theirs[:12]}..., this one has {ours[:12]}..."
        ]
    return []
