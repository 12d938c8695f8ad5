"""JSON text into plain objects, strictly: no repeated keys, no NaN, numbers kept exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TypeAlias

from allocsolve.models.dag.validate import UNPRINTABLE
from allocsolve.models.errors import InputError

__all__ = ["NotANumber", "Steps", "is_printable", "loads", "owner", "path_text", "walk"]

Steps: TypeAlias = tuple[str | int, ...]
"""The keys and positions that lead from the root of a document to a value."""

_ESCAPE = re.compile(r"\\([bfnrt]|u(d[89a-f]|00[0189]|007f))", re.IGNORECASE)
_PLAIN_KEY = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_SORTS = {
    "tasks": "task",
    "nodes": "node",
    "resources": "resource",
    "durations": "task",
    "types": "type",
    "jobs": "job",
    "entities": "entity",
}


@dataclass(frozen=True, slots=True)
class NotANumber:
    """A token that JSON does not allow as a number: NaN, Infinity, -Infinity or too long."""

    token: str


class _Repeated(dict[str, object]):
    """An object in which a key came twice."""

    key = ""


def loads(text: str, *, printable: bool = True, finite: bool = False) -> object:
    """Parse JSON; decimal numbers become Decimal, forbidden number tokens NotANumber.

    Parameters
    ----------
    printable
        Whether control characters are refused in every text. Without that, the caller refuses
        them in the texts that it uses, see :func:`is_printable`.
    finite
        Whether forbidden number tokens are refused. Without that, the caller refuses them.

    Raises
    ------
    InputError
        If the text is not JSON (with line and column), nested too deeply, or repeats a key.
    """
    repeated: list[str] = []
    strange: list[NotANumber] = []

    def build(pairs: list[tuple[str, object]]) -> dict[str, object]:
        record = dict(pairs)
        if len(record) == len(pairs):
            return record
        marked = _Repeated(pairs)
        keys = [key for key, _ in pairs]
        marked.key = next(key for key in keys if keys.count(key) > 1)
        repeated.append(marked.key)
        return marked

    raw = _parse(text, build, strange)
    if repeated:
        _refuse_repeated(raw)
    if finite and strange:
        _refuse_strange(raw)
    if printable and _ESCAPE.search(text):
        _refuse_unprintable(raw)
    return raw


def _parse(
    text: str,
    build: Callable[[list[tuple[str, object]]], dict[str, object]],
    strange: list[NotANumber],
) -> object:
    """Return the value of a text; number tokens that JSON forbids are kept in ``strange`` too."""

    def noted(token: str) -> NotANumber:
        strange.append(NotANumber(token))
        return strange[-1]

    def decimal(token: str) -> Decimal | NotANumber:
        value = _decimal(token)
        return noted(token) if value is None else value

    def integer(token: str) -> int | NotANumber:
        return int(token) if len(token) <= 400 else noted(token)

    try:
        return json.loads(
            text,
            object_pairs_hook=build,
            parse_float=decimal,
            parse_int=integer,
            parse_constant=noted,
        )
    except json.JSONDecodeError as error:
        raise InputError(
            f"this is not JSON: {error.msg}",
            allowed="one JSON document",
            remedy="correct the text at this place (a missing comma, quote or bracket?)",
            line=error.lineno,
            column=error.colno,
        ) from None
    except RecursionError:
        raise InputError(
            "the JSON document is nested too deeply",
            allowed="an instance document, nested at most a few levels",
            remedy="check that this is an instance file",
        ) from None


def _decimal(token: str) -> Decimal | None:
    """Return a number, None if it is none that is finite."""
    try:
        value = Decimal(token)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def walk(raw: object) -> Iterator[tuple[Steps, object]]:
    """Yield every value of a document with the steps to it, without recursion."""
    stack: list[tuple[Steps, object]] = [((), raw)]
    while stack:
        steps, value = stack.pop()
        yield steps, value
        children: list[tuple[str | int, object]] = []
        if isinstance(value, dict):
            children = list(value.items())
        elif isinstance(value, list):
            children = list(enumerate(value))
        stack.extend(((*steps, key), child) for key, child in reversed(children))


def _refuse_repeated(raw: object) -> None:
    for steps, value in walk(raw):
        if isinstance(value, _Repeated):
            raise InputError(
                f"{_of(raw, steps)}the key '{value.key}' comes twice in one object",
                allowed="each key once in an object",
                remedy="delete or rename one of the two",
                path=path_text((*steps, value.key)),
            )
    raise InputError("a key comes twice in one object", remedy="delete one of the two")


def _refuse_strange(raw: object) -> None:
    for steps, value in walk(raw):
        if isinstance(value, NotANumber):
            raise InputError(
                f"{value.token[:40]} is not a finite number",
                allowed="finite numbers",
                remedy="write null where a number is unknown",
                path=path_text(steps),
            )


def _refuse_unprintable(raw: object) -> None:
    """Refuse control characters and halves of surrogate pairs: no message could show them."""
    for steps, value in walk(raw):
        keys = value.keys() if isinstance(value, dict) else ()
        for token in [value, *keys]:
            if isinstance(token, str) and UNPRINTABLE.search(token):
                raise InputError(
                    f"the text {token[:40]!a} holds a character that cannot be shown",
                    allowed="text without control characters, in valid Unicode",
                    remedy="delete the escape, or write the character itself",
                    path=path_text(steps) if token is value else None,
                )


def is_printable(token: str) -> bool:
    """Whether a text has no control characters and no halves of surrogate pairs."""
    return UNPRINTABLE.search(token) is None


def path_text(steps: Steps) -> str:
    """Return the steps as a JSON path such as ``$.tasks[3].work``."""
    text = "$"
    for step in steps:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            text += f".{step}"
        else:
            text += f"[{json.dumps(step)}]"
    return text


def owner(raw: object, steps: Steps) -> str | None:
    """Name the record that a value belongs to by its ids, None if it has none."""
    if len(steps) < 2 or not isinstance(raw, dict):
        return None
    table, place = str(steps[0]), steps[1]
    if isinstance(place, str):
        return f"task '{place}'" if table == "durations" else None
    record = raw[table][place]
    if not isinstance(record, dict):
        return None
    if table in ("edges", "setups"):
        return f"{table[:-1]} '{record.get('from')}' -> '{record.get('to')}'"
    if table == "links":
        return f"link {record.get('between')}"
    return f"{_SORTS[table]} '{record['id']}'" if table in _SORTS and "id" in record else None


def _of(raw: object, steps: Steps) -> str:
    name = owner(raw, steps)
    return f"{name}: " if name else ""
