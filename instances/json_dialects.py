"""JSON instance formats beside the native one: which is which, and reading their records."""

from __future__ import annotations

import re
from collections.abc import Container
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

import msgspec

from allocsolve.instances.strict_json import NotANumber
from allocsolve.instances.text import shorten
from allocsolve.models.errors import InputError
from allocsolve.models.exact import exact

__all__ = ["dialect", "records", "require_amount", "require_known"]

RecordT = TypeVar("RecordT")

_MARKS = (
    ("native", re.compile(r'"schema"\s*:\s*"allocsolve\.')),
    ("dnn", re.compile(r'"maxFPGAs"\s*:')),
    ("saga", re.compile(r'"task_graph"\s*:\s*\{')),
    ("wfformat", re.compile(r'"workflow"\s*:\s*\{')),
    ("throughput_table", re.compile(r'"null"\s*:|"\(\s*(\'|\\")')),
)
_PLACE = re.compile(r"(?P<message>.*?) - at (?:`key` in )?`(?P<path>\$[^`]*)`", re.DOTALL)


def dialect(text: str) -> str | None:
    """Return the name of the format whose mark a JSON text has, native without any mark.

    None if the text does not look like JSON. Nothing is parsed.
    """
    if text.lstrip("\ufeff \t\r\n")[:1] not in ("{", "["):
        return None
    return next((name for name, mark in _MARKS if mark.search(text)), "native")


def records(raw: object, record: type[RecordT], format_name: str) -> RecordT:
    """Turn plain objects into records; fields that the records do not have are ignored.

    Parameters
    ----------
    raw
        As :func:`allocsolve.instances.strict_json.loads` returns it.

    Raises
    ------
    InputError
        If a value is missing or of the wrong type.
    """
    try:
        return msgspec.convert(raw, record, dec_hook=_number)
    except msgspec.ValidationError as error:
        place = _PLACE.fullmatch(str(error))
        what, path = (place["message"], place["path"]) if place else (str(error), "$")
        raise InputError(
            _sentence(what),
            allowed=f"the fields of format {format_name}, see docs/formats.md",
            remedy="correct the value, or name another format with --format",
            path=path,
        ) from None


def _sentence(message: str) -> str:
    begins = message.startswith(("Expected", "Object", "Invalid"))
    text = message[:1].lower() + message[1:] if begins else message
    return text.replace("`", "'")


def _number(target: type, value: object) -> Fraction:
    """Decode hook of msgspec: the only type that it does not know is Fraction."""
    if isinstance(value, NotANumber):
        raise ValueError(f"{value.token} is not a finite number")
    if target is not Fraction or not isinstance(value, int | float | Decimal):
        raise ValueError("Expected a number")
    return exact(value)


def require_known(key: str, known: Container[str], owner: str, sort: str) -> None:
    """Refuse the end of an edge that is not there.

    Raises
    ------
    InputError
        If the key is not known.
    """
    if key not in known:
        raise InputError(
            f"{owner}: unknown {sort} '{shorten(key)}'",
            allowed=f"the id of a {sort} of this file",
            remedy=f"correct the id, or add the {sort}",
        )


def require_amount(value: Fraction, what: str) -> Fraction:
    """Return a number that is not negative.

    Raises
    ------
    InputError
        If it is negative.
    """
    if value < 0:
        raise InputError(
            f"{what} is {float(value):g}, it must be finite and non-negative",
            allowed="a finite, non-negative number",
            remedy="correct the number",
        )
    return value
