"""The field ``robust`` of a solution document, both ways."""

from __future__ import annotations

import math
from typing import Any

from msgspec import UNSET, UnsetType

from allocsolve.models.dag.answer import Appraisal, Robustness
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
        gain=None if of.gain is None else _finite(of.gain),
        source=of.source,
        candidates=of.candidates,
        replications=of.replications,
        seed=of.seed,
        law=None if of.law is None else dict(of.law),
    )


def _entry(of: Appraisal) -> AppraisalEntry:
    return AppraisalEntry(
        makespan=of.makespan,
        value=_finite(of.value),
        ci=(_finite(of.ci[0]), _finite(of.ci[1])),
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


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
        law=None if entry.law is None else _floats(entry.law),
    )


def _floats(law: dict[str, Any]) -> dict[str, object]:
    """Return a law with numbers as floats; documents are read with exact decimals."""
    return {key: _plain(value) for key, value in law.items()}


def _plain(value: Any) -> object:  # noqa: ANN401  # any JSON value
    if isinstance(value, dict):
        return _floats(value)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int) or value is None else float(value)


def _appraisal(entry: AppraisalEntry) -> Appraisal:
    low, high = (math.inf if end is None else end for end in entry.ci)
    value = math.inf if entry.value is None else entry.value
    return Appraisal(entry.makespan, value, (low, high))
