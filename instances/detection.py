"""Which format a text is in: by the suffix of its file, then by its structure."""

from __future__ import annotations

from collections.abc import Sequence

from allocsolve.instances.registry import FORMATS, Format
from allocsolve.instances.source import Source
from allocsolve.models.errors import InputError

__all__ = ["detect", "looks_like"]

_USUAL = (".json", ".csv")
"""Endings of several formats, the first of which is meant where the text fits to none."""


def detect(source: Source, index_base: int | None = None) -> Format:
    """Choose the format of a source.

    The suffix decides if it belongs to one format. Otherwise the formats whose structure
    fits are kept, and among several of them the one that reads the text without error.

    Raises
    ------
    InputError
        If no format, or more than one, reads the text.
    """
    readable = [row for row in FORMATS if row.can_read]
    named = [row for row in readable if source.suffix in row.suffixes]
    candidates = named or readable
    if len(candidates) == 1:
        return candidates[0]
    fitting = [row for row in candidates if row.load().fits(source.text)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and source.suffix in _USUAL:
        return candidates[0]  # its reader says where the text is broken
    return _by_trial(fitting or candidates, source.text, index_base)


def looks_like(text: str, but: Format) -> Format | None:
    """Return the only other format whose structure fits the text, None if there is none."""
    fitting = [row for row in FORMATS if row is not but and row.load().fits(text)]
    return fitting[0] if len(fitting) == 1 else None


def _by_trial(candidates: Sequence[Format], text: str, index_base: int | None) -> Format:
    working: list[Format] = []
    failures: list[str] = []
    for row in candidates:
        try:
            row.parse(text, index_base if row.index_base is not None else None)
        except InputError as error:
            failures.append(f"{row.name} ({_brief(error)})")
        else:
            working.append(row)
    if len(working) == 1:
        return working[0]
    if working:
        names = ", ".join(row.name for row in working)
        raise InputError(
            f"the text can be read in several formats: {names}",
            allowed="a text or suffix that belongs to one format",
            remedy="name the format with --format",
        )
    raise InputError(
        f"no format fits; tried {', '.join(failures)}",
        allowed=f"one of the formats {', '.join(row.name for row in candidates)}",
        remedy="name the format with --format to see its full error",
    )


def _brief(error: InputError) -> str:
    place = f"line {error.line}: " if error.line else ""
    return place + error.what
