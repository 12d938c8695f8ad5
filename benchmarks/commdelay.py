"""Task graphs with communication delays on identical nodes: the public collection, and more.

The collection has the optimal lengths, found by an exhaustive search of up to a minute each.
For every graph: status, value, bound before any search, seconds. A graph fails if its value is
below or its bound above the listed length, or if it is not proven within the limit. With
``--generated`` graphs of 40 tasks are drawn instead (layered, tree, bushy tree, stencil; 2, 4
and 8 nodes; communication to computation 0.3, 1 and 5). Library calls in one warm process.

    python benchmarks/commdelay.py --limit 10 --threads 2
    python benchmarks/commdelay.py --limit 0.5
    python benchmarks/commdelay.py --generated --limit 10
"""

from __future__ import annotations

import argparse
import csv
import itertools
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from common import data_folder, machine

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.exact import plain

CLASSIC = {
    "Nodes_7_OutTree": {2: 28, 4: 22},
    "Nodes_9_SeriesParallel": {2: 55, 4: 55},
    "Nodes_11_OutTree": {2: 350, 4: 227},
}
"""Optimal lengths of three graphs used in courses, by number of nodes."""

SHAPES = {
    "layered": ("layered", {}),
    "tree": ("out_tree", {}),
    "bushy": ("out_tree", {"degree": 12}),
    "stencil": ("stencil", {}),
}


@dataclass(frozen=True)
class Graph:
    """An instance and its optimum, None if it is not known."""

    name: str
    problem: allocsolve.DagProblem
    optimum: int | None

    @property
    def is_star(self) -> bool:
        """Whether it is a fork or a join, whose bounds are weaker."""
        return "_Fork_Nodes" in self.name or "_Join_Nodes" in self.name


@dataclass(frozen=True)
class Line:
    """The result of one graph."""

    graph: Graph
    status: str
    value: float
    bound: float
    first_bound: float
    seconds: float
    found_by: str

    @property
    def failure(self) -> str:
        """What is wrong, an empty string if nothing is."""
        optimum = self.graph.optimum
        if optimum is None:
            return ""
        if self.value < optimum:
            return "value below the listed length"
        if max(self.bound, self.first_bound) > optimum:
            return "bound above the listed length"
        return "" if self.status == "OPTIMAL" else "not proven"

    def __str__(self) -> str:
        listed = "-" if self.graph.optimum is None else str(self.graph.optimum)
        return (
            f"{self.graph.name:62} {self.status:8} value {self.value:6g} bound {self.bound:6g} "
            f"first bound {self.first_bound:6g} listed {listed:>5} {self.seconds:6.2f} s "
            f"{self.found_by:14} {self.failure}"
        )


def collection() -> Iterator[Graph]:
    """Yield the graphs of the collection, each on the number of nodes of its row."""
    folder = data_folder() / "dag" / "commdelay"
    for row in csv.DictReader((folder / "values.csv").open(encoding="utf-8")):
        yield _graph(folder / f"{row['file']}.dot", int(row["processors"]), row["optimal_length"])
    for name, values in CLASSIC.items():
        for nodes, optimum in values.items():
            yield _graph(folder / "classic" / f"{name}.dot", nodes, str(optimum))


def _graph(path: Path, nodes: int, optimum: str) -> Graph:
    name = path.stem if path.stem[0].isdigit() else f"{nodes}p_{path.stem}"
    return Graph(name, allocsolve.read(path, nodes=nodes), int(optimum))


def generated() -> Iterator[Graph]:
    """Yield 36 graphs of 40 tasks."""
    for (shape, (family, more)), nodes, ccr in itertools.product(
        SHAPES.items(), (2, 4, 8), (0.3, 1.0, 5.0)
    ):
        problem = generate(family, tasks=40, seed=1, nodes=nodes, ccr=ccr, **more)
        yield Graph(f"{nodes}p_{shape}_40_CCR_{ccr}", problem, None)


def solve(graph: Graph, method: str, limit: float, threads: int) -> Line:
    """Solve one graph."""
    sources: list[str] = []
    first = lower_bounds(graph.problem)[0]
    begin = time.perf_counter()
    result = allocsolve.solve(
        graph.problem,
        method=method,
        time_limit=limit,
        threads=threads,
        on_incumbent=lambda incumbent: sources.append(incumbent.source),
    )
    return Line(
        graph,
        str(result.status),
        result.objective.value,
        result.objective.bound or 0,
        plain(graph.problem.units(first.value)),
        time.perf_counter() - begin,
        sources[-1] if sources else "-",
    )


def warm(method: str, threads: int) -> None:
    """Load the engine and the compiled loops, which a process does once."""
    for seed in range(3):
        problem = generate("layered", tasks=20, seed=seed, nodes=3)
        allocsolve.solve(problem, method=method, threads=threads)


def summary(lines: list[Line]) -> Iterator[str]:
    """Yield what the table says in a few numbers."""
    proven = sum(line.status == "OPTIMAL" for line in lines)
    gaps = [1 - line.bound / line.value for line in lines]
    seconds = [line.seconds for line in lines]
    yield f"# {len(lines)} graphs, {proven} proven, mean gap {statistics.mean(gaps):.2%}"
    yield f"# seconds: mean {statistics.mean(seconds):.2f}, most {max(seconds):.2f}"
    known = [line for line in lines if line.graph.optimum is not None]
    if known:
        excess = [line.value / (line.graph.optimum or 1) - 1 for line in known]
        mean, most = statistics.mean(excess), max(excess)
        yield f"# above the listed length: mean {mean:.3%}, most {most:.2%}"
        tight = [
            line.first_bound / (line.graph.optimum or 1) for line in known if not line.graph.is_star
        ]
        yield f"# bound before the search, off forks and joins: mean {statistics.mean(tight):.4f}"


def main() -> int:
    """Run the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds a graph (default 10)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--method", default="communication")
    parser.add_argument("--generated", action="store_true", help="drawn graphs of 40 tasks")
    parser.add_argument("--only", default="", help="graphs whose name contains this")
    options = parser.parse_args()
    print(machine())
    print(f"# limit {options.limit:g} s, {options.threads} threads")
    warm(options.method, options.threads)
    lines = []
    for graph in generated() if options.generated else collection():
        if options.only in graph.name:
            lines.append(solve(graph, options.method, options.limit, options.threads))
            print(lines[-1], flush=True)
    for text in summary(lines):
        print(text)
    return 1 if any(line.failure for line in lines) or not lines else 0


if __name__ == "__main__":
    sys.exit(main())
