"""Small problems and answers that the tests of the front door share."""

from __future__ import annotations

from pathlib import Path

import pytest

import allocsolve
from allocsolve.instances.catalogue import bundled
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem

__all__: list[str] = []


@pytest.fixture
def ft06() -> Path:
    """The bundled job shop of six jobs."""
    return bundled()["ft06"]


@pytest.fixture
def thirds() -> DagProblem:
    """Two tasks in a row on a node of speed 3: times are 2/3 and 1."""
    return DagProblem(
        name="thirds",
        tasks=[Task(id="a", work=2), Task(id="b", work=1)],
        edges=[Edge(source="a", target="b")],
        nodes=[Node(id="n", speed=3)],
    )


@pytest.fixture
def project() -> DagProblem:
    """Three tasks that share a resource of capacity 2; the optimum is 7."""
    return DagProblem(
        name="project",
        tasks=[
            Task(id="a", modes=[Mode(duration=3, demand={"R": 2})]),
            Task(id="b", modes=[Mode(duration=4, demand={"R": 1})]),
            Task(id="c", modes=[Mode(duration=2, demand={"R": 1})]),
        ],
        edges=[Edge(source="a", target="b")],
        resources=[Resource(id="R", capacity=2)],
    )


@pytest.fixture
def crowded() -> DagProblem:
    """A job shop of 20 jobs on 20 machines, which no search finishes within seconds."""
    return allocsolve.generate("jobshop", tasks=400, seed=3, machines=20)


@pytest.fixture
def crowded_file(crowded: DagProblem, tmp_path: Path) -> Path:
    """The same as a file."""
    path = tmp_path / "crowded.json"
    allocsolve.write(crowded, path)
    return path
