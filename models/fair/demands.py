"""What some objectives ask of an allocation beside feasibility, as the checker judges it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np

from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.envy import envy_ratios
from allocsolve.models.fair.objectives import counted, levels, required
from allocsolve.models.fair.settings import LEXICOGRAPHIC, Settings
from allocsolve.models.fair.split import equal_split
from allocsolve.models.result import Violation

__all__ = ["judge_objective"]

_TOLERANCE = 1e-7
"""Relative rounding error of what solvers reach within their own tolerance."""


def judge_objective(answer: FairAnswer, name: str, settings: Settings) -> Iterator[Violation]:
    """Yield what an allocation lacks of the constraints and levels of an objective."""
    if name in _JUDGES:
        yield from _JUDGES[name](answer, settings)
    if name in LEXICOGRAPHIC and answer.levels is not None:
        yield from _judge_levels(answer, name, settings)


def _judge_floors(answer: FairAnswer, settings: Settings) -> Iterator[Violation]:
    problem, rows = answer.problem, counted(answer.problem.arrays)
    floor = equal_split(problem.arrays, settings)
    for i in rows[answer.utilities[rows] < floor[rows] * (1 - _TOLERANCE)].tolist():
        yield Violation(
            "floor",
            f"job '{problem.job_ids[i]}' has utility {answer.utilities[i]}, its equal split "
            f"brings {floor[i]}",
        )


def _judge_deadlines(answer: FairAnswer, settings: Settings) -> Iterator[Violation]:  # noqa: ARG001 - one signature for all
    problem, needed = answer.problem, required(answer.problem)
    for i in np.flatnonzero(answer.utilities < needed * (1 - _TOLERANCE)).tolist():
        yield Violation(
            "deadline",
            f"job '{problem.job_ids[i]}' has utility {answer.utilities[i]} and needs {needed[i]} "
            "for its deadline",
        )


def _judge_envy(answer: FairAnswer, settings: Settings) -> Iterator[Violation]:  # noqa: ARG001
    ratio, envied = envy_ratios(answer)
    ids = answer.problem.job_ids
    for i in np.flatnonzero(ratio > 1 + _TOLERANCE).tolist():
        yield Violation(
            "envy",
            f"job '{ids[i]}' would gain {ratio[i]} times as much from the shares of "
            f"'{ids[envied[i]]}'",
        )


def _judge_equality(answer: FairAnswer, settings: Settings) -> Iterator[Violation]:
    found = levels(answer.problem, answer.utilities, "equal_throughput", settings)
    if len(found) and found[-1] - found[0] > _TOLERANCE * found[-1]:
        message = f"weighted throughputs range from {found[0]} to {found[-1]}"
        yield Violation("equal_throughput", message)


def _judge_levels(answer: FairAnswer, name: str, settings: Settings) -> Iterator[Violation]:
    """Each job may claim its level, or each level may be listed once."""
    assert answer.levels is not None
    known, claimed = levels(answer.problem, answer.utilities, name, settings), answer.levels
    if not len(known) and not len(claimed):
        return
    if len(claimed) == len(known):
        wrong = np.abs(np.sort(claimed) - known) > _TOLERANCE * np.abs(known)
        for k in np.flatnonzero(wrong).tolist()[:1]:
            yield Violation("level", f"level {np.sort(claimed)[k]} is claimed, it is {known[k]}")
        return
    for level in claimed.tolist():
        if not np.isclose(known, level, rtol=_TOLERANCE, atol=0).any():
            yield Violation("level", f"level {level} is claimed, but no job is on it")
    for level in known.tolist():
        if not np.isclose(claimed, level, rtol=_TOLERANCE, atol=0).any():
            yield Violation("level", f"a job is on level {level}, which is not claimed")


_JUDGES: Mapping[str, Callable[[FairAnswer, Settings], Iterator[Violation]]] = MappingProxyType(
    {
        "nash_sharing_incentive": _judge_floors,
        "cost": _judge_deadlines,
        "envy_free_efficiency": _judge_envy,
        "equal_throughput": _judge_equality,
    }
)
