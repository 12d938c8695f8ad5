"""Method-specific settings (``--set key=value``): known keys with checked values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.result import Scalar

__all__ = ["Choice", "read_settings", "read_words", "shown"]


class Choice:
    """An integer setting.

    Parameters
    ----------
    default
        Value if it is not given.
    least, most
        Allowed range.
    """

    def __init__(self, default: int, least: int, most: int) -> None:
        self.default = default
        self.least = least
        self.most = most


def read_settings(
    method: str, options: Mapping[str, str], known: Mapping[str, Choice]
) -> dict[str, int]:
    """Return every known setting with its value.

    Raises
    ------
    UsageError
        If a key is unknown or a value is not an integer of its range.
    """
    _refuse_unknown(method, options, list(known))
    return {key: _value(key, options.get(key), choice) for key, choice in known.items()}


def read_words(
    method: str, options: Mapping[str, str], known: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return every known setting with its word; the first word allowed is the default.

    Raises
    ------
    UsageError
        If a key is unknown or a word is not allowed.
    """
    _refuse_unknown(method, options, list(known))
    words = {key: options.get(key, allowed[0]) for key, allowed in known.items()}
    for key, word in words.items():
        if word not in known[key]:
            raise UsageError(
                f"setting {key} = {word!r}{suggest(word, known[key])} "
                f"(allowed: {', '.join(known[key])})"
            )
    return words


def _refuse_unknown(method: str, options: Mapping[str, str], known: Sequence[str]) -> None:
    for key in options:
        if key not in known:
            allowed = ", ".join(known) if known else "none"
            raise UsageError(
                f"method '{method}' has no setting '{key}'{suggest(key, known)} "
                f"(allowed: {allowed})"
            )


def _value(key: str, text: str | None, choice: Choice) -> int:
    if text is None:
        return choice.default
    try:
        value = int(text)
    except ValueError:
        value = choice.least - 1
    if not choice.least <= value <= choice.most:
        raise UsageError(
            f"setting {key} = {text!r}: an integer from {choice.least} to {choice.most} is allowed"
        )
    return value


def shown(settings: Mapping[str, int], known: Mapping[str, Choice]) -> dict[str, Scalar]:
    """Return the settings that differ from their defaults."""
    return {key: value for key, value in settings.items() if value != known[key].default}
