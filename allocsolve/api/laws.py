"""Runtime laws as callers give them."""

from __future__ import annotations

import os
from typing import TypeAlias

import msgspec

from allocsolve.instances.traces import read_trace
from allocsolve.models.errors import UsageError
from allocsolve.models.nodes import Empirical, Law, RuntimeLaw, law_from, parse_law

__all__ = ["LawLike", "law_of", "law_of_file", "shown_law"]

LawLike: TypeAlias = RuntimeLaw | Law | str
"""A law, its record, or the text ``NAME:key=value,...``."""

_SHOWN_SAMPLES = 20


def law_of(given: LawLike | None) -> RuntimeLaw | None:
    """Return a law.

    Raises
    ------
    UsageError
        If a text has another form, or there is no such law, or a parameter is impossible.
    InputError
        If a record is wrong.
    """
    if given is None or isinstance(given, RuntimeLaw):
        return given
    if isinstance(given, str):
        return law_from(parse_law(given), path="$")
    if isinstance(given, Law):
        return law_from(given, path="$")
    raise UsageError(f"a law is a RuntimeLaw, a Law or a text, not {type(given).__name__}")


def law_of_file(text: str) -> RuntimeLaw:
    """Return the empirical law of a trace ``FILE`` or ``FILE:COLUMN``; it is not normalised.

    Raises
    ------
    InputError
        If the file cannot be read or a cell is no duration; it names the place.
    UsageError
        If a column is not there, or it is not clear which one is meant.
    SolverMissing
        If the file is Parquet and pyarrow is not installed.
    """
    name, column = text, None
    if not os.path.exists(text) and ":" in text:
        name, _, column = text.rpartition(":")
    return Empirical(tuple(read_trace(name, column=column or None).samples.tolist()))


def shown_law(law: RuntimeLaw | None) -> dict[str, object] | None:
    """Return a law as documents tell which one was used; of many samples only their number."""
    if law is None:
        return None
    if isinstance(law, Empirical) and len(law.samples) > _SHOWN_SAMPLES:
        return {"law": law.name, "sample_count": len(law.samples), "mean": law.mean()}
    shown: dict[str, object] = msgspec.to_builtins(law.to_record(), enc_hook=float)
    return shown
