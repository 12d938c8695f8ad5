"""What the tests of every room share: where things are, and the command line as a subprocess."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import pytest

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem

__all__ = ["Command", "OptimalSchedule", "Optimum"]

TOP = Path(__file__).resolve().parents[1]

Completed: TypeAlias = subprocess.CompletedProcess[str]
Command: TypeAlias = Callable[..., Completed]
OptimalSchedule: TypeAlias = Callable[[DagProblem], Schedule | None]
Optimum: TypeAlias = Callable[[DagProblem], int | None]


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


@pytest.fixture(scope="session")
def oracle() -> ModuleType:
    """Load the brute-force oracle, ``tests/oracle/brute_force.py``."""
    spec = importlib.util.spec_from_file_location(
        "brute_force", TOP / "tests" / "oracle" / "brute_force.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def optimal_schedule(oracle: ModuleType) -> OptimalSchedule:
    """Find a schedule of least makespan by brute force (at most 7 small tasks)."""
    find: OptimalSchedule = oracle.best_schedule
    return find


@pytest.fixture(scope="session")
def optimum(optimal_schedule: OptimalSchedule) -> Optimum:
    """Find the least makespan in ticks by brute force, None if the instance has no schedule."""

    def find(problem: DagProblem) -> int | None:
        schedule = optimal_schedule(problem)
        return None if schedule is None else schedule.makespan

    return find
