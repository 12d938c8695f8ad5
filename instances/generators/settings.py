"""Settings of generators: a table row each, and one place that reads and refuses values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from allocsolve.models.errors import UsageError, suggest

__all__ = ["Choice", "Setting", "Value", "Values", "read_settings"]

Value: TypeAlias = int | float | str


@dataclass(frozen=True)
class Setting:
    """A number that a family takes.

    Attributes
    ----------
    default
        Its type is the type of the setting: an int takes integers only.
    low, high
        The range, both ends included.
    """

    name: str
    default: int | float
    low: int | float
    high: int | float
    description: str

    def read(self, value: Value) -> int | float:
        """Return the value as a number of this setting.

        Raises
        ------
        UsageError
            If it is no number, of the wrong type or out of range.
        """
        try:
            number = type(self.default)(value)
        except (ValueError, OverflowError):
            raise self._refusal(value) from None
        if isinstance(value, bool) or (isinstance(value, float) and number != value):
            raise self._refusal(value)
        if not self.low <= number <= self.high:
            raise self._refusal(value)
        return number

    def _refusal(self, value: Value) -> UsageError:
        sort = "an integer" if isinstance(self.default, int) else "a number"
        return UsageError(
            f"setting {self.name}={value}: it must be {sort} from {self.low} to {self.high} "
            f"({self.description}; default {self.default})"
        )


@dataclass(frozen=True)
class Choice:
    """A word out of a few; the first one is the default."""

    name: str
    words: tuple[str, ...]
    description: str

    @property
    def default(self) -> str:
        """The first word."""
        return self.words[0]

    def read(self, value: Value) -> str:
        """Return the word.

        Raises
        ------
        UsageError
            If it is not one of the words.
        """
        if value not in self.words:
            hint = suggest(str(value), self.words)
            raise UsageError(
                f"setting {self.name}={value}: it must be one of {', '.join(self.words)}{hint}"
            )
        return str(value)


class Values:
    """The settings of one call, complete with defaults."""

    def __init__(self, values: Mapping[str, Value]) -> None:
        self._values = values

    def integer(self, name: str) -> int:
        """Return an integer setting."""
        return int(self._values[name])

    def number(self, name: str) -> float:
        """Return a real setting."""
        return float(self._values[name])

    def require_order(self, low: str, high: str) -> None:
        """Refuse settings of which the lower one is above the higher one.

        Raises
        ------
        UsageError
            If the family has both settings and they are out of order.
        """
        if low in self._values and self.number(low) > self.number(high):
            raise UsageError(
                f"setting {low}={self._values[low]} is above {high}={self._values[high]}"
            )

    def word(self, name: str) -> str:
        """Return a choice."""
        return str(self._values[name])


def read_settings(
    family: str, table: Sequence[Setting | Choice], given: Mapping[str, Value]
) -> Values:
    """Return all settings of a family.

    Raises
    ------
    UsageError
        If a name is unknown or a value is refused.
    """
    rows = {row.name: row for row in table}
    for name in given:
        if name not in rows:
            raise UsageError(
                f"family '{family}' has no setting '{name}'{suggest(name, list(rows))} "
                f"(settings: {', '.join(rows)})"
            )
    values: dict[str, Value] = {name: row.default for name, row in rows.items()}
    values |= {name: rows[name].read(value) for name, value in given.items()}
    return Values(values)
