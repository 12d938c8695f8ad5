"""The instance files that come with the package."""

from __future__ import annotations

import csv
from importlib.resources import files
from pathlib import Path

__all__ = ["bundled", "task_graphs", "throughput_tables"]

_TABLE = "optima.csv"
"""Kind, status, objective, value and reason of every bundled instance; itself not an instance."""


_STOCK = "stock.json"
"""Units of each type and the jobs, for the throughput tables."""


def bundled(kind: str | None = None) -> dict[str, Path]:
    """Return the bundled instances: name (file name without suffix) to path, sorted by name.

    Parameters
    ----------
    kind
        ``dag``, ``coded`` or ``fair``; None for all kinds.
    """
    folder = Path(str(files("allocsolve.instances") / "bundled"))
    with (folder / _TABLE).open(encoding="utf-8", newline="") as table:
        kinds = {row["name"]: row["kind"] for row in csv.DictReader(table)}
    found = {path.stem: path for path in folder.iterdir() if path.name != _TABLE}
    return {name: found[name] for name in sorted(kinds) if kind in (None, kinds[name])}


def throughput_tables() -> dict[str, Path]:
    """Return the bundled throughput tables, which need ``nodes`` too: file name to path."""
    folder = Path(str(files("allocsolve.instances") / "throughput_tables"))
    found = [path for path in folder.iterdir() if path.name != _STOCK]
    return {path.name: path for path in sorted(found, key=lambda path: path.name)}


def task_graphs() -> dict[str, Path]:
    """Return the bundled task graphs, which need ``nodes`` to be read: file name to path."""
    folder = Path(str(files("allocsolve.instances") / "task_graphs"))
    return {path.name: path for path in sorted(folder.iterdir(), key=lambda path: path.name)}
