"""Strict reading of JSON: exact numbers, no repeated keys, no NaN, errors with their place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import NoReturn, TypeAlias

from allocsolve.models.errors import InputError

__all__ = ["Json", "loads"]

Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | Decimal | bool | None"
"""A JSON value; numbers with a point or an exponent are exact decimals."""

_BOM = b"\xef\xbb\xbf"


class _Repeated(dict[str, Json]):
    """An object with a repeated key, marked while reading and located afterwards."""

    key: str = ""


def loads(data: bytes) -> Json:
    """Return the JSON value of a UTF-8 text.

    Raises
    ------
    InputError
        With line and column for a syntax error, with the JSON path for a repeated key.
    """
    text = _decode(data)
    marked: list[_Repeated] = []

    def collect(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        record = dict(pairs)
        if len(record) == len(pairs):
            return record
        repeated = _Repeated(record)
        repeated.key = _first_repeated(pairs)
        marked.append(repeated)
        return repeated

    value = _parse(text, collect)
    if marked:
        _refuse_repeated(value)
    if "\\ud" in text.lower():
        _refuse_surrogates(value)
    return value


def _parse(text: str, collect: object) -> Json:
    try:
        value: Json = json.loads(
            text,
            parse_float=Decimal,
            parse_constant=_refuse_constant,
            object_pairs_hook=collect,  # type: ignore[arg-type]  # typeshed wants Any in the pairs
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"not valid JSON: {error.msg}",
            allowed="one JSON document",
            line=error.lineno,
            column=error.colno,
        ) from None
    except RecursionError:
        raise InputError("JSON is nested too deeply") from None
    except ArithmeticError:
        raise InputError("JSON holds a number with an absurd exponent") from None
    except InputError:
        raise
    except ValueError:
        raise InputError("JSON holds an integer of several thousand digits") from None
    return value


def _decode(data: bytes) -> str:
    try:
        return data.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = f"0x{data.removeprefix(_BOM)[error.start]:02x}"
        raise InputError(f"byte {byte} is not valid UTF-8", allowed="UTF-8", line=line) from None


def _refuse_constant(token: str) -> NoReturn:
    raise InputError(
        f"{token} is not a JSON number",
        allowed="finite numbers",
        remedy="write null where a number is unknown",
    )


def _first_repeated(pairs: list[tuple[str, Json]]) -> str:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    return ""


def _refuse_repeated(value: Json) -> None:
    for path, item in _walk(value, "$"):
        if isinstance(item, _Repeated):
            raise InputError(
                f"key '{item.key}' is repeated",
                allowed="each key once in an object",
                remedy="delete all but one",
                path=path,
            )


def _refuse_surrogates(value: Json) -> None:
    for path, item in _walk(value, "$"):
        texts = [item] if isinstance(item, str) else list(item) if isinstance(item, dict) else []
        if any("\ud800" <= letter <= "\udfff" for text in texts for letter in text):
            raise InputError("half of a surrogate pair stands alone in a text", path=path)


def _walk(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    """Yield every value with its JSON path, outermost first."""
    yield path, value
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(item, f"{path}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _walk(item, f"{path}[{i}]")
