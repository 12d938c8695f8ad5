"""The public benchmark files load, with the counts that their headers announce."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from allocsolve.instances.reading import read_dag as read

LARGE = 2


def _files(folder: Path, pattern: str) -> list[Path]:
    files = sorted(folder.glob(pattern))
    assert files, f"no {pattern} in {folder}"
    return files


def _numbers(line: str) -> list[int]:
    return [int(token) for token in re.findall(r"-?\d+", line)]


def test_psplib(benchmarks_dir: Path) -> None:
    """Jobs, resources and successors are those of the head and the second section."""
    folder = benchmarks_dir / "dag"
    for file in [*_files(folder / "psplib", "*.sm"), *_files(folder / "rcpsp_other/mm", "*.mm")]:
        problem, text = read(file), file.read_text(encoding="utf-8")
        jobs = re.search(r"^jobs.*:\s*(\d+)", text, re.MULTILINE)
        kinds = re.findall(r"- (?:non)?renewable\s*:\s*(\d+)", text)
        section = text[text.index("PRECEDENCE") : text.index("REQUESTS")]
        rows = [_numbers(line) for line in section.splitlines() if re.match(r"\s*\d", line)]
        assert jobs is not None
        assert len(problem.tasks) == int(jobs[1]) == len(rows), file.name
        assert len(problem.resources) == sum(map(int, kinds)), file.name
        assert len(problem.edges) == sum(row[2] for row in rows), file.name
        assert [len(task.modes or ()) for task in problem.tasks] == [row[1] for row in rows]
        assert problem.warnings == ()


def test_patterson(benchmarks_dir: Path) -> None:
    """Activities and resources are those of the first line."""
    for file in _files(benchmarks_dir / "dag/rcpsp_other/patterson", "*.rcp"):
        problem = read(file)
        first = _numbers(file.read_text(encoding="utf-8").splitlines()[0])
        assert [len(problem.tasks), len(problem.resources)] == first
        assert problem.origin.format == "patterson"


def test_progenmax(benchmarks_dir: Path) -> None:
    """Every lag in brackets is an edge from start to start; .SCH is .sch."""
    files = sorted((benchmarks_dir / "dag/rcpsp_other").glob("rcpspmax_*/*"))
    assert len(files) >= 12
    for file in files:
        problem, text = read(file), file.read_text(encoding="utf-8")
        first = _numbers(text.splitlines()[0])
        assert len(problem.tasks) == first[0] + LARGE
        assert len(problem.resources) == first[1]
        lags = [int(lag) for lag in re.findall(r"\[(-?\d+)\]", text)]
        assert sorted(int(edge.min_lag) for edge in problem.edges) == sorted(lags)
        assert all(edge.lag_from == "start" for edge in problem.edges)


@pytest.mark.parametrize("kind", ["jobshop", "fjsp"])
def test_shops(kind: str, benchmarks_dir: Path) -> None:
    """Jobs and machines are those of the header, and .txt is told apart by structure."""
    for file in _files(benchmarks_dir / "dag" / kind, "*.txt"):
        problem = read(file)
        rows = [_numbers(line) for line in file.read_text(encoding="utf-8").splitlines()]
        jobs, machines = rows[0][:2]
        assert problem.origin.format == kind, file.name
        assert len(problem.nodes) == machines
        operations = [row[0] for row in rows[1 : jobs + 1]]
        expected = jobs * machines if kind == "jobshop" else sum(operations)
        assert len(problem.tasks) == expected, file.name
        assert len(problem.edges) == expected - jobs
