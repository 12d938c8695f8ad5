"""What the tests of every room share: where things are, and the command line as a subprocess."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

__all__ = ["Command"]

TOP = Path(__file__).resolve().parents[1]

Completed: TypeAlias = subprocess.CompletedProcess[str]
Command: TypeAlias = Callable[..., Completed]


@pytest.fixture(scope="session")
def checkout() -> Path:
    """Top folder of the source tree that these tests belong to."""
    return TOP


@pytest.fixture(scope="session")
def benchmarks_dir() -> Path:
    """Folder of public benchmark files, which are not part of the project."""
    return _outside("ALLOCSOLVE_BENCHMARKS", "../shared/data", "dag")


@pytest.fixture(scope="session")
def cases_dir() -> Path:
    """Folder of small inputs with the right outcome, which is not part of the project."""
    return _outside("ALLOCSOLVE_CASES", "../shared/cases", "front_door.json")


def _outside(variable: str, default: str, content: str) -> Path:
    folder = Path(os.environ.get(variable) or TOP / default).resolve()
    if not (folder / content).exists():
        pytest.skip(f"no {content} in {folder}; set {variable} to run this test")
    return folder


@pytest.fixture
def allocsolve_command(tmp_path: Path) -> Command:
    """Run ``allocsolve ARGUMENTS`` as a process of its own in an empty folder."""

    def run(*arguments: str | Path, stdin: str | None = None, timeout: float = 120) -> Completed:
        return subprocess.run(
            [sys.executable, "-m", "allocsolve", *map(str, arguments)],
            cwd=tmp_path,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    return run
