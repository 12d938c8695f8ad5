"""Runtime laws as callers give them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import msgspec

from allocsolve.instances.traces import read_trace
from allocsolve.models.arguments import refused
from allocsolve.models.errors import InputError, UsageError, suggest
from allocsolve.models.nodes import Empirical, Law, RuntimeLaw, law_from, parse_law

__all__ = ["LawLike", "law_of", "law_of_file", "shown_law"]

LawLike: TypeAlias = RuntimeLaw | Law | str
"""A law, its record, the text ``NAME:key=value,...``, or ``@FILE`` for the best law of a
document of fitted laws (``@FILE:NAME`` for another one of it)."""

_SHOWN_SAMPLES = 20


def law_of(given: LawLike | None) -> RuntimeLaw | None:
    """Return a law.

    Raises
    ------
    UsageError
        If a text has another form, or there is no such law, or a parameter is impossible.
    InputError
        If a record or a document is wrong, or a document cannot be read.
    """
    if given is None or isinstance(given, RuntimeLaw):
        return given
    if isinstance(given, str):
        is_file = given.startswith("@")
        return _fitted_law(given[1:]) if is_file else law_from(parse_law(given), path="$")
    if isinstance(given, Law):
        return law_from(given, path="$")
    raise refused("law", given, "a RuntimeLaw, a Law, or a text NAME:key=value,... or @FILE")


def _fitted_law(text: str) -> RuntimeLaw:
    """Return the best law, or the one of a name, of ``FILE`` or ``FILE:NAME``."""
    from allocsolve.report.fit import decode_fit, fit_report

    file, family = text, ""
    if not os.path.exists(text) and ":" in text:
        file, _, family = text.rpartition(":")
    try:
        report = fit_report(decode_fit(Path(file).read_bytes()))
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            allowed="a document that fit wrote, as @FILE or @FILE:NAME",
            source=file,
        ) from None
    except InputError as error:
        raise error.located(file) from None
    laws = {fit.law.name: fit.law for fit in reversed(report.fits)}
    if not laws or family not in ("", *laws):
        what = f"law '@{text}': {file} holds no law" + (f" '{family}'" if family else "")
        allowed = ", ".join(fit.law.name for fit in report) or "a document with a law"
        raise UsageError(f"{what}{suggest(family, list(laws))}\n  allowed: {allowed}")
    return laws[family] if family else report.law


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
