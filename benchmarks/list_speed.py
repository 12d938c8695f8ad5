"""Compiled list scheduling beside SAGA's HEFT (anrg-saga) on the same instances, in one run.

Layered task graphs on 16 heterogeneous nodes with a link speed for each pair; ten seeds each
at 1000 and 2000 tasks. Both sides are timed in CPU seconds from objects already built to a
schedule (``HeftScheduler().schedule`` there; arrays, ranks and placement here), after one
call that loads or compiles. Then 100 000 tasks here alone: schedule and certified gap.

    python -m venv peer && peer/bin/pip install anrg-saga
    python benchmarks/list_speed.py --saga-python peer/bin/python
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import machine

import allocsolve
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.check import check
from allocsolve.models.dag.data import Edge, Link, Node, Task
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_build import Builder, Placement
from allocsolve.models.dag.problem import DagProblem

NODES = 16
ASKED = {1000: 300, 2000: 1000}
"""How many times faster than SAGA's HEFT it should be."""

_SAGA = """
import json, logging, sys, time
from importlib.metadata import version
from saga import Network, TaskGraph
from saga.schedulers import HeftScheduler
print(json.dumps(version("anrg-saga")), flush=True)
for name in sys.argv[1:]:
    raw = json.load(open(name))
    graph = TaskGraph.create([tuple(t) for t in raw["tasks"]], [tuple(e) for e in raw["edges"]])
    network = Network.create([tuple(n) for n in raw["nodes"]], [tuple(k) for k in raw["links"]])
    begin = time.process_time()
    schedule = HeftScheduler().schedule(network, graph)
    print(json.dumps([time.process_time() - begin, schedule.makespan]), flush=True)
"""

Raw = dict[str, list[Any]]


def layered(tasks: int, seed: int) -> Raw:
    """Draw layers of about sqrt(n) tasks between one source and one sink, as plain lists."""
    draw = random.Random(seed)
    width = max(1, int(tasks**0.5))
    cost = [draw.randint(1, 100) for _ in range(tasks)]
    edges: dict[tuple[int, int], int] = {}
    for task in range(1, tasks - 1):
        layer = (task - 1) // width
        before = range(1 + (layer - 1) * width, 1 + layer * width) if layer else range(1)
        for source in draw.sample(before, min(len(before), draw.randint(1, 4))):
            edges[source, task] = draw.randint(0, 100)
    for task in sorted(set(range(tasks - 1)) - {source for source, _ in edges}):
        edges[task, tasks - 1] = draw.randint(0, 100)
    pairs = [(a, b) for b in range(NODES) for a in range(b)]
    return {
        "tasks": [[f"t{i}", c] for i, c in enumerate(cost)],
        "edges": [[f"t{a}", f"t{b}", size] for (a, b), size in edges.items()],
        "nodes": [[f"n{k}", draw.choice([1, 2, 4, 5])] for k in range(NODES)],
        "links": [[f"n{a}", f"n{b}", draw.choice([1, 2, 4, 5])] for a, b in pairs],
    }


def build(raw: Raw) -> DagProblem:
    """Build the same instance here."""
    return DagProblem(
        tasks=[Task(id=name, work=cost) for name, cost in raw["tasks"]],
        edges=[Edge(source=a, target=b, data=size) for a, b, size in raw["edges"]],
        nodes=[Node(id=name, speed=speed) for name, speed in raw["nodes"]],
        links=[Link(between=(a, b), bandwidth=speed) for a, b, speed in raw["links"]],
    )


def timed(action: Callable[[], Any], repeat: int = 1) -> tuple[float, Any]:
    """Return the least CPU seconds of some calls, and what the last one gave."""
    best, value = float("inf"), None
    for _ in range(repeat):
        begin = time.process_time()
        value = action()
        best = min(best, time.process_time() - begin)
    return best, value


def heft(problem: DagProblem) -> Placement:
    """Schedule a problem that is already built."""
    placement = Builder(CommGraph.of(problem)).build("heft")
    assert placement is not None
    return placement


def compare(python: str, sizes: list[int], seeds: int) -> bool:
    """Print one line for each instance; tell whether all targets are met."""
    met = True
    for tasks in sizes:
        raws = [layered(tasks, seed) for seed in range(seeds)]
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / f"{seed}.json" for seed in range(seeds)]
            for file, raw in zip(files, raws, strict=True):
                file.write_text(json.dumps(raw), encoding="utf-8")
            process = subprocess.Popen(
                [python, "-c", _SAGA, *map(str, files)], stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            version, *theirs = (json.loads(line) for line in process.stdout)
        print(f"# {tasks} tasks x {NODES} nodes, anrg-saga {version}: CPU seconds and makespans")
        met &= _report(tasks, raws, theirs)
    return met


def _report(tasks: int, raws: list[Raw], theirs: list[list[float]]) -> bool:
    times, lengths = [], []
    for seed, (raw, (seconds, length)) in enumerate(zip(raws, theirs, strict=True)):
        problem = build(raw)
        own, placement = timed(lambda problem=problem: heft(problem), repeat=5)
        value = float(problem.units(placement.makespan))
        assert not check(problem, placement.schedule().entries()).violations
        times.append(seconds / own)
        lengths.append(value / length)
        print(
            f"seed {seed}  saga {seconds:8.3f} s {length:9.2f}   allocsolve {own:8.5f} s "
            f"{value:9.2f}   {times[-1]:7.0f} x  length {lengths[-1]:.4f}"
        )
    ratio, length = statistics.mean(times), statistics.mean(lengths)
    asked = ASKED.get(tasks, 0)
    good = ratio >= asked and length <= 1.0
    print(
        f"mean {ratio:.0f} x (least {min(times):.0f} x, asked {asked} x), mean length ratio "
        f"{length:.5f} (asked at most 1): {'pass' if good else 'FAIL'}"
    )
    return good


def large(tasks: int) -> bool:
    """Time a large instance: building, schedule, bound, and the whole call."""
    seconds, problem = timed(lambda: build(layered(tasks, 0)))
    print(f"# {tasks} tasks x {NODES} nodes; drawing and building the problem {seconds:.2f} s CPU")
    schedule, placement = timed(lambda: heft(problem), repeat=3)
    bounding, bounds = timed(lambda: lower_bounds(problem))
    value, bound = placement.makespan, bounds[0].value
    print(
        f"heft {schedule:.3f} s, bound {bounding:.3f} s ({bounds[0].source}), gap "
        f"{100 * (value - bound) / value:.2f} %"
    )
    whole, result = timed(lambda: allocsolve.solve(problem, method="heft"))
    spent = {name: round(part, 3) for name, part in result.timing.items()}
    good = schedule + bounding <= 1.0
    print(f"solve(method='heft') with its checker {whole:.3f} s CPU, wall {spent}")
    print(f"schedule and certified gap {schedule + bounding:.3f} s: {'pass' if good else 'FAIL'}")
    return good


def main() -> int:
    """Run what was asked for; exit 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--saga-python", help="Python of an environment with anrg-saga")
    parser.add_argument("--sizes", type=int, nargs="*", default=list(ASKED))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--large", type=int, default=100_000, help="0 leaves it out")
    arguments = parser.parse_args()
    print(machine())
    from allocsolve.models.dag.list_board import KERNELS

    print(f"# kernels ready after {KERNELS.build():.1f} s")
    met = True
    if arguments.saga_python:
        met &= compare(arguments.saga_python, arguments.sizes, arguments.seeds)
    else:
        print("# SAGA left out: give --saga-python")
    if arguments.large:
        met &= large(arguments.large)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
