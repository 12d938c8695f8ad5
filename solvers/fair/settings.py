"""Settings of the methods for fair division; those of the objective are read elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.fair.settings import SETTING_NAMES
from allocsolve.models.result import Scalar

__all__ = ["objective_options", "read_words"]


def read_words(
    method: str, options: Mapping[str, str], known: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return every known setting with its word; the first word allowed is the default.

    Raises
    ------
    UsageError
        If a key is unknown or a word is not allowed.
    """
    own = {key: word for key, word in options.items() if key not in SETTING_NAMES}
    for key, word in own.items():
        allowed = known.get(key)
        if allowed is None:
            names = ", ".join([*known, *SETTING_NAMES])
            raise UsageError(
                f"method '{method}' has no setting '{key}'{suggest(key, [*known, *SETTING_NAMES])} "
                f"(allowed: {names})"
            )
        if word not in allowed:
            raise UsageError(
                f"setting {key} = {word!r}{suggest(word, allowed)} (allowed: {', '.join(allowed)})"
            )
    return {key: own.get(key, allowed[0]) for key, allowed in known.items()}


def objective_options(options: Mapping[str, str]) -> dict[str, Scalar]:
    """Return the settings of the objective: they belong to what the value means."""
    return {key: word for key, word in options.items() if key in SETTING_NAMES}
