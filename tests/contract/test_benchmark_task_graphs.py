"""Public task graphs with communication: they load, get checked schedules, and known lengths."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import allocsolve

Command = Callable[..., "CompletedProcess[str]"]

FOLDERS = ("commdelay", "dnn", "stg", "wfcommons")
PROVEN = {
    "fork on many nodes": "16p_Fork_Nodes_21_CCR_1.99_WeightType_Random",
    "join on few nodes": "2p_Join_Nodes_30_CCR_2.00_WeightType_Random",
    "series-parallel": "8p_SeriesParallel-MaxBf-5_Nodes_30_CCR_0.10_WeightType_Random",
    "tree with much data": "4p_OutTree-Balanced-MaxBf-3_Nodes_10_CCR_1.97_WeightType_Random",
    "stencil": "4p_Stencil_Nodes_21_CCR_1.00_WeightType_Random",
    "random": "8p_Random_Nodes_30_Density_4.93_CCR_1.00_WeightType_Random",
}


def _files(folder: Path) -> list[Path]:
    files = sorted(path for path in folder.rglob("*") if path.suffix in (".dot", ".json", ".stg"))
    assert files, f"no task graph in {folder}"
    return files


def _read(path: Path) -> allocsolve.DagProblem:
    """Read a file; those that describe tasks only are put on four nodes."""
    return allocsolve.read(path, nodes=None if path.suffix == ".json" else 4, kind="dag")


def _listed(folder: Path) -> dict[str, dict[str, str]]:
    with (folder / "values.csv").open(encoding="utf-8", newline="") as table:
        return {row["file"]: row for row in csv.DictReader(table)}


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_file_gets_a_checked_schedule_and_a_gap(benchmarks_dir: Path, folder: str) -> None:
    """Whatever a public file holds, a list scheduler places it and a bound certifies the gap."""
    for path in _files(benchmarks_dir / "dag" / folder):
        problem = _read(path)
        result = allocsolve.solve(problem, method="heft", threads=1)
        assert result.certificate.checked, path.name
        assert allocsolve.check(problem, result).valid, path.name
        gap = result.objective.gap
        assert gap is not None, path.name
        assert 0 <= gap < 1, path.name


def test_no_bound_is_above_a_listed_length(benchmarks_dir: Path) -> None:
    """The listed lengths are optimal: a bound above one is wrong."""
    folder = benchmarks_dir / "dag/commdelay"
    for name, row in _listed(folder).items():
        problem = allocsolve.read(folder / f"{name}.dot", nodes=row["processors"], kind="dag")
        best = allocsolve.bound(problem).best
        assert best is not None
        assert best <= int(row["optimal_length"]), name


@pytest.mark.parametrize("name", PROVEN.values(), ids=PROVEN.keys())
def test_listed_lengths_are_proven_on_the_command_line(
    allocsolve_command: Command, benchmarks_dir: Path, name: str
) -> None:
    """From the file to the exit code: optimal, checked, and as long as the table says."""
    folder = benchmarks_dir / "dag/commdelay"
    row = _listed(folder)[name]
    done = allocsolve_command(
        "solve", folder / f"{name}.dot", "--nodes", row["processors"], "--time-limit", "60"
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["status"], document["certificate"]["checked"]) == ("OPTIMAL", True)
    assert document["objective"]["value"] == int(row["optimal_length"])
