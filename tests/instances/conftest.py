"""What the tests of the formats share: reading text, and files of PSPLIB from numbers."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TypeAlias

import pytest

from allocsolve.instances.reading import read_dag as read
from allocsolve.models.dag.problem import DagProblem

ReadText: TypeAlias = Callable[..., DagProblem]
Psplib: TypeAlias = Callable[..., str]


@pytest.fixture(scope="session")
def read_text() -> ReadText:
    """Read an instance from text, as from standard input."""

    def run(text: str, name: str | None = None, index_base: int | None = None) -> DagProblem:
        return read(io.BytesIO(text.encode()), format=name, index_base=index_base)

    return run


@pytest.fixture(scope="session")
def psplib_text() -> Psplib:
    """Write a single-mode project with one resource by hand, right or wrong."""

    def run(
        duration: Sequence[object] = (0, 3, 4, 0),
        successors: Sequence[Sequence[object]] = ((2, 3), (4,), (4,), ()),
        demand: Sequence[object] = (0, 2, 2, 0),
        capacity: object = 3,
        base: int = 1,
    ) -> str:
        jobs = range(len(duration))
        return "\n".join(
            [
                "*" * 40,
                f"jobs (incl. supersource/sink ):  {len(duration)}",
                "RESOURCES",
                "  - renewable                 :  1   R",
                "PRECEDENCE RELATIONS:",
                "jobnr.    #modes  #successors   successors",
                *(
                    " ".join(map(str, [i + base, 1, len(successors[i]), *successors[i]]))
                    for i in jobs
                ),
                "*" * 40,
                "REQUESTS/DURATIONS:",
                "jobnr. mode duration  R 1",
                "-" * 40,
                *(f"{i + base} 1 {duration[i]} {demand[i]}" for i in jobs),
                "*" * 40,
                "RESOURCEAVAILABILITIES:",
                "  R 1",
                f"  {capacity}",
                "*" * 40,
            ]
        )

    return run
