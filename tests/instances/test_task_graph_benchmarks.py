"""Public files of communicating task graphs load, with the counts that they announce."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from allocsolve.instances.reading import read_dag as read


def _files(folder: Path, pattern: str) -> list[Path]:
    files = sorted(folder.rglob(pattern))
    assert files, f"no {pattern} in {folder}"
    return files


def test_graphs_with_communication_delays(benchmarks_dir: Path) -> None:
    """Tasks and edges are those of the table, and no number is assumed."""
    folder = benchmarks_dir / "dag/commdelay"
    with (folder / "values.csv").open(encoding="utf-8", newline="") as table:
        rows = list(csv.DictReader(table))
    for row in rows:
        problem = read(folder / f"{row['file']}.dot", nodes=row["processors"])
        assert len(problem.tasks) == int(row["nodes"]), row["file"]
        assert len(problem.edges) == int(row["edges"]), row["file"]
        assert len(problem.nodes) == int(row["processors"])
        assert problem.warnings == ()
        assert problem.arrays.tick.denominator == 1


def test_course_graphs(benchmarks_dir: Path) -> None:
    """The number of tasks stands in the name."""
    for file in _files(benchmarks_dir / "dag/commdelay/classic", "*.dot"):
        assert f"Nodes_{len(read(file, nodes=2).tasks)}_" in file.name


def test_standard_task_graphs(benchmarks_dir: Path) -> None:
    """A line is a task; the header counts them with or without two dummies."""
    for file in _files(benchmarks_dir / "dag/stg", "*.stg"):
        lines = [
            line.split()
            for line in file.read_text(encoding="utf-8").splitlines()
            if line.strip() and not line.startswith("#")
        ]
        problem = read(file, nodes=4)
        assert len(problem.tasks) == len(lines) - 1
        assert len(problem.tasks) - int(lines[0][0]) in (0, 2)
        assert len(problem.edges) == sum(int(line[2]) for line in lines[1:])
        stated = re.search(r"Edges\s*:\s*(\d+)", file.read_text(encoding="utf-8"))
        assert stated is None or len(problem.edges) >= int(stated[1])


def test_recorded_workflows(benchmarks_dir: Path) -> None:
    """Tasks, machines and total runtime are those of the file, exactly."""
    for file in _files(benchmarks_dir / "dag/wfcommons", "*.json"):
        workflow = json.loads(file.read_text(encoding="utf-8"))["workflow"]
        problem = read(file)
        assert problem.origin.format == "wfformat"
        assert len(problem.tasks) == len(workflow["specification"]["tasks"])
        assert len(problem.nodes) == len(workflow["execution"]["machines"])
        assert problem.warnings == ()
        parents = [len(task["parents"]) for task in workflow["specification"]["tasks"]]
        assert len(problem.edges) == sum(parents)
        total = sum(run["runtimeInSeconds"] for run in workflow["execution"]["tasks"])
        assert float(sum(task.work or 0 for task in problem.tasks)) == pytest.approx(total)


def test_networks_of_operators(benchmarks_dir: Path) -> None:
    """Rounding stays below a millionth of the total, and the counts are those of the file."""
    for file in _files(benchmarks_dir / "dag/dnn", "*.json"):
        document = json.loads(file.read_text(encoding="utf-8"))
        problem = read(file)
        assert problem.origin.format == "dnn"
        assert len(problem.tasks) == len(document["nodes"])
        assert len(problem.nodes) == document["maxFPGAs"] + document["maxCPUs"]
        assert len(problem.edges) <= len(document["edges"])
        total = sum(node["cpuLatency"] for node in document["nodes"])
        cpu = f"cpu{document['maxCPUs'] - 1}"
        read_total = float(sum(row[cpu] for row in problem.durations.values()))
        assert read_total == pytest.approx(total, rel=1e-6)
        assert all("rounded" in sentence for sentence in problem.warnings)
