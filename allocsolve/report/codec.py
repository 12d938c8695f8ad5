"""From bytes to typed records and back: strict in, exact numbers, strict JSON out."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeVar

import msgspec

from allocsolve.instances import strict_json
from allocsolve.models.errors import InputError
from allocsolve.models.exact import exact, plain

__all__ = [
    "Record",
    "builtins",
    "decode",
    "encode",
    "finite",
    "floats",
    "loads",
    "snap",
    "to_record",
]

RecordT = TypeVar("RecordT")


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A strict, immutable record of a document."""


def decode(data: bytes, record: type[RecordT]) -> RecordT:
    """Return the record that a JSON text holds.

    Raises
    ------
    InputError
        With line and column for a syntax error, else with the JSON path.
    """
    return to_record(loads(data), record)


def loads(data: bytes) -> object:
    """Return the JSON value of a UTF-8 text, numbers with a point as exact decimals.

    Raises
    ------
    InputError
        With line and column for a syntax error, else with the JSON path.
    """
    try:
        return strict_json.loads(data.decode("utf-8-sig"), finite=True)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError("the text is not valid UTF-8", allowed="UTF-8", line=line) from None


def to_record(value: object, record: type[RecordT]) -> RecordT:
    """Return the record that a JSON value stands for.

    Raises
    ------
    InputError
        With the JSON path.
    """
    try:
        return msgspec.convert(value, record, dec_hook=_decode_number)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `")
        raise InputError(what, path=place.rstrip("`") or "$") from None


def builtins(record: msgspec.Struct) -> dict[str, Any]:
    """Return a record as plain JSON values."""
    values: dict[str, Any] = msgspec.to_builtins(record, enc_hook=_encode_number)
    return values


def encode(values: dict[str, Any]) -> bytes:
    """Return a document as strict JSON with a line for each field and each entry of a list."""
    lines = [f"{_dump(key)}: {_layout(value)}" for key, value in values.items()]
    return ("{" + ",\n ".join(lines) + "}\n").encode()


def _layout(value: object) -> str:
    if isinstance(value, list) and len(value) > 1 and isinstance(value[0], dict):
        return "[\n  " + ",\n  ".join(_dump(item) for item in value) + "]"
    return _dump(value)


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def snap(value: Fraction, tick: Fraction) -> Fraction:
    """Return the multiple of ``tick`` whose nearest float is that of ``value``, else ``value``.

    A document holds the float nearest to a time such as 2/3; this finds the time again.
    """
    nearest = round(value / tick) * tick
    return nearest if float(nearest) == float(value) else value


def finite(value: float | None) -> float | None:
    """Return a number as documents hold it; None where it is infinite or no number."""
    return float(value) if value is not None and math.isfinite(value) else None


def floats(value: object) -> object:
    """Return a value as JSON has it, exact numbers as floats; None for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): floats(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [floats(item) for item in value]
    if isinstance(value, Fraction | Decimal):
        value = float(value)
    return finite(value) if isinstance(value, float) else value


def _decode_number(kind: type, value: object) -> object:
    if kind is not Fraction:
        raise NotImplementedError(kind)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | Fraction):
        raise ValueError(f"Expected a number, got {type(value).__name__}")
    return exact(value)


def _encode_number(value: object) -> int | float:
    if isinstance(value, Fraction | Decimal):
        return plain(exact(value))
    raise NotImplementedError(type(value))
