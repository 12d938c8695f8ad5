"""The native format: the JSON document ``allocsolve.instance/1``."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import cast

import msgspec
import msgspec.inspect

from allocsolve.instances.draft import Draft
from allocsolve.instances.json_dialects import dialect
from allocsolve.instances.kinds import KINDS, Document, Problem, kind_named
from allocsolve.instances.numerals import Numerals
from allocsolve.instances.strict_json import NotANumber, Steps, loads, owner, path_text
from allocsolve.instances.text import shorten
from allocsolve.models.errors import InputError, UsageError, suggest
from allocsolve.models.exact import Number, exact

__all__ = ["SCHEMA", "decode", "fits", "parse", "render"]

SCHEMA = "allocsolve.instance/1"

_SIGNED = ("min_lag", "max_lag", "log_mean")
_NO_NUMBER = "not a number"
_PLACE = re.compile(r"(?P<message>.*?) - at (?:`key` in )?`(?P<path>\$[^`]*)`", re.DOTALL)
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]|(\[\.\.\.\])")


_Hook = Callable[[type, object], Fraction]


def fits(text: str) -> bool:
    """Whether the text looks like JSON that is not in another format."""
    return dialect(text) == "native"


def parse(text: str) -> Draft:
    """Read an instance document.

    Raises
    ------
    InputError
        If the text is not strict JSON or not an instance document.
    """
    return Draft(decode(loads(text)))


def decode(raw: object) -> Document:
    """Turn plain objects into an instance document, strictly and exactly.

    Raises
    ------
    InputError
        With the JSON path and the id of the record at fault.
    """
    if not isinstance(raw, dict):
        raise InputError(
            f"the document is {_kind_of(raw)}, not an object",
            allowed=f'an object with "schema": "{SCHEMA}" and "kind"',
            remedy="check that this is an instance file",
            path="$",
        )
    _require(raw, "schema", (SCHEMA,))
    _require(raw, "kind", tuple(kind.name for kind in KINDS))
    record = kind_named(raw["kind"]).record()
    try:
        with suppress(msgspec.ValidationError):
            return cast("Document", msgspec.convert(raw, record, dec_hook=_sharing()))
        return cast("Document", msgspec.convert(raw, record, dec_hook=_number))
    except msgspec.ValidationError as error:
        raise _explain(str(error), raw, record) from None
    except RecursionError:
        raise InputError("the document is nested too deeply", path="$") from None


def _sharing() -> _Hook:
    """Return the decode hook for large documents: whole numbers that come again are shared.

    Most decimals come once, and a table of them costs more than it spares.
    """
    shared = cast("_Hook", lru_cache(maxsize=2**16, typed=True)(_number))

    def number(target: type, value: object) -> Fraction:
        return exact(value) if type(value) is Decimal else shared(target, value)

    return number


def _require(raw: dict[str, object], field: str, allowed: tuple[str, ...]) -> None:
    choice = " or ".join(f'"{value}"' for value in allowed)
    if field not in raw:
        raise InputError(
            f'the document has no "{field}"',
            allowed=f'"{field}": {choice}',
            remedy=f'add "{field}": {choice}, or name another format with --format',
            path="$",
        )
    if raw[field] not in allowed:
        value = raw[field]
        hint = suggest(value, allowed) if isinstance(value, str) else ""
        raise InputError(
            f"{field} {_shown(value)} is not known{hint}",
            allowed=choice,
            remedy=f'correct "{field}"; `allocsolve schema` prints what an instance looks like',
            path=f"$.{field}",
        )


def _number(target: type, value: object) -> Fraction:
    """Decode hook of msgspec: the only type that it does not know is Fraction."""
    if target is not Fraction or not isinstance(value, int | float | Decimal | Fraction):
        raise ValueError(_NO_NUMBER)
    try:
        return exact(value)
    except ValueError:
        raise ValueError(_NO_NUMBER) from None


def _explain(message: str, raw: dict[str, object], record: type[msgspec.Struct]) -> InputError:
    """Turn a message of msgspec into an error that names the record by its id."""
    place = _PLACE.fullmatch(message)
    text, path = (place["message"], place["path"]) if place else (message, "$")
    steps = _resolve(raw, path, want_object=text.startswith("Expected `object`"))
    name = owner(raw, steps)
    prefix = f"{name}: " if name else ""
    if text == _NO_NUMBER:
        return _not_a_number(prefix, raw, steps)
    if text.startswith("Expected `str`"):
        return InputError(
            f"{prefix}{_field(steps)}{_shown(_value(raw, steps))} is not a string",
            allowed="a string in quotes; ids are strings",
            remedy="write it in quotes",
            path=path_text(steps),
        )
    if text.startswith("Expected `int`") and isinstance(_value(raw, steps), Decimal):
        return InputError(
            f"{prefix}{steps[-1]} {_shown(_value(raw, steps))} is not a whole number",
            allowed="a whole number",
            remedy=f"correct {steps[-1]}",
            path=path_text(steps),
        )
    if text.startswith("Invalid"):
        return _not_a_choice(prefix, raw, record, steps)
    fields = _fields_at(record, steps)
    return InputError(
        f"{prefix}{_field(steps)}{_lower(text)}{_did_you_mean(text, fields)}",
        allowed=f"the fields {', '.join(fields)}" if fields else None,
        remedy="correct the field; `allocsolve schema instance` prints every field and its type",
        path=path_text(steps),
    )


def _not_a_number(prefix: str, raw: object, steps: Steps) -> InputError:
    field, value = _last_name(steps), _value(raw, steps)
    range_ = "finite" if field in _SIGNED else "finite and non-negative"
    return InputError(
        f"{prefix}{field} {_shown(value)} {_fault(value)}; it must be {range_}",
        allowed=f"a {range_.replace(' and', ',')} number",
        remedy="write a number without quotes" if isinstance(value, str) else f"correct {field}",
        path=path_text(steps),
    )


def _not_a_choice(
    prefix: str, raw: object, record: type[msgspec.Struct], steps: Steps
) -> InputError:
    """Return the error of a word that stands where only some words may."""
    words, value = _words_at(record, steps), _value(raw, steps)
    hint = suggest(value, words) if isinstance(value, str) else ""
    return InputError(
        f"{prefix}{steps[-1]} {_shown(value)} is not known{hint}",
        allowed=" or ".join(f'"{word}"' for word in words) or None,
        remedy=f"correct {steps[-1]}",
        path=path_text(steps),
    )


def _words_at(record: type[msgspec.Struct], steps: Steps) -> list[str]:
    """Return the words that may stand at a place: of a choice, or the tags of records."""
    place = _type_at(record, steps)
    if place is not None:
        found = [k for k in _alternatives(place) if isinstance(k, msgspec.inspect.LiteralType)]
        return [str(value) for kind in found for value in kind.values]
    owner_type = _type_at(record, steps[:-1])
    kinds = () if owner_type is None else _alternatives(owner_type)
    structs = [kind for kind in kinds if isinstance(kind, msgspec.inspect.StructType)]
    return [str(kind.tag) for kind in structs if kind.tag_field == steps[-1]]


def _fault(value: object) -> str:
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole or (isinstance(value, Decimal) and value.is_finite()):
        return "is beyond the range of floating-point numbers"
    return "is not a number"


def _last_name(steps: Steps) -> str:
    names = [step for step in steps if isinstance(step, str)]
    if names and steps[0] == "durations" and len(steps) == 3:
        return f"duration on node '{names[-1]}'"
    if names[-2:-1] in (["throughput"], ["demand"]) and steps[0] in ("jobs", "pairs"):
        return f"{names[-2]} on type '{names[-1]}'"
    return names[-1] if names else "value"


def _field(steps: Steps) -> str:
    return f"{steps[-1]}: " if len(steps) > 2 and isinstance(steps[-1], str) else ""


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:].replace("`", "'")


def _fields_at(record: type[msgspec.Struct], steps: Steps) -> list[str]:
    """Return the fields of the record that stands at a place of the document, none elsewhere."""
    place = _type_at(record, steps)
    found = None if place is None else _struct(place)
    return [] if found is None else [field.encode_name for field in found.fields]


def _type_at(record: type[msgspec.Struct], steps: Steps) -> msgspec.inspect.Type | None:
    """Return the type that stands at a place of the document, None if there is none."""
    place: msgspec.inspect.Type | None = msgspec.inspect.type_info(record)
    for step in steps:
        place = None if place is None else _inner(place, step)
    return place


def _inner(place: msgspec.inspect.Type, step: str | int) -> msgspec.inspect.Type | None:
    """Return the type behind a key or position of a value of that type."""
    for kind in _alternatives(place):
        if isinstance(kind, msgspec.inspect.CollectionType) and isinstance(step, int):
            return kind.item_type
        if isinstance(kind, msgspec.inspect.DictType):
            return kind.value_type
        if isinstance(kind, msgspec.inspect.StructType):
            return next((f.type for f in kind.fields if f.encode_name == step), None)
    return None


def _struct(place: msgspec.inspect.Type) -> msgspec.inspect.StructType | None:
    found = [k for k in _alternatives(place) if isinstance(k, msgspec.inspect.StructType)]
    return found[0] if found else None


def _alternatives(place: msgspec.inspect.Type) -> tuple[msgspec.inspect.Type, ...]:
    return place.types if isinstance(place, msgspec.inspect.UnionType) else (place,)


def _did_you_mean(text: str, fields: list[str]) -> str:
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", text)
    return suggest(unknown[1], fields) if unknown else ""


def _resolve(raw: object, path: str, *, want_object: bool) -> Steps:
    """Find the value that msgspec means, which leaves the keys of tables out of its paths."""
    pattern = [field or (int(index) if index else None) for field, index, _ in _STEP.findall(path)]
    found = list(_expand(raw, (), pattern))
    for steps, value in found:
        wrong = not isinstance(value, dict) if want_object else not _is_number(value)
        if wrong:
            return steps
    return found[0][0] if found else ()


def _expand(
    value: object, steps: Steps, pattern: list[str | int | None]
) -> Iterator[tuple[Steps, object]]:
    if not pattern:
        yield steps, value
        return
    step, rest = pattern[0], pattern[1:]
    for key, child in _children(value, step):
        yield from _expand(child, (*steps, key), rest)


def _children(value: object, step: str | int | None) -> list[tuple[str | int, object]]:
    """Return the child of that key or position; all children of an object if it is None."""
    if isinstance(value, dict):
        return [(key, child) for key, child in value.items() if step in (None, key)]
    if isinstance(value, list | tuple) and isinstance(step, int) and step < len(value):
        return [(step, value[step])]
    return []


def _is_number(value: object) -> bool:
    try:
        _number(Fraction, value)
    except ValueError:
        return False
    return True


def _value(raw: object, steps: Steps) -> object:
    value = raw
    for step in steps:
        assert isinstance(value, dict | list | tuple)
        value = value[step]  # type: ignore[index]  # steps were found by _expand
    return value


def _shown(value: object) -> str:
    if isinstance(value, NotANumber):
        return shorten(value.token)
    if isinstance(value, str):
        return f'"{shorten(value)}"'
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    return _kind_of(value) if isinstance(value, dict | list) else shorten(str(value))


def _kind_of(value: object) -> str:
    if isinstance(value, dict):
        return "an object"
    return "an array" if isinstance(value, list) else _shown(value)


def render(problem: Problem) -> tuple[str, list[str]]:
    """Write a problem as an instance document.

    Returns
    -------
    tuple of str and list of str
        The text and what was lost.
    """
    numerals = Numerals()

    def encode(value: object) -> object:
        try:
            return msgspec.Raw(numerals(cast(Number, value)).encode())
        except ValueError:
            raise TypeError(f"{type(value).__name__} is not part of an instance") from None

    encoder = msgspec.json.Encoder(enc_hook=encode, decimal_format="number")
    try:
        text = encoder.encode(problem.to_document())
    except (OverflowError, TypeError) as error:
        raise UsageError(f"this instance cannot be written as JSON: {error}") from None
    return msgspec.json.format(text, indent=1).decode() + "\n", numerals.losses()
