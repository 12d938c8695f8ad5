"""Bounds on public benchmark files against the best known values."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from allocsolve.instances.reading import read_dag as read
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason

# Mean of bound over best known value that the bounds reach; less is a step back.
LEAST_RATIO = {"psplib": 0.90, "jobshop": 0.92, "fjsp": 0.97, "rcpsp_other": 0.90}


def _best_known(folder: Path) -> dict[Path, int]:
    """Return each file with its upper bound or optimum; infeasible files are left out."""
    values = {}
    with (folder / "values.csv").open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            value = row.get("ub") or row.get("optimum") or ""
            if value.isdigit():
                path = _file(folder, row["instance"])
                values[path] = int(value)
    return values


def _file(folder: Path, name: str) -> Path:
    """Return the file of a row, which leaves out suffixes or folders."""
    found = [path for path in folder.rglob("*") if f"/{path.as_posix()}".endswith(f"/{name}")]
    found = found or [path for path in folder.rglob("*") if path.stem == name]
    assert len(found) == 1, (name, found)
    return found[0]


def _best_bound(problem: DagProblem) -> float:
    return float(problem.units(lower_bounds(problem)[0].value))


@pytest.mark.parametrize("name", LEAST_RATIO)
def test_bounds_are_below_the_best_known_values_and_near(benchmarks_dir: Path, name: str) -> None:
    """A bound above a known schedule is wrong; bounds far below it give useless gaps."""
    ratios = []
    for path, best in _best_known(benchmarks_dir / "dag" / name).items():
        problem = read(path)
        assert find_reason(problem) is None, path.name
        bound = _best_bound(problem)
        assert bound <= best, path.name
        ratios.append(bound / best)
    assert sum(ratios) / len(ratios) >= LEAST_RATIO[name]
