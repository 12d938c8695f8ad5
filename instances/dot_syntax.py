"""The tokens of the DOT language of Graphviz."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from allocsolve.instances.text import shorten
from allocsolve.models.errors import InputError

__all__ = ["Token", "strip_quotes", "tokens"]

_TOKEN = re.compile(
    r"""(?P<blank>[\s\ufeff]+|//[^\n]*|/\*.*?\*/|(?<![^\n])\#[^\n]*)
    |(?P<quoted>"(?:[^"\\]|\\.)*")
    |(?P<arrow>->|--)
    |(?P<number>-?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<word>[^\W\d]\w*)
    |(?P<mark>[{}\[\]=;,:+])
    |(?P<html><)""",
    re.VERBOSE | re.DOTALL,
)
_ANGLE = re.compile(r"[<>]")
_ESCAPE = re.compile(r'\\(["\\]|\r?\n)')


@dataclass(frozen=True, slots=True)
class Token:
    """A token with its place, counted from 1.

    Attributes
    ----------
    sort
        ``"id"`` (a name, number, quoted or HTML text), ``"word"`` (an id that may be a
        keyword), a mark such as ``"{"``, ``"->"``, ``"--"``, or ``"end"``.
    """

    sort: str
    text: str
    line: int
    column: int


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of a text, the last one of sort ``"end"``.

    Raises
    ------
    InputError
        At a character that begins no token, or text that does not end.
    """
    place, line, start = 0, 1, 0
    while place < len(text):
        sort, end = _match(text, place, line, place - start + 1)
        raw = text[place:end]
        if sort != "blank":
            yield _token(sort, raw, line, place - start + 1)
        breaks = raw.count("\n")
        if breaks:
            line += breaks
            start = place + raw.rindex("\n") + 1
        place = end
    yield Token("end", "", line, place - start + 1)


def _match(text: str, place: int, line: int, column: int) -> tuple[str, int]:
    found = _TOKEN.match(text, place)
    if found is None or found.lastgroup is None:
        raise _refusal(text, place, line, column)
    end = _html_end(text, place) if found.lastgroup == "html" else found.end()
    if end is None:
        raise InputError(
            "HTML text that begins with '<' does not end",
            allowed="'<' and '>' in pairs",
            remedy="close it with '>'",
            line=line,
            column=column,
        )
    return found.lastgroup, end


def _refusal(text: str, place: int, line: int, column: int) -> InputError:
    opening = {'"': "quoted text", "/": "comment"}.get(text[place])
    if opening is not None and text.startswith(('"', "/*"), place):
        return InputError(
            f"a {opening} that begins here does not end",
            allowed="quotes and comments that are closed",
            remedy="close it",
            line=line,
            column=column,
        )
    return InputError(
        f"'{shorten(text[place])}' begins no token of DOT",
        allowed="names, numbers, quoted text, -> { } [ ] = ; ,",
        remedy="quote the name that holds this character",
        line=line,
        column=column,
    )


def _html_end(text: str, place: int) -> int | None:
    depth = 0
    for found in _ANGLE.finditer(text, place):
        depth += 1 if found[0] == "<" else -1
        if depth == 0:
            return found.end()
    return None


def _token(sort: str, raw: str, line: int, column: int) -> Token:
    if sort in ("arrow", "mark"):
        return Token(raw, raw, line, column)
    if sort == "word":
        return Token("word", raw, line, column)
    return Token("id", strip_quotes(raw) if sort == "quoted" else raw, line, column)


def strip_quotes(raw: str) -> str:
    r"""Return the text between quotes; ``\"`` and ``\\`` are one character, ends of line joined."""
    return _ESCAPE.sub(lambda m: m[1] if m[1] in ('"', "\\") else "", raw[1:-1])
