"""Values of options: what is allowed is said when a value is not."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from allocsolve.models.errors import UsageError, suggest

__all__ = [
    "choice",
    "duration",
    "index_base",
    "number",
    "probabilities",
    "ratio",
    "replications",
    "seed",
    "settings",
    "threads",
    "whole",
]

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "": 1.0}
_NUMBER = r"(\d+\.?\d*|\.\d+)(?:e([+-]?\d{1,3}))?"


def _refused(option: str, text: str, allowed: str) -> UsageError:
    return UsageError(f"{option} '{text}' is not allowed\n  allowed: {allowed}")


def duration(option: str, text: str) -> float | None:
    """Return the seconds of ``30s``, ``500ms``, ``2m``, ``1h``, a bare number, None of ``none``.

    Raises
    ------
    UsageError
        For anything else.
    """
    if text.lower() == "none":
        return None
    match = re.fullmatch(_NUMBER + r"\s*([a-z]*)", text.strip(), re.IGNORECASE)
    unit = match.group(3).lower() if match else None
    if match is None or unit not in _UNITS:
        raise _refused(option, text, "30s, 500ms, 2m, 1h, a number of seconds, 0 or none")
    seconds = _number(match) * _UNITS[unit]
    if not math.isfinite(seconds):
        raise _refused(option, text, "a finite duration, or none")
    return seconds


def ratio(option: str, text: str) -> float:
    """Return the number of ``0.01`` or ``1%``.

    Raises
    ------
    UsageError
        For anything else.
    """
    match = re.fullmatch(_NUMBER + r"\s*(%?)", text.strip(), re.IGNORECASE)
    if match is None:
        raise _refused(option, text, "a ratio of at least 0 such as 0.01 or 1%")
    value = _number(match) / (100 if match.group(3) else 1)
    if not math.isfinite(value):
        raise _refused(option, text, "a finite ratio")
    return value


def number(option: str, text: str) -> float:
    """Return a finite number of at least 0.

    Raises
    ------
    UsageError
        For anything else.
    """
    match = re.fullmatch(_NUMBER, text.strip(), re.IGNORECASE)
    value = math.inf if match is None else _number(match)
    if not math.isfinite(value):
        raise _refused(option, text, "a finite number of at least 0")
    return value


def probabilities(option: str, texts: Sequence[str] | None) -> tuple[float, ...] | None:
    """Return probabilities strictly between 0 and 1, each once; None if none is given.

    Raises
    ------
    UsageError
        For anything else.
    """
    found = []
    for text in texts or ():
        value = ratio(option, text)
        if not 0 < value < 1:
            raise _refused(option, text, "a probability above 0 and below 1, such as 0.95 or 95%")
        found.append(value)
    return tuple(dict.fromkeys(found)) or None


def _number(match: re.Match[str]) -> float:
    exponent = match.group(2)
    return float(match.group(1) + (f"e{exponent}" if exponent else ""))


def whole(option: str, text: str, smallest: int, largest: int) -> int:
    """Return a whole number of a range.

    Raises
    ------
    UsageError
        If it is none.
    """
    if not re.fullmatch(r"\d{1,10}", text.strip()) or not smallest <= int(text) <= largest:
        raise _refused(option, text, f"a whole number {smallest} .. {largest}")
    return int(text)


def replications(text: str | None) -> int | None:
    """Return a number of replications, None if it is not given.

    Raises
    ------
    UsageError
        If it is none, or there are not so many random numbers.
    """
    from allocsolve.models.random import LARGEST_REPLICATION

    return None if text is None else whole("--replications", text, 2, LARGEST_REPLICATION)


def threads(text: str | None) -> int | None:
    """Return a number of threads, None if it is not given.

    Raises
    ------
    UsageError
        If it is not a number from 1 to 1024.
    """
    return None if text is None else whole("--threads", text, 1, 1024)


def seed(text: str) -> int:
    """Return a seed.

    Raises
    ------
    UsageError
        If it is not a number from 0 to 2147483647.
    """
    return whole("--seed", text, 0, 2**31 - 1)


def index_base(text: str | None) -> int | None:
    """Return the number from which a file counts, None if it is not given.

    Raises
    ------
    UsageError
        If it is neither 0 nor 1.
    """
    if text is not None and text not in ("0", "1"):
        raise _refused("--index-base", text, "0 or 1")
    return None if text is None else int(text)


def choice(option: str, text: str, allowed: Sequence[str]) -> str:
    """Return the text if it is one of the allowed ones.

    Raises
    ------
    UsageError
        If it is not.
    """
    if text not in allowed:
        raise UsageError(
            f"{option} '{text}' is not allowed{suggest(text, allowed)}"
            f"\n  allowed: {', '.join(allowed)}"
        )
    return text


def settings(pairs: Sequence[str] | None, option: str = "--set") -> dict[str, str]:
    """Return the table of a repeated option ``--set key=value``.

    Raises
    ------
    UsageError
        If a pair has no ``=`` or a key comes twice.
    """
    table: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise _refused(option, pair, "key=value")
        if key in table:
            raise UsageError(f"{option} gives '{key}' twice\n  allowed: each key once")
        table[key] = value
    return table
