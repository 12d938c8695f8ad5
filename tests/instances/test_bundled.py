"""The bundled instances: one for every format, each with a proved outcome."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from allocsolve.instances.catalogue import bundled, task_graphs
from allocsolve.instances.reading import read_dag as read
from allocsolve.instances.registry import FORMATS
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason
from allocsolve.models.exact import plain

Optimum: TypeAlias = Callable[[DagProblem], int | None]

BUNDLED = Path(__file__).resolve().parents[2] / "instances" / "bundled"
with (BUNDLED / "optima.csv").open(encoding="utf-8", newline="") as table:
    ROWS = list(csv.DictReader(table))


def test_table_lists_every_instance() -> None:
    """An instance without an outcome could not judge a method."""
    assert [row["name"] for row in ROWS] == sorted(bundled())


def test_catalogue_lists_every_file() -> None:
    """A file that the catalogue misses would be shipped for nothing."""
    files = {path.name for path in BUNDLED.iterdir()} - {"optima.csv"}
    assert {path.name for path in bundled().values()} == files


@pytest.mark.parametrize("name", [row.name for row in FORMATS if row.can_read])
def test_every_format_has_a_good_sample(name: str) -> None:
    """A format is only there if a file of it can be shown."""
    complete = {read(path).origin.format for path in bundled().values()}
    assert name in complete | {read(path, nodes=2).origin.format for path in task_graphs().values()}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_outcome_is_proved_by_enumeration(row: dict[str, str], optimum: Optimum) -> None:
    """The stated optimum is what trying every schedule gives; ft06 is too large for that."""
    if row["source"] != "enumeration":
        assert row["name"] == "ft06"
        return
    problem = read(bundled()[row["name"]])
    ticks = optimum(problem)
    found = "" if ticks is None else str(plain(problem.units(ticks)))
    assert found == row["makespan"]
    assert (ticks is None) == (row["status"] == "INFEASIBLE")


@pytest.mark.parametrize(
    "row", [row for row in ROWS if row["reason"]], ids=lambda row: row["reason"]
)
def test_infeasible_instance_has_its_reason(row: dict[str, str]) -> None:
    """There is one small instance for each reason that a person can understand."""
    reason = find_reason(read(bundled()[row["name"]]))
    assert reason is not None
    assert reason.__struct_config__.tag == row["reason"]
