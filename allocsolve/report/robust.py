"""The field ``robust`` of a solution document, both ways."""

from __future__ import annotations

import math
from typing import cast

from msgspec import UNSET, UnsetType

from allocsolve.models.dag.answer import Appraisal, Robustness
from allocsolve.report.codec import finite, floats
from allocsolve.report.solution import AppraisalEntry, RobustEntry

__all__ = ["robust_entry", "robustness"]


def robust_entry(of: Robustness | None) -> RobustEntry | UnsetType:
    """Return the record of a choice, UNSET if none was made."""
    if of is None:
        return UNSET
    return RobustEntry(
        quantile=of.quantile,
        chosen=_entry(of.chosen),
        nominal=_entry(of.nominal),
        price=of.price,
        gain=finite(of.gain),
        source=of.source,
        candidates=of.candidates,
        replications=of.replications,
        seed=of.seed,
        law=None if of.law is None else dict(of.law),
    )


def _entry(of: Appraisal) -> AppraisalEntry:
    return AppraisalEntry(
        makespan=of.makespan,
        value=finite(of.value),
        ci=(finite(of.ci[0]), finite(of.ci[1])),
    )


def robustness(entry: RobustEntry | UnsetType | None) -> Robustness | None:
    """Return the choice that a record stands for."""
    if entry is None or isinstance(entry, UnsetType):
        return None
    return Robustness(
        quantile=entry.quantile,
        chosen=_appraisal(entry.chosen),
        nominal=_appraisal(entry.nominal),
        source=entry.source,
        candidates=entry.candidates,
        replications=entry.replications,
        seed=entry.seed,
        law=cast("dict[str, object] | None", floats(entry.law)),
    )


def _appraisal(entry: AppraisalEntry) -> Appraisal:
    low, high = (math.inf if end is None else end for end in entry.ci)
    value = math.inf if entry.value is None else entry.value
    return Appraisal(entry.makespan, value, (low, high))
