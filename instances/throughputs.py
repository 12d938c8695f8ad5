"""A throughput table: how fast each sort of job runs on each type, and nothing else.

Stock and jobs come from elsewhere; :mod:`allocsolve.instances.stock` joins them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from allocsolve.instances.draft import Draft
from allocsolve.models.exact import Number
from allocsolve.models.fair.data import FairDocument, Job, ResourceType

__all__ = ["SharedRow", "TableDraft", "TableRow", "ThroughputTable", "row_ids"]


@dataclass(frozen=True)
class TableRow:
    """A row of the table.

    Attributes
    ----------
    name
        What the table calls it; rows of one name differ in their gang.
    job
        The job that it describes, with its id, gang and throughputs.
    count
        How many such jobs there are if nobody says otherwise.
    line
        Where it stands, None in JSON.
    """

    name: str
    job: Job
    count: int = 1
    line: int | None = None


@dataclass(frozen=True)
class SharedRow:
    """Two rows (positions, the first not above the second) whose jobs may share units."""

    rows: tuple[int, int]
    throughput: Mapping[str, tuple[Number, Number]]


@dataclass(frozen=True)
class ThroughputTable:
    """Types, rows, and which rows may share units with what throughputs."""

    types: tuple[str, ...]
    rows: tuple[TableRow, ...]
    shared: tuple[SharedRow, ...] = ()

    def document(self) -> FairDocument:
        """Return the instance that the table is without stock: one job a row, no units."""
        return FairDocument(
            schema="allocsolve.instance/1",
            kind="fair",
            types=[ResourceType(id=token, count=0) for token in self.types],
            jobs=[row.job for row in self.rows],
        )


@dataclass(frozen=True, kw_only=True)
class TableDraft(Draft):
    """A table that was read; it has no stock yet."""

    table: ThroughputTable


def row_ids(keys: Sequence[tuple[str, int]]) -> list[str]:
    """Return an id for each (name, gang): the name, with the gang where several share it.

    ``("resnet", 1), ("resnet", 2)`` become ``resnet`` and ``resnet x2``.
    """
    uses: dict[str, int] = {}
    for name, _ in keys:
        uses[name] = uses.get(name, 0) + 1
    return [name if gang == 1 or uses[name] == 1 else f"{name} x{gang}" for name, gang in keys]
