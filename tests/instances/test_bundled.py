"""The bundled instances: one for every format and several of every kind, each with its outcome."""

from __future__ import annotations

import csv
import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

import allocsolve
from allocsolve.instances.catalogue import bundled, task_graphs, throughput_tables
from allocsolve.instances.reading import read, read_dag
from allocsolve.instances.registry import FORMATS
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.law import completion_law
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason
from allocsolve.models.exact import plain
from allocsolve.models.fair.answer import FairAnswer

Optimum: TypeAlias = Callable[[DagProblem], int | None]

BUNDLED = Path(__file__).resolve().parents[2] / "instances" / "bundled"
with (BUNDLED / "optima.csv").open(encoding="utf-8", newline="") as table:
    ROWS = list(csv.DictReader(table))
SCHEDULES = [row for row in ROWS if row["kind"] == "dag"]
OTHERS = [row for row in ROWS if row["kind"] != "dag"]


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
    bare = {**task_graphs(), **throughput_tables()}
    assert name in complete | {read(path, nodes=2).origin.format for path in bare.values()}


@pytest.mark.parametrize("row", SCHEDULES, ids=lambda row: row["name"])
def test_outcome_is_proved_by_enumeration(row: dict[str, str], optimum: Optimum) -> None:
    """The stated optimum is what trying every schedule gives; ft06 is too large for that."""
    if row["source"] != "enumeration":
        assert row["name"] == "ft06"
        return
    problem = read_dag(bundled()[row["name"]])
    ticks = optimum(problem)
    found = "" if ticks is None else str(plain(problem.units(ticks)))
    assert found == row["value"]
    assert (ticks is None) == (row["status"] == "INFEASIBLE")


@pytest.mark.parametrize(
    "row", [row for row in SCHEDULES if row["reason"]], ids=lambda row: row["reason"]
)
def test_infeasible_instance_has_its_reason(row: dict[str, str]) -> None:
    """There is one small instance for each reason that a person can understand."""
    reason = find_reason(read_dag(bundled()[row["name"]]))
    assert reason is not None
    assert reason.__struct_config__.tag == row["reason"]


def test_every_kind_has_instances() -> None:
    """Whoever asks for a kind gets instances of that kind only, at least two."""
    for kind in ("dag", "coded", "fair"):
        assert len(bundled(kind)) >= 2
        assert {read(path).kind for path in bundled(kind).values()} == {kind}
    assert set(bundled()) == {name for kind in ("dag", "coded", "fair") for name in bundled(kind)}


@pytest.mark.parametrize("row", OTHERS, ids=lambda row: row["name"])
def test_value_is_proved(row: dict[str, str]) -> None:
    """The stated value is what the default method reaches and proves for the stated objective."""
    problem = allocsolve.read(bundled()[row["name"]])
    result = allocsolve.solve(problem, threads=1)
    assert (result.status.value, result.objective.name) == (row["status"], row["objective"])
    assert result.objective.known == pytest.approx(float(row["value"]), rel=1e-9)
    allocsolve.check(problem, result).raise_if_violated()


def test_no_loads_of_the_stragglers_are_better() -> None:
    """Every load of a small instance can be tried: nodes alike may be taken in order."""
    problem = allocsolve.read(bundled()["stragglers"], kind="coded")
    best: float = math.inf
    best_loads: tuple[int, ...] = ()
    pairs = list(itertools.combinations_with_replacement(range(7), 2))
    for slow, fast in itertools.product(pairs, pairs):
        if sum(slow) + sum(fast) >= 12:
            mean = completion_law(problem, CodedAnswer.of([*slow, *fast])).mean
            best, best_loads = min((best, best_loads), (mean, (*slow, *fast)))
    assert best_loads == (1, 1, 5, 5)
    (value,) = (row["value"] for row in ROWS if row["name"] == "stragglers")
    assert best == pytest.approx(float(value), rel=1e-9)


def test_two_jobs_have_their_fractions() -> None:
    """Utilities 19/2 and 19/6, at the prices 18/19 and 0, worked out by hand."""
    problem = allocsolve.read(bundled()["two_jobs"], kind="fair")
    answer = allocsolve.solve(problem, threads=1).answer
    assert isinstance(answer, FairAnswer)
    assert answer.utilities == pytest.approx([19 / 2, 19 / 6], rel=1e-7)
    assert answer.prices == pytest.approx([18 / 19, 0], abs=1e-7)
    (value,) = (row["value"] for row in ROWS if row["name"] == "two_jobs")
    assert float(value) == pytest.approx(math.log(19 / 2) + math.log(19 / 6), rel=1e-9)
