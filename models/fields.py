"""Checks of single fields that every problem kind shares: ids, references, numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

import numpy as np

from allocsolve.models.errors import InputError, suggest

__all__ = ["UNPRINTABLE", "Known", "is_real", "refuse_repeated"]

UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and halves of surrogate pairs: no message or document could show them."""

_REAL = (int, float, Decimal, Fraction, np.integer, np.floating)


def is_real(value: object) -> bool:
    """Whether a value is a number of some sort (a truth value or a text is none)."""
    return isinstance(value, _REAL) and not isinstance(value, bool)


class Known:
    """The ids of one sort with their positions, for look-ups that end in a helpful error.

    Parameters
    ----------
    sort
        What the ids name, e.g. ``"type"``.
    ids
        The ids in order; the first of equal ones counts.
    """

    def __init__(self, sort: str, ids: Sequence[str]) -> None:
        self.sort = sort
        self.ids = ids
        self.index = {token: i for i, token in reversed(list(enumerate(ids)))}

    def require(self, token: str, path: str, owner: str = "") -> int:
        """Return the position of an id.

        Raises
        ------
        InputError
            If there is no such id, with the closest known one.
        """
        found = self.index.get(token)
        if found is None:
            prefix = f"{owner}: " if owner else ""
            raise InputError(
                f"{prefix}unknown {self.sort} '{token}'{suggest(token, self.ids)}",
                allowed=f"the id of {_with_article(self.sort)} of this instance "
                f"({len(self.ids)} known)",
                remedy=f"correct the id, or add the {self.sort}",
                path=path,
            )
        return found


def _with_article(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "aeio" else f"a {noun}"


def refuse_repeated(table: str, sort: str, ids: Sequence[str]) -> None:
    """Refuse ids that cannot be shown or come twice.

    Raises
    ------
    InputError
        At the first such id.
    """
    first: dict[str, int] = {}
    for i, token in enumerate(ids):
        if not isinstance(token, str) or UNPRINTABLE.search(token):
            raise InputError(
                f"{sort} id {token!a} is not a text that can be shown",
                allowed="text without control characters, in valid Unicode",
                remedy=f"rename the {sort}",
                path=f"$.{table}[{i}].id",
            )
        if first.setdefault(token, i) != i:
            raise InputError(
                f"duplicate {sort} id '{token}' (first at {table}[{first[token]}])",
                allowed=f"each {sort} id once",
                remedy="rename one of them or delete it",
                path=f"$.{table}[{i}].id",
            )
