"""The instance files that come with the package."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from allocsolve.instances.registry import FORMATS

__all__ = ["bundled", "task_graphs"]

_TABLE = "optima.csv"
"""Status, makespan and reason of every bundled instance; itself not an instance."""


def bundled() -> dict[str, Path]:
    """Return the bundled instances: name (file name without suffix) to path, sorted by name."""
    suffixes = {suffix for row in FORMATS for suffix in row.suffixes}
    folder = Path(str(files("allocsolve.instances") / "bundled"))
    found = [path for path in folder.iterdir() if path.suffix in suffixes and path.name != _TABLE]
    return {path.stem: path for path in sorted(found, key=lambda path: path.name)}


def task_graphs() -> dict[str, Path]:
    """Return the bundled task graphs, which need ``nodes`` to be read: file name to path."""
    folder = Path(str(files("allocsolve.instances") / "task_graphs"))
    return {path.name: path for path in sorted(folder.iterdir(), key=lambda path: path.name)}
