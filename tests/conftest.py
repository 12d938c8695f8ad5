"""What the tests of every room share: where things are, and the command line as a subprocess."""

from __future__ import annotations

import importlib.util
import itertools
import os
import random
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TypeAlias

import pytest

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.data import DefaultLink, Edge, Link, Node, Task
from allocsolve.models.dag.problem import DagProblem

__all__ = ["Command", "DrawIdentical", "OptimalSchedule", "Optimum"]

TOP = Path(__file__).resolve().parents[1]

Completed: TypeAlias = subprocess.CompletedProcess[str]
Command: TypeAlias = Callable[..., Completed]
OptimalSchedule: TypeAlias = Callable[[DagProblem], Schedule | None]
Optimum: TypeAlias = Callable[[DagProblem], int | None]
DrawIdentical: TypeAlias = Callable[..., DagProblem]


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
    find: OptimalSchedule = cache(oracle.best_schedule)  # several tests ask for the same instance
    return find


@pytest.fixture(scope="session")
def optimum(optimal_schedule: OptimalSchedule) -> Optimum:
    """Find the least makespan in ticks by brute force, None if the instance has no schedule."""

    def find(problem: DagProblem) -> int | None:
        schedule = optimal_schedule(problem)
        return None if schedule is None else schedule.makespan

    return find


@pytest.fixture(scope="session")
def draw_identical() -> DrawIdentical:
    """Draw a tiny instance of communicating tasks on identical nodes.

    Everything that such an instance may have occurs in some seeds: several slots, releases,
    minimum lags, tasks without length, edges without data, latencies, nodes without links.
    ``shape="fork"`` or ``"join"`` gives one centre and nothing but work and data.
    """

    @cache
    def draw(seed: int, shape: str = "any") -> DagProblem:
        source = random.Random(seed)
        n = source.randint(2, 6 if shape == "any" else 5)
        star, some = shape != "any", source.random
        slots = 1 if star or some() < 0.6 else 2
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n) if some() < 0.45]
        if shape == "fork":
            pairs = [(0, j) for j in range(1, n)]
        elif shape == "join":
            pairs = [(i, n - 1) for i in range(n - 1)]
        release = lag = 0.0 if star else source.choice((0.0, 0.3))
        return DagProblem(
            tasks=[
                Task(
                    id=str(i),
                    work=source.randint(0 if some() < 0.2 else 1, 6),
                    release=source.randint(1, 8) if some() < release else 0,
                )
                for i in range(n)
            ],
            edges=[
                Edge(
                    source=str(i),
                    target=str(j),
                    data=source.randint(0, 6),
                    min_lag=source.randint(1, 4) if some() < lag else 0,
                )
                for i, j in pairs
            ],
            nodes=[Node(id=f"n{k}", slots=slots) for k in range(source.randint(1, 3))],
            default_link=DefaultLink(
                latency=source.choice((0, 0, 2)),
                bandwidth=0 if some() < 0.05 else 1,
            ),
        )

    return draw


@pytest.fixture(scope="session")
def draw_cluster() -> Callable[[str, int], DagProblem]:
    """Draw five communicating tasks on two or three nodes of a family, by a seed.

    Families: related, unrelated, eligible (tasks on some nodes only), linked (several slots,
    some links missing), packed (memory of nodes, tasks that share one).
    """

    @cache
    def draw(family: str, seed: int) -> DagProblem:
        source = random.Random(f"{family} {seed}")
        pick = source.choice
        nodes = [
            Node(
                id=name,
                speed=pick((1, 2)) if family == "related" else 1,
                slots=pick((1, 2, 3)) if family == "linked" else 1,
                memory=pick((None, 4, 5)) if family == "packed" else None,
            )
            for name in "xyz"[: pick((2, 3))]
        ]
        names = [node.id for node in nodes]
        tasks = [
            Task(
                id=str(i),
                work=2 * source.randint(0, 4) if family == "related" else None,
                release=pick((0, 0, 0, 3)),
                eligible=source.sample(names, source.randint(1, 2))
                if family == "eligible"
                else None,
                memory=pick((None, 1, 2)) if family == "packed" else None,
                colocate=pick((None, None, "p", "q")) if family == "packed" else None,
            )
            for i in range(5)
        ]
        return DagProblem(
            tasks=tasks,
            edges=[
                Edge(
                    source=str(i),
                    target=str(j),
                    data=pick((0, 1, 3, 6)),
                    min_lag=pick((0, 0, 0, 2)),
                )
                for j in range(5)
                for i in range(j)
                if source.random() < 0.4
            ],
            nodes=nodes,
            durations={}
            if family == "related"
            else {task.id: {name: source.randint(0, 6) for name in names} for task in tasks},
            links=[
                Link(
                    between=(a, b),
                    latency=pick((0, 1, 2)),
                    bandwidth=pick((0, 1, 1)) if family == "linked" else pick((0.5, 1, 2, None)),
                )
                for a, b in itertools.combinations(names, 2)
            ],
        )

    return draw
