"""What a format reads before the problem is built: the document and where its parts stood."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from allocsolve.instances.kinds import Document, Problem, kind_named
from allocsolve.models.errors import InputError
from allocsolve.models.result import InstanceInfo

__all__ = ["Draft"]

_RECORD = re.compile(r"\$\.(\w+)\[(\d+)\]")


@dataclass(frozen=True)
class Draft:
    """An instance document with the lines of its records.

    Attributes
    ----------
    lines
        For each table of the document (``"tasks"``, ``"edges"``) the line of every record;
        None if the file is the JSON document itself, so that JSON paths mean something.
    notes
        Warnings: what was assumed, rounded or left out while reading.
    """

    document: Document
    lines: Mapping[str, Sequence[int]] | None = None
    notes: tuple[str, ...] = ()

    def build(self, origin: InstanceInfo) -> Problem:
        """Build the problem; an error names a line of the file, or a path in JSON.

        Raises
        ------
        InputError
            If ids, references, numbers or precedence are wrong.
        """
        try:
            return kind_named(self.document.kind).build(self.document, origin, self.notes)
        except InputError as error:
            if self.lines is None:
                raise
            raise InputError(
                error.what,
                allowed=error.allowed,
                remedy=error.remedy,
                line=error.line or self._line(error.path),
            ) from None

    def _line(self, path: str | None) -> int | None:
        record = _RECORD.match(path or "")
        if record is None or self.lines is None:
            return None
        table, index = record[1], int(record[2])
        places = self.lines.get(table, ())
        return places[index] if index < len(places) else None
