"""Published values of the public benchmark files, and what is asked of each of them."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Known", "known_files"]

FOLDERS = ("psplib", "jobshop", "fjsp", "rcpsp_other")
SUFFIXES = {".sm", ".mm", ".rcp", ".sch", ".txt"}


@dataclass(frozen=True)
class Known:
    """One file with the best known bounds on its optimum, None where nothing is published.

    Attributes
    ----------
    infeasible
        Whether the file is known to have no solution.
    """

    path: Path
    lower: int | None
    upper: int | None
    infeasible: bool = False

    @property
    def name(self) -> str:
        """Folder and file, e.g. ``psplib/j301_1.sm``."""
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def optimum(self) -> int | None:
        """The known optimum, None while it is open."""
        return self.upper if self.lower == self.upper else None


def known_files(data: Path) -> list[Known]:
    """Return every project, job shop and flexible job shop file below ``data/dag``."""
    return [known for name in FOLDERS for known in _folder(data / "dag" / name)]


def _folder(folder: Path) -> Iterator[Known]:
    rows = list(csv.DictReader((folder / "values.csv").open(encoding="utf-8")))
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() in SUFFIXES:
            yield _match(path, rows)


def _match(path: Path, rows: list[dict[str, str]]) -> Known:
    """Find the row of a file; rows name the stem, the file or folder/file."""
    names = {path.stem, path.name, f"{path.parent.name}/{path.name}"}
    for row in rows:
        if row["instance"] in names:
            if row.get("optimum") == "unsat":
                return Known(path, None, None, infeasible=True)
            lower, upper = (row.get(key) or row.get("optimum") for key in ("lb", "ub"))
            return Known(path, _integer(lower), _integer(upper))
    return Known(path, None, None)


def _integer(text: str | None) -> int | None:
    return int(text) if text else None
